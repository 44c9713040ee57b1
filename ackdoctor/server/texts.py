"""Places and texts as editors exchange them: URIs, positions in code units, buffers as the bytes of a file."""

import os
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from lsprotocol import types
from pygls import uris
from pygls.workspace import PositionCodec

from ackdoctor.fixes.document import line_starts
from ackdoctor.lint.discover import language_of
from ackdoctor.model.finding import Edit
from ackdoctor.model.source import Span, codec_of, cookie_of, decode_leniently, lines_of


def path_of(uri: str) -> str:
    """Return the absolute path of a file's URI; "" for any other URI."""
    path = uris.to_fs_path(uri) if uri.startswith("file:") else None
    return os.path.abspath(path) if path else ""  # noqa: PTH100  # no link is followed


def uri_of(path: str) -> str:
    """Return the URI of an absolute path."""
    return uris.from_fs_path(path) or ""


def encoded(text: str, path: str) -> bytes:
    """Return a buffer as the bytes that an editor would save; each character that they cannot hold becomes a `?`."""
    data = text.encode("utf-8", "replace")
    cookie = cookie_of(data) if language_of(path).name == "python" else None
    codec = codec_of(cookie.name) if cookie else None
    return text.encode(codec, "replace") if codec else data


def _decoded(data: bytes, path: str) -> str:
    return decode_leniently(data, cookie=language_of(path).name == "python")


class Text:
    """The lines of a file, and its places in the code units of the client."""

    def __init__(self, data: bytes, path: str, codec: PositionCodec) -> None:
        self._lines = lines_of(_decoded(data, path))
        self._codec = codec

    def position(self, line: int, column: int) -> types.Position:
        """Return a position; lines and columns count from 1.  A place outside the text is moved to its nearest end."""
        number = min(max(line, 1), len(self._lines))
        text = self._lines[number - 1]
        before = text[: max(column - 1, 0)] if number == line else text if number < line else ""
        return types.Position(number - 1, self._codec.client_num_units(before))

    def range(self, span: Span) -> types.Range:
        """Return the range of a span."""
        return types.Range(self.position(*span[:2]), self.position(*span[2:]))

    def edit(self, edit: Edit) -> types.TextEdit:
        """Return an edit for the client."""
        return types.TextEdit(self.range(edit.span), edit.text)

    def line_range(self, line: int) -> types.Range:
        """Return the range of a whole line, of the first one for a place that is not known."""
        number = max(line, 1)
        return types.Range(self.position(number, 1), self.position(number, 1 << 30))


def line_edits(before: bytes, after: bytes, path: str, text: Text) -> Iterator[types.TextEdit]:
    """Yield the edits that turn one version of a file into another one, line by line."""
    old, new = (_with_ends(data, path) for data in (before, after))
    for tag, start, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            span = types.Range(text.position(start + 1, 1), text.position(end + 1, 1))
            yield types.TextEdit(span, "".join(new[first:last]))


def _with_ends(data: bytes, path: str) -> Sequence[str]:
    """Return the lines with their ends, as LF, CRLF and CR make them."""
    text = _decoded(data, path)
    return [text[start:end] for start, end in pairwise((*line_starts(text), len(text)))]

"""What the server knows of each directory: the buffers, the latest reports on them, and what the editor has of these."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from lsprotocol import types
from pygls.workspace import PositionCodec

from ackdoctor.lint.discover import LIMIT
from ackdoctor.model.finding import Finding, Report
from ackdoctor.model.source import read_file
from ackdoctor.server.folder import Folder, Texts
from ackdoctor.server.messages import diagnostic, unread_diagnostic
from ackdoctor.server.texts import Text, encoded, path_of, uri_of


@dataclass(slots=True, eq=False)
class Checked:
    """A report on one version of a directory, with the buffers that it is about."""

    version: int
    report: Report
    folder: Folder
    texts: Texts
    codec: PositionCodec
    uri: Callable[[str], str]  # of a path
    _read: dict[str, tuple[str, Text]] = field(default_factory=dict)

    def text_of(self, place: str) -> tuple[str, Text]:
        """Return the URI and the text of a file in the report."""
        if place not in self._read:
            path = self.folder.path(place)
            data = self.texts.get(path)
            if data is None:
                try:
                    data = read_file(path, LIMIT)
                except OSError:
                    data = b""
            self._read[place] = (self.uri(path), Text(data, path, self.codec))
        return self._read[place]

    def findings(self, path: str) -> list[Finding]:
        """Return the findings in a file."""
        place = self.folder.place(path)
        return [finding for finding in self.report.findings if finding.site.path == place]

    def diagnostics(self, path: str) -> list[types.Diagnostic]:
        """Return the diagnostics of a file."""
        place = self.folder.place(path)
        unread = [each for each in self.report.unreadable if each.path == place]
        return [
            *(diagnostic(finding, self.text_of) for finding in self.findings(path)),
            *(unread_diagnostic(each, self.text_of) for each in unread),
        ]

    def paths(self) -> list[str]:
        """Return the files that have diagnostics."""
        places = {finding.site.path for finding in self.report.findings}
        places |= {each.path for each in self.report.unreadable}
        return [self.folder.path(place) for place in sorted(places)]


def result_id(items: list[types.Diagnostic]) -> str:
    """Return an id that other diagnostics do not have."""
    return blake2b(repr(items).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


@dataclass(slots=True, eq=False)
class View:
    """A directory as the server serves it.

    `version` rises with each change of a buffer, of the disk and of the settings.  `exact` is the latest report on all
    files, `focused` has reports that are exact in one file.  `sent` are the ids of the diagnostics that the editor has.
    """

    folder: Folder
    version: int = 0
    exact: Checked | None = None
    focused: dict[str, Checked] = field(default_factory=dict)
    sent: dict[str, str] = field(default_factory=dict)
    fault: str = ""
    exact_s: float = 0.0  # what the latest complete report took

    @property
    def is_current(self) -> bool:
        """Whether the report on all files is up to date."""
        return self.exact is not None and self.exact.version == self.version

    def look_again(self) -> None:
        """Let the next report look at the disk."""
        self.folder.look_again()
        self.version += 1

    def current(self, path: str) -> Checked | None:
        """Return an up-to-date report that is exact in a file."""
        known = (self.exact, self.focused.get(path))
        return next((each for each in known if each is not None and each.version == self.version), None)

    def keep(self, checked: Checked, focus: str, *, is_partial: bool) -> None:
        """Keep a report."""
        if not is_partial:
            self.exact = checked
            self.focused.clear()
        else:
            self.focused[focus] = checked


class Views:
    """The directories of the editor, and one for each directory with files outside of them; `texts` are the buffers."""

    def __init__(self) -> None:
        self.texts: dict[str, bytes] = {}
        self._uris: dict[str, str] = {}
        self._views: dict[Path, View] = {}
        self._alone: dict[Path, View] = {}

    def __iter__(self) -> Iterator[View]:
        return iter((*self._views.values(), *self._alone.values()))

    def set_roots(self, roots: Mapping[Path, None]) -> None:
        """Set the directories of the editor; those that stay keep what is known."""
        self._views = {root: self._views.get(root) or View(Folder(root)) for root in roots}
        self._alone.clear()
        for path in self.texts:
            self.of(path)

    def of(self, path: str) -> View:
        """Return the view of a file: that of the innermost directory, or one of files that are linted alone."""
        around = [root for root in self._views if Path(path).is_relative_to(root)]
        if around:
            return self._views[max(around, key=lambda root: len(root.parts))]
        parent = Path(path).parent
        if parent not in self._alone:
            self._alone[parent] = View(Folder(parent))
        view = self._alone[parent]
        if path not in view.folder.named:
            view.folder.named += (path,)
            view.folder.look_again()
        return view

    def uri(self, path: str) -> str:
        """Return the URI of a file, as the editor spells it if it has opened the file."""
        return self._uris.get(path) or uri_of(path)

    def put(self, uri: str, text: str) -> View:
        """Take the text of a buffer."""
        path = path_of(uri)
        self.texts[path] = encoded(text, path)
        self._uris[path] = uri
        return self.of(path)

    def open_in(self, view: View) -> Texts:
        """Return the buffers of a view by their paths."""
        return {path: data for path, data in self.texts.items() if self.of(path) is view}

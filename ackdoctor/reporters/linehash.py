"""GitHub's fingerprint of a line, so that an alert keeps its identity when the lines above it change.

The value that code scanning calls `primaryLocationLineHash` is a polynomial over the 100 characters that
follow the line's start, spaces and tabs left out, and a count of earlier lines with the same value.
"""

from array import array
from collections import Counter

__all__ = ["LineHashes"]

_WINDOW = 100
_BASE = 37
_BITS = (1 << 64) - 1
_END = "\uffff"


class LineHashes:
    """The fingerprints of one file's lines."""

    def __init__(self, source: bytes) -> None:
        text = _code_units(source.decode("utf-8", "replace")).replace("\r\n", "\n").replace("\r", "\n")
        lines = [line.replace(" ", "").replace("\t", "") for line in text.split("\n")]
        self._text = "\n".join(lines) + _END
        self._starts = [0]
        for line in lines[:-1]:
            self._starts.append(self._starts[-1] + len(line) + 1)
        seen: Counter[str] = Counter()
        self._counts = []
        for start in self._starts:
            window = self._text[start : start + _WINDOW]
            seen[window] += 1
            self._counts.append(seen[window])

    def of(self, line: int) -> str:
        """The fingerprint of a line, counted from 1; '' where there is no such line."""
        if not 1 <= line <= len(self._starts):
            return ""
        start = self._starts[line - 1]
        value = 0
        for char in self._text[start : start + _WINDOW].ljust(_WINDOW, "\0"):
            value = (value * _BASE + ord(char)) & _BITS
        return f"{value:x}:{self._counts[line - 1]}"


def _code_units(text: str) -> str:
    """The text in UTF-16 code units: GitHub counts characters as JavaScript does."""
    if text.isascii():
        return text
    units = array("H", text.encode("utf-16-le", "surrogatepass"))
    return "".join(map(chr, units))

"""The glossary of the documentation, for reports that explain their words.

docs/glossary.md is the one source; a wheel holds a copy of it.  A row with several words and as many meanings between
semicolons explains each word by its own meaning.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from ackdoctor.model import RulebookError
from ackdoctor.rulebook import read_page_text

_SECTIONS = ("Storm", "Reports")  # the words of the other sections have a plain meaning as well
_ROW = re.compile(r"^\| (?!word |---)(?P<words>[^|]+) \| (?P<meaning>[^|]+) \|$", re.MULTILINE)


@cache
def glossary() -> Mapping[str, str]:
    """Return the meaning of each word that reports explain."""
    text = read_page_text(_locate())
    sections = dict(part.partition("\n")[::2] for part in text.split("\n## ")[1:])
    return {word: meaning for name in _SECTIONS for word, meaning in _rows(sections.get(name, ""))}


def _rows(section: str) -> Iterator[tuple[str, str]]:
    for row in _ROW.finditer(section):
        words, meanings = row["words"].split(", "), row["meaning"].split("; ")
        if len(words) != len(meanings):
            meanings = [row["meaning"]] * len(words)
        yield from zip(words, meanings, strict=True)


def _locate() -> Path:
    """Return the page: inside an installed package, under docs/ in a source checkout."""
    package = Path(__file__).parent.parent
    for file in (package / "glossary.md", package.parent / "docs" / "glossary.md"):
        if file.is_file():
            return file
    raise RulebookError(f"{package.as_posix()}: the glossary is missing; reinstall ackdoctor")

"""The words that made this project unreadable stay out of its sentences and names."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WORDS = ("told", "stands", "nobody", "somebody", "whoever", "anew")
WORST = re.compile(rf"(?<![a-z])({'|'.join(WORDS)})(?![a-z])", re.IGNORECASE)
READ = {".py", ".md", ".toml", ".html", ".java", ".sql", ".xml", ".yaml"}
"""The kinds of file that hold our own sentences; a `.txt` is a golden or a captured log."""

CODE_QUOTE = re.compile(r"`[^`\n]*`")
QUOTE = re.compile(r'"[^"\n]*"')  # in Markdown; in code a string may be a message of ours

LISTS_OF_WORDS = {"tests/test_words.py", "tests/rulebook/test_our_pages.py"}


def _package(path: Path) -> str:
    """`ackdoctor/spark` of `ackdoctor/spark/read/pieces.py`; the folder itself for a file right in it."""
    return "/".join(path.relative_to(ROOT).parent.parts[:2]) or path.name


def _sources() -> Iterator[Path]:
    for folder in ("ackdoctor", "benchmarks", "docs", "rules", "tests"):
        yield from (path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in READ)
    yield from sorted((ROOT / "fixtures").rglob("*.md"))
    yield from (ROOT / "README.md", ROOT / "CHANGELOG.md")


def _by_package() -> dict[str, list[Path]]:
    packages: dict[str, list[Path]] = {}
    for path in _sources():
        if path.relative_to(ROOT).as_posix() not in LISTS_OF_WORDS:
            packages.setdefault(_package(path), []).append(path)
    return packages


PACKAGES = _by_package()


def _lines_with_worst_words(path: Path) -> Iterator[str]:
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        ours = CODE_QUOTE.sub("", line)
        if path.suffix == ".md":
            ours = QUOTE.sub("", ours)
        if WORST.search(ours):
            yield f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_a_package_has_none_of_the_worst_words(package: str) -> None:
    lines = [line for path in PACKAGES[package] for line in _lines_with_worst_words(path)]
    assert lines == []

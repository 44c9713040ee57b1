"""A page without most of its examples: what a reader in trouble wants to see first."""

import re
from collections.abc import Iterator

__all__ = ["brief"]

_EXAMPLES = ("## Examples\n", "## Stays silent\n")
_FIRST = re.compile(r".*?^```(?P<dialect>\S+ \S+)(?P<file> \S+)?\n.*?^```\n", re.DOTALL | re.MULTILINE)
_NEXT = re.compile(r"\n*^```(?P<dialect>\S+ \S+) \S+\n.*?^```\n", re.DOTALL | re.MULTILINE)


def brief(markdown: str) -> str:
    """The page with the first example of each section, and of the others the headings."""
    return "".join(_shortened(section) for section in _parts(markdown, "## "))


def _shortened(section: str) -> str:
    if not section.startswith(_EXAMPLES):
        return section
    head, first, *others = _parts(section, "### ")
    listed = "".join(f"- {other.partition(chr(10))[0].removeprefix('### ')}\n" for other in others)
    return head + _first_case(first) + (f"\nAlso:\n\n{listed}\n" if listed else "\n")


def _first_case(example: str) -> str:
    """The example up to the end of its first case: one block, or all of one dialect that name their files."""
    first = last = _FIRST.match(example)
    while last and first and first["file"]:
        another = _NEXT.match(example, last.end())
        if another is None or another["dialect"] != first["dialect"]:
            break
        last = another
    return example[: last.end()] if last else example


def _parts(markdown: str, mark: str) -> Iterator[str]:
    """The text, cut before each line that begins with the mark and is no code."""
    part: list[str] = []
    fenced = False
    for line in markdown.splitlines(keepends=True):
        fenced ^= line.startswith("```")
        if line.startswith(mark) and not fenced:
            yield "".join(part)
            part.clear()
        part.append(line)
    yield "".join(part)

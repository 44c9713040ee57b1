"""Reads the head of a rule page, and no more of the file: title, summary and toml block.

# missing-ack (ACK101)

A path leaves the handler with the tuple neither acked nor failed.

```toml
severity = "error"
default = true
evidence = ["path"]
fix = "none"
since = "0.1.0"
```
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from json import JSONDecoder
from pathlib import Path

from ackdoctor.model.errors import RulebookError
from ackdoctor.model.finding import Severity
from ackdoctor.rulebook.rule import Rule

__all__ = ["FENCE", "head_length", "parse_head", "read_head", "trouble"]

FENCE = "```"

_JSON = JSONDecoder()
_SEVERITIES = {severity.word: severity for severity in Severity}
_EVIDENCE = ("path", "tree", "heap")
_FIXES = ("none", "sometimes", "always")


def trouble(path: Path, line: int, reason: str) -> RulebookError:
    """The error that names page and line."""
    return RulebookError(f"{path.as_posix()}:{line}: {reason}")


def read_head(path: Path) -> Rule:
    """The rule that a page describes, from its first lines."""
    lines: list[str] = []
    fences = 0
    try:
        with path.open(encoding="utf-8") as page:
            for line in page:
                lines.append(line.rstrip("\n"))
                fences += line.startswith(FENCE)
                if fences == 2:  # noqa: PLR2004  # the toml block opens and closes
                    break
    except UnicodeDecodeError as error:
        raise trouble(path, len(lines) + 1, f"not UTF-8: {error.reason}") from None
    except OSError as error:
        raise trouble(path, 1, f"cannot be read: {error.strerror}") from None
    return parse_head(path, lines)


def parse_head(path: Path, lines: Sequence[str]) -> Rule:
    """The rule that the first lines of a page describe."""
    if not lines:
        raise trouble(path, 1, "the page is empty")
    code, name = _title(path, lines[0])
    at = _next(path, lines, 1, "the one-line summary")
    summary = lines[at].strip()
    if summary.startswith((FENCE, "#")):
        raise trouble(path, at + 1, "a one-line summary must stand here")
    if at + 1 < len(lines) and lines[at + 1].strip():
        raise trouble(path, at + 2, "the summary is one line, followed by an empty one")
    opening = _next(path, lines, at + 1, "the ```toml block")
    if lines[opening].rstrip() != f"{FENCE}toml":
        raise trouble(path, opening + 1, "a ```toml block must stand here")
    table, spots = _toml(path, lines, opening)
    values = {key: _value(path, key, table, spots, opening) for key in _WANTED}
    return Rule(
        code=code,
        name=name,
        summary=summary,
        severity=_SEVERITIES[str(values["severity"])],
        default=values["default"] is True,
        evidence=tuple(str(kind) for kind in _items(values["evidence"])),
        path=path,
    )


def head_length(lines: Sequence[str]) -> int:
    """How many lines of a well-formed page the head takes."""
    opening = next(i for i, line in enumerate(lines) if line.startswith(FENCE))
    return next(i for i in range(opening + 1, len(lines)) if lines[i].startswith(FENCE)) + 1


def _title(path: Path, line: str) -> tuple[str, str]:
    name, _, rest = line.removeprefix("# ").partition(" (")
    code = rest.rstrip().removesuffix(")")
    well_formed = (
        line.startswith("# ")
        and rest.rstrip().endswith(")")
        and code.startswith("ACK")
        and len(code) == len("ACK101")
        and code[3:].isdecimal()
        and name.replace("-", "").isalnum()
        and name == name.lower()
    )
    if not well_formed:
        raise trouble(path, 1, "the title must read '# rule-name (ACK101)'")
    if path.stem != f"{code}-{name}":
        raise trouble(path, 1, f"the title belongs to a page called {code}-{name}.md")
    return code, name


def _next(path: Path, lines: Sequence[str], start: int, wanted: str) -> int:
    for at in range(start, len(lines)):
        if lines[at].strip():
            return at
    raise trouble(path, len(lines), f"the page ends before {wanted}")


def _toml(path: Path, lines: Sequence[str], opening: int) -> tuple[Mapping[str, object], dict[str, int]]:
    """The table and the page line of each key."""
    closing = next((i for i in range(opening + 1, len(lines)) if lines[i].startswith(FENCE)), None)
    if closing is None:
        raise trouble(path, opening + 1, "the ```toml block is not closed")
    block = lines[opening + 1 : closing]
    table = _plain(block)
    if table is None:
        table = _any_toml(path, block, opening, closing)
    spots = {
        line.partition("=")[0].strip(): opening + 2 + i for i, line in enumerate(block) if line[:1].isalpha()
    }
    for key in table:
        if key not in _WANTED:
            known = ", ".join(_WANTED)
            raise trouble(path, spots.get(key, opening + 1), f"unknown key {key!r}: known are {known}")
    return table, spots


def _toml_line(error: Exception, opening: int, closing: int) -> int:
    _, found, rest = str(error).partition("(at line ")
    return opening + 1 + int(rest.partition(",")[0]) if found else closing + 1


def _toml_reason(error: Exception) -> str:
    text = str(error).partition(" (at ")[0]
    return f"not TOML: {text[:1].lower()}{text[1:]}"


def _value(
    path: Path, key: str, table: Mapping[str, object], spots: Mapping[str, int], opening: int
) -> object:
    wanted, fits = _WANTED[key]
    if key not in table:
        raise trouble(path, opening + 1, f"{key} is missing")
    if not fits(table[key]):
        raise trouble(path, spots.get(key, opening + 1), f"{key} must be {wanted}")
    return table[key]


def _plain(block: Sequence[str]) -> dict[str, object] | None:
    """The table where every line is `key = value` with a value that JSON writes the same; else None.

    All pages are like that, and lint reads thirty of them at every start: tomllib alone takes longer to import.
    """
    table: dict[str, object] = {}
    for line in block:
        key, equals, rest = line.partition("=")
        key = key.strip()
        try:
            value, end = _JSON.raw_decode(rest.strip())
        except ValueError:
            return None
        comment = rest.strip()[end:].strip()
        if not equals or not key.isidentifier() or key in table or comment[:1] not in ("", "#"):
            return None
        if not isinstance(value, (str, bool, list)):
            return None
        table[key] = value
    return table


def _any_toml(path: Path, block: Sequence[str], opening: int, closing: int) -> dict[str, object]:
    """The table of a block that is not plain, or the exact error in it."""
    if sys.version_info >= (3, 11):
        import tomllib  # for pages that are not plain
    else:
        import tomli as tomllib
    try:
        table: dict[str, object] = tomllib.loads("\n".join(block))
    except tomllib.TOMLDecodeError as error:
        raise trouble(path, _toml_line(error, opening, closing), _toml_reason(error)) from None
    return table


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _is_version(value: object) -> bool:
    return isinstance(value, str) and len(value.split(".")) > 1 and value.replace(".", "").isdecimal()


_WANTED: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "severity": ('"error", "warning" or "info"', lambda v: isinstance(v, str) and v in _SEVERITIES),
    "default": ("true or false", lambda v: isinstance(v, bool)),
    "evidence": (
        'a list of "path", "tree" and "heap"',
        lambda v: isinstance(v, list) and all(kind in _EVIDENCE for kind in v),
    ),
    "fix": ('"none", "sometimes" or "always"', lambda v: isinstance(v, str) and v in _FIXES),
    "since": ('a version such as "0.1.0"', _is_version),
}

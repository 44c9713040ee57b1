"""Rule metadata: the title, the summary and the toml block that open a rule page.

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

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from ackdoctor.model import RulebookError
from ackdoctor.model.finding import Severity

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "RULE_URL",
    "Rule",
    "find",
    "load_metadata",
    "locate",
    "page_error",
    "parse_head",
    "read_all",
    "rule_name",
    "rule_severity",
    "rule_url",
    "survey",
]

RULE_URL = "https://ackdoctor.readthedocs.io/en/latest/rules/{code}-{name}/"

_FENCE = "```"
_TITLE = re.compile(r"# (?P<name>[a-z0-9]+(?:-[a-z0-9]+)*) \((?P<code>ACK[0-9]{3})\)\s*")
_SEVERITIES = {severity.word: severity for severity in Severity}
_EVIDENCE = ("path", "tree", "heap")
_FIXES = ("none", "sometimes", "always")


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Rule:
    """The metadata that selects a rule and labels its findings."""

    code: str
    name: str
    summary: str
    severity: Severity
    default: bool  # in the default rule set
    evidence: tuple[str, ...]
    path: Path

    @property
    def url(self) -> str:
        """The address of the rule's page in the published documentation."""
        return RULE_URL.format(code=self.code, name=self.name)


R = TypeVar("R", bound=Rule)


def page_error(path: Path, line: int, reason: str) -> RulebookError:
    """Return an error that names the page and the line."""
    return RulebookError(f"{path.as_posix()}:{line}: {reason}")


def locate() -> Path:
    """Return the directory of the pages: inside an installed package, beside the package in a source checkout."""
    package = Path(__file__).parent.parent
    for directory in (package / "rules", package.parent / "rules"):
        if directory.is_dir():
            return directory
    raise RulebookError(f"{package.as_posix()}: the rules directory is missing; reinstall ackdoctor")


def load_metadata(directory: Path | None = None) -> dict[str, Rule]:
    """Return the metadata of all rules by code, sorted; raise RulebookError for the first broken page."""
    rules, errors = survey(directory)
    if errors:
        raise errors[0]
    return rules


def survey(directory: Path | None = None) -> tuple[dict[str, Rule], tuple[RulebookError, ...]]:
    """Return the metadata of all rules by code, and the errors of broken pages by file name."""
    return read_all(directory or locate(), _read_head)


def find(rules: Mapping[str, R], word: str) -> R | None:
    """Return the rule with that code or name, in any case."""
    wanted = word.strip()
    if wanted.upper() in rules:
        return rules[wanted.upper()]
    return next((rule for rule in rules.values() if rule.name == wanted.lower()), None)


def rule_url(code: str) -> str:
    """Return the address of a rule's published page; KeyError for a code without a page."""
    return _rules()[code].url


def rule_name(code: str) -> str:
    """Return the rule's name; '' for an unknown code or a page that does not parse."""
    return _rules()[code].name if code in _rules() else ""


def rule_severity(code: str) -> Severity:
    """Return the severity of the rule's page."""
    return _rules()[code].severity if code in _rules() else Severity.WARNING


@cache
def _rules() -> Mapping[str, Rule]:
    return survey()[0]


def read_all(directory: Path, reader: Callable[[Path], R]) -> tuple[dict[str, R], tuple[RulebookError, ...]]:
    """Read every page of a directory; return the pages by code, and the errors of the others."""
    pages: dict[str, R] = {}
    errors: list[RulebookError] = []
    try:
        files = sorted(path for path in directory.iterdir() if path.suffix == ".md" and path.stem != "README")
    except OSError as error:
        raise RulebookError(f"{directory.as_posix()}: cannot be read: {error.strerror}") from None
    for path in files:
        page = _read(path, reader, pages)
        if isinstance(page, RulebookError):
            errors.append(page)
        else:
            pages[page.code] = page
    return dict(sorted(pages.items())), tuple(errors)


def _read(path: Path, reader: Callable[[Path], R], pages: Mapping[str, R]) -> R | RulebookError:
    """Read a page; return the error if it is broken, or if an earlier page has its code or name."""
    try:
        page = reader(path)
    except RulebookError as error:
        return error
    for other in pages.values():
        if page.code == other.code:
            return page_error(path, 1, f"{other.path.name} already has the code {page.code}")
        if page.name == other.name:
            return page_error(path, 1, f"{other.path.name} already has the name {page.name}")
    return page


def _read_head(path: Path) -> Rule:
    """Read a page up to the end of its toml block."""
    lines: list[str] = []
    try:
        with path.open(encoding="utf-8") as page:
            for line in page:
                lines.append(line.rstrip("\n"))
                if lines[-1].rstrip() == _FENCE:
                    break
    except UnicodeDecodeError as error:
        raise page_error(path, len(lines) + 1, f"not UTF-8: {error.reason}") from None
    except OSError as error:
        raise page_error(path, 1, f"cannot be read: {error.strerror}") from None
    return parse_head(path, lines)


def parse_head(path: Path, lines: Sequence[str]) -> Rule:
    """Parse the first lines of a page."""
    code, name = _title(path, lines)
    at = _next(path, lines, 1, "the one-line summary")
    summary = lines[at].strip()
    if summary.startswith((_FENCE, "#")):
        raise page_error(path, at + 1, "a one-line summary must follow the title")
    if at + 1 < len(lines) and lines[at + 1].strip():
        raise page_error(path, at + 2, "the summary is one line, followed by an empty one")
    opening = _next(path, lines, at + 1, "the ```toml block")
    if lines[opening].rstrip() != f"{_FENCE}toml":
        raise page_error(path, opening + 1, "a ```toml block must follow the summary")
    table = _toml(path, lines, opening)
    return Rule(
        code=code,
        name=name,
        summary=summary,
        severity=_SEVERITIES[str(table["severity"])],
        default=table["default"] is True,
        evidence=tuple(str(kind) for kind in _items(table["evidence"])),
        path=path,
    )


def _title(path: Path, lines: Sequence[str]) -> tuple[str, str]:
    title = _TITLE.fullmatch(lines[0]) if lines else None
    if title is None:
        raise page_error(path, 1, "the title must read '# rule-name (ACK101)'")
    code, name = title["code"], title["name"]
    if path.stem != f"{code}-{name}":
        raise page_error(path, 1, f"the title belongs to a page called {code}-{name}.md")
    return code, name


def _next(path: Path, lines: Sequence[str], start: int, wanted: str) -> int:
    """Return the index of the next line that is not empty."""
    for at in range(start, len(lines)):
        if lines[at].strip():
            return at
    raise page_error(path, len(lines), f"the page ends before {wanted}")


def _toml(path: Path, lines: Sequence[str], opening: int) -> Mapping[str, object]:
    """Parse and check the toml block; `opening` is the index of its first line."""
    closing = next((i for i in range(opening + 1, len(lines)) if lines[i].startswith(_FENCE)), None)
    if closing is None:
        raise page_error(path, opening + 1, "the ```toml block is not closed")
    block = lines[opening + 1 : closing]
    try:
        table: dict[str, object] = tomllib.loads("\n".join(block))
    except tomllib.TOMLDecodeError as error:
        raise page_error(path, opening + 1, f"not TOML: {error}") from None
    places = {line.partition("=")[0].strip(): opening + 2 + at for at, line in enumerate(block)}
    for key in table:
        if key not in _WANTED:
            reason = f"unknown key {key!r}: known are {', '.join(_WANTED)}"
            raise page_error(path, places.get(key, opening + 1), reason)
    for key, (wanted, fits) in _WANTED.items():
        if key not in table:
            raise page_error(path, opening + 1, f"{key} is missing")
        if not fits(table[key]):
            raise page_error(path, places.get(key, opening + 1), f"{key} must be {wanted}")
    return table


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _is_version(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9]+(\.[0-9]+)+", value) is not None


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

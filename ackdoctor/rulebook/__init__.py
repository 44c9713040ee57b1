"""The rulebook: one page of `rules/` holds a rule's metadata, its manual, its example and its messages.

# missing-ack (ACK101)

A path leaves the handler with the tuple neither acked nor failed.

```toml
severity = "error"
default = true
evidence = ["path"]
fix = "none"
since = "0.1.0"
```

The last section of a page, `## Messages`, is the catalogue of the rule, for lint, traces, Spark and heaps alike:

```toml
"one path" = ["{tup} leaves {handler} neither acked nor failed on this path", "ack {tup} on this path too"]
"completed by id" = "give `{verb}` the tuple, not its id"
```

`words(MISSING_ACK, "one path", tup="`tup`", handler="CountBolt.process")` fills the placeholders of a case, and
`phrase` those of a part of a sentence.  The price of a misuse depends on the dialect; the caller appends it.
Whole pages (`pages`) need a Markdown parser; import them only where they are used.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ackdoctor.model import RulebookError
from ackdoctor.model.finding import Severity

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


# The rules that code outside of `checks` reports or names:
MISSING_ACK = "ACK101"
SWALLOWED_FAILURE = "ACK102"
DOUBLE_ACK = "ACK103"
ACK_IN_LOOP = "ACK104"
ACK_WITH_AUTO_ACK = "ACK105"
ACK_AND_FAIL = "ACK106"
ACK_BEFORE_DONE = "ACK107"
OFF_THREAD_COMPLETION = "ACK108"
TICK_COMPLETION = "ACK109"
ASYNC_HANDLER = "ACK110"
UNANCHORED_EMIT = "ACK201"
EMIT_AFTER_ACK = "ACK202"
TICK_ANCHORED_EMIT = "ACK203"
WRONG_ANCHOR = "ACK204"
UNSERIALISABLE_EMIT = "ACK205"
STDOUT_IN_MULTILANG = "ACK206"
UNDECLARED_EMIT = "ACK207"
SPOUT_EMIT_WITHOUT_ID = "ACK301"
SPOUT_WITHOUT_REPLAY = "ACK302"
SPOUT_BUFFER_LEAK = "ACK303"
ENDLESS_REPLAY = "ACK304"
BLOCKING_NEXT_TUPLE = "ACK305"
UNDRAINED_BUFFER = "ACK401"
PENDING_OVERWRITE = "ACK402"
EVICTING_BUFFER = "ACK403"
BATCH_WITHOUT_TIMER = "ACK404"
ACKERS_ZERO = "ACK501"
TIMEOUTS_DISABLED = "ACK502"
UNBOUNDED_PENDING = "ACK503"
FLUSH_SLOWER_THAN_TIMEOUT = "ACK504"
DEAD_SETTING = "ACK505"
BROKEN_WIRING = "ACK506"
BATCH_WITHOUT_TICKS = "ACK507"
WEAK_GUARANTEE = "ACK508"
NEVER_ZERO_ENTRY = "ACK601"
ORPHAN_ENTRY = "ACK602"
PENDING_GROWTH = "ACK603"
UNUSED_IGNORE = "ACK901"

RULE_URL = "https://ackdoctor.readthedocs.io/en/latest/rules/{code}-{name}/"

_FENCE = "```"
_TITLE = re.compile(r"# (?P<name>[a-z0-9]+(?:-[a-z0-9]+)*) \((?P<code>ACK[0-9]{3})\)\s*")
_MESSAGES = re.compile(r"^## Messages\n.*?^```toml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SEVERITIES = {severity.word: severity for severity in Severity}
_EVIDENCE = ("path", "wiring", "tree", "heap")
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


class Words(NamedTuple):
    """The words of one case of a rule: message, help text, and the note on the last step of the path ("" for none)."""

    case: str
    message: str
    help: str = ""
    note: str = ""


class Catalogue(NamedTuple):
    """The templates of a rule by their names: whole messages, and parts of sentences."""

    cases: Mapping[str, Words]
    phrases: Mapping[str, str]


# ---- the pages ----


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


def read_page_text(path: Path) -> str:
    """Read a page; raise RulebookError if it is not UTF-8 text."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise page_error(path, 1, f"cannot be read: {error.strerror}") from None
    try:
        return raw.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise page_error(path, line, f"not UTF-8: {error.reason}") from None


def read_all(directory: Path, reader: Callable[[Path], R]) -> tuple[dict[str, R], tuple[RulebookError, ...]]:
    """Read every page of a directory; return the pages by code, and the errors of the others."""
    pages: dict[str, R] = {}
    errors: list[RulebookError] = []
    try:
        files = sorted(path for path in directory.iterdir() if path.suffix == ".md" and path.stem != "README")
    except OSError as error:
        raise RulebookError(f"{directory.as_posix()}: cannot be read: {error.strerror}") from None
    for path in files:
        try:
            page = reader(path)
            _check_unique(page, pages)
        except RulebookError as error:  # noqa: PERF203  # one broken page costs no other
            errors.append(error)
        else:
            pages[page.code] = page
    return dict(sorted(pages.items())), tuple(errors)


def _check_unique(page: R, pages: Mapping[str, R]) -> None:
    for other in pages.values():
        if page.code == other.code:
            raise page_error(page.path, 1, f"{other.path.name} already has the code {page.code}")
        if page.name == other.name:
            raise page_error(page.path, 1, f"{other.path.name} already has the name {page.name}")


# ---- metadata ----


def survey(directory: Path | None = None) -> tuple[Mapping[str, Rule], tuple[RulebookError, ...]]:
    """Return the metadata of all rules by code, and the errors of broken pages by file name."""
    return _survey(directory or locate())


@cache
def _survey(directory: Path) -> tuple[Mapping[str, Rule], tuple[RulebookError, ...]]:
    """Read the pages of a directory once: they do not change while a process runs."""
    return read_all(directory, lambda path: parse_head(path, read_page_text(path).split("\n")))


def find(rules: Mapping[str, R], word: str) -> R | None:
    """Return the rule with that code or name, in any case."""
    wanted = word.strip()
    if wanted.upper() in rules:
        return rules[wanted.upper()]
    return next((rule for rule in rules.values() if rule.name == wanted.lower()), None)


def rule_name(code: str) -> str:
    """Return the rule's name; '' for an unknown code or a page that does not parse."""
    return known_rules()[code].name if code in known_rules() else ""


def rule_severity(code: str) -> Severity:
    """Return the severity of the rule's page."""
    return known_rules()[code].severity if code in known_rules() else Severity.WARNING


@cache
def known_rules() -> Mapping[str, Rule]:
    """Return the metadata of all rules whose page parses, by code, read once."""
    return survey()[0]


def parse_head(path: Path, lines: Sequence[str]) -> Rule:
    """Parse the title, the summary and the toml block that open a page."""
    title = _TITLE.fullmatch(lines[0])
    if title is None:
        raise page_error(path, 1, "the title must read '# rule-name (ACK101)'")
    code, name = title["code"], title["name"]
    if path.stem != f"{code}-{name}":
        raise page_error(path, 1, f"the title belongs to a page called {code}-{name}.md")
    at = _next(path, lines, 1, "the one-line summary")
    summary = lines[at].strip()
    if summary.startswith((_FENCE, "#")):
        raise page_error(path, at + 1, "a one-line summary must follow the title")
    if at + 1 < len(lines) and lines[at + 1].strip():
        raise page_error(path, at + 2, "the summary is one line, followed by an empty one")
    opening = _next(path, lines, at + 1, "the ```toml block")
    if lines[opening].rstrip() != f"{_FENCE}toml":
        raise page_error(path, opening + 1, "a ```toml block must follow the summary")
    closing = next((i for i in range(opening + 1, len(lines)) if lines[i].startswith(_FENCE)), None)
    if closing is None:
        raise page_error(path, opening + 1, "the ```toml block is not closed")
    table = _metadata(path, opening + 1, lines[opening + 1 : closing])
    return Rule(
        code=code,
        name=name,
        summary=summary,
        severity=_SEVERITIES[table["severity"]],
        default=table["default"],
        evidence=tuple(table["evidence"]),
        path=path,
    )


def _next(path: Path, lines: Sequence[str], start: int, wanted: str) -> int:
    """Return the index of the next line that is not empty."""
    for at in range(start, len(lines)):
        if lines[at].strip():
            return at
    raise page_error(path, len(lines), f"the page ends before {wanted}")


def _metadata(path: Path, opening: int, block: Sequence[str]) -> dict[str, Any]:
    """Parse and check the toml block of the head; `opening` is the number of the line that opens it."""
    table = _toml(path, opening, "\n".join(block))
    places = {line.partition("=")[0].strip(): opening + 1 + at for at, line in enumerate(block)}
    for key in table:
        if key not in _WANTED:
            reason = f"unknown key {key!r}: known are {', '.join(_WANTED)}"
            raise page_error(path, places.get(key, opening), reason)
    for key, (wanted, fits) in _WANTED.items():
        if key not in table:
            raise page_error(path, opening, f"{key} is missing")
        if not fits(table[key]):
            raise page_error(path, places.get(key, opening), f"{key} must be {wanted}")
    return table


def _toml(path: Path, line: int, text: str) -> dict[str, Any]:
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise page_error(path, line, f"not TOML: {error}") from None
    return table


_WANTED: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "severity": ('"error", "warning" or "info"', lambda v: isinstance(v, str) and v in _SEVERITIES),
    "default": ("true or false", lambda v: isinstance(v, bool)),
    "evidence": (
        'a list of "path", "wiring", "tree" and "heap"',
        lambda v: isinstance(v, list) and all(kind in _EVIDENCE for kind in v),
    ),
    "fix": ('"none", "sometimes" or "always"', lambda v: isinstance(v, str) and v in _FIXES),
    "since": (
        'a version such as "0.1.0"',
        lambda v: isinstance(v, str) and re.fullmatch(r"[0-9]+(\.[0-9]+)+", v) is not None,
    ),
}


# ---- messages ----


def words(code: str, case: str = "message", /, **values: object) -> Words:
    """Return the words of one case of a rule, with the placeholders replaced."""
    name, *templates = catalogue(code).cases[case]
    return Words(name, *(template.format_map(values) for template in templates))


def phrase(code: str, name: str, /, **values: object) -> str:
    """Return a part of a sentence of a rule, with the placeholders replaced."""
    return catalogue(code).phrases[name].format_map(values)


@cache
def catalogue(code: str) -> Catalogue:
    """Return the templates on the page of a rule; raise RulebookError if there is none."""
    directory = locate()
    path = next(directory.glob(f"{code}-*.md"), directory / f"{code}.md")
    return parse_catalogue(path, read_page_text(path))


def parse_catalogue(path: Path, text: str) -> Catalogue:
    """Parse the toml block in the section `## Messages` of a page."""
    found = _MESSAGES.search(text)
    if found is None:
        raise page_error(path, text.count("\n") + 1, "section '## Messages' has no toml block")
    line = text.count("\n", 0, found.start(1))
    cases: dict[str, Words] = {}
    phrases: dict[str, str] = {}
    for name, value in _toml(path, line, found[1]).items():
        match value:
            case str():
                phrases[name] = value
            case [str(), *_] if len(value) < len(Words._fields) and all(
                isinstance(each, str) for each in value
            ):
                cases[name] = Words(name, *value)
            case _:
                raise page_error(path, line, f"{name!r} must be a text, or a list of message, help and note")
    return Catalogue(cases, phrases)

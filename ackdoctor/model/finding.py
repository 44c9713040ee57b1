"""Findings, their witnesses and fingerprints, and the report of a run."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum, unique
from typing import TYPE_CHECKING, NamedTuple

from ackdoctor.model.source import Site, Span

if TYPE_CHECKING:
    from ackdoctor.model.topology import Judged

_LONGEST = 200  # characters of an exception's message


class _Level(IntEnum):
    @property
    def word(self) -> str:
        """The lower-case word used on the command line and in every format."""
        return self.name.lower()


@unique
class Severity(_Level):
    """The severity of a finding in its dialect; ordered."""

    INFO = 1
    WARNING = 2
    ERROR = 3


@unique
class Confidence(_Level):
    """MUST: the violation happens whenever the path is taken.  MAY: it depends on an assumption in the witness."""

    MAY = 1
    MUST = 2


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class PathStep:
    """One step of a witness: what happens there, and the tuple's stage after it, or ''.

    `depth` is the number of helper calls around the step.
    """

    site: Site
    note: str
    state: str = ""
    depth: int = 0


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class PathWitness:
    """A path through the code, from the receipt of the tuple to the breach."""

    steps: tuple[PathStep, ...]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class TreeWitness:
    """What happened to a tuple in a run, in order, and what it left in the acker.

    `left` has one line for each: "acker: root 77 leaves a tracked entry, value 3".  `seen` counts the tuples with the
    same cause; `delivery` is the id of one of them, '' for a finding about a root alone.
    """

    steps: tuple[PathStep, ...]
    delivery: str = ""
    root: int | None = None
    left: tuple[str, ...] = ()
    test: str = ""
    seen: int = 1


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class HeapWitness:
    """What a heap holds because of a violation.

    `path` is an expression ("Acker.pending.buckets"), `size` is in bytes (0 if not measured), `roots` are examples.
    If only a sample was read, `sample` is (entries read, entries in total) and `entries` counts within the sample.
    `steps` are calls from a trace, if there is one.
    """

    path: str
    entries: int
    size: int = 0
    roots: tuple[int, ...] = ()
    left: tuple[str, ...] = ()
    steps: tuple[PathStep, ...] = ()
    sample: tuple[int, int] | None = None


class Edit(NamedTuple):
    """A replacement of the text in a span; `path` is that of the file if it is not that of the finding."""

    span: Span
    text: str
    path: str = ""


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Fix:
    """The edits that repair a finding, without overlaps.

    `safe`: the component does what it was written for, and the defect is gone.  Otherwise a reader must agree.
    """

    title: str
    safe: bool
    edits: tuple[Edit, ...]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Finding:
    """One defect, with its evidence.

    `component` and `handler` say where it happens ("CountBolt", "process"); `cause` identifies the defect without line
    numbers, for the fingerprint.
    """

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    site: Site
    message: str
    component: str
    handler: str
    dialect: str
    evidence: PathWitness | TreeWitness | HeapWitness
    cause: str
    fingerprint: str = ""
    price: str = ""  # the consequence, with which `message` may end after a colon
    help: str = ""  # how to fix it, one line
    home: str = ""  # the file of the component, if `site` is in another file
    heritage: str = ""  # the base class that defines the code, if the component inherits it
    repaired_by: str = ""  # the rule whose advice on the same mistake repairs this one as well
    case: str = ""  # the case of the rule's catalogue
    details: tuple[str, ...] = ()  # what a fix must know beside the place; each rule has its own
    fix: Fix | None = None  # proven: with it the finding is gone, and no new one appears

    @property
    def seen(self) -> int:
        """The number of tuples of a run with this violation; 1 for a path or a heap."""
        return self.evidence.seen if isinstance(self.evidence, TreeWitness) else 1


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Unreadable:
    """An input that could not be read, and why; `line` is 0 if unknown.

    `partial` is true if the rest of the input was read.  `internal` is set for an error of ackdoctor itself
    ("ValueError: ..."), which must never be hidden.
    """

    path: str
    line: int
    column: int
    reason: str
    partial: bool = False
    internal: str = ""

    @classmethod
    def crash(
        cls, path: str, error: BaseException | str, *, line: int = 0, where: str = "", partial: bool = False
    ) -> "Unreadable":
        """Report an internal error; `where` is the component, or the component and the rule."""
        what = str(error).partition("\n")[0][:_LONGEST]
        if isinstance(error, BaseException):
            what = f"{type(error).__name__}: {what}".removesuffix(": ")
        reason = f"internal error in {where}: {what}" if where else f"internal error: {what}"
        return cls(path=path, line=line, column=0, reason=reason, partial=partial, internal=what)


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class UnknownBase:
    """A class that looks like a component but has an unknown base class, so that it is not analysed.

    `base` is the qualified name of the base class, `suggestion` the framework class that it probably extends.
    """

    path: str
    line: int
    name: str
    handler: str
    base: str
    suggestion: str

    def __str__(self) -> str:
        return (
            f"{self.path}:{self.line}: {self.name} has {self.handler} and was not analysed: its base {self.base} is unknown. "
            f'If it is a component, add "{self.base}" = "{self.suggestion}" to extra-bases in the settings'
        )


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Report:
    """The result of a run: sorted, complete, independent of file order and jobs."""

    findings: tuple[Finding, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    files: tuple[str, ...] = ()  # files that were analysed
    beside: tuple[str, ...] = ()  # files that were read for their declarations only
    components: int = 0
    suppressed: int = 0
    baselined: int = 0
    hidden: int = 0  # below --min-severity or --min-confidence
    fixed: tuple[str, ...] = ()  # baseline entries without a finding
    notes: tuple[str, ...] = ()
    unknown_bases: tuple[UnknownBase, ...] = ()
    topologies: tuple["Judged", ...] = ()


def fingerprint(finding: Finding) -> str:
    """The digest of a defect: rule, class, handler and cause, without line numbers, paths and derived classes."""
    parts = (finding.code, finding.heritage or finding.component, finding.handler, finding.cause)
    from hashlib import blake2b  # a clean run does not pay for it

    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def stamp(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Set the fingerprints; the second finding with the same digest ends in `-2`, and so on."""
    seen: Counter[str] = Counter()
    stamped = []
    for finding in findings:
        digest = fingerprint(finding)
        seen[digest] += 1
        ordinal = f"-{seen[digest]}" if seen[digest] > 1 else ""
        stamped.append(replace(finding, fingerprint=digest + ordinal))
    return tuple(stamped)


def plain(stamped: str) -> str:
    """The digest in a fingerprint, without the ordinal."""
    return stamped.partition("-")[0]


def counted(amount: int, noun: str, plural: str = "") -> str:
    """`1 root`, `2,000 roots`, `3 entries`; with the plural given, `1 tuple waits`, `2 tuples wait`."""
    if amount == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        plural = plural or f"{noun[:-1]}ies"
    return f"{amount:,} {plural or f'{noun}s'}"

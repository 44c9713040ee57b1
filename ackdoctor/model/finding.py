"""What a run has to say."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum, unique

from ackdoctor.model.source import Site

__all__ = [
    "Confidence",
    "Finding",
    "HeapWitness",
    "PathStep",
    "PathWitness",
    "Report",
    "Severity",
    "TreeWitness",
    "UnknownBase",
    "Unreadable",
    "fingerprint",
    "plain",
    "stamp",
]


_LONGEST = 200  # characters of an exception's message


@unique
class Severity(IntEnum):
    """How bad it is in this dialect; ordered."""

    INFO = 1
    WARNING = 2
    ERROR = 3

    @property
    def word(self) -> str:
        """The lower-case word used on the command line and in every format."""
        return self.name.lower()


@unique
class Confidence(IntEnum):
    """MUST: whenever the shown branches are taken, it happens.  MAY: it rests on an assumption the path names."""

    MAY = 1
    MUST = 2

    @property
    def word(self) -> str:
        """The lower-case word used on the command line and in every format."""
        return self.name.lower()


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class PathStep:
    """One station of a path: what happens there, and the tuple's state after it ('' where it has none).

    `depth` counts the helper calls entered.
    """

    site: Site
    note: str
    state: str = ""
    depth: int = 0


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class PathWitness:
    """A path through the code that breaks the protocol, from receipt to breach."""

    steps: tuple[PathStep, ...]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class TreeWitness:
    """What happened to a tuple in a run, in order, and what that left behind.

    `left` says it line by line: "acker: root 77 leaves a tracked entry, value 3".  `seen` counts the
    deliveries with the same cause, `delivery` names one of them by the id under which the component
    knew it, '' for a finding about a root alone.
    """

    steps: tuple[PathStep, ...]
    delivery: str = ""
    root: int | None = None
    left: tuple[str, ...] = ()
    test: str = ""
    seen: int = 1


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class HeapWitness:
    """What a heap holds because of it: how that is reached, how much it is, and what is known of it.

    `path` is an expression ("Acker.pending.buckets"), `size` is in bytes and 0 where nobody has measured,
    `roots` are some of them.  Where only a sample of the entries was read, `sample` says of how many of how many, and
    `entries` counts in it.  `steps` are calls that a trace has named, none without one.
    """

    path: str
    entries: int
    size: int = 0
    roots: tuple[int, ...] = ()
    left: tuple[str, ...] = ()
    steps: tuple[PathStep, ...] = ()
    sample: tuple[int, int] | None = None


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Finding:
    """One defect, with its evidence.

    `component` and `handler` name where it happens ("CountBolt", "process"); `cause` is the
    line-free key of what is wrong, from which the fingerprint is made.
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
    help: str = ""  # what to do, one line
    home: str = ""  # the file of the component, where that is not the file of `site`
    heritage: str = ""  # the base class whose code it is, where the component inherits it

    @property
    def seen(self) -> int:
        """How many deliveries of a run have shown it; 1 where a path or a heap does."""
        return self.evidence.seen if isinstance(self.evidence, TreeWitness) else 1


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Unreadable:
    """An input that could not be read, and why; `line` is 0 where no line is known.

    `partial` says that the rest of it was read all the same.  `internal` is an error of ackdoctor, not of the input:
    "ValueError: ...", and no part of the run may hide it.
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
        """An internal error; `where` is the component, or the component and the rule."""
        what = error if isinstance(error, str) else _one_line(error)
        reason = f"internal error in {where}: {what}" if where else f"internal error: {what}"
        return cls(path=path, line=line, column=0, reason=reason, partial=partial, internal=what)


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class UnknownBase:
    """A class that looks like a component and is not analysed: nothing is known of `base`, its qualified name.

    `suggestion` is a framework's class that the base may stand for.
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
    """All that one run has to say: sorted, complete, independent of file order and jobs."""

    findings: tuple[Finding, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    files: tuple[str, ...] = ()  # files that were looked at
    beside: tuple[str, ...] = ()  # other files that were read
    components: int = 0
    suppressed: int = 0
    baselined: int = 0
    hidden: int = 0  # below --min-severity or --min-confidence
    fixed: tuple[str, ...] = ()  # baseline entries that no longer occur
    notes: tuple[str, ...] = ()
    unknown_bases: tuple[UnknownBase, ...] = ()


def _one_line(error: BaseException) -> str:
    text = str(error).partition("\n")[0][:_LONGEST]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def fingerprint(finding: Finding) -> str:
    """The digest of what is wrong and where, free of line numbers and paths, and of the heir that shows it."""
    parts = (finding.code, finding.heritage or finding.component, finding.handler, finding.cause)
    from hashlib import blake2b  # a clean run does not pay for it

    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def stamp(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings with their fingerprints; the second of its kind ends in `-2`, and so on."""
    seen: Counter[str] = Counter()
    stamped = []
    for finding in findings:
        digest = fingerprint(finding)
        seen[digest] += 1
        ordinal = f"-{seen[digest]}" if seen[digest] > 1 else ""
        stamped.append(replace(finding, fingerprint=digest + ordinal))
    return tuple(stamped)


def plain(stamped: str) -> str:
    """The digest in a finding's fingerprint: the same for all of its kind."""
    return stamped.partition("-")[0]

"""What one test showed, as a row that travels: in a report's user properties, from any xdist worker, into JUnit."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields

from ackdoctor.model.finding import Finding
from ackdoctor.model.verdict import ComponentTally

__all__ = ["COUNTS", "PROPERTY", "Row", "counted", "read_row", "totals"]

PROPERTY = "ackdoctor"  # the name of the user property, and of the testcase's property in JUnit
COUNTS = ("delivered", "emitted", "acked", "failed", "pending")


@dataclass(slots=True, kw_only=True)
class Row:
    """One test.  What no mark and no baseline accepts is in `findings`: rule codes and how many tuples."""

    level: str
    verdict: str = ""  # "failed": this alone made a passing test fail; "warned", "also": it failed anyway
    asked: bool = False  # by mark or fixture, not only by the session
    ticks: int = 0
    high_water: int = 0
    dropped: int = 0  # events that the tracer could not keep
    findings: Mapping[str, int] = field(default_factory=dict)
    accepted: Mapping[str, int] = field(default_factory=dict)
    components: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # name -> COUNTS
    unobserved: Sequence[str] = ()
    notes: Sequence[str] = ()
    doubts: Sequence[str] = ()  # why not every tuple is known to be complete, although nothing is found
    baseline: Sequence[Sequence[str]] = ()  # what is to be written into it: its entries

    def __getitem__(self, count: str) -> int:
        """One of COUNTS, of all components."""
        return sum(counts.get(count, 0) for counts in self.components.values())

    @property
    def doubtful(self) -> bool:
        """Whether not every tuple is known to be complete, although no finding says so."""
        return bool(self.doubts or self.dropped)

    @property
    def silent(self) -> bool:
        """Whether nothing was seen at all, so that a test without findings is not thereby clean."""
        return not self.ticks and not any(self[count] for count in COUNTS)

    def dump(self) -> str:
        """The row as JSON, without what is empty; `read_row` is the way back."""
        return json.dumps(
            {name: value for name, value in asdict(self).items() if value}, separators=(",", ":")
        )


def read_row(text: str) -> Row | None:
    """The row, or None for a property of that name which somebody else wrote."""
    try:
        values = json.loads(text)
        return Row(**{f.name: values[f.name] for f in fields(Row) if f.name in values})
    except (ValueError, TypeError):
        return None


def totals(tallies: Iterable[ComponentTally]) -> dict[str, dict[str, int]]:
    """The counts of a row by component; tasks of one component are added up."""
    found: dict[str, dict[str, int]] = {}
    for tally in tallies:
        counts = found.setdefault(tally.component, dict.fromkeys(COUNTS, 0))
        for count in COUNTS:
            counts[count] += getattr(tally, count)
    return found


def counted(findings: Iterable[Finding]) -> dict[str, int]:
    """How many tuples each rule speaks of."""
    codes: Counter[str] = Counter()
    for finding in findings:
        codes[finding.code] += finding.seen
    return dict(sorted(codes.items()))

"""Histograms over time: which of Storm's classes grow, at what rate, what that means, and when the heap is full."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ackdoctor.heap.jvm.histogram import Histogram
from ackdoctor.model.finding import Confidence, Finding, HeapWitness, Severity
from ackdoctor.model.fingerprint import stamp
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.tally import GrowthPoint
from ackdoctor.tracer.judge.entries import ACKER
from ackdoctor.tracer.judge.growth import Trend, filled_in, trend
from ackdoctor.tracer.judge.keeping import Keeper, stays
from ackdoctor.tracer.judge.labels import name_of

__all__ = ["ClassTrend", "Growth", "Sign", "findings", "growth"]

_STRAIGHT = 0.9  # R2
_NOTABLE_BYTES = 64 * 1024  # between the first and the last histogram
_FEWEST_POINTS = 3
_ORPHAN_1, _TRACKED_1, _ENTRY_2 = 144, 200, 104  # bytes an entry, as measured in the real ackers
_SPOUT = "spout"  # the component of a finding about some spout
_COMPANIONS = (0.8, 1.25)  # how much as fast a class grows that grows with another
_EXPLAINS = 0.7  # how much as fast one grows that leaves too little for anybody else


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Sign:
    """What a class means when it grows: `each` are the bytes of an entry that it stands for, 0 for unknown.

    `grows` is what a finding says of it, whose component is `of`.
    """

    pattern: str
    means: str
    each: int = 0
    code: str = ""
    of: str = ACKER
    grows: str = "the acker's pending map grows in every histogram"
    with_: str = ""  # another class that must grow along
    without: str = ""  # another that explains it, if that grows along
    help: str = ""


_WAITED_FOR = "messages that a spout waits for: slow, or never acked; topology.max.spout.pending bounds them"
_SPOUT_GROWS = (
    "the pending map of a spout grows in every histogram: its messages come faster than they are acked, or are "
    "never acked, and an entry stays until an answer or a timeout"
)
_SPOUT_HELP = (
    "set topology.max.spout.pending; if it grows past what a message timeout explains, ackdoctor lint the bolts: "
    "a path without ack"
)

SIGNS = (
    Sign(
        pattern=r"(?:org\.apache|backtype)\.storm\.daemon\.Acker\$AckObject",
        means="entries of the acker's pending map (2.x): one for each root that has not come to an end",
        each=_ENTRY_2,
        code="ACK603",
        help="take a dump and read it: ackdoctor heap dump worker.hprof",
    ),
    Sign(
        pattern=r"clojure\.lang\.PersistentArrayMap",
        means="entries of the acker's pending map (1.x), among other uses of Clojure",
        each=_ORPHAN_1,
        code="ACK603",
        with_=r"java\.util\.HashMap\$Node",
        without=r"clojure\.lang\.PersistentVector",
        help="take a dump and read it: ackdoctor heap dump worker.hprof",
    ),
    Sign(
        pattern=r"com\.alibaba\.jstorm\.task\.acker\.AckObject",
        means="entries of the acker's pending map (JStorm): one for each root that has not come to an end",
        code="ACK603",
        help="take a dump and read it: ackdoctor heap dump worker.hprof",
    ),
    Sign(
        pattern=r"(?:org\.apache\.storm\.executor|com\.alibaba\.jstorm\.task\.comm)\.TupleInfo",
        means=_WAITED_FOR,
        code="ACK603",
        of=_SPOUT,
        grows=_SPOUT_GROWS,
        help=_SPOUT_HELP,
    ),
    Sign(  # executor.clj: (.put pending root-id [task-id message-id {:stream .. :values ..} start-time])
        pattern=r"clojure\.lang\.PersistentVector",
        means=f"{_WAITED_FOR} (1.x)",
        code="ACK603",
        of=_SPOUT,
        grows=_SPOUT_GROWS,
        with_=r"clojure\.lang\.PersistentArrayMap",
        help=_SPOUT_HELP,
    ),
    Sign(
        pattern=r"(?:org\.apache|backtype)\.storm\.tuple\.TupleImpl",
        means="tuples kept with the nodes of a ConcurrentHashMap: ShellBolt's inputs, which only an ack or a fail empties",
        code="ACK401",
        of="ShellBolt",
        grows="the inputs of a ShellBolt grow in every histogram: nothing takes them away but an ack or a fail",
        with_=r"java\.util\.concurrent\.ConcurrentHashMap\$Node",
        help="ackdoctor lint on the components: a path without ack, a buffer that nobody drains, ticks",
    ),
    Sign(
        pattern=r"(?:org\.apache|backtype)\.storm\.tuple\.TupleImpl",
        means="tuples that a bolt keeps, or that wait in a queue before a slow one",
        help="ackdoctor lint on the bolts: a buffer that nobody drains",
    ),
)


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class ClassTrend:
    """One class over time: instances at both ends, bytes gained, the line through them, and whether it only rose."""

    name: str
    first: int
    last: int
    gained: int  # bytes
    line: Trend
    monotone: bool
    sign: Sign | None = None


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Growth:
    """What histograms show together; `full_in` says when an -Xmx is reached, '' where it is not in sight.

    Without `dated` there are no times, and a rate is one per histogram.
    """

    points: int
    seconds: float
    dated: bool
    first_size: int
    last_size: int
    bytes_per_second: float
    fit: float
    rows: tuple[ClassTrend, ...]  # of Storm's signs first, then the largest gains
    full_in: str = ""
    limit: int = 0

    @property
    def telling(self) -> bool:
        """Whether these are enough histograms to tell what grows."""
        return self.points >= _FEWEST_POINTS

    @property
    def steady(self) -> bool:
        """Whether the heap as a whole grows along a line, whatever it is that grows."""
        gained = self.last_size - self.first_size
        return self.telling and self.fit >= _STRAIGHT and gained >= _NOTABLE_BYTES

    @property
    def most(self) -> ClassTrend:
        """The class that has gained most bytes."""
        return max(self.rows, key=lambda row: row.gained)


def growth(found: Sequence[Histogram], *, dated: bool, limit: int = 0) -> Growth:
    """The trends; `limit` is the -Xmx in bytes, 0 if nobody knows.  One histogram has rows and no trends."""
    names = {name for histogram in found for name in histogram.classes}
    rows = [_row(name, found, dated=dated) for name in names]
    growing = {row.name: row for row in rows if _grows(row, len(found))}
    told = [_signed(row, growing, single=len(found) == 1) for row in rows]
    whole = trend(_points([each.size for each in found], found, dated=dated))
    left = limit - found[-1].size
    full_in = ""
    if limit and left <= 0:
        full_in = "no time: what is alive is more than that"
    elif limit and dated and len(found) >= _FEWEST_POINTS and whole.per_second > 0 and whole.fit >= _STRAIGHT:
        full_in = filled_in(whole.per_second, left)
    seconds = ((found[-1].time_ms or 0) - (found[0].time_ms or 0)) / 1000 if dated else 0.0
    return Growth(
        points=len(found),
        seconds=seconds,
        dated=dated,
        first_size=found[0].size,
        last_size=found[-1].size,
        bytes_per_second=whole.per_second,
        fit=whole.fit,
        rows=tuple(sorted(told, key=lambda row: (row.sign is None, -row.gained, -row.last, row.name))),
        full_in=full_in,
        limit=limit,
    )


def _points(sizes: Sequence[int], found: Sequence[Histogram], *, dated: bool) -> list[GrowthPoint]:
    return [
        GrowthPoint(time_ms=(each.time_ms or 0) if dated else place * 1000, pending=size)
        for place, (each, size) in enumerate(zip(found, sizes, strict=True))
    ]


def _row(name: str, found: Sequence[Histogram], *, dated: bool) -> ClassTrend:
    amounts = [each.instances(name) for each in found]
    sizes = [each.classes.get(name, (0, 0))[1] for each in found]
    return ClassTrend(
        name=name,
        first=amounts[0],
        last=amounts[-1],
        gained=sizes[-1] - sizes[0],
        line=trend(_points(amounts, found, dated=dated)),
        monotone=all(before <= after for before, after in pairwise(amounts)),
    )


def _grows(row: ClassTrend, points: int) -> bool:
    return (
        points >= _FEWEST_POINTS
        and row.monotone
        and row.gained >= _NOTABLE_BYTES
        and row.line.fit >= _STRAIGHT
        and row.line.per_second > 0
    )


def _signed(row: ClassTrend, growing: dict[str, ClassTrend], *, single: bool) -> ClassTrend:
    """The row with what its growth means; of one histogram with what the class means at all."""
    for sign in SIGNS:
        if not re.fullmatch(sign.pattern, row.name):
            continue
        if single and not sign.with_:
            return _with(row, sign)
        if row.name in growing and _grows_so(row, sign, growing):
            return _with(row, sign)
    return row


def _with(row: ClassTrend, sign: Sign) -> ClassTrend:
    return ClassTrend(
        name=row.name,
        first=row.first,
        last=row.last,
        gained=row.gained,
        line=row.line,
        monotone=row.monotone,
        sign=sign,
    )


def _grows_so(row: ClassTrend, sign: Sign, growing: dict[str, ClassTrend]) -> bool:
    """Whether what must grow along does: the mark of a map whose entries they make up together; and nothing explains it."""
    least, most = _COMPANIONS
    along = any(least <= share <= most for share in _shares(row, sign.with_, growing))
    return (along or not sign.with_) and all(
        share < _EXPLAINS for share in _shares(row, sign.without, growing)
    )


def _shares(row: ClassTrend, pattern: str, growing: dict[str, ClassTrend]) -> list[float]:
    """How much as fast as the row those grow that are called so."""
    return [
        other.line.per_second / row.line.per_second
        for name, other in growing.items()
        if pattern and re.fullmatch(pattern, name)
    ]


def findings(grown: Growth, path: str, keeper: Keeper | None = None) -> tuple[Finding, ...]:
    """What grows, as findings; a single histogram has none, for it cannot tell a leak from a load."""
    return stamp(list(_findings(grown, path, keeper)))


def _findings(grown: Growth, path: str, keeper: Keeper | None) -> Iterator[Finding]:
    if not grown.telling:
        return
    for row in grown.rows:
        sign = row.sign
        if sign is None or not sign.code:
            continue
        acker = sign.of == ACKER
        unbounded = keeper is not None and not keeper.forgets
        message = f"{sign.grows}: an entry {stays(keeper)}" if acker else sign.grows
        yield Finding(
            code=sign.code,
            name=name_of(sign.code),
            severity=Severity.ERROR if acker and unbounded else Severity.WARNING,
            confidence=Confidence.MAY,
            site=Site(path, NOWHERE),
            message=message,
            component=sign.of,
            handler="",
            dialect="",
            evidence=HeapWitness(
                path=row.name,
                entries=row.last,
                size=row.last * sign.each,
                left=tuple(_course(row, sign, grown)),
            ),
            cause=f"{row.name}|{message}",
            help=sign.help,
        )


def _course(row: ClassTrend, sign: Sign, grown: Growth) -> Iterator[str]:
    """How it went, and what that comes to at the measured bytes of an entry."""
    per = "a second" if grown.dated else "a histogram"
    rate = row.line.per_second
    yield f"{row.first:,} at first, {row.last:,} at last: {rate:,.1f} {per} (R2 {row.line.fit:.2f})"
    if not sign.each or not grown.dated:
        return
    yield f"at {sign.each} bytes an entry, its share of the table included, {_amount(rate * sign.each)} a second"
    left = grown.limit - grown.last_size
    if left > 0:
        yield f"they alone fill the rest of {grown.limit >> 20:,} MB in {filled_in(rate * sign.each, left)}"


def _amount(size: float) -> str:
    return f"{size / 1e3:,.2f} kB" if size < 100_000 else f"{size / 1e6:,.2f} MB"  # noqa: PLR2004

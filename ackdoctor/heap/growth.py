"""Histograms over time: which of Storm's classes grow, at what rate, what that means, and when the heap is full."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ackdoctor.heap.jvm.histogram import Histogram
from ackdoctor.heap.signs import LONG, MAP_1, NODE, SIGNS, SPOUTS, Sign
from ackdoctor.model.finding import Confidence, Finding, HeapWitness, Severity, stamp
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.verdict import GrowthPoint
from ackdoctor.tracer.judge.entries import ACKER
from ackdoctor.tracer.judge.growth import Trend, filled_in, trend
from ackdoctor.tracer.judge.keeping import Keeper, stays
from ackdoctor.tracer.judge.labels import name_of

__all__ = ["TOP", "ClassTrend", "Growth", "findings", "growth"]

TOP = 20  # the largest classes that are asked whether they are of acking
_STRAIGHT = 0.9  # R2
_NOTABLE_BYTES = 64 * 1024  # between the first and the last histogram
_FEWEST_POINTS = 3
_TRACKED_1 = 200  # bytes of a tracked entry of 1.x at most
_COMPANIONS = (0.8, 1.25)  # how much as fast a class grows that grows with another
_EXPLAINS = 0.7  # how much as fast one grows that leaves too little for anything else
_SHARE, _SHARE_OF_SHARED = 0.01, 0.1  # of the heap, from which on a class of acking counts
_FEWEST_ENTRIES, _TIMES_THE_SPOUTS = 1_000, 4  # of ackers, more than this worker's spouts explain


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class ClassTrend:
    """One class over time: instances at both ends, bytes at last and gained, the line through them, and whether it only rose.

    `growing`: it grows as its `sign` says.  `bounds`: how many of the last are what the sign means, at least and at most.
    """

    name: str
    first: int
    last: int
    size: int
    gained: int  # bytes
    line: Trend
    monotone: bool
    sign: Sign | None = None
    growing: bool = False
    bounds: tuple[int, int] | None = None

    @property
    def means(self) -> str:
        """What the instances are, as far as that is known."""
        if self.sign is None:
            return ""
        if self.bounds is None:
            because = f": {self.sign.because}" if self.growing and self.sign.because else ""
            return f"{self.sign.means}{because}"
        least, most = self.bounds
        return (
            f"{least:,} to {most:,} of them are {self.sign.means}"
            if self.growing
            else (f"at most {most:,} of them are {self.sign.means}; a histogram cannot tell how many")
        )


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
    rows: tuple[
        ClassTrend, ...
    ]  # what grows as a sign says first, then the largest gains; of one histogram the largest
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

    @property
    def kept(self) -> ClassTrend | None:
        """The row whose sign explains the growth, in the order of the table."""
        grown = [row for row in self.rows if row.sign is not None and row.growing]
        return min(grown, key=lambda row: _order(row.sign), default=None)

    @property
    def acking(self) -> tuple[ClassTrend, ...]:
        """Of the largest classes those that are of acking, and large enough to matter."""
        largest = sorted(self.rows, key=lambda row: -row.size)[:TOP]
        return tuple(
            row for row in largest if row.sign is not None and row.sign.acking and self._matters(row)
        )

    def _matters(self, row: ClassTrend) -> bool:
        if row.bounds is None:
            return row.size >= _SHARE * self.last_size
        return row.bounds[1] * _TRACKED_1 >= _SHARE_OF_SHARED * self.last_size

    def counted(self, pattern: str) -> int:
        """Instances of these classes in the last histogram."""
        return sum(row.last for row in self.rows if re.fullmatch(pattern, row.name))

    @property
    def unexplained(self) -> tuple[int, int] | None:
        """Entries of ackers (2.x) and what the spouts of this worker wait for, where these are far fewer; else None."""
        entries, waiting = self.counted(SIGNS[0].pattern), self.counted(SPOUTS)
        few = entries < max(_FEWEST_ENTRIES, _TIMES_THE_SPOUTS * waiting)
        return None if few or not waiting else (entries, waiting)


def _order(sign: Sign | None) -> int:
    return len(SIGNS) if sign is None else SIGNS.index(sign)


def growth(found: Sequence[Histogram], *, dated: bool, limit: int = 0) -> Growth:
    """The trends; `limit` is the -Xmx in bytes, 0 if nobody knows.  One histogram has rows and no trends."""
    names = {name for histogram in found for name in histogram.classes}
    rows = [_row(name, found, dated=dated) for name in names]
    growing = {row.name: row for row in rows if _grows(row, len(found))}
    told = [_signed(row, growing, found) for row in rows]
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
        rows=tuple(
            sorted(told, key=lambda row: (not row.growing, -row.gained, -row.size, -row.last, row.name))
        ),
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
        size=sizes[-1],
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


def _signed(row: ClassTrend, growing: dict[str, ClassTrend], found: Sequence[Histogram]) -> ClassTrend:
    """The row with what its growth means; if it does not grow so, with what the class is at all."""
    signs = [sign for sign in SIGNS if re.fullmatch(sign.pattern, row.name)]
    for sign in signs:
        if row.name in growing and _grows_so(row, sign, growing):
            bounds = _bounds(row, found) if sign.shared else None
            return replace(row, sign=sign, growing=True, bounds=bounds)
    for sign in signs:
        if sign.exact:
            return replace(row, sign=sign)
        if sign.shared and len(found) < _FEWEST_POINTS:
            return replace(row, sign=sign, bounds=(0, _most(found[-1])))
    return row


def _bounds(row: ClassTrend, found: Sequence[Histogram]) -> tuple[int, int]:
    """Entries of 1.x's ackers: those that came since the first histogram, and with those that may have been there before."""
    came = row.last - row.first
    return came, min(came + _most(found[0]), _most(found[-1]))


def _most(histogram: Histogram) -> int:
    """Each entry of 1.x's ackers has a Clojure map, a node and a Long of its own, its root."""
    nodes, longs = (
        sum(amount for name, (amount, _) in histogram.classes.items() if re.fullmatch(pattern, name))
        for pattern in (NODE, LONG)
    )
    return min(histogram.instances(MAP_1), nodes, longs)


def _grows_so(row: ClassTrend, sign: Sign, growing: dict[str, ClassTrend]) -> bool:
    """Whether what must grow along does: the mark of a map whose entries they make up together; and nothing explains it."""
    least, most = _COMPANIONS
    along = not sign.with_ or any(least <= share <= most for share in _shares(row, sign.with_, growing))
    fast = not sign.not_slower or any(least <= share for share in _shares(row, sign.not_slower, growing))
    return along and fast and all(share < _EXPLAINS for share in _shares(row, sign.without, growing))


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
        if sign is None or not sign.code or not row.growing:
            continue
        entries = row.last if row.bounds is None else row.bounds[0]
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
                entries=entries,
                size=entries * sign.each,
                left=tuple(_course(row, sign, grown)),
            ),
            cause=f"{row.name}|{message}",
            help=sign.help,
        )


def _course(row: ClassTrend, sign: Sign, grown: Growth) -> Iterator[str]:
    """How it went, and what that comes to at the measured bytes of an entry."""
    per = "a second" if grown.dated else "a histogram"
    rate = row.line.per_second
    if row.bounds is None:
        yield f"{row.first:,} at first, {row.last:,} at last: {rate:,.1f} {per} (R2 {row.line.fit:.2f})"
    else:
        came, most = row.bounds
        rate = came / (grown.seconds if grown.dated else grown.points - 1)
        yield f"{came:,} came after the first histogram: {rate:,.1f} {per}; before, there were {most - came:,} at most"
        yield f"the other {row.last - most:,} to {row.last - came:,} are Clojure maps of other uses; a dump counts the acker's"
    if not sign.each or not grown.dated:
        return
    yield f"at {sign.each} bytes an entry, its share of the table included, {_amount(rate * sign.each)} a second"
    left = grown.limit - grown.last_size
    if left > 0:
        yield f"they alone fill the rest of {grown.limit >> 20:,} MB in {filled_in(rate * sign.each, left)}"


def _amount(size: float) -> str:
    return f"{size / 1e3:,.2f} kB" if size < 100_000 else f"{size / 1e6:,.2f} MB"  # noqa: PLR2004

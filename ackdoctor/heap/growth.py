"""Class histograms over time: which of Storm's classes grow, how fast, what that means, and when the heap is full."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ackdoctor.heap.jvm.histogram import Histogram
from ackdoctor.heap.signs import LONG, MAP_1, NODE, SIGNS, SPOUTS, Sign
from ackdoctor.model.acker import AckerVersion
from ackdoctor.model.finding import Confidence, Finding, HeapWitness, Severity, stamp
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.trace import GrowthPoint
from ackdoctor.rulebook import rule_name, words
from ackdoctor.tracer.acker_findings import ACKER, Trend, filled_in, stays, trend

__all__ = ["TOP", "ClassTrend", "Growth", "findings", "growth"]

TOP = 20  # the largest classes, among which those of acking are looked for
_STRAIGHT = 0.9  # R2
_NOTABLE_BYTES = 64 * 1024  # between the first and the last histogram
_FEWEST_POINTS = 3
_TRACKED_1 = 200  # bytes of a tracked entry of 1.x at most
_COMPANIONS = (0.8, 1.25)  # ratio of rates of two classes that grow together
_EXPLAINS = 0.7  # ratio of rates above which another class explains the growth
_SHARE, _SHARE_OF_SHARED = 0.01, 0.1  # of the heap: below it a class of acking does not matter
_FEWEST_ENTRIES, _TIMES_THE_SPOUTS = 1_000, 4  # below these, the worker's own spouts explain the entries


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class ClassTrend:
    """One class over time: instances at both ends, bytes at the end and gained, the fitted line, and whether it is monotone.

    `growing`: it grows as its `sign` describes. `bounds`: least and most of the last instances that the sign means.
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
        """What the instances are; empty if unknown."""
        if self.sign is None:
            return ""
        if self.bounds is None:
            because = f": {self.sign.because}" if self.growing and self.sign.because else ""
            return f"{self.sign.means}{because}"
        least, most = self.bounds
        return (
            f"{least:,} to {most:,} of them are {self.sign.means}"
            if self.growing
            else (f"at most {most:,} of them are {self.sign.means}; a histogram cannot count them")
        )


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Growth:
    """What several histograms show together; `full_in` is when the heap reaches -Xmx, empty if that is not foreseeable.

    Without `dated` the histograms have no times, and rates are per histogram.
    """

    points: int
    seconds: float
    dated: bool
    first_size: int
    last_size: int
    bytes_per_second: float
    fit: float
    rows: tuple[ClassTrend, ...]  # growing signs first, then the largest gains; for one histogram the largest
    full_in: str = ""
    limit: int = 0

    @property
    def sufficient(self) -> bool:
        """Whether there are enough histograms to see growth."""
        return self.points >= _FEWEST_POINTS

    @property
    def steady(self) -> bool:
        """Whether the whole heap grows along a line."""
        gained = self.last_size - self.first_size
        return self.sufficient and self.fit >= _STRAIGHT and gained >= _NOTABLE_BYTES

    @property
    def most(self) -> ClassTrend:
        """The class that gained most bytes."""
        return max(self.rows, key=lambda row: row.gained)

    @property
    def cause(self) -> ClassTrend | None:
        """The row whose sign explains the growth; the first in the order of `SIGNS`."""
        grown = [row for row in self.rows if row.sign is not None and row.growing]
        return min(grown, key=lambda row: _order(row.sign), default=None)

    @property
    def acking(self) -> tuple[ClassTrend, ...]:
        """Those of the largest classes that belong to acking and are large enough to matter."""
        largest = sorted(self.rows, key=lambda row: -row.size)[:TOP]
        return tuple(
            row for row in largest if row.sign is not None and row.sign.acking and self._matters(row)
        )

    def _matters(self, row: ClassTrend) -> bool:
        if row.bounds is None:
            return row.size >= _SHARE * self.last_size
        return row.bounds[1] * _TRACKED_1 >= _SHARE_OF_SHARED * self.last_size

    def counted(self, pattern: str) -> int:
        """Instances of the classes that match the pattern, in the last histogram."""
        return sum(row.last for row in self.rows if re.fullmatch(pattern, row.name))

    @property
    def unexplained(self) -> tuple[int, int] | None:
        """Entries of ackers (2.x) and of this worker's spouts, if the spouts have far fewer; else None."""
        entries, waiting = self.counted(SIGNS[0].pattern), self.counted(SPOUTS)
        few = entries < max(_FEWEST_ENTRIES, _TIMES_THE_SPOUTS * waiting)
        return None if few or not waiting else (entries, waiting)


def _order(sign: Sign | None) -> int:
    return len(SIGNS) if sign is None else SIGNS.index(sign)


def growth(found: Sequence[Histogram], *, dated: bool, limit: int = 0) -> Growth:
    """Return the trends. `limit` is the -Xmx in bytes, 0 if unknown. One histogram gives rows without trends."""
    names = {name for histogram in found for name in histogram.classes}
    rows = [_row(name, found, dated=dated) for name in names]
    growing = {row.name: row for row in rows if _grows(row, len(found))}
    signed = [_with_sign(row, growing, found) for row in rows]
    whole = trend(_points([each.size for each in found], found, dated=dated))
    left = limit - found[-1].size
    full_in = ""
    if limit and left <= 0:
        full_in = "no time: the live objects already exceed it"
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
            sorted(signed, key=lambda row: (not row.growing, -row.gained, -row.size, -row.last, row.name))
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


def _with_sign(row: ClassTrend, growing: dict[str, ClassTrend], found: Sequence[Histogram]) -> ClassTrend:
    """Return the row with the sign that its growth matches, or else with the sign of its class."""
    signs = [sign for sign in SIGNS if re.fullmatch(sign.pattern, row.name)]
    for sign in signs:
        if row.name in growing and _matches(row, sign, growing):
            bounds = _bounds(row, found) if sign.shared else None
            return replace(row, sign=sign, growing=True, bounds=bounds)
    for sign in signs:
        if sign.exact:
            return replace(row, sign=sign)
        if sign.shared and len(found) < _FEWEST_POINTS:
            return replace(row, sign=sign, bounds=(0, _most(found[-1])))
    return row


def _bounds(row: ClassTrend, found: Sequence[Histogram]) -> tuple[int, int]:
    """Bounds of 1.x's acker entries: those since the first histogram, and these plus those that it may have held."""
    new = row.last - row.first
    return new, min(new + _most(found[0]), _most(found[-1]))


def _most(histogram: Histogram) -> int:
    """Upper bound of 1.x's acker entries: each has its own Clojure map, hash node and Long (the root)."""
    nodes, longs = (
        sum(amount for name, (amount, _) in histogram.classes.items() if re.fullmatch(pattern, name))
        for pattern in (NODE, LONG)
    )
    return min(histogram.instances(MAP_1), nodes, longs)


def _matches(row: ClassTrend, sign: Sign, growing: dict[str, ClassTrend]) -> bool:
    """Whether the classes grow that an entry consists of, and no other class explains the growth."""
    least, most = _COMPANIONS
    along = not sign.with_ or any(least <= share <= most for share in _shares(row, sign.with_, growing))
    fast = not sign.not_slower or any(least <= share for share in _shares(row, sign.not_slower, growing))
    return along and fast and all(share < _EXPLAINS for share in _shares(row, sign.without, growing))


def _shares(row: ClassTrend, pattern: str, growing: dict[str, ClassTrend]) -> list[float]:
    """Rates of the classes that match the pattern, relative to the row's."""
    return [
        other.line.per_second / row.line.per_second
        for name, other in growing.items()
        if pattern and re.fullmatch(pattern, name)
    ]


def findings(grown: Growth, path: str, keeper: AckerVersion | None = None) -> tuple[Finding, ...]:
    """Return the growth as findings. A single histogram has none: it cannot tell a leak from load."""
    return stamp(list(_findings(grown, path, keeper)))


def _findings(grown: Growth, path: str, keeper: AckerVersion | None) -> Iterator[Finding]:
    if not grown.sufficient:
        return
    for row in grown.rows:
        sign = row.sign
        if sign is None or not sign.code or not row.growing:
            continue
        entries = row.last if row.bounds is None else row.bounds[0]
        acker = sign.of == ACKER
        unbounded = keeper is not None and not keeper.forgets
        text = words(sign.code, sign.grows, stays=stays(keeper))
        yield Finding(
            code=sign.code,
            name=rule_name(sign.code),
            severity=Severity.ERROR if acker and unbounded else Severity.WARNING,
            confidence=Confidence.MAY,
            site=Site(path, NOWHERE),
            message=text.message,
            component=sign.of,
            handler="",
            dialect="",
            evidence=HeapWitness(
                path=row.name,
                entries=entries,
                size=entries * sign.each,
                left=tuple(_growth_lines(row, sign, grown)),
            ),
            cause=f"{row.name}|{text.case}",
            help=text.help,
        )


def _growth_lines(row: ClassTrend, sign: Sign, grown: Growth) -> Iterator[str]:
    """Instances and rate; bytes and time to a full heap, if the size of an entry is known."""
    per = "a second" if grown.dated else "a histogram"
    rate = row.line.per_second
    if row.bounds is None:
        yield f"{row.first:,} at first, {row.last:,} at last: {rate:,.1f} {per} (R2 {row.line.fit:.2f})"
    else:
        new, most = row.bounds
        rate = new / (grown.seconds if grown.dated else grown.points - 1)
        yield f"{new:,} since the first histogram: {rate:,.1f} {per}; at most {most - new:,} before it"
        yield f"the other {row.last - most:,} to {row.last - new:,} are other Clojure maps; a dump counts the acker's exactly"
    if not sign.each or not grown.dated:
        return
    yield f"at {sign.each} bytes an entry, its share of the table included, {_amount(rate * sign.each)} a second"
    left = grown.limit - grown.last_size
    if left > 0:
        yield f"they alone fill the rest of {grown.limit >> 20:,} MB in {filled_in(rate * sign.each, left)}"


def _amount(size: float) -> str:
    return f"{size / 1e3:,.2f} kB" if size < 100_000 else f"{size / 1e6:,.2f} MB"  # noqa: PLR2004

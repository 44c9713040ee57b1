"""Class histograms of a JVM: parsing, and which of Storm's classes grow, how fast, and when the heap is full."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import pairwise

from ackdoctor.heap.signs import LONG, MAP_1, NODE, SIGNS, SPOUTS, Sign
from ackdoctor.heap.sweep import java_name
from ackdoctor.model.trace import GrowthPoint
from ackdoctor.tracer.acker_findings import Trend, filled_in, trend

_HEAD = re.compile(r"\bnum\s+(?:#instances\s+#bytes|(?P<openj9>object count\s+total size)\b)")
_SEPARATORS = ",.'\u2019\u00a0\u202f"  # of thousands, from a spreadsheet or a monitoring tool
# instances or bytes; 18 digits are enough for any heap
_COUNT = rf"([0-9]{{1,3}}(?:[{_SEPARATORS}][0-9]{{3}}){{1,5}}(?![{_SEPARATORS}0-9])|[0-9]{{1,18}})"
_ROW = re.compile(rf"^\s*[0-9]+:\s+{_COUNT}\s+{_COUNT}\s+([^\s0-9]\S*)")
_ROW_OF_OPENJ9 = re.compile(rf"^\s*[0-9]+\s+{_COUNT}\s+{_COUNT}\s+([^\s0-9]\S*)$")
# a damaged row still has its number, or the two counts and a class
_DAMAGED = re.compile(r"^\s*(?:[0-9]+:(?:\s|$)|\S{1,30}\s+[0-9]+\s+[0-9]+\s+[A-Za-z\[])")
_DAMAGED_OF_OPENJ9 = re.compile(r"^\s*\S{1,30}\s+[0-9]+\s+[0-9]+\s+[A-Za-z\[]")
_RELEVANT = re.compile(r"[0-9]|\bnum\b|full gc\)")
_LONGEST_NAME = 1_000
_LONGEST_SHOWN = 60  # characters of a damaged row
# the row behind a log prefix
_AFTER_PREFIX = re.compile(
    rf"(?:^|\s)(\d+:\s+{_COUNT}\s+{_COUNT}\s+\S|\d+\s+\d+\s+\d+\s+\S+$|Total\s+(?::\s+)?{_COUNT}\s+\d)"
)
_WITH_GARBAGE, _WITHOUT = "(before full gc)", "(after full gc)"
_TOTAL = re.compile(rf"^\s*Total\s+(?::\s+)?{_COUNT}\s+{_COUNT}(?![0-9])")
_ISO = re.compile(r"\b(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,6}))?(Z|[+-]\d\d:?\d\d)?")
_JVM = re.compile(r"^([0-9]{1,10}):$")  # jcmd's first line
_UPTIME = re.compile(r"^\[([0-9]{1,12})[.,]([0-9]{3})s\]")
_EPOCH = re.compile(r"^\s*(1[0-9]{9})(\d{3})?(?:\.\d+)?\s*$")
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
# `date`, whose order of parts and clock depend on the locale
_DATE = re.compile(
    r"^[^\W\d]{2,3}\.?,? (?=.{15,32}$)"
    rf"(?=.*?\b(?P<month>{'|'.join(_MONTHS)})\b)"
    r"(?=.*?(?<![\d:+-])(?P<day>\d{1,2})\b(?!:))"
    r"(?=.*?(?<![\d:+-])(?P<year>\d{4})\b)"
    r"(?=.*?\b(?P<hour>\d{1,2}):(?P<rest>\d\d:\d\d)(?: (?P<half>[AP]M)\b)?)"
)
_NOON = 12  # hours of a 12-hour clock
_FASTEST_MS = 100  # between two histograms of one JVM


@dataclass(slots=True)
class Histogram:
    """Instances and bytes by class; `time_ms` is None if the time is unknown.

    `whole`: the last line (Total) is present; its `total` bytes also count classes that were cut away.  `garbage`:
    taken before a full collection, so it counts unreachable objects.  `jvm` is the process id that jcmd printed.
    """

    classes: dict[str, tuple[int, int]] = field(default_factory=dict)
    time_ms: int | None = None
    line: int = 0
    whole: bool = False
    total: int = 0
    garbage: bool = False
    jvm: str = ""
    lost: list[tuple[int, str]] = field(default_factory=list)  # rows that cannot be read: line, text
    contradicts: str = ""  # the contradiction between the rows and Total
    last_line: int = 0  # the line number of Total

    @property
    def size(self) -> int:
        """Bytes of all classes."""
        return self.total or sum(size for _, size in self.classes.values())

    def instances(self, name: str) -> int:
        """Return the number of instances of a class."""
        return self.classes.get(name, (0, 0))[0]


def parse(lines: Iterable[str]) -> Iterator[Histogram]:
    """Yield each histogram of a text; lines between histograms only supply the time of the next one."""
    current: Histogram | None = None
    next_ = Histogram()
    before = ""  # prefix of each line of this histogram
    row_of = _ROW
    for number, whole_line in enumerate(lines, start=1):
        if current is None and not _RELEVANT.search(whole_line):
            continue
        line = whole_line
        if head := _HEAD.search(line):
            before = line[: head.start()].strip()
            row_of = _ROW_OF_OPENJ9 if head["openj9"] else _ROW
        elif before and (behind := _AFTER_PREFIX.search(line)):
            line = line[behind.start(1) :]
        row = row_of.match(line)
        if head or (row and current is None):
            if current is not None:
                yield current
            current, next_ = next_, Histogram()
            current.line, current.time_ms = number, _time(before) or current.time_ms
        if row and current is not None:
            name = row[3][:_LONGEST_NAME]
            # OpenJ9 writes a class as its class file does
            name = java_name(name.replace("/", ".") if row_of is _ROW_OF_OPENJ9 else name)
            amount, size = current.classes.get(name, (0, 0))
            current.classes[name] = (amount + _number(row[1]), size + _number(row[2]))
        elif current is not None and (last := _TOTAL.match(line)):
            current.whole, current.total = True, _number(last[2])
            _compare(current, _number(last[1]), number)
            yield current
            current, before, row_of = None, "", _ROW
        elif current is not None:
            damaged = _DAMAGED if row_of is _ROW else _DAMAGED_OF_OPENJ9
            if not head and damaged.match(line):
                current.lost.append((number, line.strip()[:_LONGEST_SHOWN]))
        else:
            if pid_line := _JVM.match(line.strip()):
                next_.jvm = pid_line[1]
            next_.time_ms = _time(line.strip()) or next_.time_ms
            next_.garbage = (next_.garbage or _WITH_GARBAGE in line) and _WITHOUT not in line
    if current is not None:
        yield current


def _number(text: str) -> int:
    return int("".join(filter(str.isdecimal, text)))


def _compare(histogram: Histogram, instances: int, line: int) -> None:
    """Check the rows against Total; classes may be missing, but the rows cannot exceed it."""
    counted = sum(amount for amount, _ in histogram.classes.values())
    size = sum(each for _, each in histogram.classes.values())
    histogram.last_line = line
    if counted > instances or size > histogram.total:
        histogram.contradicts = (
            f"the rows add up to {counted:,} instances and {size:,} bytes, more than Total"
        )


def most_common_jvm(found: Iterable[Histogram]) -> str:
    """Return the JVM with the most histograms, on a tie the later one; '' if unknown."""
    amounts: dict[str, int] = {}
    for histogram in found:
        amounts[histogram.jvm] = amounts.pop(histogram.jvm, 0) + 1
    return max(reversed(amounts), key=lambda jvm: (jvm != "", amounts[jvm]), default="")


def timed(
    found: Sequence[Histogram], *, every_ms: int | None, fallback: Sequence[int]
) -> tuple[bool, Sequence[Histogram]]:
    """Sort the histograms by time; also return whether all times differ, so that rates make sense.

    `every_ms` overrides the times in the files.  `fallback` has the modification time of each histogram's file; if these
    times are closer together than a JVM can write histograms, the files were copied and the given order counts.
    """
    if every_ms is not None:
        for place, histogram in enumerate(found):
            histogram.time_ms = place * every_ms
        return True, found
    if any(histogram.time_ms is None for histogram in found):
        if max(fallback) - min(fallback) < _FASTEST_MS * (len(found) - 1):  # of copies
            return False, found
        for histogram, time_ms in zip(found, fallback, strict=True):
            histogram.time_ms = time_ms
    ordered = sorted(found, key=lambda histogram: histogram.time_ms or 0)
    times = [histogram.time_ms for histogram in ordered]
    return len(set(times)) == len(times), ordered


def _time(line: str) -> int | None:
    """Return milliseconds since the epoch or the JVM's start; a time without a zone counts as UTC, as only differences matter."""
    if found := _UPTIME.match(line):
        return int(found[1]) * 1000 + int(found[2])
    if found := _EPOCH.match(line):
        return int(found[1]) * 1000 + int(found[2] or 0)
    if found := _ISO.search(line):
        zone = "" if found[4] in {None, "Z"} else f"{found[4][:3]}:{found[4][-2:]}"
        moment = _moment(f"{found[1]}T{found[2]}{zone}")
        return None if moment is None else moment + int((found[3] or "0").ljust(3, "0")[:3])
    if found := _DATE.match(line):
        hour = int(found["hour"])
        if found["half"]:
            hour = hour % _NOON + _NOON * (found["half"] == "PM")
        month = _MONTHS.index(found["month"]) + 1
        return _moment(f"{found['year']}-{month:02}-{int(found['day']):02}T{hour:02}:{found['rest']}")
    return None


def _moment(iso: str) -> int | None:
    """Return milliseconds since the epoch; None for an invalid day or hour."""
    try:
        moment = datetime.fromisoformat(iso)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp() * 1000)
    except ValueError:
        return None


TOP = 20  # the largest classes, among which those of acking are looked for
_STRAIGHT = 0.9  # R2
_NOTABLE_BYTES = 64 * 1024  # between the first and the last histogram
_FEWEST_POINTS = 3
_TRACKED_1 = 200  # bytes of a tracked entry of 1.x at most
_COMPANIONS = (0.8, 1.25)  # ratio of rates of two classes that grow together
_EXPLAINS = 0.7  # ratio of rates above which another class explains the growth
_SHARE, _SHARE_OF_SHARED = 0.01, 0.1  # of the heap: below it a class of acking does not matter
_TIMES_FALLEN = 4
_FEWEST_ENTRIES, _TIMES_THE_SPOUTS = 1_000, 4  # below these, the worker's own spouts explain the entries


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class ClassTrend:
    """One class over time: instances at both ends, bytes at the end and gained, the fitted line, and whether it is monotone.

    `growing`: it grows as its `sign` describes. `bounds`: least and most of the last instances that the sign means.
    `fall`: the instances before and after its first fall to a fraction, if it only grows before and after falls.
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
    fall: tuple[int, int] | None = None

    @property
    def rises(self) -> bool:
        """Whether it grows along a line, and by enough to matter."""
        straight = self.monotone and self.line.fit >= _STRAIGHT and self.line.per_second > 0
        return straight and self.gained >= _NOTABLE_BYTES

    @property
    def swells(self) -> bool:
        """Whether it never falls, and more than doubles by an amount that matters."""
        return self.monotone and self.last > 2 * self.first and self.gained >= _NOTABLE_BYTES

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
    def restarted(self) -> ClassTrend | None:
        """A pending map that grows, falls to a fraction and grows again, as after a restart of the worker."""
        return next((row for row in self._pending_maps() if row.fall is not None), None)

    @property
    def uneven(self) -> ClassTrend | None:
        """A pending map that never falls and more than doubles, but not along a line."""
        return next((row for row in self._pending_maps() if row.swells and not row.rises), None)

    def _pending_maps(self) -> Iterator[ClassTrend]:
        return (row for row in self.rows if row.name == MAP_1 or (row.sign and row.sign.code))

    @property
    def most(self) -> ClassTrend:
        """The class that gained most bytes."""
        return max(self.rows, key=lambda row: row.gained)

    @property
    def cause(self) -> ClassTrend | None:
        """The row whose sign explains the growth; the first in the order of `SIGNS`."""
        return next((row for sign in SIGNS for row in self.rows if row.growing and row.sign is sign), None)

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


def growth(found: Sequence[Histogram], *, dated: bool, limit: int = 0) -> Growth:
    """Return the trends. `limit` is the -Xmx in bytes, 0 if unknown. One histogram gives rows without trends."""
    times_ms = [each.time_ms or 0 for each in found] if dated else [1000 * at for at in range(len(found))]
    rows = [_row(name, found, times_ms) for name in {name for each in found for name in each.classes}]
    sufficient = len(found) >= _FEWEST_POINTS
    growing = {row.name: row for row in rows if sufficient and row.rises}
    signed = [_with_sign(row, growing, found) for row in rows]
    whole = _line(times_ms, [each.size for each in found])
    left = limit - found[-1].size
    full_in = ""
    if limit and left <= 0:
        full_in = "no time: the live objects already exceed it"
    elif limit and dated and sufficient and whole.per_second > 0 and whole.fit >= _STRAIGHT:
        full_in = filled_in(whole.per_second, left)
    return Growth(
        points=len(found),
        seconds=(times_ms[-1] - times_ms[0]) / 1000 if dated else 0.0,
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


def _line(times_ms: Sequence[int], amounts: Sequence[int]) -> Trend:
    points = zip(times_ms, amounts, strict=True)
    return trend([GrowthPoint(time_ms=time_ms, pending=amount) for time_ms, amount in points])


def _row(name: str, found: Sequence[Histogram], times_ms: Sequence[int]) -> ClassTrend:
    amounts, sizes = zip(*(each.classes.get(name, (0, 0)) for each in found), strict=True)
    return ClassTrend(
        name=name,
        first=amounts[0],
        last=amounts[-1],
        size=sizes[-1],
        gained=sizes[-1] - sizes[0],
        line=_line(times_ms, amounts),
        monotone=_is_monotone(amounts),
        fall=_fall(amounts),
    )


def _is_monotone(amounts: Sequence[int]) -> bool:
    return all(before <= after for before, after in pairwise(amounts))


def _fall(amounts: Sequence[int]) -> tuple[int, int] | None:
    """Return the amounts around the first fall to less than a quarter; rotation drops at most half of a map."""
    falls = [
        at
        for at, (before, after) in enumerate(pairwise(amounts), start=1)
        if before >= _FEWEST_ENTRIES and after * _TIMES_FALLEN < before
    ]
    runs = [amounts[begin:end] for begin, end in pairwise((0, *falls, len(amounts)))]
    grows = any(len(run) >= _FEWEST_POINTS and run[-1] - run[0] >= _FEWEST_ENTRIES for run in runs)
    return (
        (amounts[falls[0] - 1], amounts[falls[0]])
        if falls and grows and all(map(_is_monotone, runs))
        else None
    )


def _with_sign(row: ClassTrend, growing: dict[str, ClassTrend], found: Sequence[Histogram]) -> ClassTrend:
    """Return the row with the sign that its growth matches, or else with the sign of its class."""
    signs = [sign for sign in SIGNS if re.fullmatch(sign.pattern, row.name)]
    for sign in signs:
        if row.name in growing and _matches(row, sign, growing):
            new = row.last - row.first
            most = min(new + _most(found[0]), _most(found[-1]))  # some of the first may be gone
            return replace(row, sign=sign, growing=True, bounds=(new, most) if sign.shared else None)
    for sign in signs:
        if not sign.with_:
            return replace(row, sign=sign)
        if sign.shared and len(found) < _FEWEST_POINTS:
            return replace(row, sign=sign, bounds=(0, _most(found[-1])))
    return row


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

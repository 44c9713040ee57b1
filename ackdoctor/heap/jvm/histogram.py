"""Class histograms as `jcmd PID GC.class_histogram` and `jmap -histo` print them, alone or many in one file.

     num     #instances         #bytes  class name (module)
    -------------------------------------------------------
       1:       1000000       40000000  org.apache.storm.daemon.Acker$AckObject

OpenJ9 says `object count` and `total size` and has no colon (runtime/jcl/common/jclvm.c); `jhsdb jmap --histo` ends in `Total : `.
Neither says when it was taken.  A line before it may (`date`, an ISO time, seconds since the epoch); else it
is the file's own time, or what the user says about the time between them.  In a log a prefix may come before
every line: what a collector of logs puts there (`kubectl logs --timestamps`), or the JVM itself, which with
`-Xlog:gc+classhisto*=trace` prints one histogram before each full collection and one after it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

__all__ = ["Histogram", "parse", "timed", "told_most"]

_HEAD = re.compile(r"\bnum\s+(?:#instances\s+#bytes|(?P<openj9>object count\s+total size)\b)")
_COUNT = r"([0-9]{1,18})"  # of instances, of bytes: 18 digits fill any heap
_ROW = re.compile(rf"^\s*[0-9]+:\s+{_COUNT}\s+{_COUNT}\s+(\S+)")
_ROW_OF_OPENJ9 = re.compile(rf"^\s*[0-9]+\s+{_COUNT}\s+{_COUNT}\s+(\S+)$")
# what has been a row: its number, or the two counts and a class
_DAMAGED = re.compile(r"^\s*(?:[0-9]+:(?:\s|$)|\S{1,30}\s+[0-9]+\s+[0-9]+\s+[A-Za-z\[])")
_DAMAGED_OF_OPENJ9 = re.compile(r"^\s*\S{1,30}\s+[0-9]+\s+[0-9]+\s+[A-Za-z\[]")
_MAY_TELL = re.compile(r"[0-9]|\bnum\b|full gc\)")
_LONGEST_NAME = 1_000
_SHOWN = 60  # characters of a damaged row
# where a line's own words begin
_BEHIND = re.compile(r"(?:^|\s)(\d+:\s+\d+\s+\d+\s+\S|\d+\s+\d+\s+\d+\s+\S+$|Total\s+(?::\s+)?\d+\s+\d)")
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
_NOON = 12  # of a clock that says AM and PM
_ARRAYS: Mapping[str, str] = {
    "[B": "byte[]",
    "[C": "char[]",
    "[D": "double[]",
    "[F": "float[]",
    "[I": "int[]",
    "[J": "long[]",
    "[S": "short[]",
    "[Z": "boolean[]",
}


@dataclass(slots=True)
class Histogram:
    """Instances and bytes by class; `time_ms` is None where nothing says when.

    `whole` if it has its last line, whose `total` bytes also count classes that were cut away.  `garbage`
    if it was taken before a full collection and counts what that takes away.  `jvm` is the id of its process, where
    jcmd has said it.
    """

    classes: dict[str, tuple[int, int]] = field(default_factory=dict)
    time_ms: int | None = None
    line: int = 0
    whole: bool = False
    total: int = 0
    garbage: bool = False
    jvm: str = ""
    lost: list[tuple[int, str]] = field(default_factory=list)  # rows that cannot be read: line, text
    contradicts: str = ""  # why its rows cannot be believed
    last_line: int = 0  # that of Total

    @property
    def size(self) -> int:
        """Bytes of all classes."""
        return self.total or sum(size for _, size in self.classes.values())

    def instances(self, name: str) -> int:
        """How many there were of a class."""
        return self.classes.get(name, (0, 0))[0]


def parse(lines: Iterable[str]) -> Iterator[Histogram]:
    """Return each histogram of a text. Lines around them are skipped, apart from times for the next one."""
    current: Histogram | None = None
    next_ = Histogram()
    before = ""  # prefix of each line of this histogram
    row_of = _ROW
    for number, whole_line in enumerate(lines, start=1):
        if current is None and not _MAY_TELL.search(whole_line):
            continue
        line = whole_line
        if head := _HEAD.search(line):
            before = line[: head.start()].strip()
            row_of = _ROW_OF_OPENJ9 if head["openj9"] else _ROW
        elif before and (behind := _BEHIND.search(line)):
            line = line[behind.start(1) :]
        row = row_of.match(line)
        if head or (row and current is None):
            if current is not None:
                yield current
            current, next_ = next_, Histogram()
            current.line, current.time_ms = number, _time(before) or current.time_ms
        if row and current is not None:
            name = _plain(row[3][:_LONGEST_NAME])
            amount, size = current.classes.get(name, (0, 0))
            current.classes[name] = (amount + int(row[1]), size + int(row[2]))
        elif current is not None and (last := _TOTAL.match(line)):
            current.whole, current.total = True, int(last[2])
            _compare(current, int(last[1]), number)
            yield current
            current, before, row_of = None, "", _ROW
        elif current is not None:
            damaged = _DAMAGED if row_of is _ROW else _DAMAGED_OF_OPENJ9
            if not head and damaged.match(line):
                current.lost.append((number, line.strip()[:_SHOWN]))
        else:
            if said := _JVM.match(line.strip()):
                next_.jvm = said[1]
            next_.time_ms = _time(line.strip()) or next_.time_ms
            next_.garbage = (next_.garbage or _WITH_GARBAGE in line) and _WITHOUT not in line
    if current is not None:
        yield current


def _compare(histogram: Histogram, instances: int, line: int) -> None:
    """Classes may have been cut away, but those that are there cannot add up to more than Total."""
    counted = sum(amount for amount, _ in histogram.classes.values())
    size = sum(each for _, each in histogram.classes.values())
    histogram.last_line = line
    if counted > instances or size > histogram.total:
        histogram.contradicts = (
            f"the rows add up to {counted:,} instances and {size:,} bytes, more than Total"
        )


def told_most(found: Iterable[Histogram]) -> str:
    """The JVM of which there are most histograms, the later of two; '' if unknown."""
    amounts: dict[str, int] = {}
    for histogram in found:
        amounts[histogram.jvm] = amounts.pop(histogram.jvm, 0) + 1
    return max(reversed(amounts), key=lambda jvm: (jvm != "", amounts[jvm]), default="")


def timed(
    found: Sequence[Histogram], *, every_ms: int | None, fallback: Sequence[int]
) -> tuple[bool, Sequence[Histogram]]:
    """The histograms in the order of their times, and whether those times are worth a rate.

    `every_ms` wins over what the files say; `fallback` are the times of the files, one for each histogram.
    """
    if every_ms is not None:
        for place, histogram in enumerate(found):
            histogram.time_ms = place * every_ms
        return True, found
    if any(histogram.time_ms is None for histogram in found):
        for histogram, time_ms in zip(found, fallback, strict=True):
            histogram.time_ms = time_ms
    ordered = sorted(found, key=lambda histogram: histogram.time_ms or 0)
    times = [histogram.time_ms for histogram in ordered]
    return len(set(times)) == len(times), ordered


def _plain(name: str) -> str:
    """`[Ljava.lang.Object;` as `java.lang.Object[]`."""
    depth = len(name) - len(name.lstrip("["))
    if not depth:
        return name
    element = name[depth - 1 :]
    if element in _ARRAYS:
        return _ARRAYS[element] + "[]" * (depth - 1)
    return element[1:].removeprefix("L").removesuffix(";") + "[]" * depth


def _time(line: str) -> int | None:
    """Milliseconds since the epoch, or since the JVM began; without a zone as if it were UTC, since only differences matter."""
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
    """None for a day or an hour that there is not."""
    try:
        moment = datetime.fromisoformat(iso)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp() * 1000)
    except ValueError:
        return None

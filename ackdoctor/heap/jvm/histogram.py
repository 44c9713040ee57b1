"""Parser for class histograms of `jcmd PID GC.class_histogram` and `jmap -histo`, one or many per file.

     num     #instances         #bytes  class name (module)
    -------------------------------------------------------
       1:       1000000       40000000  org.apache.storm.daemon.Acker$AckObject

OpenJ9 prints `object count` and `total size`, without a colon (runtime/jcl/common/jclvm.c); `jhsdb jmap --histo`
ends with `Total : `.  No format contains the time.  It comes from a line before the histogram (`date`, an ISO
time, seconds since the epoch), from the file, or from the user's interval.  In a log each line may have a prefix,
from a log collector (`kubectl logs --timestamps`) or from the JVM: with `-Xlog:gc+classhisto*=trace` it prints one
histogram before each full collection and one after it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

__all__ = ["Histogram", "most_common_jvm", "parse", "timed"]

_HEAD = re.compile(r"\bnum\s+(?:#instances\s+#bytes|(?P<openj9>object count\s+total size)\b)")
_COUNT = r"([0-9]{1,18})"  # instances or bytes; 18 digits are enough for any heap
_ROW = re.compile(rf"^\s*[0-9]+:\s+{_COUNT}\s+{_COUNT}\s+(\S+)")
_ROW_OF_OPENJ9 = re.compile(rf"^\s*[0-9]+\s+{_COUNT}\s+{_COUNT}\s+(\S+)$")
# a damaged row still has its number, or the two counts and a class
_DAMAGED = re.compile(r"^\s*(?:[0-9]+:(?:\s|$)|\S{1,30}\s+[0-9]+\s+[0-9]+\s+[A-Za-z\[])")
_DAMAGED_OF_OPENJ9 = re.compile(r"^\s*\S{1,30}\s+[0-9]+\s+[0-9]+\s+[A-Za-z\[]")
_RELEVANT = re.compile(r"[0-9]|\bnum\b|full gc\)")
_LONGEST_NAME = 1_000
_LONGEST_SHOWN = 60  # characters of a damaged row
# the row behind a log prefix
_AFTER_PREFIX = re.compile(
    r"(?:^|\s)(\d+:\s+\d+\s+\d+\s+\S|\d+\s+\d+\s+\d+\s+\S+$|Total\s+(?::\s+)?\d+\s+\d)"
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
                current.lost.append((number, line.strip()[:_LONGEST_SHOWN]))
        else:
            if pid_line := _JVM.match(line.strip()):
                next_.jvm = pid_line[1]
            next_.time_ms = _time(line.strip()) or next_.time_ms
            next_.garbage = (next_.garbage or _WITH_GARBAGE in line) and _WITHOUT not in line
    if current is not None:
        yield current


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

    `every_ms` overrides the times in the files.  `fallback` has the modification time of each histogram's file.
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
    """Convert `[Ljava.lang.Object;` to `java.lang.Object[]`."""
    depth = len(name) - len(name.lstrip("["))
    if not depth:
        return name
    element = name[depth - 1 :]
    if element in _ARRAYS:
        return _ARRAYS[element] + "[]" * (depth - 1)
    return element[1:].removeprefix("L").removesuffix(";") + "[]" * depth


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

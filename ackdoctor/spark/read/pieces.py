"""Files that hold several logs, one behind another, and logs whose lines somebody has put in another order; told by their times.

    apart(TOLD, logs, uncut) -> TOLD, Apart;  Apart.settled(SURVEY) -> SURVEY, and what to leave uncut

The times of a log rise from line to line, but for what threads do to each other.  Where they fall back, another log begins
(`cat worker.log*`, `kubectl logs -l`, a bundle that has a piece twice), or the clock was put back.  So each piece is taken for
the log of a worker of its own until it is known what it tells again (`overlaps`).  Of what is left, pieces of the same
hours without a common task are of several workers; those that fit together when the earlier ones come first are one log whose pieces were
confused; else a clock was put back, and the order of the lines stands.  A log that stands newest
first is read from its end.  Where times fall all the time the lines are read in the order of their times; of what happened
within a millisecond, a bolt's completions come first.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.spark.frames import literal_table
from ackdoctor.spark.read.logbook import TURN_BITS, Log, Start, Survey, starts
from ackdoctor.spark.read.stormline import USED

__all__ = ["Apart", "apart"]

_SECOND = 1_000_000_000
_FALL_NS = 5 * _SECOND  # what no threads of one process do to each other
_BETWEEN_NS = 60 * _SECOND  # at most, between a log's pieces: a debugging worker is not silent for longer
_MANY_BITS = 10  # of a large log times are looked at by so many lines at first
_FEW_ROWS = 1 << 18
_MOST_PIECES = 200
_OFTEN = 4  # of as many steps one falls far, or the lines are in no order
_FEWEST_STEPS = 8  # of which that can be said
_CAUSE_BITS, _ROW_BITS, _TIME_BITS = 2, 20, 31
_OF_CHUNK = {  # of one line, and of many
    "begin": ("time_ns", "min_by(time_ns, seq)"),
    "end": ("time_ns", "max_by(time_ns, seq)"),
    "least": ("time_ns", "min(time_ns)"),
    "most": ("time_ns", "max(time_ns)"),
    "high": ("seq", "max(seq)"),
}
_CHUNKS = "log: int, chunk: bigint, before: bigint, last: bigint"
_COMPLETES = f"kind in ({int(EventKind.ACKED)}, {int(EventKind.FAILED)})"
_BEGINS = f"kind in ({int(EventKind.RECEIVED)}, {int(EventKind.LINKED)}, {int(EventKind.EMITTED)}, {int(EventKind.INIT)})"
_OWN_TASK = f"coalesce(acker, if({_COMPLETES} or kind = {int(EventKind.RECEIVED)}, task, null))"
_BACKWARD = "stands newest first, and is read from its end"
_BY_TIME = (
    "is not in the order of its times, and is read in that: what happened within a millisecond is in no order"
)
_STARTED = "unix_micros(try_cast(replace(substring_index(text, ' ', 2), ',', '.') as timestamp)) * 1000"


@dataclass(slots=True, kw_only=True)
class _Steps:
    """Of one log: how often times rise from line to line (or from many lines to the next), fall, and fall far."""

    rises: int
    falls: int
    far: int

    @property
    def disordered(self) -> bool:
        """Whether no stretch of it is in the order in which it was written."""
        steps = self.rises + self.falls
        often = self.falls > self.rises or self.far * _OFTEN > steps
        return self.far > _MOST_PIECES or (often and steps >= _FEWEST_STEPS)

    @property
    def backward(self) -> bool:
        """Whether the whole log stands newest first."""
        return self.falls > _OFTEN * self.rises and self.rises + self.falls >= _FEWEST_STEPS


@dataclass(slots=True, kw_only=True)
class Apart:
    """What was done to the logs."""

    logs: tuple[Log, ...]
    disordered: tuple[tuple[str, str], ...] = ()  # files whose lines are read in another order, and in which
    _tasks: Mapping[int, frozenset[int]] = field(default_factory=dict)  # by the place of a piece
    # files that are read as they stand, and what is said of them
    _uncut: Mapping[str, str] = field(default_factory=dict)

    def settled(self, surveyed: Survey) -> tuple[Survey, dict[str, str]]:
        """The SURVEY, of whose pieces each belongs to its worker; and the files that were cut in vain, with what is said of them."""
        pieces: defaultdict[str, list[Log]] = defaultdict(list)
        for log in sorted(surveyed.logs, key=lambda log: log.place):
            if log.of:
                pieces[log.of].append(log)
        logs = {log.file: log for log in surveyed.logs}
        said, vain = dict(self._uncut), dict[str, str]()
        for file, its in pieces.items():
            moved, said[file] = self._of_one_file(its, logs)
            if moved is None:
                vain[file] = said[file]
            else:
                logs |= {log.file: log for log in moved}
        earlier = {log.file: log.later for log in surveyed.logs}
        begun = (_moved(start, logs[start.file].later - earlier[start.file]) for start in surveyed.starts)
        settled = replace(
            surveyed,
            logs=tuple(logs.values()),
            starts=tuple(begun),
            pieces=tuple(sorted(said.items())),
            disordered=self.disordered,
        )
        return settled, vain

    def _of_one_file(self, pieces: Sequence[Log], logs: Mapping[str, Log]) -> tuple[list[Log] | None, str]:
        """The pieces as they are to be read, none where that is as they stand; and what is said of them."""
        told = f"{len(pieces)} logs, one behind another"
        groups: defaultdict[str, list[Log]] = defaultdict(list)
        for log in pieces:
            if not log.copy_of:
                groups[log.worker].append(log)
        same, others = list[list[Log]](), 0
        for group in groups.values():
            if same and self._strange(group, same):
                others += 1
            else:
                same.append(group)
        its_own = {log.file for group in same for log in group}
        alone = all(log.file in its_own for log in logs.values() if log.worker in groups)
        if len(same) > 1 and alone and (ordered := _in_time(same)):
            return _in_a_row(
                ordered
            ), f"{told}, of which later ones come first: they are read in the order of their times"
        alike = len({log.copy_of or log.file for log in pieces}) < len(pieces)
        if not (alike or others or any(len(group) > 1 for group in groups.values())):
            put_back = f"the clock was put back by up to {_most(pieces)} s: the order of the lines stands"
            return None, f"{told}, or {put_back}"
        return _behind(same), f"{told}, of {others + 1} workers" if others else told

    def _strange(self, group: Sequence[Log], same: Iterable[Iterable[Log]]) -> bool:
        """Whether it is another worker's: it is of the same hours, and has tasks, and none of theirs."""
        known = [log for logs in same for log in logs]
        apart_in_time = all(
            _end(one) < _begin(other) or _end(other) < _begin(one) for one in group for other in known
        )
        own, theirs = self._all(group), self._all(known)
        return not apart_in_time and bool(own and theirs) and own.isdisjoint(theirs)

    def _all(self, logs: Iterable[Log]) -> set[int]:
        return {task for log in logs for task in self._tasks.get(log.place, ())}


def apart(told: DataFrame, logs: Sequence[Log], uncut: Mapping[str, str]) -> tuple[DataFrame, Apart]:
    """TOLD, which is kept, with each piece as a log of its own and each log in order; as it is, where nothing is wrong.

    `uncut` are the files that were cut in vain (`Apart.settled`).
    """
    known = told.where(f"is = {USED} and log >= 0 and time_ns is not null")
    rows = known.count()
    bits = _MANY_BITS if rows > _FEW_ROWS else 0
    steps, odd = _steps(known, bits)
    backward = {place for place, its in steps.items() if its.backward}
    disordered = backward | {place for place, its in steps.items() if its.disordered}
    as_it_stands = disordered | {log.place for log in logs if log.file in uncut}
    cuts = _cuts(told, known, [row for row in odd if row["log"] not in as_it_stands], bits)
    if not disordered and not cuts:
        return told, Apart(logs=tuple(logs), _uncut=uncut)
    spans = known.where(F.col("log").isin([*disordered - backward])).groupBy("log")
    begun = {
        row["log"]: row
        for row in spans.agg(F.expr("min(time_ns) as low"), F.expr("max(time_ns) as high")).collect()
    }
    all_logs, places = _parted(logs, cuts)
    read = told.selectExpr(
        *(
            {"log": f"{places} as log", "seq": f"{_in_order(begun, backward)} as seq"}.get(name, name)
            for name in told.columns
        )
    )
    whose = [log.place for log in all_logs if log.of]
    tasks = read.where(F.col("log").isin(whose) & (F.col("is") == USED)).groupBy("log")
    found = tasks.agg(F.expr(f"collect_set({_OWN_TASK}) as tasks")).collect() if whose else []
    files = {log.place: log.file for log in logs}
    return read, Apart(
        logs=all_logs,
        disordered=tuple(sorted((files[at], _BACKWARD if at in backward else _BY_TIME) for at in disordered)),
        _tasks={row["log"]: frozenset(row["tasks"]) for row in found},
        _uncut=uncut,
    )


def _steps(known: DataFrame, bits: int) -> tuple[dict[int, _Steps], list[Row]]:
    """By log how its times go, and the stretches of lines in which they fall far, or before which they do."""
    one = known.selectExpr(
        "log", "seq as chunk", *(f"{what} as {name}" for name, (what, _) in _OF_CHUNK.items())
    )
    many = known.groupBy("log", F.expr(f"shiftright(seq, {bits}) as chunk"))
    chunks = many.agg(*(F.expr(f"{of} as {name}") for name, (_, of) in _OF_CHUNK.items())) if bits else one
    order = "over (partition by log order by chunk)"
    stepped = chunks.selectExpr(
        "*", f"lag(end) {order} as before", f"lag(begin) {order} as prior", f"lag(high) {order} as last"
    )
    far = f"coalesce(begin < before - {_FALL_NS}, false) or begin - least > {_FALL_NS} or most - end > {_FALL_NS}"
    marked = stepped.selectExpr("log", "chunk", "before", "last", "begin", "prior", f"{far} as far")
    stats = marked.groupBy("log").agg(
        F.expr("count_if(begin > prior) as rises"),
        F.expr("count_if(begin < prior) as falls"),
        F.expr("count_if(far) as far"),
        F.expr(
            f"slice(collect_list(if(far, struct(chunk, before, last), null)), 1, {2 * _MOST_PIECES}) as odd"
        ),
    )
    found = stats.collect()
    steps = {row["log"]: _Steps(rises=row["rises"], falls=row["falls"], far=row["far"]) for row in found}
    return steps, [Row(log=row["log"], **one.asDict()) for row in found for one in row["odd"]]


def _cuts(told: DataFrame, known: DataFrame, odd: Sequence[Row], bits: int) -> dict[int, list[int]]:
    """By log the `seq` of the rows at which its times fall far, or of the first executor that was started just before."""
    if not odd:
        return {}
    within = known.selectExpr("log", f"shiftright(seq, {bits}) as chunk", "seq", "time_ns").join(
        F.broadcast(literal_table(known.sparkSession, _CHUNKS, [row.asDict() for row in odd])),
        ["log", "chunk"],
    )
    order = "over (partition by log, chunk order by seq)"
    stepped = within.selectExpr(
        *("log", "seq", "time_ns"),
        f"coalesce(lag(time_ns) {order}, before) as before",
        f"coalesce(lag(seq) {order}, last) as last",
    )
    falls = stepped.where(f"time_ns < before - {_FALL_NS}").select("log", "seq", "last").collect()
    begun = list(starts(told, {row["log"] for row in odd}))
    found: defaultdict[int, list[int]] = defaultdict(list)
    for log, seq, last in sorted(falls):
        own = (start.seq for place, start in begun if place == log and last < start.seq < seq)
        found[log].append(min(own, default=seq))
    return dict(found)


def _parted(logs: Sequence[Log], cuts: Mapping[int, Sequence[int]]) -> tuple[tuple[Log, ...], str]:
    """The logs with their pieces, and the place of a row among them, as SQL."""
    found = {log.place: log for log in logs}
    cases: list[str] = []
    for place, seqs in cuts.items():
        whole = found[place]
        found[place] = replace(whole, of=whole.file)
        for part, seq in enumerate(seqs, start=2):
            own = len(found)
            name = f" (part {part})"
            found[own] = replace(
                whole,
                of=whole.file,
                file=f"{whole.file}{name}",
                worker=f"{whole.worker}{name}",
                place=own,
                begin_ns=None,
            )
            cases.append(f"when log = {place} and seq >= {seq} then {own}")
    places = " ".join(("case", *reversed(cases), "else log end")) if cases else "log"
    return tuple(found.values()), places


def _in_order(begun: Mapping[int, Row], backward: Iterable[int]) -> str:
    """`seq` from the end in logs that stand `backward`, and by the time of a row in those that are in no order; a start has its time in its text."""
    cause = f"case when {_COMPLETES} or is != {USED} then 0 when {_BEGINS} then 1 else 2 end"
    last = (1 << TURN_BITS) - 1
    cases = [f"when {place} then seq ^ {last}L" for place in sorted(backward)]
    for place, span in begun.items():
        unit = 1_000_000
        while (span["high"] - span["low"]) // unit >> (_TIME_BITS - 1):
            unit *= 2
        at = f"(greatest(0L, coalesce(time_ns, {_STARTED}, 0L) - {span['low']}L + {_FALL_NS}L) div {unit})"
        at = f"least({at}, {(1 << _TIME_BITS) - 1}L)"
        turn = f"shiftleft(shiftright(seq, {TURN_BITS}), {TURN_BITS})"
        time = f"shiftleft({at}, {_CAUSE_BITS + _ROW_BITS})"
        row = f"(seq & {(1 << _ROW_BITS) - 1}L)"
        cases.append(
            f"when {place} then {turn} | {time} | shiftleft(cast({cause} as bigint), {_ROW_BITS}) | {row}"
        )
    return " ".join(("case log", *cases, "else seq end")) if cases else "seq"


def _in_time(groups: Sequence[Sequence[Log]]) -> list[Sequence[Log]]:
    """The groups in the order of their times if each then goes on where the one before it ends; else none."""
    spans = sorted((min(map(_begin, group)), max(map(_end, group)), at) for at, group in enumerate(groups))
    gaps = [after[0] - before[1] for before, after in pairwise(spans)]
    fit = all(-_SECOND <= gap <= _BETWEEN_NS for gap in gaps)
    return [groups[at] for *_, at in spans] if fit else []


def _in_a_row(groups: Iterable[Sequence[Log]]) -> list[Log]:
    found: list[Log] = []
    later, worker = 0, ""
    for group in groups:
        worker = worker or group[0].worker
        found += (replace(log, worker=worker, later=later + log.later) for log in group)
        later += max(log.later + log.turn for log in group) + 1
    return found


def _begin(log: Log) -> int:
    return log.begin_ns or 0


def _end(log: Log) -> int:
    return log.end_ns or 0


def _behind(groups: Sequence[Sequence[Log]]) -> list[Log]:
    """All of the first one's worker, in the order of the file."""
    found: list[Log] = []
    later = 0
    for group in groups:
        found += (replace(log, worker=groups[0][0].worker, later=later + log.later) for log in group)
        later = max(log.later for log in found)
    return found


def _most(pieces: Iterable[Log]) -> str:
    falls = (_end(before) - _begin(after) for before, after in pairwise(pieces))
    return f"{max(falls) / _SECOND:,.0f}"


def _moved(start: Start, turns: int) -> Start:
    return replace(start, seq=start.seq + (turns << TURN_BITS)) if turns else start

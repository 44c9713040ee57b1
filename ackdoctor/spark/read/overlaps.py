"""Logs of one worker that overlap, as two of `kubectl logs --since` do: what both tell is used once.

All logs of a topology are of the same hours, and only those of one worker have rows in common.  So the first row of each
worker's logs that tells of a root is looked for among the rows of the others, and the last.  Where the later one's first stands
in the earlier, and the earlier one's last in the later, both must tell the same in between: as many rows, with the same XOR.  What
stands around them tells of no root, and must be found on the longer side.  Then the later goes on from the earlier, and
both are one worker's.  A log that ends inside of another is a copy of a part.  Where the ends are met and the same is not told in
between, lines are missing: the stretch is then taken from the side that tells more of it, and what only the other has is counted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.spark.frames import literal_table
from ackdoctor.spark.read.logbook import CONTENT, MOST_TURNS, TURN_BITS, Edge, Log, Start, Survey
from ackdoctor.spark.read.stormline import QUARANTINED, USED

__all__ = ["joined"]

_Met = dict[tuple[int, str, int], set[int]]  # the places, by whose row it is, which end, and in whose log

_END = (1 << 63) - 1  # behind every `seq`
_FIRST, _LAST = "first", "last"
_EDGES = "of: int, end: string, content: bigint"
_STRETCHES = "number: int, late: boolean, whose: int, low: bigint, high: bigint"


@dataclass(slots=True, kw_only=True)
class _Worker:
    """The logs that one worker wrote, as far as their names tell, in their turn."""

    number: int
    logs: list[Log]

    @property
    def run(self) -> str:
        return self.logs[0].run

    @property
    def file(self) -> str:
        return self.logs[0].file

    @property
    def turns(self) -> int:
        return self.logs[-1].turn + 1

    @property
    def first(self) -> Edge | None:
        return next((log.first for log in self.logs if log.first), None)

    @property
    def last(self) -> Edge | None:
        return next((log.last for log in reversed(self.logs) if log.last), None)


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class _Common:
    """Supposed to be told twice: by the worker `early` from `low` to `high`, by `late` from `begin` to `until`, of which it then has no more if `whole`."""

    early: int
    low: int
    high: int
    late: int
    begin: int
    until: int
    whole: bool

    @property
    def workers(self) -> frozenset[int]:
        """Both of them."""
        return frozenset({self.early, self.late})


def joined(read: DataFrame, surveyed: Survey) -> Survey:
    """The SURVEY, of whose logs each knows what of it another tells; `read` is TOLD, kept, and is read twice if need be."""
    workers = _workers(surveyed.logs)
    if len(workers) <= 1:
        return surveyed
    placed = _placed(read, workers)
    met = _met(placed, workers)
    supposed = [*_supposed(met, workers)]
    if not supposed:
        return surveyed
    told = dict(zip(supposed, _told(placed, supposed), strict=True))
    proven = [common for common, its in told.items() if its.is_equal(whole=common.whole)]
    torn = [*_torn(told, proven)]
    copies = _copies((*proven, *torn), workers)
    after = _after((*proven, *torn), copies)
    logs = {log.file: log for log in surveyed.logs}
    for late, early in copies.items():
        logs |= {log.file: replace(log, copy_of=workers[early].file) for log in workers[late].logs}
    by_late = {common: told[common].missing > 0 and common.early not in after for common in after.values()}
    for common, its_own in by_late.items():
        _cut(logs, workers, common, told[common], begin=common.begin if its_own else common.until + 1)
    for chain in _chains(workers, after):
        logs |= {log.file: log for log in _in_a_row(chain, logs)}
    return replace(
        surveyed,
        logs=tuple(logs.values()),
        starts=tuple(_starts(surveyed.starts, logs)),
        torn=tuple(sorted((workers[common.late].file, workers[common.early].file) for common in torn)),
        left_out=_left_out(placed, {common: by_late.get(common, False) for common in torn}),
    )


def _workers(logs: Iterable[Log]) -> list[_Worker]:
    by_name: dict[tuple[str, str], list[Log]] = defaultdict(list)
    for log in logs:
        if log.place >= 0 and not log.copy_of:
            by_name[log.run, log.worker].append(log)
    named = sorted(by_name.items(), key=lambda of: (not of[0][0], of[0]))
    return [
        _Worker(number=number, logs=sorted(its, key=lambda log: log.turn))
        for number, (_, its) in enumerate(named)
    ]


def _placed(read: DataFrame, workers: Sequence[_Worker]) -> DataFrame:
    """PLACED: is, first, log, seq, content (null of what is not used), and whose it is."""
    numbers = {log.place: worker.number for worker in workers for log in worker.logs}
    whose = ", ".join(str(numbers.get(place, "null")) for place in range(max(numbers) + 1))
    return read.selectExpr(
        *("is", "first", "log", "seq"),
        f"if(is = {USED}, {CONTENT}, null) as content",
        f"get(array({whose}), log) as whose",
    )


def _met(placed: DataFrame, workers: Sequence[_Worker]) -> _Met:
    """Where the first row of a worker, or its last, stands in the logs of another: the first and the last such place."""
    edges = [
        {"of": worker.number, "end": end, "content": edge.content}
        for worker in workers
        for end, edge in ((_FIRST, worker.first), (_LAST, worker.last))
        if edge
    ]
    found = (
        placed.join(F.broadcast(literal_table(placed.sparkSession, _EDGES, edges)), "content")
        .where("whose != of")
        .groupBy("of", "end", "whose")
        .agg(F.min("seq").alias("low"), F.max("seq").alias("high"))
    )
    return {(row["of"], row["end"], row["whose"]): {row["low"], row["high"]} for row in found.collect()}


def _supposed(met: _Met, workers: Sequence[_Worker]) -> Iterator[_Common]:
    """All that may be told twice, as far as the ends tell."""
    for (of, end, whose), lows in met.items():
        late, early = workers[of], workers[whose]
        if end != _FIRST or late.first is None or late.last is None or early.last is None:
            continue
        if len({late.run, early.run} - {""}) > 1:
            continue
        begin = late.first.seq
        for low in lows:
            for until in met.get((whose, _LAST, of), ()):
                yield _Common(
                    early=whose, low=low, high=early.last.seq, late=of, begin=begin, until=until, whole=False
                )
            for high in met.get((of, _LAST, whose), ()):
                yield _Common(
                    early=whose, low=low, high=high, late=of, begin=begin, until=late.last.seq, whole=True
                )


class _Told:
    """What either side of a stretch tells by log, before it, in it and behind it: `part` -1, 0, 1."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.counts: Counter[tuple[bool, int]] = Counter()  # by whether it is the late side's, and by part
        self._content = {False: 0, True: 0}

    def add(self, row: Row) -> None:
        """What one log tells of one part."""
        self.rows.append(row)
        self.counts[row["late"], row["part"]] += row["rows"]
        if not row["part"]:
            self._content[row["late"]] ^= row["content"]

    @property
    def missing(self) -> int:
        """How many rows of the stretch the early side lacks; less than 0 where the late one lacks some."""
        return self.counts[True, 0] - self.counts[False, 0]

    def is_equal(self, *, whole: bool) -> bool:
        """Whether both tell the same in the stretch, and the longer side has what the other tells around it."""
        return (
            not self.missing
            and self._content[False] == self._content[True]
            and self.counts[True, -1] <= self.counts[False, -1]
            and self.counts[whole, 1] <= self.counts[not whole, 1]
        )


def _left_out(placed: DataFrame, torn: Mapping[_Common, bool]) -> int:
    """How many lines of these stretches only that side has of which nothing is used there: the early one, if the late one's is used."""
    if not torn:
        return 0
    asked = placed.join(F.broadcast(literal_table(placed.sparkSession, _STRETCHES, _sides(torn))), "whose")
    asked = asked.where("seq between low and high and content is not null")
    late = ", ".join(map(str, torn.values()))
    used = f"late = element_at(array({late}), number + 1)"
    rows = asked.groupBy("number", "content").agg(
        F.expr(f"count_if({used}) as used"), F.expr(f"count_if(first and not ({used})) as others")
    )
    left = rows.where("used = 0").agg(F.expr("coalesce(sum(others), 0) as lines"))
    return int(left.collect()[0]["lines"])


def _sides(stretches: Iterable[_Common]) -> list[dict[str, object]]:
    return [
        {"number": number, "late": late, "whose": whose, "low": low, "high": high}
        for number, common in enumerate(stretches)
        for late, whose, low, high in (
            (False, common.early, common.low, common.high),
            (True, common.late, common.begin, common.until),
        )
    ]


def _told(placed: DataFrame, supposed: Sequence[_Common]) -> list[_Told]:
    """What is told of each."""
    counts = {
        "rows": "count(content)",
        "content": "coalesce(bit_xor(content), 0)",
        "used": f"count_if(first and is = {USED})",
        "quarantined": f"count_if(first and is = {QUARANTINED})",
    }
    found = (
        placed.join(F.broadcast(literal_table(placed.sparkSession, _STRETCHES, _sides(supposed))), "whose")
        .groupBy("number", "late", "log", F.expr("if(seq < low, -1, if(seq <= high, 0, 1)) as part"))
        .agg(*(F.expr(count).alias(name) for name, count in counts.items()))
    )
    told = [_Told() for _ in supposed]
    for row in found.collect():
        told[row["number"]].add(row)
    return told


def _torn(told: Mapping[_Common, _Told], proven: Iterable[_Common]) -> Iterator[_Common]:
    """Of each two workers for whom nothing is proven the stretch in which the fewest lines are missing.

    Where the late one tells less behind it than the early one, it is taken for a copy.
    """
    of_two: dict[frozenset[int], list[_Common]] = defaultdict(list)
    for common in told:
        of_two[common.workers].append(common)
    settled = {common.workers for common in proven}
    for two, stretches in of_two.items():
        if two not in settled:
            least = min(stretches, key=lambda common: (abs(told[common].missing), common.whole))
            counts = told[least].counts
            yield replace(least, whole=least.whole or counts[True, 1] < counts[False, 1])


def _copies(proven: Iterable[_Common], workers: Sequence[_Worker]) -> dict[int, int]:
    """Workers all of whose rows stand in the logs of another."""
    found: dict[int, int] = {}
    for worker in reversed(workers):
        whole = [common.early for common in proven if common.late == worker.number and common.whole]
        if others := set(whole) - found.keys():
            found[worker.number] = min(others)
    return found


def _after(proven: Iterable[_Common], copies: Mapping[int, int]) -> dict[int, _Common]:
    """By the worker that goes on, from whom: of several the one that goes furthest."""
    found: dict[int, _Common] = {}
    for common in sorted(proven, key=lambda common: -common.until):
        if common.whole or {common.early, common.late} & copies.keys() or common.late in found:
            continue
        before = common.early
        while before in found:
            before = found[before].early
        if before != common.late:  # or both would go on from each other
            found[common.late] = common
    return found


def _cut(
    logs: dict[str, Log], workers: Sequence[_Worker], common: _Common, told: _Told, *, begin: int
) -> None:
    """What both tell is nothing new in the later one, whose own `begin`s behind it: at its first row if the stretch is to be its own."""
    sides = {log.place: (False, log.file) for log in workers[common.early].logs}
    sides |= {log.place: (True, log.file) for log in workers[common.late].logs}
    by_late = begin == common.begin
    end = common.low if by_late else common.high + 1
    for late, file in sides.values():
        log = logs[file]
        whole = log.fresh or range(_END)
        fresh = range(begin, whole.stop) if late else range(whole.start, end)
        logs[file] = replace(log, fresh=fresh, after=workers[common.early].file if late else log.after)
    for row in told.rows:
        late, file = sides[row["log"]]
        if row["part"] < (0 if by_late else 1) if late else row["part"] > (-1 if by_late else 0):
            log = logs[file]
            twice = row["used"] + row["quarantined"]
            logs[file] = replace(
                log,
                used=log.used - row["used"],
                quarantined=log.quarantined - row["quarantined"],
                foreign=log.foreign + twice,
            )
            told_again = file if late else workers[common.late].file
            if late or by_late:
                logs[told_again] = replace(logs[told_again], again=logs[told_again].again + twice)


def _chains(workers: Sequence[_Worker], after: Mapping[int, _Common]) -> Iterator[list[_Worker]]:
    """Who goes on from whom, each in one chain, and in each at least two."""
    following = {common.early: workers[late] for late, common in after.items()}
    ahead = {worker.number for worker in following.values()}
    for worker in workers:
        chain = [worker] if worker.number not in ahead else []
        while chain and (follower := following.get(chain[-1].number)):
            chain.append(follower)
        if len(chain) > 1 and sum(each.turns for each in chain) <= MOST_TURNS:
            yield chain


def _in_a_row(chain: Sequence[_Worker], logs: Mapping[str, Log]) -> Iterator[Log]:
    """The logs of a chain as those of one worker."""
    run = next((worker.run for worker in chain if worker.run), "")
    later = 0
    for worker in chain:
        for log in worker.logs:
            yield replace(logs[log.file], run=run, worker=chain[0].logs[0].worker, later=later)
        later += worker.turns


def _starts(starts: Iterable[Start], logs: Mapping[str, Log]) -> Iterator[Start]:
    """Each start once, at its place."""
    for start in starts:
        log = logs[start.file]
        if log.fresh is None or start.seq in log.fresh:
            yield replace(start, seq=start.seq + (log.later << TURN_BITS))

"""What a log's messages about one root leave in its entry: tuples without an ack, and messages lost on their way.

An acker's log names the sender's task of an ack, and not the tuple.  So each task is asked for its balance, the XOR of the
edges that it received, the edges that it emitted and the acks that the acker took from it.  It is 0 if every tuple was acked
once and every ack arrived; else it is what is left in the entry because of this task.

A log of Storm 0.9 names no receiver and no ack of a bolt, but each message that is sent to the acker.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import xor

from pyspark.sql import Row

from ackdoctor.model.event import EventKind
from ackdoctor.model.verdict import Culprit

__all__ = ["by_messages", "by_tasks"]

_LONG = (1 << 64) - 1
_BALANCED = {EventKind.LINKED, EventKind.EMITTED, EventKind.ACK, EventKind.INIT}
_STREAMS = {EventKind.INIT: "__ack_init", EventKind.ACK: "__ack_ack", EventKind.FAIL: "__ack_fail"}


def by_tasks(left: int, rows: Iterable[Row], handled: Sequence[Row], *, whole: bool) -> tuple[Culprit, ...]:
    """Who leaves the value `left` behind; nothing if the rows of the root and its HANDLED tuples do not explain it.

    A message counts as lost only if the logs are `whole`: otherwise the log of its receiver may be missing.
    """
    rows = list(rows)
    balances: defaultdict[int, int] = defaultdict(int)  # by task
    for row in rows:
        if row["kind"] in _BALANCED:
            balances[row["task"]] ^= row["value"]
    tuples: defaultdict[int, list[Row]] = defaultdict(list)
    for row in handled:
        tuples[row["task"]].append(row)
    uneven = {task: value for task, value in balances.items() if value}
    guilty = [each for task, value in uneven.items() for each in _never_or_twice(value, tuples.get(task, ()))]
    charged = {culprit.task for culprit in guilty}
    if charged and _sum(uneven[task] for task in charged) == left:
        return tuple(guilty)
    if not whole:
        return ()
    names = {row["task"]: row["component"] for row in rows if row["component"]}  # not every line has one
    lost = {
        task: what
        for task in uneven.keys() - charged
        if (what := _lost_answer(task, rows, tuples.get(task, ())))
    }
    lost |= dict.fromkeys(_lost_init(rows) & uneven.keys(), "init")
    messages = [_lost(what, names.get(task, ""), task, uneven[task]) for task, what in sorted(lost.items())]
    received = {row["value"] for row in rows if row["kind"] == EventKind.LINKED}
    messages += [
        _lost("tuple", names.get(row["task"], ""), row["task"], row["value"])
        for row in rows
        if row["kind"] == EventKind.EMITTED and row["value"] not in received
    ]
    explained = _sum(uneven[task] for task in charged) ^ _sum(message.value for message in messages)
    return (*guilty, *messages) if explained == left else ()


def _never_or_twice(balance: int, handled: Sequence[Row]) -> list[Culprit]:
    """The tuples of one task that it completed an even number of times."""
    even = [row for row in handled if (row["acked"] + row["failed"]) % 2 == 0]
    return [
        Culprit(
            delivery=row["delivery"],
            component=row["component"],
            task=row["task"],
            value=balance if len(even) == 1 else row["value"],
            acks=row["acked"] + row["failed"],
        )
        for row in even
    ]


def _lost_answer(task: int, rows: Iterable[Row], handled: Iterable[Row]) -> str:
    """Whether a task sent an ack, or a fail, that the acker did not take.

    Neither if the acker took all of them: then the task used a tuple as an anchor after its ack.
    """
    taken = Counter(row["kind"] for row in rows if row["task"] == task)
    if sum(row["acked"] for row in handled) > taken[EventKind.ACK]:
        return "ack"
    return "fail" if sum(row["failed"] for row in handled) > taken[EventKind.FAIL] else ""


def _lost_init(rows: Sequence[Row]) -> set[int]:
    """The task of the spout that began the root, if the acker did not take its INIT."""
    if any(row["kind"] == EventKind.INIT for row in rows):
        return set()
    receivers = {row["task"] for row in rows if row["kind"] == EventKind.LINKED}
    return {row["task"] for row in rows if row["kind"] == EventKind.EMITTED} - receivers


def by_messages(left: int, rows: Iterable[Row]) -> tuple[Culprit, ...]:
    """The same of Storm 0.9, whose log names each message that was sent to the acker."""
    rows = list(rows)
    taken = Counter((_STREAMS[kind], row["value"]) for row in rows if (kind := row["kind"]) in _STREAMS)
    lost: list[Culprit] = []
    for row in rows:
        if row["kind"] != EventKind.SENT:
            continue
        message = row["stream"], row["value"]
        if taken[message]:
            taken[message] -= 1
        else:
            lost.append(
                _lost(row["stream"].removeprefix("__ack_"), row["component"], row["task"], row["value"])
            )
    rest = left ^ _sum(culprit.value for culprit in lost)
    if not rest or any(culprit.lost == "fail" for culprit in lost):
        return tuple(lost)
    edges = {row["value"] for row in rows if row["kind"] == EventKind.LINKED}
    acks = sum(row["kind"] == EventKind.SENT and row["stream"] == _STREAMS[EventKind.ACK] for row in rows)
    if acks >= len(edges) or not _is_sum(rest, edges):
        return ()
    return (*lost, Culprit(delivery="", component="", task=0, value=rest, acks=0))


def _lost(what: str, component: str, task: int, value: int) -> Culprit:
    return Culprit(delivery="", component=component, task=task, value=value, acks=1, lost=what)


def _sum(values: Iterable[int]) -> int:
    return reduce(xor, values, 0)


def _is_sum(target: int, values: Iterable[int]) -> bool:
    """Whether the XOR of some of the values is the target, by Gaussian elimination."""
    basis: dict[int, int] = {}  # by its highest bit

    def reduced(value: int) -> int:
        while value and (step := basis.get(value.bit_length())):
            value ^= step
        return value

    for value in values:
        if rest := reduced(value & _LONG):
            basis[rest.bit_length()] = rest
    return not reduced(target & _LONG)

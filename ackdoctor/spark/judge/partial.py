"""What cannot be judged since logs are missing: those of some workers, of the ackers, or from before the first line."""

from collections.abc import Collection, Iterable, Iterator

from pyspark.sql import Row

from ackdoctor.model.event import EventKind
from ackdoctor.model.verdict import TupleTree, Verdict
from ackdoctor.spark.judge.blame import unexplained
from ackdoctor.spark.judge.doubts import has
from ackdoctor.spark.tables import Analysis

__all__ = ["judged", "unwitnessed"]

_MOST_NAMED = 10  # tasks
_CLEARLY, _FEW = 1.25, 5  # estimates are off by a twentieth
_OF_ROOTS = (
    *(EventKind.LINKED, EventKind.SENT, EventKind.EMITTED),
    *(EventKind.COMPLETED, EventKind.GAVE_UP, EventKind.TIMED_OUT),
)


def _silent(result: Analysis, counted: Collection[Row]) -> Iterator[str]:
    """Notes on the tasks, and the ackers, of which no log has a line."""
    if result.missing:
        named = result.missing[:_MOST_NAMED]
        more = len(result.missing) - len(named)
        said = ", ".join(named) + (f" and {more:,} more" if more > 0 else "")
        yield f"no line is of {said}: give the logs of all workers"
    logged = [row for row in counted if row["logged"]]
    rooted = [row for row in logged if row["rooted"]]  # without ackers, tuples have no roots
    if has(rooted, *_OF_ROOTS) and not has(counted, EventKind.INIT, EventKind.ACK, EventKind.FAIL):
        result.silent_ackers = True
        yield (
            "no line is of an acker: the logs do not say what became of the roots, only what components did; give the logs of "
            "all workers"
        )
    if has(logged, EventKind.SENT) and not has(logged, EventKind.RECEIVED):
        yield (
            "Storm 0.9 does not log which task receives and acks a tuple: roots are judged by what ackers took and by the acks "
            "that were sent"
        )


def unwitnessed(result: Analysis, row: Row) -> Iterator[str]:
    """A note if components handled clearly more roots than ackers took messages of; WITNESSED has estimates."""
    if row["handled"] > _CLEARLY * row["taken"] + _FEW:
        result.silent_ackers = True
        yield (
            f"components handled about {row['handled']:,} roots, and ackers took messages of about {row['taken']:,}: the log of "
            "an acker is missing; give the logs of all workers"
        )


def judged(
    result: Analysis, trees: Iterable[TupleTree], counted: Collection[Row], patience_s: int
) -> list[TupleTree]:
    """The trees that the logs are complete for; notes say what they cannot tell of the others, and COUNTS that logs are missing."""
    if not result.logged:
        return list(trees)
    said = list(_silent(result, counted))
    only_logs = all(row["logged"] for row in counted)  # what a trace does not say is judged as ever
    kept: list[TupleTree] = []
    unbegun: list[TupleTree] = []
    dark = 0
    for tree in trees:
        if (
            only_logs
            and tree.verdict is Verdict.ORPHAN
            and not any(culprit.lost for culprit in tree.culprits)
        ):
            unbegun.append(tree)
        elif (result.missing or result.silent_ackers) and unexplained(tree):
            dark += tree.roots
        else:
            kept.append(tree)
    if unbegun:
        said.append(_unbegun(result, unbegun, patience_s))
    if dark:
        said.append(f"{_roots(dark)} did not end well, and the logs that are missing may say why: not judged")
    result.notes = (*said, *result.notes)
    return kept


def _unbegun(result: Analysis, trees: Collection[TupleTree], patience_s: int) -> str:
    """A log that begins in the middle has acks of roots that began before, but only for a message timeout."""
    roots = sum(tree.roots for tree in trees)
    until_ms = result.begin_ms + patience_s * 1000
    late = sum(
        tree.roots
        for tree in trees
        if tree.entry is not None and result.end_ms - tree.entry.age_ms > until_ms
    )
    orphans = sum(kind.roots for kind in result.trees if kind.verdict == Verdict.ORPHAN.value)
    result.unbegun = bool(late) or orphans >= result.roots
    said = f"{_roots(roots, 'has', 'have')} acks and no __ack_init: they began before the logs, or elsewhere"
    if not result.unbegun:
        return f"{said}: not judged"
    return (
        f"{said}; give the logs of all workers from their start. If the acker's log is complete, __ack_init never reaches it: "
        "look at the connections from the workers of the spouts"
    )


def _roots(count: int, one: str = "", many: str = "") -> str:
    return f"1 root {one}".rstrip() if count == 1 else f"{count:,} roots {many}".rstrip()

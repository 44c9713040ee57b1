"""Several culprits at once: law L1 asked of every tuple of a root, where no single ack carries the value that is left.

X is the XOR, over all tuples acked an even number of times (never counts), of what their ack carries.
So it is enough to take just those and see whether they come to X; nothing is guessed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import xor

from pyspark.sql import DataFrame, Row

from ackdoctor.model.dialect import Misuse
from ackdoctor.model.event import EventKind
from ackdoctor.model.verdict import Culprit, Residue, TupleTree
from ackdoctor.model.violation import Violation
from ackdoctor.spark import roots
from ackdoctor.spark.deliveries import NO_PROCESS
from ackdoctor.spark.judge import collecting
from ackdoctor.spark.judge.findings import tree
from ackdoctor.spark.judge.transit import by_messages, by_tasks

__all__ = ["blamed", "explained", "traced", "unexplained"]

_SITES = 16
_MOST_DARK = 500  # trees whose value is looked into, because no single tuple explains it


def unexplained(tree: TupleTree) -> bool:
    """Whether an entry has a value that nobody is charged with yet; a single ack without an INIT explains none."""
    left = tree.entry is not None and tree.entry.value
    charged = any(culprit.lost or culprit.acks % 2 == 0 for culprit in tree.culprits)
    return bool(left) and tree.residue is Residue.EVEN and not charged


def explained(
    events: DataFrame,
    deliveries: DataFrame | None,
    sampled: Sequence[Row],
    ways: Sequence[Row],
    end_ns: int,
    *,
    whole: bool,
) -> tuple[TupleTree, ...]:
    """The trees that the report shows one by one, with those to blame; `whole` if no log is missing.

    `deliveries` are those of logs; in a trace acks name them.  A tree that was not looked into is left out if others that
    went the same way are explained.
    """
    gone = [row["way"] for row in sampled]
    trees = collecting.standing(
        (tree(row, end_ns) for row in sampled), gone, {row["way"]: row["roots"] for row in ways}
    )
    dark = [place for place, one in enumerate(trees) if unexplained(one)]
    looked = set(sorted(dark, key=lambda place: sampled[place]["turn"])[:_MOST_DARK])  # of each way some
    if not looked:
        return trees
    asked = [trees[place].root for place in sorted(looked)]
    handled = roots.handled(events, deliveries, asked).collect() if deliveries is not None else ()
    found = blamed(trees, roots.lives(events, asked).collect(), handled, whole=whole)
    solved = {gone[place] for place in looked if not unexplained(found[place])}
    unseen = {place for place in dark if place not in looked and gone[place] in solved}
    return tuple(one for place, one in enumerate(found) if place not in unseen)


def blamed(
    trees: Iterable[TupleTree], lives: Iterable[Row], handled: Iterable[Row] = (), *, whole: bool = True
) -> tuple[TupleTree, ...]:
    """The trees; those in LIVES with the tuples and lost messages that together explain what is left.

    HANDLED says what components of a log did with their tuples.  A message counts as lost only if the logs are `whole`.
    """
    known = {(row["run"], row["root"]): row for row in lives}
    done: dict[tuple[str, int], list[Row]] = {}
    for row in handled:
        done.setdefault((row["run"], row["root"]), []).append(row)
    return tuple(_blamed(tree, known, done, whole=whole) for tree in trees)


def traced(trees: Iterable[TupleTree], violations: Iterable[Violation]) -> tuple[TupleTree, ...]:
    """The trees; where a log's message does not say of which delivery it was, that of its component's double ack.

    So that both are one finding: a log has no call sites, so all that a component completed twice went the same way.
    """
    twice: dict[str, str] = {}
    for violation in violations:
        if violation.misuse is Misuse.TWICE and violation.delivery:
            twice.setdefault(violation.traced.name, violation.delivery)
    return tuple(
        replace(tree, culprits=tuple(_named(culprit, twice) for culprit in tree.culprits)) for tree in trees
    )


def _named(culprit: Culprit, twice: Mapping[str, str]) -> Culprit:
    silent = culprit.acks > 1 and not culprit.delivery and not culprit.sites
    return replace(culprit, delivery=twice.get(culprit.component, "")) if silent else culprit


def _blamed(
    tree: TupleTree,
    known: Mapping[tuple[str, int], Row],
    done: Mapping[tuple[str, int], Sequence[Row]],
    *,
    whole: bool,
) -> TupleTree:
    key = tree.run, tree.root
    if key not in known or not unexplained(tree):
        return tree
    rows, entry = known[key]["rows"], tree.entry
    if entry is None or entry.value is None:
        return tree
    if any(row["pid"] > NO_PROCESS for row in rows):
        guilty = _by_deliveries(entry.value, rows)
    elif known[key]["count"] > len(rows):
        guilty = ()  # some of its rows are not here
    elif any(row["kind"] == EventKind.SENT for row in rows) and key not in done:
        guilty = by_messages(entry.value, rows)
    else:
        guilty = by_tasks(entry.value, rows, done.get(key, ()), whole=whole)
    return replace(tree, culprits=guilty, roots=1) if guilty else tree  # of others it is not known


def _by_deliveries(left: int, rows: Iterable[Row]) -> tuple[Culprit, ...]:
    """Those of a trace, whose acks name their deliveries."""
    tuples: dict[tuple[str, int, str], list[Row]] = {}
    for row in rows:
        if row["kind"] in {EventKind.LINKED, EventKind.ACK}:
            name = row["delivery"] or f"value {row['value']}"
            tuples.setdefault((row["component"], row["task"], name), []).append(row)
    guilty = tuple(found for rows in tuples.values() if (found := _charged(rows)) is not None)
    return guilty if _sum(culprit.value for culprit in guilty) == left else ()


def _charged(rows: Sequence[Row]) -> Culprit | None:
    """One tuple that was acked an even number of times, with what that leaves."""
    acks = [row for row in rows if row["kind"] == EventKind.ACK]
    edges = [row["value"] for row in rows if row["kind"] == EventKind.LINKED]
    values = [row["value"] for row in acks] or edges[-1:]
    if len(acks) % 2 or not values:
        return None
    return Culprit(
        delivery=rows[0]["delivery"],
        component=rows[0]["component"],
        task=rows[0]["task"],
        value=values[0],
        acks=len(acks),
        sites=tuple(row["site"] for row in acks if row["site"])[:_SITES],
    )


def _sum(values: Iterable[int]) -> int:
    return reduce(xor, values, 0)

"""Several culprits at once: law L1 asked of every tuple of a root, where no single ack carries the value that is left.

X is the XOR, over all tuples acked an even number of times (never counts), of what their ack carries.
So it is enough to take just those and see whether they come to X; nothing is guessed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import xor

from pyspark.sql import Row

from ackdoctor.model.dialect import Misuse
from ackdoctor.model.event import EventKind
from ackdoctor.model.offence import Offence
from ackdoctor.model.verdict import Culprit, Residue, TupleTree

__all__ = ["blamed", "traced", "unexplained"]

_SITES = 16


def unexplained(tree: TupleTree) -> bool:
    """Whether an entry has a value that nobody is charged with yet."""
    left = tree.entry is not None and tree.entry.value
    return bool(left) and tree.residue is Residue.EVEN and not tree.culprits


def blamed(trees: Iterable[TupleTree], lives: Iterable[Row]) -> tuple[TupleTree, ...]:
    """The trees; those in LIVES with the tuples that together explain what is left."""
    known = {(row["run"], row["root"]): row["rows"] for row in lives}
    return tuple(_blamed(tree, known) for tree in trees)


def traced(trees: Iterable[TupleTree], offences: Iterable[Offence]) -> tuple[TupleTree, ...]:
    """The trees; where a log's message does not say of which delivery it was, that of its component's double ack.

    So that both are one finding: a log has no call sites, so all that a component completed twice went the same way.
    """
    twice: dict[str, str] = {}
    for offence in offences:
        if offence.misuse is Misuse.TWICE and offence.delivery:
            twice.setdefault(offence.suspect.name, offence.delivery)
    return tuple(
        replace(tree, culprits=tuple(_named(culprit, twice) for culprit in tree.culprits)) for tree in trees
    )


def _named(culprit: Culprit, twice: Mapping[str, str]) -> Culprit:
    silent = culprit.acks > 1 and not culprit.delivery and not culprit.sites
    return replace(culprit, delivery=twice.get(culprit.component, "")) if silent else culprit


def _blamed(tree: TupleTree, known: Mapping[tuple[str, int], Sequence[Row]]) -> TupleTree:
    if (tree.run, tree.root) not in known or not unexplained(tree):
        return tree
    tuples: dict[tuple[str, int, str], list[Row]] = {}
    for row in known[tree.run, tree.root]:
        if row["kind"] in {EventKind.LINKED, EventKind.ACK}:
            name = row["delivery"] or f"value {row['value']}"
            tuples.setdefault((row["component"], row["task"], name), []).append(row)
    guilty = [found for rows in tuples.values() if (found := _charged(rows)) is not None]
    entry = tree.entry
    assert entry is not None  # it is unexplained
    if reduce(xor, (culprit.value for culprit in guilty), 0) != entry.value:
        return tree
    return replace(tree, culprits=tuple(guilty), roots=1)  # of others it is not known


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

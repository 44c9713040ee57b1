"""Residues: the parity class of an entry's remaining value, and the tuples that cause it.

Law L1: the remaining value of an entry is the XOR of the ack values of all tuples acked an even number of
times.  A tuple that is never acked leaves the same value as one that is acked twice:

    leaf 7 is acked twice: 66 ends with 7      solve(7, [3, 4, 7])  -> the third column
    leaves 4 and 7 are acked twice: 4 ^ 7 = 3  solve(3, [4, 7, 9])  -> the first two

Elimination over GF(2) finds several culprits.  The smallest set wins; if another set of that size explains
the value as well, the solution is ambiguous.  Up to about 60 tuples with random 64-bit ids are unambiguous.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from operator import xor

from ackdoctor.model.trace import Culprit, Event, EventKind, PendingEntry, Residue, TupleTree, Verdict

_BITS = 64
_LONG = (1 << _BITS) - 1
_MAX_SITES = 16  # per tuple
_KERNEL = 12  # largest kernel of which all solutions are compared: 2**12
_COLUMNS = {1: 1_000_000, 2: 1_000_000, 3: 1_500, 4: 180}  # set size -> most columns to search


def residue(entry: PendingEntry | None, verdict: Verdict) -> Residue:
    """Return the parity class of an entry.  After a fail, the rest of a correct tree looks like an orphan (L4)."""
    if entry is None or (entry.value is None and not entry.failed):
        return Residue.NONE
    if entry.failed or verdict is Verdict.FAILED:
        return Residue.FAILED
    return Residue.EVEN if entry.value else Residue.ODD


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Solution:
    """Indices of columns whose XOR is the target; `least` if no smaller set exists."""

    columns: tuple[int, ...]
    ambiguous: bool
    least: bool = True


def solve(target: int, columns: Sequence[int]) -> Solution | None:
    """Return the smallest set of columns whose XOR is `target`, or None.

    Elimination takes one pass over the columns.  Then at most 4096 sets are compared, or about a million sets of
    up to four columns are looked up.  Of larger problems, the set that elimination finds is returned.
    """
    basis: dict[int, tuple[int, int]] = {}  # top bit -> vector, mask of the columns in it
    kernel: list[int] = []
    places: list[int] = []  # bit in `made_of` -> index of the column

    def reduced(vector: int, made_of: int) -> tuple[int, int]:
        while vector and (step := basis.get(vector.bit_length())):
            vector ^= step[0]
            made_of ^= step[1]
        return vector, made_of

    for place, column in enumerate(columns):
        vector, made_of = reduced(column & _LONG, 1 << len(places))
        if vector:
            basis[vector.bit_length()] = (vector, made_of)
        elif len(kernel) <= _KERNEL:
            kernel.append(made_of)
        elif len(basis) == _BITS:
            break  # the basis is complete
        else:
            continue
        places.append(place)
    rest, chosen = reduced(target & _LONG, 0)
    if rest:
        return None
    if len(kernel) <= _KERNEL:
        chosen, ties = _smallest_solution(chosen, kernel)
        return Solution(columns=_set_bits(chosen, places), ambiguous=ties > 1)
    return _search_small_sets(target, columns) or Solution(
        columns=_set_bits(chosen, places), ambiguous=True, least=False
    )


def _smallest_solution(chosen: int, kernel: Sequence[int]) -> tuple[int, int]:
    """Return the solution with the fewest columns, and how many have so few; Gray code enumerates them."""
    best, ties = chosen, 1
    for step in range(1, 1 << len(kernel)):
        chosen ^= kernel[(step & -step).bit_length() - 1]
        if chosen.bit_count() < best.bit_count():
            best, ties = chosen, 1
        elif chosen.bit_count() == best.bit_count():
            ties += 1
    return best, ties


def _search_small_sets(target: int, columns: Sequence[int]) -> Solution | None:
    """Return a smallest set of up to four columns; a hash lookup finds its last column."""
    where: dict[int, list[int]] = {}
    for place, column in enumerate(columns):
        where.setdefault(column, []).append(place)
    for size, most in _COLUMNS.items():
        if len(columns) > most:
            return None
        found: list[tuple[int, ...]] = []
        for first in combinations(range(len(columns)), size - 1):
            last = reduce(xor, (columns[place] for place in first), target)
            found += [(*first, place) for place in where.get(last, ()) if not first or place > first[-1]]
            if len(found) > 1:
                break
        if found:
            return Solution(columns=found[0], ambiguous=len(found) > 1)
    return None


def _set_bits(made_of: int, places: Sequence[int]) -> tuple[int, ...]:
    return tuple(place for index, place in enumerate(places) if made_of >> index & 1)


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class TracedTuple:
    """One tuple of a root in a trace: `values` are its acks' values, in order.

    `edge` is its own edge, None if the trace has only messages to the acker.
    """

    delivery: str
    component: str
    task: int
    values: tuple[int, ...] = ()
    edge: int | None = None
    sites: tuple[str, ...] = ()

    def residual_values(self) -> tuple[int, ...]:
        """Return the values that it may leave in the entry; empty if it was acked exactly once.

        Storm's second ack includes the children emitted since the first; JStorm's has no children.  So the rest is
        the XOR of all acks but the last, or of all but the first.
        """
        if not self.values:
            return () if self.edge is None else (self.edge,)
        total = reduce(xor, self.values)
        return tuple(
            value for value in dict.fromkeys((total ^ self.values[-1], total ^ self.values[0])) if value
        )


def traced_tuples(events: Iterable[Event], roots: Mapping[int, object]) -> dict[int, tuple[TracedTuple, ...]]:
    """Return the tuples of some roots, from LINKED and ACK rows.

    An ACK row without a delivery comes from an acker's log; each distinct value then counts as one tuple.
    """
    found: dict[int, dict[tuple[str, int, str], list[Event]]] = {root: {} for root in roots}
    for event in events:
        tuples = found.get(event.root)
        if tuples is not None and event.kind in {EventKind.LINKED, EventKind.ACK}:
            name = event.delivery or f"value {event.value}"
            tuples.setdefault((event.component, event.task, name), []).append(event)
    return {root: tuple(map(_traced_tuple, tuples.values())) for root, tuples in found.items()}


def _traced_tuple(events: Sequence[Event]) -> TracedTuple:
    """Make a tuple of its rows."""
    acks = [event for event in events if event.kind is EventKind.ACK]
    edges = [event.value for event in events if event.kind is EventKind.LINKED]
    return TracedTuple(
        delivery=events[0].delivery,
        component=events[0].component,
        task=events[0].task,
        values=tuple(event.value for event in acks),
        edge=edges[-1] if edges else None,
        sites=tuple(event.site for event in acks if event.site)[:_MAX_SITES],
    )


def find_culprits(tree: TupleTree, seen: Sequence[TracedTuple]) -> TupleTree:
    """Return the tree with its culprits, if the traced tuples explain its remaining value.

    If all tuples with wrong acks together explain the value, they are the culprits; else the smallest set is.
    """
    left = tree.entry.value if tree.entry is not None else None
    if not left or tree.residue is not Residue.EVEN:
        return tree
    columns = [(value, traced) for traced in seen for value in traced.residual_values()]
    total = reduce(xor, (value for value, _ in columns), 0)
    if len({traced for _, traced in columns}) == len(columns) and total == left:
        return replace(tree, culprits=_culprits(columns), ambiguous=False)
    solution = solve(left, [value for value, _ in columns])
    if solution is None:  # a tuple that is never acked leaves its children's edges, too
        columns += [(traced.edge, traced) for traced in seen if traced.values and traced.edge is not None]
        solution = solve(left, [value for value, _ in columns])
    if solution is None:
        return tree
    chosen = [columns[place] for place in solution.columns]
    wrong = [column for column in chosen if len(column[1].values) % 2 == 0]
    if len(wrong) == 1:
        wrong = [(left, wrong[0][1])]
    return replace(tree, culprits=_culprits(wrong), ambiguous=solution.ambiguous)


def _culprits(columns: Iterable[tuple[int, TracedTuple]]) -> tuple[Culprit, ...]:
    return tuple(
        Culprit(
            delivery=traced.delivery,
            component=traced.component,
            task=traced.task,
            value=value,
            acks=len(traced.values),
            sites=traced.sites,
        )
        for value, traced in columns
    )

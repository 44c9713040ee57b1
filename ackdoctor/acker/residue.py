"""What a value that is left over tells: the parity class, and the culprits.

Law L1: the value left in an entry is the XOR, over all tuples acked an even number of times, of the value
that their ack carries.  Never acked and acked twice leave the same value:

    leaf 7 is acked twice: 66 ends with 7      solve(7, [3, 4, 7])  -> the third column
    leaves 4 and 7 are acked twice: 4 ^ 7 = 3  solve(3, [4, 7, 9])  -> the first two

Several culprits are found by elimination over GF(2).  The smallest set wins; where as many others explain
the value as well, the solution is ambiguous.  Of 64-bit random ids, up to some 60 tuples are never ambiguous.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from operator import xor

from ackdoctor.model.event import Event, EventKind
from ackdoctor.model.verdict import Culprit, PendingEntry, Residue, TupleTree, Verdict

__all__ = ["Solution", "TracedTuple", "find_culprits", "residue", "solve", "traced_tuples"]

_BITS = 64
_LONG = (1 << _BITS) - 1
_MAX_SITES = 16  # of one tuple's acks are kept
_KERNEL = 12  # up to here every solution is looked at: 2**12 of them
_COLUMNS = {1: 1_000_000, 2: 1_000_000, 3: 1_500, 4: 180}  # how many columns are searched for sets of a size


def residue(entry: PendingEntry | None, verdict: Verdict) -> Residue:
    """The parity class of an entry; after a fail the rest of a correct tree looks like an orphan, too (L4)."""
    if entry is None or (entry.value is None and not entry.failed):
        return Residue.NONE
    if entry.failed or verdict is Verdict.FAILED:
        return Residue.FAILED
    return Residue.EVEN if entry.value else Residue.ODD


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Solution:
    """The columns whose XOR is the target, by their places; `least` if no smaller set can be."""

    columns: tuple[int, ...]
    ambiguous: bool
    least: bool = True


def solve(target: int, columns: Sequence[int]) -> Solution | None:
    """The smallest set of columns whose XOR is `target`, or None if there is none.

    Elimination costs one pass over the columns; then at most 4096 sets are compared, or about a million
    sets of up to four columns looked up.  What is larger than that is given as elimination found it.
    """
    basis: dict[int, tuple[int, int]] = {}  # top bit -> vector, what it is made of
    kernel: list[int] = []
    places: list[int] = []  # of the columns that something is made of; a bit in `made_of` is an index here

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
            break  # the basis explains any value; what follows cannot change it
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
    """Compares all solutions, in an order in which neighbours differ by one vector; how many are the lightest."""
    best, ties = chosen, 1
    for step in range(1, 1 << len(kernel)):
        chosen ^= kernel[(step & -step).bit_length() - 1]
        if chosen.bit_count() < best.bit_count():
            best, ties = chosen, 1
        elif chosen.bit_count() == best.bit_count():
            ties += 1
    return best, ties


def _search_small_sets(target: int, columns: Sequence[int]) -> Solution | None:
    """The first size for which there are sets; the last member of a set is looked up."""
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
    """One tuple of a root, as the evidence knows it: `values` are those of its acks, in order.

    `edge` is its own edge, None where only messages to the acker are known.
    """

    delivery: str
    component: str
    task: int
    values: tuple[int, ...] = ()
    edge: int | None = None
    sites: tuple[str, ...] = ()

    def residual_values(self) -> tuple[int, ...]:
        """What it may leave in the entry; nothing when it was acked as it should be.

        A second ack repeats the first with the children emitted since; JStorm's lacks the children, so
        it is all but the last there, or all but the first.
        """
        if not self.values:
            return () if self.edge is None else (self.edge,)
        total = reduce(xor, self.values)
        return tuple(
            value for value in dict.fromkeys((total ^ self.values[-1], total ^ self.values[0])) if value
        )


def traced_tuples(events: Iterable[Event], roots: Mapping[int, object]) -> dict[int, tuple[TracedTuple, ...]]:
    """What a trace says about each tuple of some roots, from its LINKED and ACK rows.

    An ACK row without a delivery comes from an acker's log: there, one value is taken for one tuple.
    """
    found: dict[int, dict[tuple[str, int, str], list[Event]]] = {root: {} for root in roots}
    for event in events:
        tuples = found.get(event.root)
        if tuples is not None and event.kind in {EventKind.LINKED, EventKind.ACK}:
            name = event.delivery or f"value {event.value}"
            tuples.setdefault((event.component, event.task, name), []).append(event)
    return {root: tuple(map(_traced_tuple, tuples.values())) for root, tuples in found.items()}


def _traced_tuple(events: Sequence[Event]) -> TracedTuple:
    """The rows of one tuple."""
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
    """The tree with its culprits, if what was seen explains the value that is left.

    Where all that went wrong together explains the value, that is the answer; else the smallest set that does.
    """
    left = tree.entry.value if tree.entry is not None else None
    if not left or tree.residue is not Residue.EVEN:
        return tree
    columns = [(value, traced) for traced in seen for value in traced.residual_values()]
    if len({traced for _, traced in columns}) == len(columns) and _total(columns) == left:
        return replace(tree, culprits=_culprits(columns), ambiguous=False)
    solution = solve(left, [value for value, _ in columns])
    if solution is None:  # a tuple that was never acked leaves its children as well
        columns += [(traced.edge, traced) for traced in seen if traced.values and traced.edge is not None]
        solution = solve(left, [value for value, _ in columns])
    if solution is None:
        return tree
    chosen = [columns[place] for place in solution.columns]
    wrong = [column for column in chosen if len(column[1].values) % 2 == 0]
    if len(wrong) == 1:
        wrong = [(left, wrong[0][1])]
    return replace(tree, culprits=_culprits(wrong), ambiguous=solution.ambiguous)


def _total(columns: Iterable[tuple[int, TracedTuple]]) -> int:
    return reduce(xor, (value for value, _ in columns), 0)


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

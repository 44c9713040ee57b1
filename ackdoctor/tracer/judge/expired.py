"""Why the roots of a stored trace timed out: how long each component held its tuples of them.

The trace is read twice more, only if roots timed out: for the tuples of those roots, and for when each was completed.
`spark.judge.expiry` asks the same of tables; the judgement of both is `slowness`.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import TypeAlias

from ackdoctor.model.event import Event, EventKind
from ackdoctor.tracer.judge.life import Events
from ackdoctor.tracer.judge.slowness import Step, TimedOut, cause_of

__all__ = ["causes", "timed_out"]

_Delivery: TypeAlias = tuple[str, str, int, str, int, str]  # run, worker, process, component, task, delivery
_DONE = (EventKind.ACKED, EventKind.FAILED)
_MS = 1e6
_MOST = 100_000  # roots that are looked into; the others count with an unknown cause


def timed_out(events: Events, roots: Collection[int]) -> list[TimedOut]:
    """Return the roots whose spout timed them out; a root without its beginning or its end is left out."""
    asked = set(sorted(roots)[:_MOST])
    begun: dict[int, int] = {}
    ended: dict[int, int] = {}
    tuples: dict[_Delivery, set[int]] = {}
    for event in events():
        if event.root not in asked:
            continue
        if event.kind is EventKind.INIT:
            begun.setdefault(event.root, event.time_ns)
        elif event.kind is EventKind.TIMED_OUT:
            ended.setdefault(event.root, event.time_ns)
        elif event.kind is EventKind.LINKED:
            tuples.setdefault(_delivery(event), set()).add(event.root)
    received: dict[_Delivery, int] = {}
    completed: dict[_Delivery, list[int]] = {}
    for event in events() if tuples else ():
        if event.kind is EventKind.RECEIVED and (key := _delivery(event)) in tuples:
            received.setdefault(key, event.time_ns)
        elif event.kind in _DONE and (key := _delivery(event)) in tuples:
            completed.setdefault(key, []).append(event.time_ns)
    own: dict[int, list[_Delivery]] = {}
    for key, its in tuples.items():
        for root in its:
            own.setdefault(root, []).append(key)
    return [
        _tree(root, ended[root] - begun[root], begun[root], own.get(root, []), received, completed)
        for root in sorted(ended.keys() & begun.keys())
    ]


def causes(trees: Collection[TimedOut], total: int, timeout_s: int | None) -> Iterator[tuple[str, int]]:
    """Yield how many of `total` roots that timed out have which cause, the most frequent first."""
    found = Counter(cause_of(tree, timeout_s).value for tree in trees)
    if (unknown := total - len(trees)) > 0:
        found["cause not known"] += unknown
    yield from found.most_common()


def _delivery(event: Event) -> _Delivery:
    return event.run, event.worker, event.pid, event.component, event.task, event.delivery


def _tree(
    root: int,
    age_ns: int,
    begun_ns: int,
    own: list[_Delivery],
    received: dict[_Delivery, int],
    completed: dict[_Delivery, list[int]],
) -> TimedOut:
    held: dict[str, int] = {}
    for key in sorted((key for key in own if key in received), key=lambda key: received[key]):
        hold_ns = max(completed.get(key, [received[key]])) - received[key]
        held[key[3]] = max(held.get(key[3], 0), hold_ns)
    last_ns = max((at for key in own for at in completed.get(key, ())), default=None)
    return TimedOut(
        root=root,
        roots=1,
        age_ms=age_ns / _MS,
        took_ms=None if last_ns is None else (last_ns - begun_ns) / _MS,
        steps=tuple(Step(component=name, held_ms=hold_ns / _MS) for name, hold_ns in held.items()),
        missing=any(key not in received for key in own),
        open=any(key not in completed for key in own),
        twice=any(len(completed.get(key, ())) > 1 for key in own),
    )

"""What became of the messages of each spout of a trace, by message id.

A message that failed is lost only if no later emit of its id completed; a message that waits for an answer is open.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ackdoctor.model.trace import RELIABLE, Event, EventKind, Outcomes

_ANSWERS = frozenset({EventKind.COMPLETED, EventKind.GAVE_UP, EventKind.TIMED_OUT})
_Key: TypeAlias = tuple[str, str, int, str, str]


@dataclass(slots=True)
class _Message:
    emits: int = 0
    done: int = 0
    bad: int = 0


def outcomes(events: Iterable[Event]) -> tuple[Outcomes, ...]:
    """Count the message ids of each spout by what became of them; `spark.roots.outcomes` agrees.

    An answer names its message, or its root.
    """
    messages: dict[_Key, _Message] = defaultdict(_Message)
    roots: dict[tuple[str, int], _Key] = {}
    takers: set[str] = set()  # components that receive tuples: their emits name anchors, not message ids
    for event in events:
        if event.kind is EventKind.RECEIVED:
            takers.add(event.component)
        key = event.component, event.run, event.task, event.test, event.delivery
        if event.kind is EventKind.EMITTED and event.flags & RELIABLE and event.delivery:
            messages[key].emits += 1
            roots[event.run, event.root] = key
        elif event.kind in _ANSWERS:
            known = key if event.delivery else roots.get((event.run, event.root)) if event.root else None
            if known is not None:
                message = messages[known]
                message.done += event.kind is EventKind.COMPLETED
                message.bad += event.kind is not EventKind.COMPLETED
    by_spout: dict[str, list[_Message]] = defaultdict(list)
    for (component, *_), message in messages.items():
        if component not in takers:
            message.emits = max(message.emits, message.done + message.bad)
            by_spout[component].append(message)
    return tuple(_counted(spout, those) for spout, those in sorted(by_spout.items()))


def _counted(spout: str, messages: list[_Message]) -> Outcomes:
    unfinished = [each for each in messages if not each.done]
    return Outcomes(
        spout=spout,
        ids=len(messages),
        completed=len(messages) - len(unfinished),
        failed=sum(each.bad > 0 for each in messages),
        replayed=sum(each.bad > 0 and each.emits > 1 for each in messages),
        lost=sum(each.bad >= each.emits for each in unfinished),
        open=sum(each.bad < each.emits for each in unfinished),
        repeated=sum(each.done > 1 for each in messages),
    )

"""Plays messages to an acker and a spout executor, and writes down what is left and what was heard."""

from collections.abc import Iterable

from ackdoctor.acker.acker import Acker, make_acker
from ackdoctor.acker.rotating_map import VirtualClock
from ackdoctor.acker.spout import Heard, SpoutExecutor
from ackdoctor.acker.versions import Profile
from ackdoctor.model.message import Message
from ackdoctor.model.verdict import PendingEntry
from tests.acker.orders import ROOT, SPOUT, A, B, E, F

NAMES = {A: "a", B: "b", E: "e", F: "f"}


class Listed:
    """Ids as a list says; edges that the table's messages speak of are drawn for show."""

    def __init__(self, *ids: int) -> None:
        self._ids = list(ids)

    def next_long(self) -> int:
        return self._ids.pop(0)


def play(profile: Profile, messages: Iterable[Message]) -> tuple[list[str], list[str]]:
    """Root ROOT, emitted by task SPOUT: the entries that stay, and what its spout hears in the end."""
    acker = make_acker(profile, VirtualClock())
    spout = SpoutExecutor(profile, tasks=[SPOUT], ids=Listed(ROOT, A), clock=(clock := VirtualClock()))
    spout.emit(SPOUT, "message", targets=1)
    heard: list[Heard | None] = []
    for message in messages:
        answer = acker.receive(message)
        if answer is not None:
            heard.append(spout.hear(answer))
    clock.advance(60)
    for _ in range(3):
        heard += spout.tick()
    return left(acker), [each.reason.name for each in heard if each is not None]


def left(acker: Acker) -> list[str]:
    return [written(entry) for entry in acker.pending()]


def written(entry: PendingEntry) -> str:
    """An entry in the notation of the truth table."""
    mark = "O" if entry.task is None else "S"
    if entry.value is None:
        return f"{mark}f" if entry.failed else "nil"
    return f"{mark}{'f' if entry.failed else ''}({named(entry.value)})"


def named(value: int) -> str:
    return "^".join(name for edge, name in NAMES.items() if value & edge) or "0"

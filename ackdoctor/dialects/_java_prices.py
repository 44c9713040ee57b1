"""What a mistake costs in a Java topology, where no bridge dies of it: the acker's arithmetic goes wrong.

`kept` says how long the acker keeps an entry that nothing can complete ("for two to three timeouts").
Read: Acker.java and BoltOutputCollectorImpl.java @ v2.8.8; what they make of each mistake is `tests/acker/truth_table.py`.
"""

from collections.abc import Mapping
from dataclasses import replace

from ackdoctor.model.dialect import OFF, ON, Anchoring, Discipline, Misuse, Moment, Price, TickDuty

__all__ = ["basic", "bolt", "persistent", "spout", "stateful", "stateful_window", "windowed"]

_PRICES: Mapping[Misuse, tuple[Price, ...]] = {
    Misuse.TWICE: (Price.ZOMBIE, Price.TIMEOUT),
    Misuse.MIXED: (Price.ZOMBIE, Price.LOSS),
    Misuse.NEVER: (Price.TIMEOUT,),
    Misuse.UNANCHORED: (Price.LOSS,),
    Misuse.LATE_EMIT: (Price.LOSS, Price.ZOMBIE, Price.TIMEOUT),
    Misuse.SWALLOWED: (Price.LOSS,),
    Misuse.EARLY: (Price.LOSS,),
}


def _notes(kept: str) -> dict[Misuse, str]:
    return {
        Misuse.TWICE: "while its tree is open the acker's entry can never become zero again, and its tree times out; "
        f"after that the second ack makes an orphan entry, kept {kept}",
        Misuse.MIXED: "the spout hears one of the two, perhaps an ack for work that failed, and the other makes an orphan "
        f"entry in the acker, kept {kept}",
        Misuse.NEVER: "its tree times out, and is replayed if its spout emitted it with a message id",
        Misuse.UNANCHORED: "the tree ends here: whatever fails downstream is never replayed",
        Misuse.LATE_EMIT: "its tree may be complete already, and what fails downstream is lost in silence, or it can never "
        f"become zero and times out; the late acks make an orphan entry, kept {kept}",
        Misuse.SWALLOWED: "the spout sees an ack for a tuple whose work was not done",
        Misuse.EARLY: "what fails after the ack is never replayed",
    }


def bolt(kept: str) -> Discipline:
    """A bolt that acks by hand."""
    return Discipline(
        tick=TickDuty.OPTIONAL,
        ticks_in_data=True,
        serializer="kryo",
        thread_safe=True,
        prices=_PRICES,
        notes=_notes(kept),
    )


def basic(kept: str) -> Discipline:
    """A bolt whose executor anchors and acks, and fails the tuple for a FailedException alone."""
    return replace(
        bolt(kept),
        auto_ack=ON,
        auto_anchor=ON,
        anchoring=Anchoring.FORCED,
        tick=TickDuty.AUTO,
        prices={**_PRICES, Misuse.OFF_THREAD: (Price.LOSS,)},
        notes={
            **_notes(kept),
            Misuse.OFF_THREAD: "the emit is anchored to the tuple that the executor is at by then, or to its last one, which is "
            "acked: what fails downstream replays another tuple, or none",
        },
    )


def windowed(kept: str) -> Discipline:
    """A bolt whose tuples are acked when they leave the window, before the handler gets them as expired."""
    return replace(
        bolt(kept),
        auto_ack=ON,
        auto_anchor=ON,
        anchoring=Anchoring.CURRENT,
        tick=TickDuty.FRAMEWORK,
        ticks_in_data=False,
        completion=Moment.EXPIRY,
        prices={**_PRICES, Misuse.OFF_THREAD: (Price.LOSS,)},
        notes={
            **_notes(kept),
            Misuse.OFF_THREAD: "the emit is anchored to the window that the executor is at by then: what fails downstream replays "
            "other tuples, or none",
        },
    )


def stateful_window(kept: str) -> Discipline:
    """A windowed bolt whose acks wait for the checkpoint, and which may be persistent for all that its class says."""
    plain = windowed(kept)
    twice = f"{plain.notes[Misuse.TWICE]}; under withPersistence() it would do nothing"
    return replace(plain, notes={**plain.notes, Misuse.TWICE: twice})


def persistent(kept: str) -> Discipline:
    """A windowed bolt whose tuples are acked at the checkpoint that stores them, and whose emits have no anchor.

    Its collector ignores acks, and hands on fails (PersistentWindowedBoltExecutor.java:133-140,208-212,237-246 @ v2.8.8).
    """
    return replace(
        windowed(kept),
        auto_anchor=OFF,
        anchoring=Anchoring.NONE,
        completion=Moment.STORED,
        prices={
            Misuse.MIXED: (Price.ZOMBIE,),
            Misuse.LATE_EMIT: _PRICES[Misuse.LATE_EMIT],
            Misuse.SWALLOWED: (Price.LOSS,),
        },
        notes={
            Misuse.TWICE: "nothing comes of it, the collector of a persistent window ignores acks",
            Misuse.MIXED: "the spout hears a fail although the stored window has it, and the checkpoint acks it all the same: "
            f"an orphan entry in the acker, kept {kept}",
            Misuse.LATE_EMIT: _notes(kept)[Misuse.LATE_EMIT],
            Misuse.SWALLOWED: "the window is stored and its tuples are acked although their work was not done",
        },
    )


def stateful(kept: str) -> Discipline:
    """A bolt whose acks wait for the checkpoint; an emit without anchor throws."""
    return replace(
        bolt(kept),
        prices={**_PRICES, Misuse.UNANCHORED: (Price.KILL,)},
        notes={
            **_notes(kept),
            Misuse.UNANCHORED: "a stateful bolt's collector throws UnsupportedOperationException, which ends the worker",
        },
    )


def spout() -> Discipline:
    """A spout; its collector belongs to the thread that calls nextTuple."""
    return Discipline(
        serializer="kryo",
        auto_fail=OFF,
        prices={
            Misuse.NO_MESSAGE_ID: (Price.LOSS,),
            Misuse.OFF_THREAD: (Price.LOSS,),
            Misuse.NEVER_RETURNS: (Price.TIMEOUT,),
        },
        notes={
            Misuse.NO_MESSAGE_ID: "Storm does not track the tuple and will never call ack or fail for it",
            Misuse.OFF_THREAD: "a SpoutOutputCollector is not thread-safe: tuples and their entries among the pending ones get lost",
            Misuse.NEVER_RETURNS: "ack, fail and timeouts are the same thread's work and never come, so its pending map only grows",
        },
    )

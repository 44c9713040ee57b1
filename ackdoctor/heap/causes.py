"""What each kind of entry means, and its likely causes in order.

A cause names the law that it follows from (L1 and L1b: the page of ACK601; L4: ACK602) and the rules whose pages tell more.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ackdoctor.heap.jvm.entries import Kind
from ackdoctor.model.cause import Cause

__all__ = ["CAUSES", "LABELS", "Cause", "Meaning"]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Meaning:
    """What an entry of this kind says by itself, and what may have made it, the likeliest first."""

    says: str
    causes: tuple[Cause, ...]


LABELS: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.WAITING: "tracked",
        Kind.ORPHAN: "orphan",
        Kind.ZERO: "orphan, zero",
        Kind.FAILED: "orphan, failed",
        Kind.NIL: "orphan, nil",
        Kind.OTHER: "not an entry",
    }
)

_LATE = Cause(
    text="acks under way when the tree failed or timed out: correct programs leave them, too", law="L4"
)

CAUSES: Mapping[Kind, Meaning] = MappingProxyType(
    {
        Kind.WAITING: Meaning(
            says="a spout task is known and the value is not zero: under way, or, if old, never to complete",
            causes=(
                Cause(
                    text="a tuple of the tree was never acked: a path without ack or fail, a bolt that died, a buffer",
                    law="L1",
                    rules=("ACK101", "ACK102", "ACK401"),
                ),
                Cause(
                    text="a tuple was acked an even number of times while the tree was incomplete",
                    law="L1b",
                    rules=("ACK103", "ACK104", "ACK105"),
                ),
                Cause(
                    text="an emit was anchored to a tuple that had been acked",
                    rules=("ACK202",),
                ),
            ),
        ),
        Kind.ORPHAN: Meaning(
            says="no spout waits for it, and no message can take it away",
            causes=(
                Cause(
                    text="a tuple was acked an even number of times, the last time after the tree was complete",
                    law="L1b",
                    rules=("ACK103", "ACK104", "ACK105"),
                ),
                _LATE,
                Cause(
                    text="an emit was anchored to a tuple that had been acked, and the child acks",
                    rules=("ACK202",),
                ),
            ),
        ),
        Kind.ZERO: Meaning(
            says="no spout waits for it; zero alone does not take it away",
            causes=(
                Cause(
                    text="a tuple was acked an odd number of times, three or more",
                    law="L1b",
                    rules=("ACK103", "ACK104"),
                ),
                Cause(text="a timeout was reset after the tree had ended (2.x)"),
            ),
        ),
        Kind.FAILED: Meaning(
            says="no spout waits for it; a fail came after the tree had ended, or before it began",
            causes=(
                Cause(text="several tuples of one tree failed: correct programs leave it, too", law="L4"),
                Cause(
                    text="a tuple was failed after its ack, or failed twice",
                    rules=("ACK106",),
                ),
            ),
        ),
        Kind.NIL: Meaning(
            says="no spout waits for it, and it never had a value",
            causes=(Cause(text="a timeout was reset after the tree had ended"),),
        ),
        Kind.OTHER: Meaning(
            says="its value is none that an acker stores, or the dump has lost it", causes=()
        ),
    }
)

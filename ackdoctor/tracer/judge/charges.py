"""What each misuse that a run has shown is called: one table from misuse and turn to rule and words.

The words are those of lint, as far as a run can know them: it knows no variable's name, but which
call did it.  In the templates stand

    {tup}        the tuple, a tuple of the batch, the tick
    {component}  {where}  {framework}  {held}  {anchors}  {serializer}
    {first}      what the first completion did: acked, failed        {then}  what the last one did
    {hand}       what the author's code did, where the framework did it as well
    {does}       what the last touch does: acks, fails, emits         {ticker}  who completes ticks
    {stop}  {by_hand}  {on_thread}  {ticks}  what to do, as it fits this component
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, unique
from types import MappingProxyType

from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Severity

__all__ = ["CHARGES", "Charge", "Mark", "Turn"]


@unique
class Turn(Enum):
    """What decides between two rules where the misuse alone does not."""

    PLAIN = "nothing else is known"
    FRAMEWORK = "the framework's own ack is one of the two"
    RESCUE = "the framework's own fail is the second"
    ROUND = "one call completes twice while one tuple is handled"
    HELD = "a field still holds it"
    WAITING = "it waits for a batch that was never processed"


@unique
class Mark(Enum):
    """Which touch the finding stands on."""

    LAST = "the offending touch"
    HAND = "the author's own completion"
    RECEIPT = "the handler that was given the tuple"


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Charge:
    """A rule and its words; `last` is said of the last step, '' where the step says it itself.

    Without `priced` the finding costs nothing by itself and is a warning, as in lint.
    """

    code: str
    message: str
    help: str
    last: str = ""
    mark: Mark = Mark.LAST
    severity: Severity | None = None
    priced: bool = True


_ROUND = Charge(
    code="ACK104",
    message="{tup} is completed again by the same call, once in every round",
    last="completed again in the next round",
    help="complete {tup} after the loop, not in it",
)
_AS_WELL = Charge(
    code="ACK105",
    message="{tup} is {hand} by hand and {framework} acks it as well",
    help="{by_hand}",
    mark=Mark.HAND,
)

CHARGES: Mapping[tuple[Misuse, Turn], Charge] = MappingProxyType(
    {
        (Misuse.TWICE, Turn.PLAIN): Charge(
            code="ACK103",
            message="{tup} is acked a second time",
            last="acked again",
            help="{stop}ack {tup} in one place only",
        ),
        (Misuse.TWICE, Turn.ROUND): _ROUND,
        (Misuse.TWICE, Turn.FRAMEWORK): _AS_WELL,
        (Misuse.MIXED, Turn.PLAIN): Charge(
            code="ACK106",
            message="{tup} is {then} although the code has already {first} it",
            last="{then} as well",
            help="after the first completion, leave {tup} alone, so that it is completed once",
        ),
        (Misuse.MIXED, Turn.ROUND): _ROUND,
        (Misuse.MIXED, Turn.FRAMEWORK): _AS_WELL,
        (Misuse.MIXED, Turn.RESCUE): Charge(
            code="ACK106",
            message="an exception leaves after {tup} was {hand}, and the framework fails it again",
            help="complete {tup} behind the last line that can raise; where that line raises, catch it, fail {tup} and return",
            mark=Mark.HAND,
        ),
        (Misuse.NEVER, Turn.PLAIN): Charge(
            code="ACK101",
            message="{tup} leaves {where} and is neither acked nor failed",
            help="ack {tup} when its work is done, fail it when it cannot",
            mark=Mark.RECEIPT,
        ),
        (Misuse.NEVER, Turn.HELD): Charge(
            code="ACK401",
            message="{tup} is kept in `{held}`, and nothing in {component} has acked or failed it",
            help="ack or fail the tuples of `{held}` when their work is done, before you let them go",
            mark=Mark.RECEIPT,
        ),
        (Misuse.NEVER, Turn.WAITING): Charge(
            code="ACK404",
            message="{component} processes its batches later, and for {tup} that never came",
            help="{ticks}",
            mark=Mark.RECEIPT,
            severity=Severity.WARNING,
            priced=False,
        ),
        (Misuse.LATE_EMIT, Turn.PLAIN): Charge(
            code="ACK202",
            message="this emit is anchored to {tup}, which was {first}",
            last="emitted, anchored to a tuple already {first}",
            help="emit first, then complete {tup}",
        ),
        (Misuse.UNANCHORED, Turn.PLAIN): Charge(
            code="ACK201",
            message="this emit is not anchored to {tup}",
            last="emitted without anchor",
            help="pass `{anchors}=[...]` with the tuple, or `{anchors}=[]` where the new tuple needs no replay",
            severity=Severity.WARNING,
        ),
        (Misuse.TICK_TWICE, Turn.PLAIN): Charge(
            code="ACK109",
            message="the tick is {hand} by hand, and {ticker}",
            help="remove this call",
            mark=Mark.HAND,
        ),
        (Misuse.TICK_NEVER, Turn.PLAIN): Charge(
            code="ACK109",
            message="the tick leaves {where} without an ack",
            help="ack the tick: with acks by hand, ticks are yours to ack too",
            mark=Mark.RECEIPT,
        ),
        (Misuse.OFF_THREAD, Turn.PLAIN): Charge(
            code="ACK108",
            message="this {does} on another thread than the one that talks to Storm",
            last="{does} off the framework's thread",
            help="{on_thread}",
        ),
        (Misuse.NEVER_RUNS, Turn.PLAIN): Charge(
            code="ACK110",
            message="{where} is a generator or a coroutine and its body never runs",
            help="make it a plain method; run asynchronous work to its end inside it",
            mark=Mark.RECEIPT,
        ),
        (Misuse.ANCHOR_SHAPE, Turn.PLAIN): Charge(
            code="ACK204",
            message="`{anchors}` is a tuple instead of a list of tuples",
            last="emitted here",
            help="pass `{anchors}=[...]`",
        ),
        (Misuse.ANCHOR_ID, Turn.PLAIN): Charge(
            code="ACK204",
            message="`{anchors}` is an id instead of a list of tuples",
            last="emitted here",
            help="pass the tuple in a list: `{anchors}=[...]`",
        ),
        (Misuse.PAYLOAD_OPAQUE, Turn.PLAIN): Charge(
            code="ACK205",
            message="the payload holds a value that {serializer} cannot carry",
            last="emitted here",
            help="emit plain values only",
        ),
        (Misuse.NO_MESSAGE_ID, Turn.PLAIN): Charge(
            code="ACK301",
            message="this emit passes no message id",
            last="emitted without message id",
            help="pass what the source knows the record by, and send it again in `fail`, a few times at most",
        ),
    }
)

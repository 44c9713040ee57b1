"""Which rule a violation breaks: a table from misuse and turn to a rule, a case of its messages, and what fills them.

The messages are those of the catalogue, `rulebook.messages`.  A run knows no variable's name, but it knows which call
did it.  `fill` holds templates for a rule's placeholders; their own placeholders are the keys of `Circumstances.words`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, unique
from types import MappingProxyType

from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Severity
from ackdoctor.rulebook import messages
from ackdoctor.rulebook.messages import PHRASES, Words

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


@dataclass(slots=True, eq=False, kw_only=True)
class Charge:
    """A rule and its words; without `noted` the last step of the life speaks for itself.

    Without `priced` the finding has no price of its own and is a warning, as in lint.
    """

    code: str
    case: str = ""
    fill: Mapping[str, str] = field(default_factory=dict)
    noted: bool = True
    mark: Mark = Mark.LAST
    severity: Severity | None = None
    priced: bool = True

    def words(self, facts: Mapping[str, str]) -> Words:
        """Return the words of the finding, filled with these facts."""
        values = {name: template.format_map(facts) for name, template in self.fill.items()}
        words = messages.words(self.code, self.case, **{**facts, **values})
        return words if self.noted else words._replace(note="")


_ROUND = Charge(code=messages.ACK_IN_LOOP)
_AS_WELL = Charge(
    code=messages.ACK_WITH_AUTO_ACK, fill={"done": "{hand}", "advice": "{by_hand}"}, mark=Mark.HAND
)

CHARGES: Mapping[tuple[Misuse, Turn], Charge] = MappingProxyType(
    {
        (Misuse.TWICE, Turn.PLAIN): Charge(code=messages.DOUBLE_ACK),
        (Misuse.TWICE, Turn.ROUND): _ROUND,
        (Misuse.TWICE, Turn.FRAMEWORK): _AS_WELL,
        (Misuse.MIXED, Turn.PLAIN): Charge(code=messages.ACK_AND_FAIL),
        (Misuse.MIXED, Turn.ROUND): _ROUND,
        (Misuse.MIXED, Turn.FRAMEWORK): _AS_WELL,
        (Misuse.MIXED, Turn.RESCUE): Charge(
            code=messages.ACK_AND_FAIL,
            case="exception",
            fill={
                "exception": "an exception",
                "done": "{hand}",
                "where": "",
                "advice": PHRASES[messages.ACK_AND_FAIL]["run"],
            },
            noted=False,
            mark=Mark.HAND,
        ),
        (Misuse.NEVER, Turn.PLAIN): Charge(code=messages.MISSING_ACK, case="run", mark=Mark.RECEIPT),
        (Misuse.NEVER, Turn.HELD): Charge(
            code=messages.UNDRAINED_BUFFER, fill={"field": "{held}"}, noted=False, mark=Mark.RECEIPT
        ),
        (Misuse.NEVER, Turn.WAITING): Charge(
            code=messages.BATCH_WITHOUT_TIMER,
            case="run",
            fill={"advice": "{ticks}"},
            mark=Mark.RECEIPT,
            severity=Severity.WARNING,
            priced=False,
        ),
        (Misuse.LATE_EMIT, Turn.PLAIN): Charge(
            code=messages.EMIT_AFTER_ACK,
            fill={
                "is_anchored": "is anchored",
                "done": "{first}",
                "where": "",
                "advice": PHRASES[messages.EMIT_AFTER_ACK]["emit first"],
            },
        ),
        (Misuse.UNANCHORED, Turn.PLAIN): Charge(
            code=messages.UNANCHORED_EMIT,
            fill={"advice": PHRASES[messages.UNANCHORED_EMIT]["anchor"].replace("{value}", "[...]")},
            severity=Severity.WARNING,
        ),
        (Misuse.TICK_TWICE, Turn.PLAIN): Charge(
            code=messages.TICK_COMPLETION,
            case="twice",
            fill={"done": "{hand}", "reason": "{ticker}"},
            noted=False,
            mark=Mark.HAND,
        ),
        (Misuse.TICK_NEVER, Turn.PLAIN): Charge(
            code=messages.TICK_COMPLETION, case="never", noted=False, mark=Mark.RECEIPT
        ),
        (Misuse.OFF_THREAD, Turn.PLAIN): Charge(
            code=messages.OFF_THREAD_COMPLETION,
            fill={
                "thread": PHRASES[messages.OFF_THREAD_COMPLETION]["another thread"],
                "advice": "{on_thread}",
            },
        ),
        (Misuse.NEVER_RUNS, Turn.PLAIN): Charge(
            code=messages.ASYNC_HANDLER,
            fill={"kind": "a generator or a coroutine"},
            noted=False,
            mark=Mark.RECEIPT,
        ),
        (Misuse.ANCHOR_SHAPE, Turn.PLAIN): Charge(
            code=messages.WRONG_ANCHOR, case="tuple", fill={"what": "a tuple", "value": "..."}
        ),
        (Misuse.ANCHOR_ID, Turn.PLAIN): Charge(
            code=messages.WRONG_ANCHOR, case="id", fill={"what": "an id", "value": "..."}
        ),
        (Misuse.PAYLOAD_OPAQUE, Turn.PLAIN): Charge(
            code=messages.UNSERIALISABLE_EMIT,
            case="value",
            fill={"what": "a value", "advice": PHRASES[messages.UNSERIALISABLE_EMIT]["plain"]},
        ),
        (Misuse.NO_MESSAGE_ID, Turn.PLAIN): Charge(
            code=messages.SPOUT_EMIT_WITHOUT_ID,
            fill={
                "reason": "",
                "advice": PHRASES[messages.SPOUT_EMIT_WITHOUT_ID]["pass"].replace(
                    "{message_id}", "a message id"
                ),
            },
        ),
    }
)

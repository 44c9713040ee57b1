"""From a violation to a rule and its words: one table by misuse and case.

A run knows no variable's name, but it knows which call did it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, unique
from functools import cache
from types import MappingProxyType

from ackdoctor import rulebook
from ackdoctor.dialects import known
from ackdoctor.model.dialect import Dialect, Discipline, Misuse, Role, TickDuty, Verb, VerbKind
from ackdoctor.model.finding import Severity
from ackdoctor.model.trace import Access, AccessKind, Violation
from ackdoctor.rulebook import (
    BATCH_WITHOUT_TIMER,
    DOUBLE_ACK,
    TICK_COMPLETION,
    Rule,
    Words,
    advice,
    phrase,
    survey,
)
from ackdoctor.tracer.trace.components import MULTILANG, role_of

__all__ = [
    "COMPLETIONS",
    "RULE_MESSAGES",
    "Case",
    "FindingSite",
    "RuleMessage",
    "ViolationContext",
    "by_framework",
    "name_of",
    "severity_of",
]


@unique
class Case(Enum):
    """What decides between two rules of one misuse."""

    PLAIN = "nothing else is known"
    FRAMEWORK = "the framework's own ack is one of the two"
    RESCUE = "the framework's own fail is the second"
    ROUND = "one call completes twice while one tuple is handled"
    HELD = "a field still holds it"
    WAITING = "it waits for a batch that was never processed"


@unique
class FindingSite(Enum):
    """Which access gives the finding its place."""

    LAST = "the offending touch"
    HAND = "the author's own completion"
    RECEIPT = "the handler that received the tuple"


@dataclass(slots=True, eq=False, kw_only=True)
class RuleMessage:
    """A rule and its words; without `noted` the last step keeps its own note.

    Without `priced` the finding has no price of its own and is a warning, as in lint.
    """

    code: str
    case: str = "message"
    fill: Mapping[str, str] = field(default_factory=dict)
    phrases: Mapping[str, str] = field(default_factory=dict)  # placeholder -> the rule's phrase
    noted: bool = True
    mark: FindingSite = FindingSite.LAST
    severity: Severity | None = None
    priced: bool = True

    def words(self, facts: Mapping[str, str]) -> Words:
        """Return the words of the finding, filled with these facts."""
        values = {**facts, **{name: template.format_map(facts) for name, template in self.fill.items()}}
        values |= {name: phrase(self.code, each, **values) for name, each in self.phrases.items()}
        text = rulebook.words(self.code, self.case, **values)
        return text if self.noted else text._replace(note="")


_ROUND = RuleMessage(code=rulebook.ACK_IN_LOOP)
_AS_WELL = RuleMessage(
    code=rulebook.ACK_WITH_AUTO_ACK, fill={"done": "{hand}", "advice": "{by_hand}"}, mark=FindingSite.HAND
)

RULE_MESSAGES: Mapping[tuple[Misuse, Case], RuleMessage] = MappingProxyType(
    {
        (Misuse.TWICE, Case.PLAIN): RuleMessage(code=rulebook.DOUBLE_ACK),
        (Misuse.TWICE, Case.ROUND): _ROUND,
        (Misuse.TWICE, Case.FRAMEWORK): _AS_WELL,
        (Misuse.MIXED, Case.PLAIN): RuleMessage(code=rulebook.ACK_AND_FAIL),
        (Misuse.MIXED, Case.ROUND): _ROUND,
        (Misuse.MIXED, Case.FRAMEWORK): _AS_WELL,
        (Misuse.MIXED, Case.RESCUE): RuleMessage(
            code=rulebook.ACK_AND_FAIL,
            case="exception",
            fill={
                "exception": "an exception",
                "done": "{hand}",
                "where": "",
            },
            phrases={"advice": "run"},
            noted=False,
            mark=FindingSite.HAND,
        ),
        (Misuse.NEVER, Case.PLAIN): RuleMessage(
            code=rulebook.MISSING_ACK, case="run", mark=FindingSite.RECEIPT
        ),
        (Misuse.NEVER, Case.HELD): RuleMessage(
            code=rulebook.UNDRAINED_BUFFER, fill={"field": "{held}"}, noted=False, mark=FindingSite.RECEIPT
        ),
        (Misuse.NEVER, Case.WAITING): RuleMessage(
            code=rulebook.BATCH_WITHOUT_TIMER,
            case="run",
            fill={"advice": "{ticks}"},
            mark=FindingSite.RECEIPT,
            severity=Severity.WARNING,
            priced=False,
        ),
        (Misuse.LATE_EMIT, Case.PLAIN): RuleMessage(
            code=rulebook.EMIT_AFTER_ACK,
            fill={
                "is_anchored": "is anchored",
                "done": "{first}",
                "where": "",
            },
            phrases={"advice": "emit first"},
        ),
        (Misuse.UNANCHORED, Case.PLAIN): RuleMessage(
            code=rulebook.UNANCHORED_EMIT,
            fill={"value": "[...]"},
            phrases={"advice": "anchor"},
            severity=Severity.WARNING,
        ),
        (Misuse.TICK_TWICE, Case.PLAIN): RuleMessage(
            code=rulebook.TICK_COMPLETION,
            case="twice",
            fill={"done": "{hand}", "reason": "{ticker}"},
            noted=False,
            mark=FindingSite.HAND,
        ),
        (Misuse.TICK_NEVER, Case.PLAIN): RuleMessage(
            code=rulebook.TICK_COMPLETION, case="never", noted=False, mark=FindingSite.RECEIPT
        ),
        (Misuse.OFF_THREAD, Case.PLAIN): RuleMessage(
            code=rulebook.OFF_THREAD_COMPLETION,
            fill={"advice": "{on_thread}"},
            phrases={"thread": "another thread"},
        ),
        (Misuse.NEVER_RUNS, Case.PLAIN): RuleMessage(
            code=rulebook.ASYNC_HANDLER,
            fill={"kind": "a generator or a coroutine"},
            noted=False,
            mark=FindingSite.RECEIPT,
        ),
        (Misuse.ANCHOR_SHAPE, Case.PLAIN): RuleMessage(
            code=rulebook.WRONG_ANCHOR, case="tuple", fill={"what": "a tuple", "value": "..."}
        ),
        (Misuse.ANCHOR_ID, Case.PLAIN): RuleMessage(
            code=rulebook.WRONG_ANCHOR, case="id", fill={"what": "an id", "value": "..."}
        ),
        (Misuse.PAYLOAD_OPAQUE, Case.PLAIN): RuleMessage(
            code=rulebook.UNSERIALISABLE_EMIT,
            case="value",
            fill={"what": "a value"},
            phrases={"advice": "plain"},
        ),
        (Misuse.NO_MESSAGE_ID, Case.PLAIN): RuleMessage(
            code=rulebook.SPOUT_EMIT_WITHOUT_ID,
            fill={"reason": "", "message_id": "a message id"},
            phrases={"advice": "pass"},
        ),
    }
)


COMPLETIONS: Mapping[AccessKind, str] = {AccessKind.ACKED: "acked", AccessKind.FAILED: "failed"}
_DOES: Mapping[AccessKind, str] = {
    AccessKind.ACKED: "acks",
    AccessKind.FAILED: "fails",
    AccessKind.ANCHORED: "emits",
    AccessKind.EMITTED: "emits",
}
_SERIALIZERS = {"json": "JSON", "simplejson": "JSON"}


def by_framework(touch: Access) -> bool:
    """Whether the framework did it by itself."""
    return touch.site is not None and touch.site.framework


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class ViolationContext:
    """A violation with its dialect and role; an unknown framework has no role and no prices."""

    violation: Violation
    dialect: Dialect | None
    role: Role | None

    @classmethod
    def of(cls, violation: Violation) -> "ViolationContext":
        """The context of a violation."""
        traced = violation.traced
        dialect = next((d for d in known() if d.name == traced.dialect), None)
        role = role_of(traced)
        named = role is not MULTILANG or traced.role == MULTILANG.name
        return cls(violation=violation, dialect=dialect, role=role if named else None)

    @property
    def discipline(self) -> Discipline | None:
        """The framework's own completions, and its prices."""
        return self.role.discipline if self.role is not None else None

    @property
    def misuse(self) -> Misuse:
        """The misuse that is priced: Storm refuses a second fail like a mixture of ack and fail."""
        failed = any(touch.kind is AccessKind.FAILED for _, touch in self._completions())
        return Misuse.MIXED if self.violation.misuse is Misuse.TWICE and failed else self.violation.misuse

    @property
    def case(self) -> Case:
        """Which of the misuse's rules applies."""
        match self.misuse:
            case Misuse.TWICE | Misuse.MIXED:
                return self._repeated()
            case Misuse.NEVER if self._waits_for_batch():
                return Case.WAITING
            case Misuse.NEVER if self.violation.held:
                return Case.HELD
            case _:
                return Case.PLAIN

    @property
    def by_hand(self) -> int:
        """The index of the author's first completion in the history; of the last access if there is none."""
        own = (at for at, touch in self._completions() if not by_framework(touch))
        return next(own, len(self.violation.history) - 1)

    @property
    def words(self) -> Mapping[str, str]:
        """The placeholders of the rule rulebook."""
        violation, traced = self.violation, self.violation.traced
        done = [COMPLETIONS[touch.kind] for _, touch in self._completions()]
        last = violation.history[-1] if violation.history else None
        emit = self._emit()
        serializer = self.discipline.serializer if self.discipline is not None else ""
        hand = violation.history[self.by_hand] if violation.history else None
        return {
            "tup": "the tick"
            if violation.tick
            else "a tuple of the batch"
            if violation.batch
            else "the tuple",
            "component": traced.name,
            "handler": ".".join(filter(None, (traced.name, violation.handler))),
            "framework": self.dialect.title
            if self.dialect is not None
            else traced.dialect or "the framework",
            "held": violation.held,
            "anchors": emit.anchors if emit is not None and emit.anchors else "anchors",
            "serializer": _SERIALIZERS.get(serializer, serializer or "the wire"),
            "first": done[0] if done else "completed",
            "then": done[-1] if done else "completed",
            "hand": COMPLETIONS.get(hand.kind, "completed") if hand is not None else "completed",
            "does": _DOES.get(last.kind, "completes") if last is not None else "completes",
            "or_leave": self._or_leave(),
            "leave": advice.leave_first(alone=not self.violation.batch),
            "by_hand": self._instead(),
            "on_thread": self._on_thread(),
            "ticks": self._ticks(),
            "ticker": self._ticker(),
        }

    # ---- which rule ----

    def _repeated(self) -> Case:
        done = [touch for _, touch in self._completions()]
        own = [touch for touch in done if by_framework(touch)]
        if any(touch.kind is AccessKind.FAILED for touch in own):
            return Case.RESCUE
        if own or self.violation.traced.auto_ack:  # lint, too, names the first call by hand
            return Case.FRAMEWORK
        before, last = done[-2:] if len(done) > 1 else (None, None)
        if before is None or last is None or last.site is None:
            return Case.PLAIN
        return Case.ROUND if (before.site, before.entry) == (last.site, last.entry) else Case.PLAIN

    def _waits_for_batch(self) -> bool:
        """Whether the field that holds it belongs to the framework."""
        wire = self.dialect.wire if self.dialect is not None else None
        return wire is not None and self.violation.held.removeprefix("self.") in wire.buffers

    def _completions(self) -> list[tuple[int, Access]]:
        return [(at, touch) for at, touch in enumerate(self.violation.history) if touch.kind in COMPLETIONS]

    def _emit(self) -> Verb | None:
        verbs = self.role.verbs if self.role is not None else ()
        more = self.dialect.verbs if self.dialect is not None else ()
        return next((verb for verb in (*verbs, *more) if verb.kind is VerbKind.EMIT), None)

    # ---- what to do ----

    def _or_leave(self) -> str:
        done = [touch for _, touch in self._completions()]
        one_call = len(done) > 1 and done[0].entry == done[-1].entry
        if not one_call or done[0].site in (None, done[-1].site):
            return ""
        where = f" (line {done[0].site.line})"
        return phrase(DOUBLE_ACK, "leave", leave=advice.leave_first(alone=True), where=where)

    def _instead(self) -> str:
        role = self.role
        if role is None:
            return "complete the tuple once: either the framework does it, or your code"
        done = [touch for _, touch in self._completions() if not by_framework(touch)]
        if done and done[0].kind is AccessKind.FAILED:
            return advice.fail_instead(role, raising=False)
        return advice.complete_by_hand(role)

    def _on_thread(self) -> str:
        locked = self.discipline is not None and self.discipline.thread_safe
        if (
            locked
            and self.role is not None
            and self.violation.history
            and self.violation.history[-1].kind not in COMPLETIONS
        ):
            return advice.emit_off_thread(self.role, auto_ack=bool(self.violation.traced.auto_ack))
        return advice.complete_on_framework_thread()

    def _ticks(self) -> str:
        if self.role is not None and self.role.batch_ticks and self.dialect is not None:
            return phrase(BATCH_WITHOUT_TIMER, "set", setting=self.dialect.tick_settings[-1])
        return phrase(BATCH_WITHOUT_TIMER, "run ends")

    def _ticker(self) -> str:
        forbidden = self.discipline is not None and self.discipline.tick is TickDuty.FORBIDDEN
        return phrase(TICK_COMPLETION, "forbidden" if forbidden else "framework")


# ---- what the rulebook says ----


@cache
def _rules() -> Mapping[str, Rule]:
    return survey()[0]


def name_of(code: str) -> str:
    """The rule's name; '' for a page that does not parse."""
    return _rules()[code].name if code in _rules() else ""


def severity_of(code: str) -> Severity:
    """The severity of the rule's page."""
    return _rules()[code].severity if code in _rules() else Severity.WARNING

"""What else is known about a violation: which of the framework's roles it happened in, and who did what."""

from collections.abc import Mapping
from dataclasses import dataclass

from ackdoctor.dialects import known
from ackdoctor.model.dialect import Dialect, Discipline, Misuse, Role, TickDuty, Verb, VerbKind
from ackdoctor.model.violation import Access, AccessKind, Violation
from ackdoctor.rulebook import advice
from ackdoctor.rulebook.messages import BATCH_WITHOUT_TIMER, DOUBLE_ACK, TICK_COMPLETION, phrase
from ackdoctor.tracer.judge.charges import Turn
from ackdoctor.tracer.trace.components import MULTILANG, role_of

__all__ = ["COMPLETIONS", "Circumstances", "by_framework"]

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
class Circumstances:
    """A violation seen beside its dialect; a framework that nobody described has no role and no prices."""

    violation: Violation
    dialect: Dialect | None
    role: Role | None

    @classmethod
    def of(cls, violation: Violation) -> "Circumstances":
        """The circumstances of a violation."""
        traced = violation.traced
        dialect = next((d for d in known() if d.name == traced.dialect), None)
        role = role_of(traced)
        named = role is not MULTILANG or traced.role == MULTILANG.name
        return cls(violation=violation, dialect=dialect, role=role if named else None)

    @property
    def discipline(self) -> Discipline | None:
        """What the framework does by itself, and its prices."""
        return self.role.discipline if self.role is not None else None

    @property
    def misuse(self) -> Misuse:
        """What is priced: a fail that follows a fail contradicts nothing, but is refused like a mixture."""
        failed = any(touch.kind is AccessKind.FAILED for _, touch in self._completions())
        return Misuse.MIXED if self.violation.misuse is Misuse.TWICE and failed else self.violation.misuse

    @property
    def turn(self) -> Turn:
        """Which of the misuse's rules it is."""
        match self.misuse:
            case Misuse.TWICE | Misuse.MIXED:
                return self._repeated()
            case Misuse.NEVER if self._waits_for_batch():
                return Turn.WAITING
            case Misuse.NEVER if self.violation.held:
                return Turn.HELD
            case _:
                return Turn.PLAIN

    @property
    def by_hand(self) -> int:
        """Where in the life the author's own first completion stands; the last touch where there is none."""
        own = (at for at, touch in self._completions() if not by_framework(touch))
        return next(own, len(self.violation.history) - 1)

    @property
    def words(self) -> Mapping[str, str]:
        """What the templates of `charges` may say."""
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

    def _repeated(self) -> Turn:
        done = [touch for _, touch in self._completions()]
        own = [touch for touch in done if by_framework(touch)]
        if any(touch.kind is AccessKind.FAILED for touch in own):
            return Turn.RESCUE
        if own or self.violation.traced.auto_ack:  # lint, too, tells the first call by hand
            return Turn.FRAMEWORK
        before, last = done[-2:] if len(done) > 1 else (None, None)
        if before is None or last is None or last.site is None:
            return Turn.PLAIN
        return Turn.ROUND if (before.site, before.entry) == (last.site, last.entry) else Turn.PLAIN

    def _waits_for_batch(self) -> bool:
        """Whether the field that holds it is the framework's own."""
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

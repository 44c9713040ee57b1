"""From violations and the acker's entries to findings, with the codes, names, severities and prices of lint.

One table says which rule and which words a misuse has. One cause is one finding: if the acker keeps an entry because of
a violation, the finding is the violation's and its witness says what is left in the pending map.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, unique
from types import MappingProxyType

from ackdoctor import rulebook
from ackdoctor.dialects import known
from ackdoctor.model.acker import AckerVersion
from ackdoctor.model.dialect import Dialect, Discipline, Misuse, Role, TickDuty, Verb, VerbKind
from ackdoctor.model.finding import Confidence, Finding, PathStep, Severity, TreeWitness, stamp
from ackdoctor.model.protocol import Op, Stage, move
from ackdoctor.model.source import Site
from ackdoctor.model.trace import Access, AccessKind, TupleTree, Violation
from ackdoctor.rulebook import (
    BATCH_WITHOUT_TIMER,
    DOUBLE_ACK,
    TICK_COMPLETION,
    Words,
    advice,
    phrase,
    rule_name,
    rule_severity,
)
from ackdoctor.tracer.acker_findings import Causes, left_by, stays, tree_findings
from ackdoctor.tracer.components import MULTILANG, role_of
from ackdoctor.tracer.sites import Places

__all__ = [
    "COMPLETIONS",
    "RULE_MESSAGES",
    "Case",
    "FindingSite",
    "RuleMessage",
    "ViolationContext",
    "by_framework",
    "findings",
    "gathered",
    "steps",
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


_NOTES: Mapping[AccessKind, str] = {
    AccessKind.RECEIVED: "received",
    AccessKind.ANCHORED: "emitted, anchored to it",
    AccessKind.EMITTED: "emitted without anchor",
    AccessKind.ACKED: "acked",
    AccessKind.FAILED: "failed",
    AccessKind.RETURNED: "returns to the framework",
    AccessKind.LOST: "garbage collected, still owed",
    AccessKind.ENDED: "the run ends",
}
_FRAMEWORK: Mapping[AccessKind, str] = {
    AccessKind.ACKED: "the framework acks it",
    AccessKind.FAILED: "the framework fails it",
    AccessKind.ANCHORED: "the framework anchors an emit to it",
}
_OPS: Mapping[AccessKind, tuple[Op, Op]] = {
    AccessKind.ACKED: (Op.ACK, Op.AUTO_ACK),
    AccessKind.FAILED: (Op.FAIL, Op.AUTO_FAIL),
    AccessKind.ANCHORED: (Op.ANCHOR, Op.ANCHOR),
}


def steps(violation: Violation, places: Places, last: str) -> tuple[PathStep, ...]:
    """One step for each access; the framework's own accesses have the author's last line.

    `last` is what the rule says of the offending record, '' where the record says it itself.
    """
    here = places.receipt(violation.traced, violation.handler)
    state = Stage.OWED
    path: list[PathStep] = []
    for number, touch in enumerate(violation.history):
        own = touch.site if touch.site is not None and not touch.site.framework else None
        if own is not None and own.line:
            here = places.of(own)
        if touch.kind in _OPS:
            state = move(state, _OPS[touch.kind][by_framework(touch)]).state
        offending = number == len(violation.history) - 1
        note = last if offending and last else _note(touch, violation)
        path.append(PathStep(site=here, note=note + _circumstance(touch), state=state.value))
    return tuple(path) or (PathStep(site=here, note=last or "here"),)


def _note(touch: Access, violation: Violation) -> str:
    if by_framework(touch) and touch.kind in _FRAMEWORK:
        return _FRAMEWORK[touch.kind]
    note = _NOTES[touch.kind]
    if touch.kind is AccessKind.ENDED and violation.held:
        return f"{note}, still in {violation.held}"
    return f"tick {note}" if violation.tick and touch.kind is AccessKind.RECEIVED else note


def _circumstance(touch: Access) -> str:
    thread = f", on thread {touch.thread}" if touch.thread else ""
    return f"{thread}, while an exception is handled" if touch.in_except else thread


_MOST_LEFT = 3  # roots that a finding names
_MOST_LINES = 6


def findings(
    violations: Iterable[Violation],
    trees: Iterable[TupleTree] = (),
    *,
    profile: AckerVersion | None = None,
    places: Places | None = None,
    nowhere: Site | None = None,
) -> tuple[Finding, ...]:
    """All findings, one for each cause, sorted by place; `nowhere` is the site of a finding without a place in the code."""
    places = places or Places()
    kept = list(trees)
    causes = Causes(kept)
    explained: set[int] = set()
    found: list[Finding] = []
    for violation in violations:
        finding = _finding_of(violation, places)
        if finding is None:
            continue
        caused = causes.of(violation)
        explained.update(tree.root for tree in caused)
        found.append(_with_left(finding, caused, profile))
    rest = [tree for tree in kept if tree.root not in explained]
    found += tree_findings(rest, profile=profile, places=places, nowhere=nowhere)
    return gathered(found)


def _finding_of(violation: Violation, places: Places) -> Finding | None:
    """The finding of one violation; None for a misuse without a rule: a spout that acks."""
    context = ViolationContext.of(violation)
    message = RULE_MESSAGES.get((context.misuse, _case(context, places)))
    if message is None:
        return None
    words = message.words(context.words)
    path = steps(violation, places, words.note)
    cost = advice.clause(context.discipline, context.misuse) if message.priced and context.discipline else ""
    return Finding(
        code=message.code,
        name=rule_name(message.code),
        severity=_severity(message, context),
        confidence=Confidence.MUST,
        site=_site(message, context, path),
        message=f"{words.message}: {cost}" if cost else words.message,
        component=violation.traced.name,
        handler=violation.handler,
        dialect=violation.traced.dialect,
        evidence=TreeWitness(
            steps=path,
            delivery=violation.delivery,
            root=violation.root,
            left=tuple(_aside(violation)),
            test=violation.test,
            seen=violation.count,
        ),
        cause=f"{words.case}|{_chain(violation)}",
        help=words.help,
    )


def _case(context: ViolationContext, places: Places) -> Case:
    """The case; without a loop in the source, a method was called twice."""
    last = context.violation.history[-1].site if context.violation.history else None
    case = context.case
    if case is Case.ROUND and last is not None and not places.may_loop(last, context.violation.handler):
        return Case.PLAIN
    return case


def gathered(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Merge equal findings of one place, sort and stamp them; the first of each keeps its witness."""
    merged: dict[tuple[object, ...], Finding] = {}
    for finding in found:
        key = (finding.code, finding.site, finding.component, finding.handler, finding.message)
        known = merged.get(key)
        merged[key] = finding if known is None else _joined(known, finding)
    return stamp(sorted(merged.values(), key=_order))


def _joined(first: Finding, other: Finding) -> Finding:
    """Merge two findings; the same delivery counts once."""
    one, more = _tree(first), _tree(other)
    same = one.delivery == more.delivery and one.test == more.test and bool(one.delivery)
    seen = max(one.seen, more.seen) if same else one.seen + more.seen
    left = tuple(dict.fromkeys((*one.left, *more.left)))
    return replace(first, evidence=replace(one, seen=seen, left=left[:_MOST_LINES]))


def _tree(finding: Finding) -> TreeWitness:
    assert isinstance(finding.evidence, TreeWitness)  # what a run shows is a tree
    return finding.evidence


def _order(finding: Finding) -> tuple[object, ...]:
    return (finding.site.path, *finding.site.span[:2], finding.code, finding.component, finding.message)


def _severity(message: RuleMessage, context: ViolationContext) -> Severity:
    """The severity of lint: at least a warning; never an error if acking is opt-in."""
    discipline = context.discipline
    if message.severity is not None:
        mild = discipline is not None and discipline.advisory
        return min(message.severity, Severity.WARNING) if mild else message.severity
    if discipline is None:
        return rule_severity(message.code)
    return max(advice.severity(discipline, context.misuse), Severity.WARNING)


def _site(message: RuleMessage, context: ViolationContext, path: Sequence[PathStep]) -> Site:
    return path[
        {FindingSite.RECEIPT: 0, FindingSite.HAND: context.by_hand, FindingSite.LAST: -1}[message.mark]
    ].site


def _aside(violation: Violation) -> Iterator[str]:
    if violation.note:
        yield violation.note
    if violation.discarded:
        yield f"tracer: it happened {violation.discarded:,} more {'time' if violation.discarded == 1 else 'times'} to the same tuples"


def _chain(violation: Violation) -> str:
    """The history without lines, ids and threads."""
    return "/".join(
        f"{touch.kind.value} {touch.site.function if touch.site is not None else ''}".rstrip()
        for touch in violation.history
    )


def _with_left(finding: Finding, caused: Sequence[TupleTree], profile: AckerVersion | None) -> Finding:
    """The finding with the entries that the violation leaves in the pending map."""
    if not caused:
        return finding
    witness = _tree(finding)
    lines = [left_by(tree) for tree in caused[:_MOST_LEFT]]
    if beyond := sum(tree.roots for tree in caused) - len(lines):
        lines.append(f"acker: {beyond:,} more {'root' if beyond == 1 else 'roots'} like these")
    if any(tree.entry is not None for tree in caused):
        lines.append(f"acker: such an entry {stays(profile)}")
    root = witness.root if witness.root is not None else caused[0].root
    return replace(finding, evidence=replace(witness, root=root, left=(*witness.left, *lines)))

"""From violations and the acker's entries to findings, with the codes, names, severities and prices of lint.

One table says which rule and which words a misuse has. One cause is one finding: if the acker keeps an entry because of
a violation, the finding is the violation's and its witness says what is left in the pending map.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, unique
from types import MappingProxyType

from ackdoctor import rulebook
from ackdoctor.dialects import known
from ackdoctor.model.acker import AckerVersion
from ackdoctor.model.dialect import Misuse, TickDuty, VerbKind
from ackdoctor.model.finding import Confidence, Finding, PathStep, Severity, TreeWitness, counted, stamp
from ackdoctor.model.protocol import Op, Stage, move
from ackdoctor.model.source import Site
from ackdoctor.model.trace import Access, AccessKind, TupleTree, Violation
from ackdoctor.rulebook import Words, advice, phrase, rule_name, rule_severity
from ackdoctor.tracer.acker_findings import Causes, left_by, stays, tree_findings
from ackdoctor.tracer.components import MULTILANG, role_of
from ackdoctor.tracer.sites import Places


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


_COMPLETIONS: Mapping[AccessKind, str] = {AccessKind.ACKED: "acked", AccessKind.FAILED: "failed"}
_DOES: Mapping[AccessKind, str] = {
    AccessKind.ACKED: "acks",
    AccessKind.FAILED: "fails",
    AccessKind.ANCHORED: "emits",
    AccessKind.EMITTED: "emits",
}
_NOTES: Mapping[AccessKind, str] = {
    AccessKind.RECEIVED: "received",
    AccessKind.ANCHORED: "emitted, anchored to it",
    AccessKind.EMITTED: "emitted without anchor",
    AccessKind.ACKED: "acked",
    AccessKind.FAILED: "failed",
    AccessKind.RETURNED: "returns to the framework",
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
_SERIALIZERS = {"json": "JSON", "simplejson": "JSON"}
_MOST_LEFT = 3  # roots that a finding names
_MOST_LINES = 6


# ---- one violation ----


def _by_framework(access: Access) -> bool:
    """Whether the framework did it by itself."""
    return access.site is not None and access.site.framework


class _Context:
    """A violation with its dialect and role, and the completions in its history.

    An unknown framework has no role and no prices. Storm refuses a second fail like a mixture of ack and fail.
    """

    def __init__(self, violation: Violation, places: Places) -> None:
        traced, role = violation.traced, role_of(violation.traced)
        self.violation = violation
        self.dialect = next((dialect for dialect in known() if dialect.name == traced.dialect), None)
        self.role = role if role is not MULTILANG or traced.role == MULTILANG.name else None
        self.discipline = self.role.discipline if self.role is not None else None
        self.done = [access for access in violation.history if access.kind in _COMPLETIONS]
        by_author = [access for access in self.done if not _by_framework(access)]
        self.hand = (*by_author, *violation.history[-1:], None)[
            0
        ]  # the author's first completion, or the last access
        failed = any(access.kind is AccessKind.FAILED for access in self.done)
        self.misuse = Misuse.MIXED if violation.misuse is Misuse.TWICE and failed else violation.misuse
        self.case = self._case(places)

    # ---- which rule ----

    def _case(self, places: Places) -> Case:
        """Which of the misuse's rules applies."""
        if self.misuse in (Misuse.TWICE, Misuse.MIXED):
            return self._case_of_completions(places)
        if self.misuse is Misuse.NEVER and self.violation.held:
            wire = self.dialect.wire if self.dialect is not None else None
            field = self.violation.held.removeprefix("self.")
            return Case.WAITING if wire is not None and field in wire.buffers else Case.HELD
        return Case.PLAIN

    def _case_of_completions(self, places: Places) -> Case:
        own = [access for access in self.done if _by_framework(access)]
        if any(access.kind is AccessKind.FAILED for access in own):
            return Case.RESCUE
        if own or self.violation.traced.auto_ack:  # lint, too, names the first call by hand
            return Case.FRAMEWORK
        before, last = self.done[-2:] if len(self.done) > 1 else (None, None)
        if before is None or last is None or last.site is None:
            return Case.PLAIN
        same = (before.site, before.entry) == (last.site, last.entry)
        # without a loop in the source, a method was called twice
        return Case.ROUND if same and places.may_loop(last.site, self.violation.handler) else Case.PLAIN

    # ---- the words ----

    def words(self) -> Mapping[str, str]:
        """The placeholders of the rule messages."""
        violation, traced, role = self.violation, self.violation.traced, self.role
        done = [_COMPLETIONS[access.kind] for access in self.done]
        last = violation.history[-1].kind if violation.history else None
        verbs = (*(role.verbs if role else ()), *(self.dialect.verbs if self.dialect else ()))
        emit = next((verb for verb in verbs if verb.kind is VerbKind.EMIT), None)
        serializer = self.discipline.serializer if self.discipline is not None else ""
        plain = "a tuple of the batch" if violation.batch else "the tuple"
        forbidden = self.discipline is not None and self.discipline.tick is TickDuty.FORBIDDEN
        ticks = phrase(rulebook.BATCH_WITHOUT_TIMER, "run ends")
        if role is not None and role.batch_ticks and self.dialect is not None:
            ticks = phrase(rulebook.BATCH_WITHOUT_TIMER, "set", setting=self.dialect.tick_settings[-1])
        return {
            "tup": "the tick" if violation.tick else plain,
            "component": traced.name,
            "handler": ".".join(filter(None, (traced.name, violation.handler))),
            "framework": self.dialect.title if self.dialect else traced.dialect or "the framework",
            "held": violation.held,
            "anchors": emit.anchors if emit is not None and emit.anchors else "anchors",
            "serializer": _SERIALIZERS.get(serializer, serializer or "the wire"),
            "first": done[0] if done else "completed",
            "then": done[-1] if done else "completed",
            "hand": _COMPLETIONS.get(self.hand.kind, "completed") if self.hand else "completed",
            "does": _DOES.get(last, "completes") if last is not None else "completes",
            "or_leave": self._or_leave(),
            "leave": advice.leave_first(alone=not violation.batch),
            "by_hand": self._instead(),
            "on_thread": self._on_thread(last),
            "ticks": ticks,
            "ticker": phrase(rulebook.TICK_COMPLETION, "forbidden" if forbidden else "framework"),
        }

    def _or_leave(self) -> str:
        one_call = len(self.done) > 1 and self.done[0].entry == self.done[-1].entry
        site = self.done[0].site if one_call else None
        if site is None or site == self.done[-1].site:
            return ""
        leave = advice.leave_first(alone=True)
        return phrase(rulebook.DOUBLE_ACK, "leave", leave=leave, where=f" (line {site.line})")

    def _instead(self) -> str:
        if self.role is None:
            return "complete the tuple once: either the framework does it, or your code"
        if self.hand is not None and self.hand.kind is AccessKind.FAILED and not _by_framework(self.hand):
            return advice.fail_instead(self.role, raising=False)
        return advice.complete_by_hand(self.role)

    def _on_thread(self, last: AccessKind | None) -> str:
        locked = self.role is not None and self.role.discipline.thread_safe
        if locked and self.role is not None and last is not None and last not in _COMPLETIONS:
            return advice.emit_off_thread(self.role, auto_ack=bool(self.violation.traced.auto_ack))
        return advice.complete_on_framework_thread()

    # ---- the finding ----

    def finding(self, message: RuleMessage, places: Places) -> Finding:
        """The finding of the violation."""
        violation = self.violation
        words = message.words(self.words())
        path = self._steps(places, words.note)
        cost = advice.clause(self.discipline, self.misuse) if message.priced and self.discipline else ""
        again = counted(violation.discarded, "more time")
        aside = f"tracer: it happened {again} to the same tuples" if violation.discarded else ""
        functions = (  # the history without lines, ids and threads
            f"{access.kind.value} {access.site.function if access.site is not None else ''}".rstrip()
            for access in violation.history
        )
        return Finding(
            code=message.code,
            name=rule_name(message.code),
            severity=self._severity(message),
            confidence=Confidence.MUST,
            site=self._site(message, path),
            message=f"{words.message}: {cost}" if cost else words.message,
            component=violation.traced.name,
            handler=violation.handler,
            dialect=violation.traced.dialect,
            evidence=TreeWitness(
                steps=path,
                delivery=violation.delivery,
                root=violation.root,
                left=tuple(filter(None, (aside,))),
                test=violation.test,
                seen=violation.count,
            ),
            cause=f"{words.message}|{'/'.join(functions)}",
            help=words.help,
        )

    def _severity(self, message: RuleMessage) -> Severity:
        """The severity of lint: at least a warning; never an error if acking is opt-in."""
        if message.severity is not None:
            mild = self.discipline is not None and self.discipline.advisory
            return min(message.severity, Severity.WARNING) if mild else message.severity
        if self.discipline is None:
            return rule_severity(message.code)
        return max(advice.severity(self.discipline, self.misuse), Severity.WARNING)

    def _site(self, message: RuleMessage, path: Sequence[PathStep]) -> Site:
        if message.mark is FindingSite.RECEIPT:
            return path[0].site
        if message.mark is FindingSite.HAND and self.hand is not None:
            return path[self.violation.history.index(self.hand)].site
        return path[-1].site

    def _steps(self, places: Places, last: str) -> tuple[PathStep, ...]:
        """One step for each access; the framework's own accesses have the author's last line.

        `last` is what the rule says of the last access, '' if the access says it itself.
        """
        violation = self.violation
        here = places.receipt(violation.traced, violation.handler)
        state = Stage.OWED
        path: list[PathStep] = []
        for number, access in enumerate(violation.history, 1):
            if access.site is not None and access.site.line and not access.site.framework:
                here = places.of(access.site)
            if access.kind in _OPS:
                state = move(state, _OPS[access.kind][_by_framework(access)]).state
            note = last if number == len(violation.history) else ""
            note = note or _note(access, violation)
            thread = f", on thread {access.thread}" if access.thread else ""
            handled = ", while an exception is handled" if access.in_except else ""
            path.append(PathStep(site=here, note=f"{note}{thread}{handled}", state=state.value))
        return tuple(path) or (PathStep(site=here, note=last or "here"),)


def _note(access: Access, violation: Violation) -> str:
    if _by_framework(access) and access.kind in _FRAMEWORK:
        return _FRAMEWORK[access.kind]
    note = _NOTES[access.kind]
    if access.kind is AccessKind.ENDED and violation.held:
        return f"{note}, still in {violation.held}"
    return f"tick {note}" if violation.tick and access.kind is AccessKind.RECEIVED else note


# ---- all findings ----


def findings(
    violations: Iterable[Violation],
    trees: Iterable[TupleTree] = (),
    *,
    profile: AckerVersion | None = None,
    places: Places | None = None,
    nowhere: Site | None = None,
) -> tuple[Finding, ...]:
    """All findings, one for each cause, sorted by place; `nowhere` is the site of a finding without a place in the code.

    A misuse without a rule is no finding: a spout that acks.
    """
    places = places or Places()
    trees = list(trees)
    causes = Causes(trees)
    explained: set[int] = set()
    found: list[Finding] = []
    for violation in violations:
        context = _Context(violation, places)
        message = RULE_MESSAGES.get((context.misuse, context.case))
        if message is not None:
            caused = causes.of(violation)
            explained.update(tree.root for tree in caused)
            found.append(_with_left(context.finding(message, places), caused, profile))
    rest = [tree for tree in trees if tree.root not in explained]
    found += tree_findings(rest, profile=profile, places=places, nowhere=nowhere)
    return gathered(found)


def gathered(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Merge equal findings of one place, sort and stamp them; the first of each keeps its witness."""
    merged: dict[tuple[object, ...], Finding] = {}
    for finding in found:
        key = (finding.code, finding.site, finding.component, finding.handler, finding.message)
        known = merged.get(key)
        merged[key] = finding if known is None else _joined(known, finding)

    def order(finding: Finding) -> tuple[object, ...]:
        span = finding.site.span
        return (finding.site.path, *span[:2], finding.code, finding.component, finding.message)

    return stamp(sorted(merged.values(), key=order))


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


def _with_left(finding: Finding, caused: Sequence[TupleTree], profile: AckerVersion | None) -> Finding:
    """The finding with the entries that the violation leaves in the pending map."""
    if not caused:
        return finding
    witness = _tree(finding)
    lines = [left_by(tree) for tree in caused[:_MOST_LEFT]]
    if beyond := sum(tree.roots for tree in caused) - len(lines):
        lines.append(f"acker: {counted(beyond, 'more root')} like these")
    if any(tree.entry is not None for tree in caused):
        lines.append(f"acker: such an entry {stays(profile)}")
    root = witness.root if witness.root is not None else caused[0].root
    return replace(finding, evidence=replace(witness, root=root, left=(*witness.left, *lines)))

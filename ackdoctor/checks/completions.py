"""Completions that are made twice: by hand, in a loop, in two ways, or by the framework as well."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ackdoctor.checks.facts.fields import may_shrink_inside, shrinks, shrunk_fields, uses
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Completed, Ended, Flow, Path, Released, Stored, points_back
from ackdoctor.flow.expressions import callee_text
from ackdoctor.flow.state import LEFT, UNKNOWN, Contents
from ackdoctor.flow.values import Field, Token, TokenKind
from ackdoctor.flow.witness import (
    breach_site,
    call_chain,
    completions,
    leaving_step,
    line_text,
    raising_visit,
)
from ackdoctor.model.cfg import (
    Arg,
    Attr,
    Bind,
    Call,
    Closure,
    Drop,
    EdgeKind,
    Function,
    Instr,
    Item,
    Next,
    Throw,
    Way,
)
from ackdoctor.model.dialect import KEEPER, EntryKind, Misuse
from ackdoctor.model.finding import Confidence, Finding, Severity
from ackdoctor.model.protocol import Breach, Op, Stage
from ackdoctor.model.source import Span
from ackdoctor.rulebook import Words
from ackdoctor.rulebook.advice import ack_after_try, complete_by_hand, fail_instead, leave_first

# ---- completions ----


BY_HAND = {Op.ACK: "acked", Op.FAIL: "failed"}  # the completions that code makes, in a message


@dataclass(slots=True, unsafe_hash=True)
class Repeat:
    """`second` completes a tuple that `first` (None: unknown) completed before."""

    flow: Flow
    token: Token
    first: Path | None
    second: Completed

    @property
    def same_site(self) -> bool:
        """Whether one call in a loop completes twice; a helper that is called in two places counts as two."""
        if self.first is None or self.first.step is not self.second.step:
            return False
        end = self.second.path
        return call_chain(end, self.first) == call_chain(end, end)

    @property
    def in_other_loop(self) -> bool:
        """Whether another loop over the same tuples makes the first completion: no `continue` helps."""
        function, first = self.second.path.function, self.first
        if self.token.kind is TokenKind.INPUT or first is None or first.function is not function:
            return False
        bodies = function.cfg.bodies.values()
        return not any(first.index in body and self.second.path.index in body for body in bodies)

    @property
    def automatic(self) -> bool:
        """Whether the framework makes the second completion."""
        return self.second.op not in BY_HAND


def repeats(context: RuleContext) -> Iterator[Repeat]:
    """Yield each second completion of a data tuple by code that runs in its handler, once for each pair of places."""
    for flow, second in context.events(Completed):
        token = second.token
        if second.breach is None or token is None or second.tick.is_system:
            continue
        if token.kind is TokenKind.STORED and context.component.auto_ack:
            continue  # ack-with-auto-ack reports it
        end = second.path
        first = next(completions(end, token), None)
        repeat = Repeat(flow, token, first, second)
        # an automatic completion is at the exit that triggers it
        at = (raising_visit(end) or end.before or end) if repeat.automatic else end
        if context.is_first((call_chain(end, first) if first else (), call_chain(end, at), second.op)):
            yield repeat


def leaving_place(
    flow: Flow, end: Path, token: Token | None = None, field: str = ""
) -> tuple[Function, Span]:
    """Return the best place to report for a path that misses a completion: where it leaves, or its last decisive branch.

    A branch decides in the handler, and in a function that completes or stores the tuple, or completes those of the field.
    """
    deciding = {id(flow.function)}
    for event in flow.events:
        match event:
            case Completed(op=op) if op not in BY_HAND:
                continue
            case Completed(token=Token() as done) | Stored(token=done):
                if done == token or (field and done.field == field):
                    deciding.add(id(event.function))
            case Released(field=released) if released == field:
                deciding.add(id(event.function))
            case _:
                pass
    return leaving_step(end, frozenset(deciding))


def _end_of_owed_iteration(ended: Ended) -> Path:
    """Return the end of the iteration over a batch that missed a tuple, if later iterations completed theirs."""
    token = ended.token
    if token is None or token.kind is not TokenKind.ELEMENT:
        return ended.path
    completed_later = False
    for visit, _, _ in points_back(ended.path):
        if not isinstance(visit.step.op, Next) or visit.via is not EdgeKind.BACK or visit.before is None:
            continue
        held = visit.state.tokens.get(token)
        if held is None or held.stage not in (Stage.ACKED, Stage.FAILED):
            end = (
                visit.before if visit.inner is None else visit
            )  # a helper's path is in the visit after the call
            return end if completed_later else ended.path
        completed_later = True
    return ended.path


def missed_completions(
    context: RuleContext, words: Words, misuse: Misuse, flow: Flow, missing: Iterable[Ended]
) -> Iterator[Finding]:
    """Yield the surest finding for each line at which a path leaves without a completion: the parts of a condition are one.

    A loop does not decide if a path that runs its body misses the completion as well.
    """
    found: dict[tuple[str, int], Finding] = {}
    missing = list(missing)
    run = {
        (visit.function, visit.step.span)
        for ended in missing
        if ended.token is not None and ended.token.kind is TokenKind.INPUT
        for visit, after, _ in points_back(ended.path)
        if isinstance(visit.step.op, Next) and after is not None and after.via is EdgeKind.TRUE
    }
    places = [leaving_place(flow, _end_of_owed_iteration(ended), ended.token) for ended in missing]
    elsewhere = any(at not in run for at in places)
    for ended, at in zip(missing, places, strict=True):
        if elsewhere and at in run:
            continue
        finding = context.finding(words, misuse, at, flow=flow, path=ended.path, token=ended.token)
        line = (finding.site.path, finding.site.span.line)
        if line not in found or finding.confidence > found[line].confidence:
            found[line] = finding
    yield from found.values()


# ---- ACK103 double-ack ----


def ack103_double_ack(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each second ack that the component's own code makes."""
    if context.component.auto_ack:
        return
    yield from _acked_twice(context)
    yield from _acked_and_kept(context)
    yield from _acked_besides_keeper(context)


def _acked_twice(context: RuleContext) -> Iterator[Finding]:
    for repeat in repeats(context):
        path, token = repeat.second.path, repeat.token
        if repeat.automatic or repeat.same_site or repeat.second.breach is not Breach.DOUBLE_ACK:
            continue
        site = breach_site(path, token)
        leave = leave_first(alone=token.kind is TokenKind.INPUT)
        or_leave = ""  # the first ack is in another loop or handler
        if repeat.first is not None and not repeat.in_other_loop:
            where = f" (first on {line_text(repeat.first, site.function)})"
            or_leave = context.phrase("leave", leave=leave, where=where)
        words = context.words(tup=token.words, or_leave=or_leave)
        yield context.finding(words, Misuse.TWICE, site, flow=repeat.flow, path=path, token=token)


def _acked_and_kept(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each buffer whose tuples a handler acks and leaves in it."""
    for kept in _completed_and_kept(context, Stage.ACKED):
        words = context.words("kept" if kept.every else "some kept", field=f"self.{kept.field.name}")
        yield kept.finding(context, words, Misuse.TWICE)


def _acked_besides_keeper(context: RuleContext) -> Iterator[Finding]:
    """Yield the acks of tuples that an object of the framework keeps: it acks them with its batch."""
    for flow, done in context.events(Completed, EntryKind.DATA):
        token = done.token
        held = done.path.state.tokens.get(token) if token is not None else None
        if token is None or held is None or done.op is not Op.ACK or done.tick.is_system:
            continue
        if held.stage is Stage.HELD and held.holders == (KEEPER,) and context.is_first(done.step):
            words = context.words("keeper", tup=token.words)
            yield context.finding(words, Misuse.TWICE, done, flow=flow, path=done.path, token=token)


class _Kept(NamedTuple):
    """A completion `first` in a loop over a field whose tuples, every or some, are still in it when the handler ends."""

    flow: Flow
    ended: Ended
    field: Field
    token: Token
    first: Path
    every: bool
    never: bool  # no code of the component removes anything from the field

    def finding(self, context: RuleContext, words: Words, misuse: Misuse) -> Finding:
        """The finding; sure only if the handler completes every tuple, and nothing ever empties the field."""
        sure = None if self.every and self.never else Confidence.MAY
        path, token = self.ended.path, self.token
        return context.finding(
            words, misuse, self.first, flow=self.flow, path=path, token=token, confidence=sure
        )


def _completed_and_kept(context: RuleContext, stage: Stage) -> Iterator[_Kept]:
    """Yield the completions of a stage by which a handler ends with a field that still holds its completed tuples."""
    if context.component.opaque or context.component.heirs:
        return
    shrunk = shrunk_fields(context, context.functions)
    for flow, ended in context.events(Ended, EntryKind.DATA, EntryKind.BATCH, EntryKind.TICK):
        for field, contents in ended.state.contents.items() if ended.raised is None else ():
            if not isinstance(field, Field) or field.taken:
                continue
            known = (Contents(stage, every=True), UNKNOWN, *(() if field.part else (LEFT,)))
            if contents not in known:
                continue
            never = field.name not in shrunk
            every = contents != UNKNOWN
            if field.part and not (every and (never or _shrinks_here(context, flow, field.name))):
                continue  # another handler may remove the whole entry
            if may_shrink_inside(context, field.name) or not (every or never):
                continue
            removals = (use for use in uses(context, field=field.name) if use.how != "pass")
            steps = {visit.step for visit, _, _ in points_back(ended.path)}
            if any(use.step in steps and shrinks(context, use) for use in removals):
                continue
            if field.part and any(_replaces_entry(step.op, field.name) for step in steps):
                continue
            done = (token for token, held in ended.state.tokens.items() if held.stage is stage)
            own = (each for each in done if field.holds(each) and (every or each.collection == field))
            token = next(own, None)
            places = list(completions(ended.path, token)) if token is not None else []
            first = (
                places[0] if len({id(place.step) for place in places}) == 1 else None
            )  # else `_acked_twice`
            if token is None or first is None or not (every or _is_in_loop(first)):
                continue
            if context.is_first((field.name, stage)):
                yield _Kept(flow, ended, field, token, first, every and not field.part, never)


def _replaces_entry(op: Instr, field: str) -> bool:
    """Whether an instruction may replace or empty a collection in a field: `group["rows"] = []`, `del rows[:]`."""
    match op:
        case Drop(target=Item(obj=obj)) | Bind(target=Item(obj=obj)):
            return not isinstance(obj, Attr) or obj.name == field
        case _:
            return isinstance(op, Drop)


def _shrinks_here(context: RuleContext, flow: Flow, field: str) -> bool:
    """Whether only the function of a handler itself removes anything from a field."""
    return all(use.function is flow.function for use in uses(context, field=field) if shrinks(context, use))


def _is_in_loop(place: Path) -> bool:
    """Whether a step is in the body of a loop over a collection."""
    steps, bodies = place.function.cfg.steps, place.function.cfg.bodies
    return any(place.index in body and isinstance(steps[head].op, Next) for head, body in bodies.items())


# ---- ACK104 ack-in-loop ----


def ack104_ack_in_loop(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each completion that its own loop repeats."""
    if context.component.auto_ack:
        return
    for repeat in repeats(context):
        if repeat.automatic or not repeat.same_site:
            continue
        path, token = repeat.second.path, repeat.token
        site = breach_site(path, token)
        call = site.step.op
        if isinstance(call, Call) and isinstance(call.func, Closure):
            site = (
                path  # the call runs a lambda that is written in its arguments: `words.forEach(word -> ...)`
            )
        words = context.words(tup=token.words)
        yield context.finding(words, Misuse.TWICE, site, flow=repeat.flow, path=path, token=token)


# ---- ACK105 ack-with-auto-ack ----


def ack105_ack_with_auto_ack(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each explicit ack or fail that the framework repeats."""
    if not context.component.auto_ack:
        return
    for flow, done in context.events(Completed):
        if done.op not in BY_HAND or done.token is None or done.tick.is_system:
            continue
        if flow.entry is None and done.token.kind is not TokenKind.STORED:
            continue
        end = _completed_again(flow, done, done.token)
        if end is None or not context.is_first(done.step):
            continue
        verb = BY_HAND[done.op]
        at_once = done.deferral is None and done.token.kind is not TokenKind.STORED
        title, advice = context.dialect.title, _by_hand_advice(context, done, at_once=at_once)
        words = context.words(tup=done.token.words, done=verb, framework=title, advice=advice)
        note = "note" if end is done.path else "note of the framework"
        misuse = Misuse.TWICE if done.op is Op.ACK else Misuse.MIXED
        yield context.finding(
            words._replace(note=context.phrase(note, done=verb)),
            misuse,
            done,
            flow=flow,
            path=end,
            severity=None if misuse in context.discipline.prices else Severity.INFO,
            details=() if at_once else ("later",),
        )


def _by_hand_advice(context: RuleContext, done: Completed, *, at_once: bool) -> str:
    if done.op is Op.FAIL:
        return fail_instead(context.role, raising=context.raising)
    return complete_by_hand(context.role, call=at_once)


def _completed_again(flow: Flow, done: Completed, token: Token) -> Path | None:
    """Return a path on which the framework completes the tuple again; None if every path raises first."""
    if done.deferral is not None or token.kind is TokenKind.ELEMENT:
        return done.path
    if token.kind is TokenKind.STORED:
        return done.path if done.breach is not None else None
    passed = False
    for event in flow.events:
        match event:
            case Completed(op=Op.AUTO_ACK, token=acked, breach=breach, path=path) if (
                acked == token and breach
            ):
                if any(visit.step is done.step for visit in completions(path, token)):
                    return path
            case Ended(deferral=None, path=path):
                passed = passed or any(visit.step is done.step for visit, _, _ in points_back(path))
            case _:
                pass
    return None if passed else done.path


# ---- ACK106 ack-and-fail ----


_MIXED = {
    Breach.ACK_AFTER_FAIL: ("failed", "acked"),
    Breach.FAIL_AFTER_ACK: ("acked", "failed"),
    Breach.DOUBLE_FAIL: ("failed", "failed"),
}


def ack106_ack_and_fail(context: RuleContext) -> Iterator[Finding]:
    """Yield one finding for each completion that contradicts an earlier one, and for each automatic fail after one."""
    found = list(repeats(context))
    looped = [repeat.second.step for repeat in found if repeat.same_site]
    acked = {kept.field for kept in _completed_and_kept(context, Stage.ACKED)}  # double-ack reports these
    for kept in _completed_and_kept(context, Stage.FAILED):
        if kept.field not in acked:
            words = context.words("kept", field=f"self.{kept.field.name}")
            yield kept.finding(context, words, Misuse.MIXED)
    for repeat in found:
        if repeat.second.op is Op.AUTO_FAIL:
            by_loop = repeat.first is not None and repeat.first.step in looped
            if not (by_loop and _comes_before(repeat)):
                yield from _auto_failed(context, repeat)  # else ack-in-loop reports the completion
        elif not repeat.automatic and not repeat.same_site and not context.component.auto_ack:
            yield from _by_hand(context, repeat)


def _comes_before(repeat: Repeat) -> bool:
    """Whether what raises comes before the first completion in the code: it takes another iteration of their loop."""
    first, thrown = repeat.first, raising_visit(repeat.second.path)
    if first is None or thrown is None or thrown.function is not first.function:
        return False
    return thrown.index < first.index


def _by_hand(context: RuleContext, repeat: Repeat) -> Iterator[Finding]:
    path, token, breach = repeat.second.path, repeat.token, repeat.second.breach
    if breach in _MIXED:
        first, then = _MIXED[breach]
        leave = leave_first(alone=token.kind is TokenKind.INPUT)
        case = "other loop" if repeat.in_other_loop else "message"
        words = context.words(case, tup=token.words, first=first, then=then, leave=leave)
        site = breach_site(path, token)
        yield context.finding(words, Misuse.MIXED, site, flow=repeat.flow, path=path, token=token)


def _auto_failed(context: RuleContext, repeat: Repeat) -> Iterator[Finding]:
    """Yield the finding of an exception that leaves after an explicit completion: the framework fails the tuple again."""
    path, token, first = repeat.second.path, repeat.token, repeat.first
    thrown = raising_visit(path)
    if thrown is None or first is None or _finds_entry(thrown):
        return
    if first.step.way is Way.RAISE:
        words = context.words(
            "finally", tup=token.words, advice=ack_after_try(token.words, context.notation.catch)
        )
        yield context.finding(words, Misuse.MIXED, first, flow=repeat.flow, path=path, token=token)
        return
    call = thrown.step.op
    explicit = isinstance(call, Throw)
    emits = isinstance(call, Call) and context.verb_kind(thrown.function, call) is not None
    if not explicit and (context.component.auto_ack or emits):
        return  # emit-after-ack reports the emit, and with auto_ack on ack-with-auto-ack reports the first completion
    if not context.is_first(first.step) and not explicit:
        return
    callee = callee_text(call.func) if isinstance(call, Call) else "this"
    yield context.finding(
        context.words(
            "exception",
            exception="this exception" if explicit else context.phrase("implicit exception", call=callee),
            tup=token.words,
            done="completed",
            where=f" on {line_text(first, thrown.function)}",
            advice=_one_way_advice(context, repeat, thrown, callee),
        ),
        Misuse.MIXED,
        thrown,
        flow=repeat.flow,
        path=path,
        token=token,
        confidence=None if explicit else Confidence.MAY,
    )


def _finds_entry(thrown: Path) -> bool:
    """Whether a call removes an entry that the path has stored: `self.began[tup.id] = now`, then `self.began.pop(tup.id)`."""
    match thrown.step.op:
        case Call(func=Attr(obj=place, name="pop"), args=(Arg(value=key),)):
            pass
        case _:
            return False
    for visit, _, _ in points_back(thrown):
        match visit.step.op:
            case Bind(target=Item(obj=obj, key=stored)) if (obj, stored) == (place, key):
                return visit.function is thrown.function
            case Call(func=Attr(obj=obj)) if obj == place and visit is not thrown:
                return False
            case _:
                pass
    return False


def _one_way_advice(context: RuleContext, repeat: Repeat, thrown: Path, callee: str) -> str:
    """How to keep the framework from failing a completed tuple; `auto_fail = False` would lose the tuple."""
    tup, component = repeat.token.words, context.component
    if component.auto_ack and context.role.by_hand and not context.raising:
        return context.phrase("auto-ack by hand", by_hand=context.role.by_hand)
    if component.auto_ack:
        return context.phrase("auto-ack", tup=tup, exit="" if context.raising else ", and ends the worker")
    throws = isinstance(thrown.step.op, Throw)
    if repeat.second.breach is Breach.DOUBLE_FAIL:
        return context.phrase("failed" if throws else "run", tup=tup)
    if throws:
        return context.phrase("throw", tup=tup)
    return context.phrase("call", tup=tup, call=callee)

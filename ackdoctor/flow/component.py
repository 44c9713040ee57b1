"""Solves a whole component: every method the framework calls, then what runs later, then the rest.

Data handlers come first: what they leave in which field decides what a tick or a callback may still
complete.  A handler's end is where the framework has its say: auto ack, auto fail, or nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ackdoctor.flow.context import Context, DeferredCall
from ackdoctor.flow.events import Ended, Flow, Stored
from ackdoctor.flow.library import TRANSPARENT_DECORATORS
from ackdoctor.flow.program import Program
from ackdoctor.flow.solver import Leaving, Solver
from ackdoctor.flow.state import (
    Batch,
    BoundMethod,
    FunctionRef,
    SelfRef,
    State,
    Tick,
    Token,
    TokenKind,
    TokenRef,
    TokenState,
    Value,
)
from ackdoctor.flow.transfer.calls import apply_value
from ackdoctor.flow.transfer.containers import packed
from ackdoctor.flow.transfer.dispatch import named
from ackdoctor.flow.transfer.evaluate import evaluate
from ackdoctor.flow.transfer.heap_cells import unsure
from ackdoctor.flow.transfer.opaque_calls import Enter
from ackdoctor.flow.transfer.verbs import complete
from ackdoctor.model.cfg import Attr, Bind, Call, Expr, Name
from ackdoctor.model.component import Component, Function
from ackdoctor.model.dialect import Entry, EntryKind, Moment, TickDuty
from ackdoctor.model.protocol import Op, Stage, move

__all__ = ["solve_component"]

FIRST = (EntryKind.DATA, EntryKind.BATCH)
LATER_LIMIT = 24


def solve_component(program: Program, component: Component) -> tuple[Flow, ...]:
    """The flows of every handler of a component, and of its methods that no handler reaches."""
    return tuple(_Work(program, component).flows())


@dataclass(slots=True, eq=False)
class _Work:
    program: Program
    component: Component

    def flows(self) -> Iterator[Flow]:
        entries = [(entry, self._entered(entry)) for entry in self.component.role.entries]
        known = [(entry, method) for entry, method in entries if method is not None]
        entered: set[int] = set()
        first = {
            entry: self._solve(entry, method, {}, entered) for entry, method in known if entry.kind in FIRST
        }
        held = self._held(first.values())
        for entry, method in known:
            yield first[entry] if entry in first and not held else self._solve(entry, method, held, entered)
        for method in self._others(known, entered):
            yield self._solve(None, method, held, entered)

    def _entered(self, entry: Entry) -> Function | None:
        """The method that the framework calls: of several of the name, the one that takes what it is given."""
        for function in named(self.component.lineage, entry.method) if entry.takes else ():
            params = [param for param in function.params if param.kind == "positional"][1:]
            if tuple((param.type or "").rpartition(".")[2] for param in params) == entry.takes:
                return function
        return self.component.method(entry.method)

    def _others(self, known: list[tuple[Entry, Function]], entered: set[int]) -> Iterator[Function]:
        names = {entry.method for entry, _ in known} | {"<clinit>"}
        verbs = {verb.name for verb in self.component.role.verbs if verb.on == "self"}
        seen: set[str] = set()
        for cls in self.component.lineage:
            for name, method in cls.methods.items():
                if name not in seen and name not in names and name not in verbs and id(method) not in entered:
                    yield method
                seen.add(name)

    def _held(self, flows: Iterable[Flow]) -> dict[str, Stage]:
        """The fields that hold tuples, and the stage those are in once their own handler has returned."""
        stage = {True: Stage.ACKED, False: Stage.OWED, None: Stage.HELD}[self.component.auto_ack]
        return {
            event.field: stage
            for flow in flows
            for event in flow.events
            if isinstance(event, Stored) and event.token.kind is not TokenKind.STORED
        }

    def _solve(
        self, entry: Entry | None, method: Function, held: dict[str, Stage], entered: set[int]
    ) -> Flow:
        subject = _subject(entry, method)
        if entry is not None and (method.is_async or method.is_generator):
            wrapped = bool(method.decorators) and not self.component.dialect.objects
            return Flow(entry=entry, function=method, events=(), limited=False, wrapped=wrapped)
        context = Context(
            program=self.program,
            component=self.component,
            subject=subject,
            stored_stages=held,
        )
        solver = Solver(context)
        target, wrapped = self._handler(context, method)
        state = self._received(context, entry, target, subject)
        for leaving in solver.solve(target.function, state):
            self._end(context, entry, subject, leaving)
        self._run_later(context, subject)
        entered.update(context.entered)
        return Flow(
            entry=entry,
            function=method,
            events=tuple(context.events.values()),
            functions=tuple(context.entered.values()),
            limited=context.limited,
            wrapped=wrapped,
        )

    # ---- the start ----

    def _handler(self, context: Context, method: Function) -> tuple[FunctionRef, bool]:
        """The function the framework really calls: the method, or what the project's own decorators make of it."""
        target = FunctionRef(method, bare=True)
        if context.typed:  # annotations, which wrap nothing
            return target, False
        unit = context.unit(method)
        for decorator in reversed(method.decorators):
            symbol = next(iter(self.program.resolve(unit, decorator)), None)
            if not isinstance(symbol, Function):
                return FunctionRef(method), not _harmless(symbol)
            made = self._decorate(symbol, target)
            if made is None:
                return FunctionRef(method), True
            target = made
        return target, False

    def _decorate(self, decorator: Function, target: FunctionRef) -> FunctionRef | None:
        if not decorator.params:
            return None
        quiet = Context(program=self.program, component=self.component, subject=None, stored_stages={})
        state = State(env={decorator.params[0].name: target})
        values = [leaving.value for leaving in Solver(quiet).solve(decorator, state) if not leaving.raised]
        made = [value for value in values if isinstance(value, FunctionRef)]
        return made[0] if len(made) == len(values) == 1 else None

    def _received(
        self, context: Context, entry: Entry | None, target: FunctionRef, subject: Token | None
    ) -> State:
        function = target.function
        env: dict[str, Value] = dict(target.captured)
        tokens: dict[Token, TokenState] = {}
        params = [param.name for param in function.params if param.kind == "positional"]
        given: list[Value | None] = [SelfRef() if function.binding != "static" else None]
        if subject is not None and entry is not None and entry.subject is not None:
            ref = Batch(subject) if entry.kind is EntryKind.BATCH else TokenRef(subject)
            given += [*[None] * entry.subject, ref]
            tick = Tick.YES if entry.kind is EntryKind.TICK else self._tick_unless_asked()
            tokens[subject] = TokenState(Stage.ACKED if self._is_stored() else Stage.OWED, tick)
        env.update((name, value) for name, value in zip(params, given, strict=False) if value is not None)
        env.update(packed(context, function, given[len(params) :]))
        return State(env=env, tokens=tokens, fields=self._seeds(context))

    def _is_stored(self) -> bool:
        """Whether the framework has acked the tuple, or will, whatever its handler does."""
        return self.component.role.discipline.completion is Moment.STORED

    def _tick_unless_asked(self) -> Tick:
        return Tick.MAYBE if self.component.role.discipline.ticks_in_data else Tick.NO

    def _seeds(self, context: Context) -> dict[str, Value]:
        """Fields that are given one value once and for all: bound methods, functions and constants."""
        given: dict[str, list[tuple[Function, Expr]]] = {}
        for cls in reversed(self.component.lineage):
            for method in cls.methods.values():
                if not method.params:
                    continue
                own = Name(method.params[0].name)
                for step in method.cfg.steps:
                    match step.op:
                        case Bind(target=Attr(obj=obj, name=name), value=value) if obj == own:
                            given.setdefault(name, []).append((method, value))
                        case _:
                            pass
        seeds: dict[str, Value] = {}
        for name, places in given.items():
            if len(places) == 1:
                method, value = places[0]
                state = State(env={method.params[0].name: SelfRef()})
                found = evaluate(context, method, state, value)
                if isinstance(found, (BoundMethod, FunctionRef)):
                    seeds[name] = found
        return seeds

    # ---- the end ----

    def _end(self, context: Context, entry: Entry | None, subject: Token | None, leaving: Leaving) -> None:
        state, path = leaving.state, leaving.path
        breach = None
        if subject is not None and entry is not None:
            token_state = context.token_state(state, subject)
            op = None if self._is_stored() else self._last_op(token_state, raised=leaving.raised)
            if op in (Op.AUTO_ACK, Op.AUTO_FAIL):
                state = complete(context, path, state, op, subject)
            elif op is Op.END:
                breach = move(token_state.stage, Op.END).breach
        ended = Ended(
            function=path.function,
            step=path.step,
            path=path,
            deferral=context.deferral,
            state=leaving.state,
            raised=(leaving.state.raising or "") if leaving.raised else None,
            token=subject,
            breach=breach,
        )
        context.record(ended, leaving.raised, id(path))

    def _last_op(self, token_state: TokenState, *, raised: bool) -> Op | None:
        """What the framework does to the tuple when its handler has ended."""
        component = self.component
        if raised:
            return Op.AUTO_FAIL if component.auto_fail else None
        duty = component.role.discipline.tick if token_state.tick is Tick.YES else TickDuty.AUTO
        if duty is TickDuty.AUTO:
            return {True: Op.AUTO_ACK, False: Op.END, None: None}[component.auto_ack]
        return {
            TickDuty.FRAMEWORK: Op.AUTO_ACK,
            TickDuty.REQUIRED: Op.END,
            TickDuty.FORBIDDEN: None,
            TickDuty.OPTIONAL: None,
        }[duty]

    # ---- what runs later ----

    def _run_later(self, context: Context, subject: Token | None) -> None:
        done = 0
        while done < len(context.deferred_calls) and done < LATER_LIMIT:
            later = context.deferred_calls[done]
            done += 1
            self._run_one(context, subject, later)
        context.limited = context.limited or done < len(context.deferred_calls)

    def _run_one(self, context: Context, subject: Token | None, later: DeferredCall) -> None:
        state = State(tokens=self._tokens_later(later, subject), fields=unsure(later.state.fields))
        path = later.path.with_state(state)
        context.deferral = later.deferral
        call = later.path.step.op
        if isinstance(call, Call):
            outcome = apply_value(context, path, call, later.target, later.args)
            if isinstance(outcome, Enter):
                for leaving in Solver(context).solve(outcome.function, outcome.state, path):
                    self._end(context, None, subject, leaving)
        context.deferral = None

    def _tokens_later(self, later: DeferredCall, subject: Token | None) -> dict[Token, TokenState]:
        """By the time deferred code runs, an auto-acking framework has acked the tuple."""
        tokens = dict(later.state.tokens)
        if self.component.auto_ack and subject in tokens and later.deferral.asynchronous:
            tokens[subject] = tokens[subject]._replace(stage=Stage.ACKED)
        return tokens


def _subject(entry: Entry | None, method: Function) -> Token | None:
    if entry is None or entry.subject is None:
        return None
    if entry.kind not in (EntryKind.DATA, EntryKind.BATCH, EntryKind.TICK):
        return None
    params = [param.name for param in method.params if param.kind == "positional"]
    position = entry.subject + (0 if method.binding == "static" else 1)
    name = params[position] if len(params) > position else "tup"
    return Token(TokenKind.ELEMENT if entry.kind is EntryKind.BATCH else TokenKind.INPUT, name)


def _harmless(symbol: object) -> bool:
    return isinstance(symbol, str) and symbol.rpartition(".")[2] in TRANSPARENT_DECORATORS

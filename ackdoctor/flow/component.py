"""Solves a whole component: the methods that the framework calls, the code that runs later, and the other methods.

Data handlers are solved first: the fields in which they store tuples decide what a tick or a callback may complete.
When a handler ends, the framework acts: it acks, fails or does nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ackdoctor.flow.context import Context, DeferredCall
from ackdoctor.flow.domains.heap_cells import when_deferred
from ackdoctor.flow.domains.tuples import drop_at_end
from ackdoctor.flow.events import Ended, Flow, Stored
from ackdoctor.flow.program import Program
from ackdoctor.flow.solver import FunctionExit, Solver
from ackdoctor.flow.state import OWED, State
from ackdoctor.flow.transfer.calls import apply_value
from ackdoctor.flow.transfer.containers import packed_arguments
from ackdoctor.flow.transfer.decorators import decorated
from ackdoctor.flow.transfer.dispatch import methods_named
from ackdoctor.flow.transfer.evaluate import MAX_TABLE, evaluate, one_of
from ackdoctor.flow.transfer.opaque_calls import Enter
from ackdoctor.flow.transfer.verbs import complete
from ackdoctor.flow.values import (
    Batch,
    BoundMethod,
    Container,
    Field,
    FunctionRef,
    SelfRef,
    Token,
    TokenKind,
    TokenRef,
    TokenState,
    Value,
    fields_in,
)
from ackdoctor.model.cfg import Arg, Attr, Bind, Call, Component, Expr, Function, Item, Literal, Name
from ackdoctor.model.dialect import OWN, Entry, EntryKind, Moment, TickDuty
from ackdoctor.model.protocol import Op, Stage, Tick, move

DATA_ENTRIES = (EntryKind.DATA, EntryKind.BATCH)
MAX_DEFERRED = 24  # callbacks that are solved for one handler


def solve_component(program: Program, component: Component) -> tuple[Flow, ...]:
    """The flows of every handler of a component, and of its methods that no handler reaches."""
    return tuple(_ComponentSolver(program, component).flows())


@dataclass(slots=True, eq=False)
class _ComponentSolver:
    program: Program
    component: Component

    def flows(self) -> Iterator[Flow]:
        candidates = [(entry, self._entry_method(entry)) for entry in self.component.role.entries]
        entries = [(entry, method) for entry, method in candidates if method is not None]
        entered: set[int] = set()
        first = {
            entry: self._solve(entry, method, {}, entered)
            for entry, method in entries
            if entry.kind in DATA_ENTRIES
        }
        stored = self._stored_stages(first.values())
        for entry, method in entries:
            if entry in first and not stored:
                yield first[entry]
            else:
                yield self._solve(entry, method, stored, entered)
        for method in self._other_methods(entries, entered):
            yield self._solve(None, method, stored, entered)

    def _entry_method(self, entry: Entry) -> Function | None:
        """The method that the framework calls: among overloads, the one with the entry's parameter types."""
        for function in methods_named(self.component.ahead, entry.method) if entry.takes else ():
            params = [param for param in function.params if param.kind == "positional"][1:]
            if tuple((param.type or "").rpartition(".")[2] for param in params) == entry.takes:
                return function
        return self.component.method(entry.method)

    def _other_methods(self, entries: list[tuple[Entry, Function]], entered: set[int]) -> Iterator[Function]:
        """The methods that are neither entries nor verbs, and that no handler has entered."""
        names = {entry.method for entry, _ in entries}
        verbs = {verb.name for verb in self.component.role.verbs if verb.on == OWN}
        seen: set[str] = set()
        for cls in self.component.lineage:
            for name, method in cls.methods.items():
                if name not in seen and name not in names and name not in verbs and id(method) not in entered:
                    yield method
                seen.add(name)

    def _stored_stages(self, flows: Iterable[Flow]) -> dict[str, Stage]:
        """The fields that hold tuples, and the stage of those tuples once their own handler has returned."""
        events = [event for flow in flows for event in flow.events]
        stage = {True: Stage.ACKED, False: Stage.OWED, None: Stage.HELD}[self.component.auto_ack]
        fields = {
            event.field
            for event in events
            if isinstance(event, Stored) and event.token.kind is not TokenKind.STORED
        }
        ended = [
            event
            for event in events
            if isinstance(event, Ended) and event.raised is None and event.deferral is None
        ]
        return {
            field: Stage.ACKED if stage is Stage.OWED and _is_acked_on_arrival(field, ended) else stage
            for field in fields
        }

    def _solve(
        self, entry: Entry | None, method: Function, stored: dict[str, Stage], entered: set[int]
    ) -> Flow:
        subject = _subject(entry, method)
        if entry is not None and (method.is_async or method.is_generator):
            wrapped = bool(method.decorators)
            return Flow(entry=entry, function=method, events=(), limited=False, wrapped=wrapped)
        context = Context(
            program=self.program,
            component=self.component,
            subject=subject,
            stored_stages=stored,
        )
        solver = Solver(context)
        run = decorated(context, method)
        target = run or FunctionRef(method)
        state = self._initial_state(context, entry, target, subject)
        for function_exit in solver.solve(target.function, state):
            self._end(context, entry, subject, function_exit)
        self._run_deferred(context, subject)
        entered.update(context.entered)
        return Flow(
            entry=entry,
            function=method,
            events=tuple(context.events.values()),
            functions=tuple(context.entered.values()),
            limited=context.limited,
            wrapped=run is None,
        )

    # ---- before the handler ----

    def _initial_state(
        self, context: Context, entry: Entry | None, target: FunctionRef, subject: Token | None
    ) -> State:
        function = target.function
        env: dict[str, Value] = dict(target.captured)
        tokens: dict[Token, TokenState] = {}
        params = [param.name for param in function.params if param.kind == "positional"]
        args: list[Value | None] = [SelfRef() if function.binding != "static" else None]
        if subject is not None and entry is not None and entry.subject is not None:
            ref = Batch(subject) if entry.kind is EntryKind.BATCH else TokenRef(subject)
            args += [*[None] * entry.subject, ref]
            tick = Tick.YES if entry.kind is EntryKind.TICK else self._untested_tick()
            tokens[subject] = TokenState(Stage.ACKED if self._acks_on_receipt() else Stage.OWED, tick)
        env.update((name, value) for name, value in zip(params, args, strict=False) if value is not None)
        env.update(packed_arguments(context, function, args[len(params) :]))
        return State(env=env, tokens=tokens, fields=self._constant_fields(context))

    def _acks_on_receipt(self) -> bool:
        """Whether the framework acks the tuple independently of what its handler does."""
        return self.component.role.discipline.completion is Moment.STORED

    def _untested_tick(self) -> Tick:
        return Tick.MAYBE if self.component.role.discipline.ticks_in_data else Tick.NO

    def _constant_fields(self, context: Context) -> dict[str, Value]:
        """The fields with a single assignment in the whole class that hold code, or a table of code, in every handler."""
        assignments: dict[str, list[Value | None]] = {}
        entries: dict[str, dict[Expr, Value | None]] = {}
        for cls in reversed(self.component.lineage):
            for method in cls.methods.values():
                if not method.params:
                    continue
                own = Name(method.params[0].name)
                state = State(env={own.id: SelfRef()})
                for step in method.cfg.steps:
                    match step.op:
                        case Bind(target=Attr(obj=obj, name=name), value=value) if obj == own:
                            assignments.setdefault(name, []).append(evaluate(context, method, state, value))
                        case (
                            Bind(target=Item(obj=Attr(obj=obj, name=name), key=key), value=value)
                            | Call(
                                func=Attr(obj=Attr(obj=obj, name=name), name="put"),
                                args=(Arg(key), Arg(value)),
                            )
                        ) if obj == own:
                            entries.setdefault(name, {})[key] = evaluate(context, method, state, value)
                        case _:
                            pass
        found = {
            name: _table(values[0], entries[name]) if name in entries else values[0]
            for name, values in assignments.items()
            if len(values) == 1
        }
        return {
            name: value
            for name, value in found.items()
            if isinstance(value, (BoundMethod, FunctionRef)) or (isinstance(value, Container) and value.keys)
        }

    # ---- after the handler ----

    def _end(
        self, context: Context, entry: Entry | None, subject: Token | None, function_exit: FunctionExit
    ) -> None:
        """Apply the framework's completion to an exit of the handler, and record the event."""
        state, path = function_exit.state, function_exit.path
        breach = None
        if subject is not None and entry is not None:
            token_state = context.token_state(state, subject)
            op = None if self._acks_on_receipt() else self._final_op(token_state, raised=function_exit.raised)
            if op in (Op.AUTO_ACK, Op.AUTO_FAIL):
                state = complete(context, path, state, op, subject)
            elif op is Op.END:
                breach = move(token_state.stage, Op.END).breach
        ended = Ended(
            path=path,
            deferral=context.deferral,
            state=function_exit.state,
            raised=(function_exit.state.raising or "") if function_exit.raised else None,
            token=subject,
            breach=breach,
        )
        context.record(ended, function_exit.raised, id(path))
        if not function_exit.raised and not any(fields_in(function_exit.value)):
            drop_at_end(context, path, function_exit.state)

    def _final_op(self, token_state: TokenState, *, raised: bool) -> Op | None:
        """The operation that the framework applies to the tuple when its handler ends."""
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

    # ---- deferred code ----

    def _run_deferred(self, context: Context, subject: Token | None) -> None:
        solved = 0
        while solved < len(context.deferred_calls) and solved < MAX_DEFERRED:
            deferred = context.deferred_calls[solved]
            solved += 1
            self._solve_deferred(context, subject, deferred)
        context.limited = context.limited or solved < len(context.deferred_calls)

    def _solve_deferred(self, context: Context, subject: Token | None, deferred: DeferredCall) -> None:
        tokens = self._tokens_when_deferred(deferred, subject)
        before = deferred.state
        state = State(
            tokens=tokens, fields=before.fields, final=before.final, heap=when_deferred(before.heap)
        )
        path = deferred.path.with_state(state)
        context.deferral = deferred.deferral
        call = deferred.path.step.op
        if isinstance(call, Call):
            outcome = apply_value(context, path, replace(call, awaited=True), deferred.target, deferred.args)
            if isinstance(outcome, Enter):
                for function_exit in Solver(context).solve(outcome.function, outcome.state, path):
                    self._end(context, None, subject, function_exit)
        context.deferral = None

    def _tokens_when_deferred(self, deferred: DeferredCall, subject: Token | None) -> dict[Token, TokenState]:
        """The token states when deferred code runs: by then an auto-acking framework has acked the tuple."""
        tokens = dict(deferred.state.tokens)
        if self.component.auto_ack and subject in tokens and deferred.deferral.asynchronous:
            tokens[subject] = tokens[subject]._replace(stage=Stage.ACKED)
        return tokens


def _table(first: Value | None, added: Mapping[Expr, Value | None]) -> Container | None:
    """A dict of code with the entries of its display and those that are added to it; None if it holds anything else."""
    shown = zip(first.keys, first.order or (), strict=True) if isinstance(first, Container) else ()
    known: dict[object, Value | None] = dict(shown)
    known.update((key.value if isinstance(key, Literal) else key, value) for key, value in added.items())
    items = frozenset(value for value in known.values() if value is not None)
    if len(known) > MAX_TABLE or None in known.values() or not one_of(items):
        return None
    return Container(items, tuple(known.values()), tuple(known))


def _subject(entry: Entry | None, method: Function) -> Token | None:
    """The token of the tuple that the framework passes to a handler, under the parameter's name."""
    if entry is None or entry.subject is None:
        return None
    if entry.kind not in (EntryKind.DATA, EntryKind.BATCH, EntryKind.TICK):
        return None
    params = [param.name for param in method.params if param.kind == "positional"]
    position = entry.subject + (0 if method.binding == "static" else 1)
    name = params[position] if len(params) > position else "tup"
    return Token(TokenKind.ELEMENT if entry.kind is EntryKind.BATCH else TokenKind.INPUT, name)


def _is_acked_on_arrival(field: str, ended: Iterable[Ended]) -> bool:
    """Whether every path that leaves the handler's tuple in a field, among other tuples, has acked it."""
    stages = {
        held.stage
        for event in ended
        if event.token is not None and (held := event.state.tokens.get(event.token)) is not None
        if f"self.{field}" in held.holders and event.state.contents.get(Field(field)) in (None, OWED)
    }
    return stages == {Stage.ACKED}

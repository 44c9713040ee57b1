"""The input of a check: one component with everything the flow engine recorded, and a factory for findings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from ackdoctor.checks.facts.dataflow import returns_without
from ackdoctor.checks.mistakes import Claim
from ackdoctor.flow.component import solve_component
from ackdoctor.flow.context import Context
from ackdoctor.flow.events import (
    Completed,
    Emitted,
    Event,
    Flow,
    Path,
    Released,
    Stored,
    is_longer,
    points_back,
)
from ackdoctor.flow.expressions import calls_by_result
from ackdoctor.flow.feasibility import feasible_path
from ackdoctor.flow.program import Program
from ackdoctor.flow.state import State
from ackdoctor.flow.symbols import Symbol
from ackdoctor.flow.transfer.declared import called_function, field_class
from ackdoctor.flow.transfer.evaluate import evaluate
from ackdoctor.flow.transfer.origins import (
    declared_names,
    is_in_memory,
    is_memory_name,
    is_queue,
    is_remote,
    project_class,
    runs_on_thread,
)
from ackdoctor.flow.transfer.verbs import external_verb, own_verb
from ackdoctor.flow.values import FrameworkObject, Instance, SelfRef, Token
from ackdoctor.flow.witness import assumes_raise, was_widened, witness
from ackdoctor.libraries.vocabulary import CONSTRUCTORS
from ackdoctor.model.cfg import (
    NOTATIONS,
    Attr,
    Bind,
    Call,
    ClassInfo,
    Closure,
    Compare,
    Component,
    EdgeKind,
    Expr,
    Function,
    Global,
    Item,
    Literal,
    Name,
    Notation,
    Test,
)
from ackdoctor.model.dialect import Dialect, Discipline, EntryKind, Kind, Misuse, Role, VerbKind
from ackdoctor.model.finding import Confidence, Finding, PathStep, PathWitness, Severity
from ackdoctor.model.source import Site, Span
from ackdoctor.rulebook import Words, advice, phrase, words

S = TypeVar("S", bound=Event)
Place: TypeAlias = Completed | Emitted | Stored | Path | Function | tuple[Function, Span]

_MOST_POINTS = 100_000  # of a path; the longest seen in real code has 400


@dataclass(slots=True, eq=False, kw_only=True)
class RuleContext:
    """One component under one rule.

    `flows` are the flows of its handlers; `inherited` are those that are reported for subclasses instead.  `functions`
    are all functions that can run: its own and inherited methods with their closures.
    """

    program: Program
    component: Component
    flows: tuple[Flow, ...]
    inherited: tuple[Flow, ...]
    functions: tuple[Function, ...]
    own_names: Mapping[Function, Name]  # the local with the component itself: `self`
    code: str = ""
    name: str = ""
    claims: list[Claim] = field(default_factory=list)  # the findings of all rules with a path
    _engine: Context  # evaluates expressions without a path
    _reported: set[object] = field(default_factory=set)
    _start_fields: frozenset[str] | None = None

    @classmethod
    def of(cls, program: Program, component: Component, *, solve: bool = True) -> "RuleContext":
        """Solve a component; the flow of a handler that a subclass inherits is reported for the subclass.

        The switches of a subclass may differ from those of the component.  Without `solve` there are no flows.
        RecursionError for a path on which helpers call helpers so often that no rule could walk it.
        """
        flows = solve_component(program, component) if solve else ()
        if is_longer((event.path for flow in flows for event in flow.events), _MOST_POINTS):
            raise RecursionError
        inherited = {
            flow for flow in flows if any(flow.function.name not in heir.methods for heir in component.heirs)
        }
        running: dict[str, tuple[Function, ...]] = {}
        for each in component.lineage:
            for name in each.methods:
                running.setdefault(name, each.named(name))
        methods = (method for each in component.lineage for method in each.all_methods())
        own = (function for method in methods for function in method.tree() if function.receiver)
        return cls(
            program=program,
            component=component,
            flows=tuple(flow for flow in flows if flow not in inherited),
            inherited=tuple(flow for flow in flows if flow in inherited),
            functions=tuple(f for methods in running.values() for method in methods for f in method.tree()),
            own_names={function: Name(function.receiver) for function in own},
            _engine=Context(program=program, component=component, subject=None, stored_stages={}),
        )

    def under(self, code: str, name: str) -> "RuleContext":
        """Return the same component under another rule."""
        return replace(self, code=code, name=name, _reported=set())

    def is_first(self, key: object) -> bool:
        """Whether the rule asks for the first time about `key`: one finding for each step is enough."""
        known = key in self._reported
        self._reported.add(key)
        return not known

    # ---- the component and its flows ----

    @property
    def dialect(self) -> Dialect:
        """The framework."""
        return self.component.dialect

    @property
    def role(self) -> Role:
        """The framework's base class."""
        return self.component.role

    @property
    def discipline(self) -> Discipline:
        """The completions and anchors that the framework does by itself, and its prices."""
        return self.component.role.discipline

    @property
    def is_bolt(self) -> bool:
        """Whether the component is a bolt."""
        return self.component.role.kind is Kind.BOLT

    @property
    def raising(self) -> bool:
        """Whether an exception that leaves the handler fails the tuple and the worker goes on."""
        return bool(self.component.auto_fail) and self.component.exits is False

    def tuple_handlers(self) -> Iterator[Flow]:
        """Yield the flows of the handlers that get one tuple."""
        for flow in self.flows:
            entry = flow.entry
            if entry is not None and entry.kind is EntryKind.DATA and entry.subject is not None:
                yield flow

    def flows_of(self, *entries: EntryKind) -> Iterator[Flow]:
        """Yield the flows of these entries."""
        return (flow for flow in self.flows if flow.entry is not None and flow.entry.kind in entries)

    def events(self, kind: type[S], *entries: EntryKind) -> Iterator[tuple[Flow, S]]:
        """Yield the events of one kind in the flows of these entries; without entries, in all flows."""
        for flow in self.flows_of(*entries) if entries else self.flows:
            yield from ((flow, event) for event in flow.events if isinstance(event, kind))

    def releases(self) -> Iterator[tuple[Flow, Released]]:
        """Yield the places where the component releases what a field holds, also in handlers that a subclass inherits."""
        for flow in (*self.flows, *self.inherited):
            yield from ((flow, event) for event in flow.events if isinstance(event, Released))

    def calls(self) -> Iterator[tuple[Function, Call]]:
        """Yield every call in the component's functions."""
        for function in self.functions:
            yield from ((function, call) for call in calls_by_result(function).values())

    @property
    def module_body(self) -> Function:
        """The top level of the component's own file."""
        return self.program.units[self.component.cls.path].body

    def functions_of(self, flow: Flow) -> list[Function]:
        """Return a handler and the methods of the component that it calls, not those that it passes on."""
        found = [flow.function]
        for function in found:  # the list grows during the loop
            called = (self.own_method(function, call.func) for call in calls_by_result(function).values())
            found += dict.fromkeys(each for each in called if each is not None and each not in found)
        return found

    # ---- expressions in its functions ----

    def resolve(self, function: Function, expr: Expr) -> tuple[Symbol, ...]:
        """Return what a dotted expression in that function's file resolves to."""
        return self.program.resolve(self.program.units[function.path], expr)

    def qualified_names(self, function: Function, expr: Expr) -> frozenset[str]:
        """Return the qualified names outside the project that a dotted expression may denote."""
        return frozenset(symbol for symbol in self.resolve(function, expr) if isinstance(symbol, str))

    def verb_kind(self, function: Function, call: Call, around: Function | None = None) -> VerbKind | None:
        """Return the kind of the framework call that a call spells out; only the flow engine follows aliases.

        A closure needs the function `around` it, which declares the locals that it captures.
        """
        verb = None
        match call.func:
            case Attr(obj=Name(id=local) as obj, name=name) if (
                local in function.captures and around is not None
            ):
                kind = self._framework_object(around, obj)
                verb = next(iter(self._engine.verbs_of(kind, name)), None)
            case Attr(obj=obj, name=name) if kind := self._framework_object(function, obj):
                verb = next(iter(self._engine.verbs_of(kind, name)), None)
            case Attr(obj=Name() as obj, name=name) if obj == self.own_names.get(function):
                verb = own_verb(self._engine, name) if self.component.method(name) is None else None
            case Attr() | Global():
                verb = external_verb(self._engine.verbs(), tuple(self.qualified_names(function, call.func)))
            case _:
                pass
        return verb.kind if verb is not None else None

    def _framework_object(self, function: Function, expr: Expr) -> str:
        """Return the kind of framework object that an expression is declared as; "" if the dialect has no such objects."""
        if not self.dialect.objects:
            return ""
        owner = self.program.owner(function)
        own = SelfRef() if function in self.own_names else Instance(owner) if owner is not None else None
        state = State(env={function.receiver: own} if own is not None else {})
        value = evaluate(self._engine, function, state, expr)
        return value.kind if isinstance(value, FrameworkObject) else ""

    def field(self, function: Function, expr: Expr) -> str | None:
        """Return the component's field at the root of an expression ("pending" for `self.pending[k].x`)."""
        own = self.own_names.get(function)
        while isinstance(expr, (Attr, Item)):
            if isinstance(expr, Attr) and expr.obj == own:
                return expr.name
            expr = expr.obj
        return None

    @property
    def heirs(self) -> tuple[str, ...]:
        """The names of the project's classes that derive from the component: a fix must not change what they inherit."""
        return tuple(heir.qualname for heir in self.component.heirs)

    def own_field(self, function: Function, expr: Expr) -> str | None:
        """Return the field that an expression is: `self.name` and nothing more."""
        whole = isinstance(expr, Attr) and expr.obj == self.own_names.get(function)
        return expr.name if whole and isinstance(expr, Attr) else None

    def own_method(self, function: Function, func: Expr) -> Function | None:
        """Return the component's own method that `self.name` calls."""
        name = self.own_field(function, func)
        return self.component.method(name) if name is not None else None

    def called_function(self, function: Function, func: Expr) -> Function | None:
        """Return the function of the project that a call in a function runs: a method of its own object, or a global."""
        return called_function(self._engine, function, func)

    def code_of(self, function: Function, value: Expr) -> Function | None:
        """Return the code of the project that a value in a function is: a closure, or what a call of it runs."""
        if isinstance(value, Closure):
            return function.closures.get(value.key)
        return self.called_function(function, value)

    def field_class(self, field: str) -> ClassInfo | None:
        """Return the class of the project of the object that a field keeps."""
        return field_class(self._engine, field)

    def is_queue(self, field: str) -> bool:
        """Whether every assignment makes a field a queue, whose `get` removes an element."""
        return is_queue(self._engine, field)

    def is_remote(self, function: Function, expr: Expr) -> bool:
        """Whether an object or a module is of a library whose calls may fail."""
        return is_remote(self._engine, function, expr)

    def is_in_memory(self, function: Function, expr: Expr) -> bool:
        """Whether an object certainly lives in the process: a collection, a date, a text."""
        return is_in_memory(self._engine, function, expr)

    def is_computation(self, function: Function, func: Expr) -> bool:
        """Whether a function is of a standard module that only computes: `random.random`."""
        names = self.qualified_names(function, func)
        return bool(names) and all(is_memory_name(self._engine, name) for name in names)

    def declared_names(self, function: Function, expr: Expr) -> tuple[str, ...]:
        """Return the qualified names that the declared type of an object may refer to."""
        return declared_names(self._engine, function, expr)

    def runs_on_thread(self, function: Function, call: Call) -> bool:
        """Whether a call runs code among its arguments on another thread."""
        return runs_on_thread(self._engine, function, call)

    def project_class(self, function: Function, expr: Expr) -> ClassInfo | None:
        """Return the class of the project that an object certainly has."""
        return project_class(self._engine, function, expr)

    def is_python3(self, function: Function) -> bool:
        """Whether a function's file shows no sign of Python 2: neither its syntax nor `from __future__ import`."""
        unit = self.program.units[function.path]
        future = {name for names in unit.imports.values() for name in names if name.startswith("__future__.")}
        return not unit.python2 and future <= {"__future__.annotations"}

    # ---- prices and words ----

    def severity(self, misuse: Misuse) -> Severity:
        """Return how bad a misuse is in this dialect: the worst of its prices; never an error if acking is opt-in."""
        return advice.severity(self.discipline, misuse)

    def price(self, misuse: Misuse) -> str:
        """Return the consequence of a misuse in this dialect, as one clause."""
        return advice.clause(self.discipline, misuse)

    def words(self, case: str = "message", /, **values: object) -> Words:
        """Return the words of one case of this rule."""
        return words(self.code, case, **values)

    def phrase(self, name: str, /, **values: object) -> str:
        """Return a part of a sentence of this rule."""
        return phrase(self.code, name, **values)

    def advice(self, misuse: Misuse, name: str) -> str:
        """Return this dialect's own advice for a misuse of the tuple `name`, or ""."""
        return self.dialect.advice.get(misuse, "").replace("{name}", name)

    @property
    def notation(self) -> Notation:
        """How the component's language spells quoted code."""
        return NOTATIONS[self.dialect.language]

    def _in_own_notation(self, text: str) -> str:
        """Name fields as the component's language does; the flow engine and the checks write `self.field`."""
        return text.replace("self.", f"{self.notation.own}.")

    # ---- findings ----

    def finding(
        self,
        words: Words,
        misuse: Misuse | None,
        at: Place,
        *,
        flow: Flow | None = None,
        path: Path | None = None,
        token: Token | None = None,
        severity: Severity | None = None,
        confidence: Confidence | None = None,
        handler: str = "",
        details: tuple[str, ...] = (),
    ) -> Finding:
        """Create a finding of this rule; its witness is the path `path`, or the place alone without one.

        An event or a visit brings its own path, an event also its tuple.  By default the severity is the worst price of
        the misuse, at least a warning.
        """
        function, span, visit = _place(at)
        path = path or visit
        feasible = self._feasible(path) if path is not None else None
        if isinstance(at, (Completed, Emitted, Stored)):
            token = token or (at.subject if isinstance(at, Emitted) else at.token)
        site = Site(function.path, span)
        if path is not None:
            evidence = witness(feasible or path, token, words.note, (function, span), self.notation)
        else:
            evidence = PathWitness(steps=(PathStep(site=site, note=words.note),))
        steps = tuple(replace(step, note=self._in_own_notation(step.note)) for step in evidence.steps)
        if confidence is None:
            is_doubtful = path is not None and feasible is None
            confidence = Confidence.MAY if is_doubtful else self._confidence(flow, feasible)
        if severity is None:
            severity = max(self.severity(misuse), Severity.WARNING) if misuse else Severity.WARNING
        message = self._in_own_notation(words.message)
        cost = self.price(misuse) if misuse is not None else ""
        home = self.component.cls.path
        finding = Finding(
            code=self.code,
            name=self.name,
            severity=severity,
            confidence=confidence,
            site=site,
            message=f"{message}: {cost}" if cost else message,
            component=self.component.name,
            handler=handler or (flow.function.name if flow is not None else function.name),
            dialect=self.dialect.name,
            evidence=replace(evidence, steps=steps),
            cause="|".join((function.qualname, words.case, *(step.note for step in steps[-6:-1]))),
            price=cost,
            help=self._in_own_notation(words.help),
            home=home if home != site.path else "",
            heritage=self._heritage(function),
            case=words.case,
            details=details,
        )
        if path is not None and token is not None:
            self.claims.append(Claim(finding, words.case, token, path, visit))
        return finding

    def _feasible(self, path: Path) -> Path | None:
        """Return a path to the same place that a run can take; None if there is none."""
        methods = {function.name for function in self.functions}
        return feasible_path(path, self._engine.verb_names, methods)

    def _confidence(self, flow: Flow | None, path: Path | None) -> Confidence:
        """Return MAY for a path that assumes an undeclared exception, or that a field is null which `prepare` sets.

        A limit that cut the analysis short makes it MAY as well.
        """
        if flow is not None and (flow.limited or flow.wrapped):
            return Confidence.MAY
        doubts = (assumes_raise, was_widened, self._assumes_null)
        if path is not None and any(doubt(path) for doubt in doubts):
            return Confidence.MAY
        return Confidence.MUST

    def _assumes_null(self, path: Path) -> bool:
        """Whether a path takes the side of a null test on which a field is null that `prepare` sets."""
        for visit, after, _ in points_back(path):
            match visit.step.op:
                case Test(condition=Compare(left=left, op=op, right=Literal(None))) if after is not None:
                    is_null = (op in ("==", "is")) == (after.via is EdgeKind.TRUE)
                    if is_null and self.own_field(visit.function, left) in self._set_at_start():
                        return True
                case _:
                    pass
        return False

    def _set_at_start(self) -> frozenset[str]:
        """Return the fields that `prepare` sets on every path on which it returns, and that no other code clears."""
        if self._start_fields is None:
            entries = self.role.entries
            methods = [self.component.method(each.method) for each in entries if each.kind is EntryKind.INIT]
            prepare = next((method for method in methods if method is not None), None)
            sets: dict[str, set[int]] = {}
            for field, index, value in self._assignments(prepare) if prepare is not None else ():
                if value != Literal(None):
                    sets.setdefault(field, set()).add(index)
            always = {each for each, at in sets.items() if prepare and not returns_without(prepare, at)}
            self._start_fields = frozenset(always - self._cleared_fields() if always else always)
        return self._start_fields

    def _cleared_fields(self) -> set[str]:
        """Return the fields that code of the running component sets to None."""
        at_end = {entry.method for entry in self.role.entries if entry.kind is EntryKind.LIFECYCLE}
        running = (each for each in self.functions if each.name not in CONSTRUCTORS | at_end)
        assigned = (each for function in running for each in self._assignments(function))
        return {field for field, _, value in assigned if value == Literal(None)}

    def _assignments(self, function: Function) -> Iterator[tuple[str, int, Expr]]:
        """Yield the fields that a function assigns, each with the step and the value."""
        for index, step in enumerate(function.cfg.steps):
            field = self.own_field(function, step.op.target) if isinstance(step.op, Bind) else None
            if field is not None and isinstance(step.op, Bind):
                yield field, index, step.op.value

    def _heritage(self, function: Function) -> str:
        """Return the base class that defines a function; "" if the component's own class does."""
        for cls in self.component.lineage:
            if cls.path == function.path and function.qualname.startswith(f"{cls.qualname}."):
                return cls.qualname if cls is not self.component.cls else ""
        return ""


def _place(at: Place) -> tuple[Function, Span, Path | None]:
    """Return the place to report, and the path to it."""
    match at:
        case (function, span):
            return function, span, None
        case Function():
            return at, at.head, None
        case Path():
            return at.function, at.step.span, at
        case _:
            return at.function, at.step.span, at.path

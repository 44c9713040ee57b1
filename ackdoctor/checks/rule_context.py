"""The input of a check: one component with everything the flow engine recorded, and a factory for findings."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from ackdoctor.flow.component import solve_component
from ackdoctor.flow.context import Context
from ackdoctor.flow.events import Event, Flow, Path, Released
from ackdoctor.flow.program import Program
from ackdoctor.flow.state import FrameworkObject, Instance, SelfRef, State, Token, Value
from ackdoctor.flow.symbols import Symbol
from ackdoctor.flow.transfer.dispatch import choose_verb
from ackdoctor.flow.transfer.evaluate import evaluate
from ackdoctor.flow.transfer.verbs import external_verb
from ackdoctor.flow.witness import assumes_raise, was_widened, witness
from ackdoctor.model.cfg import Attr, Call, Component, Expr, Function, Global, Item, Name, Step
from ackdoctor.model.dialect import Dialect, Discipline, EntryKind, Kind, Misuse, Role, Verb, VerbKind
from ackdoctor.model.finding import Confidence, Finding, PathStep, PathWitness, Severity
from ackdoctor.model.source import Site, Span
from ackdoctor.rulebook import Words, advice, phrase, words

__all__ = ["RuleContext"]

S = TypeVar("S", bound=Event)


@dataclass(slots=True, unsafe_hash=True)
class RuleContext:
    """One component under one rule; `inherited` are the flows that are reported for subclasses instead."""

    program: Program
    component: Component
    flows: tuple[Flow, ...]
    inherited: tuple[Flow, ...] = ()
    code: str = ""
    name: str = ""

    @classmethod
    def of(cls, program: Program, component: Component) -> "RuleContext":
        """Solve a component; the flow of a handler that a subclass inherits is reported for the subclass."""
        flows = solve_component(program, component)
        inherited = tuple(flow for flow in flows if _inherited(component, flow))
        return cls(program, component, tuple(flow for flow in flows if flow not in inherited), inherited)

    def under(self, code: str, name: str) -> "RuleContext":
        """Return the same component under another rule."""
        return replace(self, code=code, name=name)

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

    def events(self, kind: type[S], *entries: EntryKind) -> Iterator[tuple[Flow, S]]:
        """Yield the events of one kind in the flows of these entries; without entries, in all flows."""
        for flow in self.flows:
            if entries and (flow.entry is None or flow.entry.kind not in entries):
                continue
            for event in flow.events:
                if isinstance(event, kind):
                    yield flow, event

    def releases(self) -> Iterator[tuple[Flow, Released]]:
        """Yield the places where the component releases what a field holds, also in handlers that a subclass inherits."""
        for flow in (*self.flows, *self.inherited):
            for event in flow.events:
                if isinstance(event, Released):
                    yield flow, event

    def functions(self) -> Iterator[Function]:
        """Yield every function of the component that can run: its own and inherited methods with their closures."""
        seen: set[str] = set()
        for cls in self.component.lineage:
            for name in cls.methods:
                if name not in seen:
                    for each in cls.named(name):
                        yield from _with_closures(each)
                seen.add(name)

    def calls(self) -> Iterator[tuple[Function, Step, Call]]:
        """Yield every call in those functions."""
        for function in self.functions():
            for step in function.cfg.steps:
                if isinstance(step.op, Call):
                    yield function, step, step.op

    def resolve(self, function: Function, expr: Expr) -> tuple[Symbol, ...]:
        """Return what a dotted expression in that function's file resolves to."""
        return self.program.resolve(self.program.units[function.path], expr)

    def verb(self, function: Function, call: Call) -> Verb | None:
        """Return the framework's verb that a call spells out; only the flow engine follows aliases."""
        on = self._object(function, call.func.obj) if isinstance(call.func, Attr) else None
        if on is not None and isinstance(call.func, Attr):
            name = call.func.name
            verbs = [verb for verb in self._verbs() if verb.on == on and verb.name == name]
            return choose_verb(self._context_without_path(), function, State(), call.args, verbs)
        match call.func:
            case Attr(obj=Name() as obj, name=name) if obj == self.own_name(function):
                if self.component.method(name) is None:
                    return next((v for v in self._verbs() if v.on == "self" and v.name == name), None)
            case Attr() | Global():
                names = tuple(s for s in self.resolve(function, call.func) if isinstance(s, str))
                return external_verb(self._verbs(), names)
            case _:
                pass
        return None

    def verb_kind(self, function: Function, call: Call) -> VerbKind | None:
        """Return the kind of a framework call; None for any other call."""
        verb = self.verb(function, call)
        return verb.kind if verb is not None else None

    def _context_without_path(self) -> Context:
        return Context(program=self.program, component=self.component, subject=None, stored_stages={})

    def _object(self, function: Function, expr: Expr) -> str | None:
        """Return the kind of framework object that an expression is declared as, if the dialect has such objects."""
        if not self.dialect.objects:
            return None
        own = self.own_name(function)
        owner = self.program.owner(function)
        env: dict[str, Value] = {}
        if own is not None:
            env[own.id] = SelfRef()
        elif owner is not None and function.params:
            env[function.params[0].name] = Instance(owner)
        match evaluate(self._context_without_path(), function, State(env=env), expr):
            case FrameworkObject(kind=kind):
                return kind
            case _:
                return None

    def _verbs(self) -> tuple[Verb, ...]:
        return self.component.dialect.verbs_of(self.component.role)

    def own_name(self, function: Function) -> Name | None:
        """Return the name of the component in a function: its first parameter, in a closure the captured one."""
        for cls in self.component.lineage:
            for method in cls.all_methods():
                if (function is method or _contains(method, function)) and method.params:
                    return Name(method.params[0].name) if method.binding != "static" else None
        return None

    def field(self, function: Function, expr: Expr) -> str | None:
        """Return the component's field at the root of an expression ("pending" for `self.pending[k].x`)."""
        own = self.own_name(function)
        while isinstance(expr, (Attr, Item)):
            if isinstance(expr, Attr) and expr.obj == own:
                return expr.name
            expr = expr.obj
        return None

    def held_by_component(self, function: Function, func: Expr) -> bool:
        """Whether a callee is a method of a field of the component: `self.table.insert`."""
        return isinstance(func, Attr) and self.field(function, func.obj) is not None

    def own_method(self, function: Function, func: Expr) -> Function | None:
        """Return the component's own method that `self.name` calls."""
        if isinstance(func, Attr) and func.obj == self.own_name(function):
            return self.component.method(func.name)
        return None

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

    @property
    def raising(self) -> bool:
        """Whether an exception that leaves the handler fails the tuple and the worker goes on."""
        return bool(self.component.auto_fail) and self.component.exits is False

    def advice(self, misuse: Misuse, name: str) -> str:
        """Return this dialect's own advice for a misuse of the tuple `name`, or ""."""
        return self.dialect.advice.get(misuse, "").replace("{name}", name)

    @property
    def catch(self) -> str:
        """The language's keyword for the part of a `try` that handles exceptions."""
        return "except" if self.dialect.own == "self" else "catch"

    def _in_own_language(self, text: str) -> str:
        """Replace Python's `self` and `None` by the words of the component's language."""
        if self.dialect.own == "self":
            return text
        text = text.replace("self.", f"{self.dialect.own}.")
        return text.replace(" is not None`", " != null`").replace(" is None`", " == null`")

    # ---- findings ----

    def finding(
        self,
        words: Words,
        *,
        at: tuple[Function, Span],
        misuse: Misuse | None,
        path: Path | None = None,
        token: Token | None = None,
        handler: str = "",
        severity: Severity | None = None,
        confidence: Confidence | None = None,
        flow: Flow | None = None,
    ) -> Finding:
        """Create a finding of this rule; its witness is the path `path`, or the place alone without one.

        By default a path is MAY if it assumes an undeclared exception or a limit cut the analysis short, else MUST.
        """
        function, span = at
        site = Site(function.path, span)
        if path is not None:
            evidence = witness(path, token, words.note, at)
        else:
            evidence = PathWitness(steps=(PathStep(site=site, note=words.note),))
        limited = flow is not None and (flow.limited or flow.wrapped)
        if confidence is None:
            assumed = limited or (path is not None and (assumes_raise(path) or was_widened(path)))
            confidence = Confidence.MAY if assumed else Confidence.MUST
        if severity is None:
            severity = (
                max(self.severity(misuse), Severity.WARNING) if misuse is not None else Severity.WARNING
            )
        cost = self.price(misuse) if misuse is not None else ""
        message = self._in_own_language(words.message)
        if self.dialect.own != "self":
            steps = tuple(replace(step, note=self._in_own_language(step.note)) for step in evidence.steps)
            evidence = replace(evidence, steps=steps)
        return Finding(
            code=self.code,
            name=self.name,
            severity=severity,
            confidence=confidence,
            site=site,
            message=f"{message}: {cost}" if cost else message,
            component=self.component.name,
            handler=handler or (flow.function.name if flow is not None else function.name),
            dialect=self.dialect.name,
            evidence=evidence,
            cause="|".join((function.qualname, words.case, *(step.note for step in evidence.steps[-6:-1]))),
            help=self._in_own_language(words.help),
            home=self.component.cls.path if self.component.cls.path != site.path else "",
            heritage=self._heritage(function),
        )

    def _heritage(self, function: Function) -> str:
        """Return the base class that defines a function; "" if the component's own class does."""
        for cls in self.component.lineage:
            if cls.path == function.path and function.qualname.startswith(f"{cls.qualname}."):
                return cls.qualname if cls is not self.component.cls else ""
        return ""


def _with_closures(function: Function) -> Iterator[Function]:
    yield function
    for inner in function.closures.values():
        yield from _with_closures(inner)


def _contains(outer: Function, inner: Function) -> bool:
    return any(inner is closure or _contains(closure, inner) for closure in outer.closures.values())


def _inherited(component: Component, flow: Flow) -> bool:
    """Whether a subclass inherits this handler: its switches may differ, so it is reported for the subclass."""
    name = flow.function.name
    return any(name not in heir.methods for heir in component.heirs)

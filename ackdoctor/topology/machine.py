"""The machine of the abstract interpreter: it runs the steps of functions along one path and logs calls.

At a branch that the files do not decide the machine follows a plan, a list of choices.  Exceptions follow the normal
path.  A loop over unknown elements runs once and marks what it creates as `repeated`.  Functions of the project are
executed at their calls; calls of other code are logged.  The steps and the depth of a run are bounded.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from ackdoctor.flow.symbols import SymbolTable
from ackdoctor.model.cfg import (
    ENTRY,
    EXIT,
    RAISED,
    Attr,
    Bind,
    Call,
    Catch,
    ClassInfo,
    Compare,
    Drop,
    EdgeKind,
    Expr,
    Function,
    Global,
    Item,
    Name,
    Next,
    Not,
    Notation,
    Return,
    Star,
    Step,
    Test,
    Throw,
    Unit,
    Unpack,
    Update,
    Yield,
)
from ackdoctor.model.source import Span
from ackdoctor.model.topology import Gap, Place
from ackdoctor.topology import library_calls
from ackdoctor.topology.calls import Arguments, Calls, Decision, EndError, Run
from ackdoctor.topology.library_calls import MISSING, new_dict, new_list
from ackdoctor.topology.loops import MAX_ITERATIONS, Loops, usual_outcome
from ackdoctor.topology.objects import Code, Data, Library, Obj, Ref, Scope, Text, describe
from ackdoctor.topology.operators import arithmetic

_MAX_STEPS = 5_000  # of one run
_MAIN = "__main__"  # the name of the module that runs


class Entry(NamedTuple):
    """A function to execute; `this` is the class of the object whose method it is, `args` are its first arguments.

    The body of a module with a class means the body of the class: the result is a dict of its names.
    """

    function: Function
    unit: Unit
    this: ClassInfo | None = None
    args: tuple[Data, ...] = ()


class _ThrownError(Exception):
    """The code raises an exception that the function does not catch."""


class Machine(Calls):
    """One run of one path."""

    def __init__(
        self,
        symbols: SymbolTable,
        notation: Notation,
        plan: Sequence[bool] = (),
        library: Library | None = None,
    ) -> None:
        super().__init__(symbols, notation, library or Library())
        self.steps = 0
        self._plan = plan
        self._choices: dict[Hashable, bool] = {}

    def run(self, entry: Entry) -> Run:
        """Execute an entry point; never raises for odd code."""
        run = self._run
        try:
            run.result = self._enter(entry)
        except EndError as error:
            run.ended = str(error)
        except _ThrownError:
            run.ended = "thrown"
        except RecursionError:
            run.ended = "limit"
        return run

    # ---- entry points ----

    def _enter(self, entry: Entry) -> Data:
        function, unit, cls, args = entry
        if function is unit.body and cls is not None:
            return new_dict(self.statics(cls).names)
        if function is unit.body:
            scope = self._modules[unit.path] = Scope(function, unit, {"__name__": _MAIN})
            return self.execute(scope)
        this: Data = None
        if cls is not None:
            this = self.class_ref(cls)
            if function.binding == "instance":
                this = self._unknown_instance(cls)
        code = Code(function, unit, None, this, cls)
        return self.invoke(code, (*args, *self._unknown_arguments(code, len(args))), {})

    def _unknown_instance(self, cls: ClassInfo) -> Obj:
        """An object of the class of an entry point, made by a constructor with unknown arguments."""
        obj = Obj(self.names_of(cls), cls, place=Place(cls.path, cls.head.line))
        constructor = self._constructor(obj, cls)
        if constructor is not None:
            self._construct(constructor, self._unknown_arguments(constructor, 0), {})
        return obj

    def _unknown_arguments(self, code: Code, given: int) -> tuple[Data, ...]:
        """Arguments that the caller decides: objects of their declared classes, or gaps."""
        function = code.function
        first = given + (function.binding in ("instance", "class"))
        place = Place(function.path, function.head.line)
        return tuple(
            self.of_type(code.unit, param.type or "", param.name, place)
            for param in function.params[first:]
            if param.kind == "positional" and param.default is None
        )

    # ---- steps ----

    def execute(self, scope: Scope) -> Data:
        """Run the steps of a function until it returns."""
        self._run.executed.add(scope.function)
        steps = scope.function.cfg.steps
        loops = Loops(scope)
        at, way = ENTRY, EdgeKind.NEXT
        while at != EXIT:
            if at == RAISED:
                raise _ThrownError
            self.steps += 1
            if self.steps > _MAX_STEPS:
                raise EndError("limit")
            step = steps[at]
            loops.arrive(at, way, len(self._run.calls))
            try:
                wanted = self._perform(scope, step, loops)
            except _ThrownError:
                wanted = EdgeKind.RAISE
            at, way = self._follow(step, wanted, loops)
        return scope.result

    @staticmethod
    def _follow(step: Step, wanted: EdgeKind, loops: Loops) -> tuple[int, EdgeKind]:
        """The next step and how control gets there."""
        for edge in step.edges:
            if edge.kind is wanted:
                return edge.target, edge.kind
        if wanted is EdgeKind.RAISE:
            return RAISED, wanted
        opposite = {EdgeKind.TRUE: EdgeKind.FALSE, EdgeKind.FALSE: EdgeKind.TRUE}.get(wanted)
        for edge in step.edges:
            if edge.kind not in (EdgeKind.RAISE, opposite):
                return edge.target, edge.kind
        for edge in step.edges:
            if edge.kind is not EdgeKind.RAISE:
                return edge.target, edge.kind
        raise _ThrownError if loops.at != ENTRY else EndError("limit")

    def _perform(self, scope: Scope, step: Step, loops: Loops) -> EdgeKind:
        """Execute one instruction; return the kind of the edge to follow."""
        span = step.span
        match step.op:
            case Call() as call:
                source = Text(scope.function, call, self.notation)
                self._assign(scope, call.result, self.call(scope, call.func, call.args, source, span), span)
            case Bind(target=target, value=value):
                self._assign(scope, target, self.value(scope, value, span), span)
            case Update(target=target, op=op, value=value):
                self._update(scope, target, op, value, span)
            case Unpack(targets=targets, value=value):
                self._unpack(scope, targets, self.value(scope, value, span), span)
            case Test(condition=condition):
                return self._test(scope, condition, step, loops)
            case Next():
                return self._next(scope, step.op, span, loops)
            case Return(value=value):
                scope.result = None if value is None else self.value(scope, value, span)
            case Yield(result=result, value=value):
                self._yield(scope, None if value is None else self.value(scope, value, span))
                scope.names[result.id] = None
            case Throw():
                return EdgeKind.RAISE
            case Catch(name=name):
                if name is not None:
                    scope.names[name] = Gap(name, self.place(scope, span))
                return EdgeKind.TRUE
            case Drop(target=Name(id=name)):
                scope.names.pop(name, None)
            case _:
                pass
        if loops.is_endless():
            raise EndError("limit" if loops.is_long() else "endless")
        return EdgeKind.NEXT

    def _yield(self, scope: Scope, data: Data) -> None:
        if not isinstance(scope.result, Obj):
            scope.result = new_list()
        if isinstance(scope.result.content, list):
            scope.result.content.append(data)

    def _update(self, scope: Scope, target: Expr, op: str, value: Expr, span: Span) -> None:
        before = self.value(scope, target, span)
        added = self.value(scope, value, span)
        after = arithmetic(op, before, added)
        self._assign(scope, target, self.gap(scope, target, span) if after is MISSING else after, span)

    def _assign(self, scope: Scope, target: Expr, data: Data, span: Span) -> None:
        if isinstance(data, Obj) and not data.variable and isinstance(target, (Name, Attr)):
            word = target.id if isinstance(target, Name) else target.name
            data.variable = "" if word.startswith("%") else word
        match target:
            case Name(id=name):
                home = scope.find(name) if name in scope.function.captures else None
                (home or scope).names[name] = data
            case Global(id=name):
                module = self._modules.get(scope.unit.path)
                if module is not None:
                    module.names[name] = data
            case Attr(obj=inner, name=name):
                self._set_field(scope, self.value(scope, inner, span), name, data, target, span)
            case Item(obj=inner, key=key):
                obj = self.value(scope, inner, span)
                if isinstance(obj, Obj):
                    self._set_item(scope, obj, self.value(scope, key, span), data, target, span)
            case Star(value=inner):
                self._assign(scope, inner, data, span)
            case _:
                pass

    def _set_field(self, scope: Scope, obj: Data, name: str, data: Data, target: Expr, span: Span) -> None:
        match obj:
            case Ref(cls=ClassInfo() as cls):
                order = self.symbols.lineage(cls).order
                owner = next(
                    (each for each in order if name in self.statics(each).names or name in each.types), cls
                )
                self.statics(owner).names[name] = data
                self._log(scope, None, name, (name,), self._single(scope, data, target, span), kind="set")
            case Obj():
                obj.fields[name] = data
                self._log(scope, obj, name, (), self._single(scope, data, target, span), kind="set")
            case _:
                pass

    def _set_item(self, scope: Scope, obj: Obj, key: Data, data: Data, target: Expr, span: Span) -> None:
        call = self._single(scope, key, target, span)._replace(args=(key, data))
        self._log(scope, obj, "__setitem__", (), call)
        if isinstance(obj.content, list):
            if isinstance(key, int) and -len(obj.content) <= key < len(obj.content):
                obj.content[key] = data
            else:
                obj.content.append(data)  # an array that was created without elements
            return
        if obj.content is None:
            obj.content, obj.open = {}, True
        place = self.place(scope, span)
        library_calls.put(obj, key, data, (place, place))

    def _single(self, scope: Scope, data: Data, expr: Expr, span: Span) -> Arguments:
        text = Text(scope.function, expr, self.notation)
        return Arguments((data,), {}, (text,), text, span, span.line)

    def _unpack(self, scope: Scope, targets: Sequence[Expr | None], data: Data, span: Span) -> None:
        items: list[Data] = []
        if isinstance(data, Obj) and isinstance(data.content, list) and not data.open:
            items = data.content
        stars = any(isinstance(target, Star) for target in targets)
        for index, target in enumerate(targets):
            if target is None:
                continue
            known = not stars and len(items) == len(targets)
            self._assign(scope, target, items[index] if known else self.gap(scope, target, span), span)

    # ---- branches and loops ----

    def choose(self, scope: Scope, condition: Expr, span: Span) -> bool:
        """Decide a condition, or follow the plan."""
        decided = self.decide(scope, condition, span)
        return self._planned(scope, condition, span) if decided is None else decided

    def _planned(self, scope: Scope, condition: Expr, span: Span, *, usual: bool | None = None) -> bool:
        """Follow the plan at an undecided condition; equal conditions have equal results.

        `usual` is the choice that does not end the run at once, if only one does not.
        """
        positive, key = self._key_of(scope, condition, span)
        if key not in self._choices:
            decisions = self._run.decisions
            taken = self._plan[len(decisions)] if len(decisions) < len(self._plan) else usual is not False
            self._choices[key] = taken is positive
            holds = condition if taken else _negated(condition)
            place = self.place(scope, span)
            decisions.append(Decision(key, self.text(scope, holds), place, taken, usual is taken))
        return self._choices[key] is positive

    def _key_of(self, scope: Scope, condition: Expr, span: Span) -> tuple[bool, Hashable]:
        """Whether a condition is positive, and what identifies it: its operands, if they are undecided values."""
        match condition:
            case Not(value=value):
                positive, key = self._key_of(scope, value, span)
                return not positive, key
            case Compare(left=left, op=op, right=right) if op in _OPPOSITES:
                positive, key = self._key_of(scope, Compare(left, _OPPOSITES[op], right), span)
                return not positive, key
            case Compare(left=left, op=op, right=right):
                operands = self.value(scope, left, span), self.value(scope, right, span)
                return True, (op, *map(_identity, operands))
            case _:
                return True, _identity(self.value(scope, condition, span))

    def _test(self, scope: Scope, condition: Expr, step: Step, loops: Loops) -> EdgeKind:
        decided = self.decide(scope, condition, step.span)
        leaves = loops.exit_of(step)
        if leaves is None:
            choice = decided
            if choice is None:
                choice = self._planned(scope, condition, step.span, usual=usual_outcome(scope.function, step))
            return EdgeKind.TRUE if choice else EdgeKind.FALSE
        stays = EdgeKind.FALSE if leaves is EdgeKind.TRUE else EdgeKind.TRUE
        if decided is None:
            return stays if loops.first_iteration() else leaves
        wanted = EdgeKind.TRUE if decided else EdgeKind.FALSE
        if not loops.is_endless():
            return wanted
        if wanted is stays and loops.is_long():
            self.cut_loop(self.place(scope, step.span), loops.began())
        return leaves

    def _next(self, scope: Scope, head: Next, span: Span, loops: Loops) -> EdgeKind:
        """Bind the next element of a loop, or leave it."""
        rest = loops.elements()
        if rest is None:
            data = self.value(scope, head.iterable, span)
            items = data.content if isinstance(data, Obj) else None
            if items is not None and isinstance(data, Obj) and not data.open:
                rest = loops.start(list(items)[: MAX_ITERATIONS + 1])  # type: ignore[arg-type]
            else:
                element: Data = None if head.target is None else self.gap(scope, head.target, span)
                found: list[Data] = [*items] if items else [element]
                rest = loops.start(found, unknown=True)
        for each in rest:
            if head.target is not None:
                self._assign(scope, head.target, each, span)
            return EdgeKind.TRUE
        if loops.is_long():
            self.cut_loop(self.place(scope, span), loops.began())
        loops.leave()
        return EdgeKind.FALSE


_OPPOSITES = {"!=": "==", "<=": ">", ">=": "<", "is not": "is", "not in": "in"}


def _negated(condition: Expr) -> Expr:
    match condition:
        case Not(value=value):
            return value
        case Compare(left=left, op=op, right=right):
            inverse = {**_OPPOSITES, **{value: key for key, value in _OPPOSITES.items()}}
            return Compare(left, inverse[op], right) if op in inverse else Not(condition)
        case _:
            return Not(condition)


def _identity(data: Data) -> Hashable:
    """What tells an undecided value from others, in all runs: an expression has one value in a file."""
    match data:
        case Gap(place=place) | Obj(place=place):
            return describe(data), place.path
        case Code(function=function):
            return function.qualname
        case _:
            return data

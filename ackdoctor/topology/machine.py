"""The machine of the abstract interpreter: it runs the steps of functions along one path and logs calls.

At a branch that the files do not decide the machine follows a plan, a list of choices.  Exceptions follow the normal
path.  A loop over unknown elements runs once and marks what it creates as `repeated`.  Functions of the project are
executed at their calls; calls of other code are logged.  The steps and the depth of a run are bounded.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ackdoctor.flow.symbols import SymbolTable
from ackdoctor.libraries.vocabulary import CONSTRUCTORS, IMMUTABLE_TYPES
from ackdoctor.model.cfg import (
    ENTRY,
    EXIT,
    RAISED,
    SUPER,
    Arg,
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
from ackdoctor.model.notation import Notation
from ackdoctor.model.source import Span
from ackdoctor.model.topology import Gap, Place
from ackdoctor.topology import library_calls
from ackdoctor.topology.evaluator import Evaluator, arithmetic
from ackdoctor.topology.library_calls import MISSING, new_dict, new_list
from ackdoctor.topology.loops import Loops, usual_outcome
from ackdoctor.topology.objects import Code, Data, Invocation, Library, Obj, Ref, Scope, Text, describe, shown

_MAX_STEPS = 5_000  # of one run
_MAX_DEPTH = 24  # of calls of the project's functions
_MAX_ITERATIONS = 128  # of a loop whose end is known
_MAX_ACTIVE = 2  # calls of one function inside each other
_MAIN = "__main__"  # the name of the module that runs
_IMPLICIT = "<init>"  # a constructor whose body may leave out the call of the base class's constructor
_PUTS = frozenset("put setProperty __setitem__".split())


class Decision(NamedTuple):
    """A branch that the files do not decide, and the choice of this run; `key` identifies equal conditions.

    `only` is true if the other choice raises an exception or ends the program at once.
    """

    key: Hashable
    text: str  # the condition that holds
    place: Place
    choice: bool
    only: bool = False


@dataclass(slots=True, eq=False)
class Run:
    """One path through an entry point: the calls of code outside the project, in order, and the decisions.

    `ended` is "" at a normal end, "thrown", "exit" (the code ends the program), "endless" (a loop
    without an end) or "limit" (too many steps).
    """

    calls: list[Invocation] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    executed: set[Function] = field(default_factory=set)
    result: Data = None
    ended: str = ""


class Entry(NamedTuple):
    """A function to execute; `this` is the class of the object whose method it is, `args` are its first arguments.

    The body of a module with a class means the body of the class: the result is a dict of its names.
    """

    function: Function
    unit: Unit
    this: ClassInfo | None = None
    args: tuple[Data, ...] = ()


class _EndError(Exception):
    """The run is over."""


class _ThrownError(Exception):
    """The code raises an exception that the function does not catch."""


class _Super(NamedTuple):
    """`super()` in a method of `cls`."""

    this: Data
    cls: ClassInfo | None


class _Call(NamedTuple):
    """The evaluated arguments of a call, and where it is."""

    args: tuple[Data, ...]
    keywords: Mapping[str, Data]
    texts: tuple[Text, ...]
    source: Text
    span: Span
    line: int


class Machine(Evaluator):
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
        self._run = Run()
        self._choices: dict[Hashable, bool] = {}
        self._active: dict[int, int] = {}  # running functions
        self._depth = 0

    def run(self, entry: Entry) -> Run:
        """Execute an entry point; never raises for odd code."""
        run = self._run
        try:
            run.result = self._enter(entry)
        except _EndError as error:
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
            self._of_type(code.unit, param.type or "", param.name, place)
            for param in function.params[first:]
            if param.kind == "positional" and param.default is None
        )

    def _of_type(self, unit: Unit, written: str, name: str, place: Place) -> Data:
        if not written or written.rpartition(".")[2] in IMMUTABLE_TYPES:
            return Gap(name, place)
        collection = library_calls.unknown_collection(written.rpartition(".")[2])
        if collection is not None:
            collection.text, collection.place = name, place
            return collection
        found = self.symbols.type_of(unit, written)
        if isinstance(found, ClassInfo):
            return Obj(self.names_of(found), found, place=place, given=True, text=name)
        return Obj(found, place=place, given=True, text=name)

    # ---- functions ----

    def invoke(
        self, code: Code, args: Sequence[Data], keywords: Mapping[str, Data], *, repeated: bool = False
    ) -> Data:
        """Execute a function of the project."""
        function = self._overload(code.variants, args) if code.variants else code.function
        key = id(function)
        if self._depth >= _MAX_DEPTH or self._active.get(key, 0) >= _MAX_ACTIVE or function.docstring_only:
            return Gap(f"{function.name}(...)", Place(function.path, function.head.line))
        scope = Scope(function, code.unit, {}, code.scope, code.cls, repeated=repeated)
        self._bind_parameters(scope, code, args, keywords)
        if function.cfg.steps[ENTRY].edges:
            self._active[key] = self._active.get(key, 0) + 1
            self._depth += 1
            try:
                return self.execute(scope)
            finally:
                self._active[key] -= 1
                self._depth -= 1
        return None

    def _overload(self, variants: Sequence[Function], args: Sequence[Data]) -> Function:
        """The overload whose parameters fit the arguments best."""
        return max(variants, key=lambda function: self._fit(function, args))

    def _fit(self, function: Function, args: Sequence[Data]) -> tuple[bool, int]:
        params = function.params[function.binding in ("instance", "class") :]
        variadic = bool(params) and params[-1].kind == "*"
        count = len(params) == len(args) or (variadic and len(args) >= len(params) - 1)
        return count, sum(_fits(p.type or "", arg) for p, arg in zip(params, args, strict=False)) - variadic

    def _bind_parameters(
        self, scope: Scope, code: Code, args: Sequence[Data], keywords: Mapping[str, Data]
    ) -> None:
        function, names = scope.function, scope.names
        if isinstance(code.this, Obj) and code.scope is None:
            names.update(code.this.captured)
        values = list(args)
        if function.binding in ("instance", "class"):
            values.insert(0, code.this)
        rest = dict(keywords)
        for param in function.params:
            if param.kind == "*":
                many = values[0] if len(values) == 1 else None
                whole = isinstance(many, Obj) and isinstance(many.content, list)
                names[param.name] = many if whole else new_list(values, "tuple")
                values = []
            elif param.kind == "**":
                names[param.name] = new_dict(dict(rest.items()))
            elif values and param.kind == "positional":
                names[param.name] = values.pop(0)
            elif param.name in rest:
                names[param.name] = rest.pop(param.name)
            elif param.default is not None:
                names[param.name] = self.value(scope, param.default, function.head)
            else:
                names[param.name] = Gap(param.name, Place(function.path, function.head.line))
        names.update(rest if not function.params else {})

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
                raise _EndError("limit")
            step = steps[at]
            loops.arrive(at, way)
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
        raise _ThrownError if loops.at != ENTRY else _EndError("limit")

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
            raise _EndError("endless")
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

    def _single(self, scope: Scope, data: Data, expr: Expr, span: Span) -> _Call:
        text = Text(scope.function, expr, self.notation)
        return _Call((data,), {}, (text,), text, span, span.line)

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

    def choose(self, scope: Scope, condition: Expr, span: Span, *, usual: bool | None = None) -> bool:
        """Decide a condition, or follow the plan; equal conditions have equal results.

        `usual` is the choice that does not end the run at once, if only one does not.
        """
        decided = self.decide(scope, condition, span)
        if decided is not None:
            return decided
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
                choice = self.choose(scope, condition, step.span, usual=usual_outcome(scope.function, step))
            return EdgeKind.TRUE if choice else EdgeKind.FALSE
        stays = EdgeKind.FALSE if leaves is EdgeKind.TRUE else EdgeKind.TRUE
        if decided is None:
            return stays if loops.first_iteration() else leaves
        wanted = EdgeKind.TRUE if decided else EdgeKind.FALSE
        return leaves if loops.is_endless() else wanted

    def _next(self, scope: Scope, head: Next, span: Span, loops: Loops) -> EdgeKind:
        """Bind the next element of a loop, or leave it."""
        rest = loops.elements()
        if rest is None:
            data = self.value(scope, head.iterable, span)
            items = data.content if isinstance(data, Obj) else None
            if items is not None and isinstance(data, Obj) and not data.open:
                rest = loops.start(list(items)[:_MAX_ITERATIONS])  # type: ignore[arg-type]
            else:
                element: Data = None if head.target is None else self.gap(scope, head.target, span)
                found: list[Data] = [*items] if items else [element]
                rest = loops.start(found, unknown=True)
        for each in rest:
            if head.target is not None:
                self._assign(scope, head.target, each, span)
            return EdgeKind.TRUE
        loops.leave()
        return EdgeKind.FALSE

    # ---- calls ----

    def call(self, scope: Scope, func: Expr, args: Sequence[Arg], source: Text, span: Span) -> Data:
        """Call a function, a method or a constructor."""
        if func == Global(SUPER):
            return self._super(scope)
        call = self._arguments(scope, args, source, span)
        if isinstance(func, Attr):
            obj = self.value(scope, func.obj, span)
            if func.name in CONSTRUCTORS:
                return self._delegate(scope, obj, call)
            return self._method(scope, obj, func, call)
        return self._call_value(scope, self.value(scope, func, span), call)

    def _arguments(self, scope: Scope, args: Sequence[Arg], source: Text, span: Span) -> _Call:
        values: list[Data] = []
        texts: list[Text] = []
        keywords: dict[str, Data] = {}
        for arg in args:
            data = self.value(scope, arg.value, span)
            content = data.content if isinstance(data, Obj) else None
            if arg.name is not None:
                keywords[arg.name] = data
            elif arg.star == "*" and isinstance(content, list):
                values += content
            elif arg.star == "**":
                keywords.update(
                    {str(key): value for key, value in content.items()} if isinstance(content, dict) else {}
                )
            else:
                values.append(data)
                texts.append(Text(scope.function, arg.value, self.notation))
        line = source.expr.line if isinstance(source.expr, Call) and source.expr.line else span.line
        return _Call(tuple(values), keywords, tuple(texts), source, span, line)

    def _super(self, scope: Scope) -> Data:
        this = self._this(scope)
        obj = Obj(text="super", fields={"this": this})
        obj.cls = self._home(scope)
        return obj

    @staticmethod
    def _this(scope: Scope) -> Data:
        found = scope.find(scope.function.receiver or "this")
        return None if found is None else found.names[scope.function.receiver or "this"]

    @staticmethod
    def _home(scope: Scope) -> ClassInfo | None:
        around: Scope | None = scope
        while around is not None and around.cls is None:
            around = around.parent
        return None if around is None else around.cls

    def _method(self, scope: Scope, obj: Data, func: Attr, call: _Call) -> Data:
        """Call a method of an object, or a member of a class or module."""
        name = func.name
        if isinstance(obj, Obj) and obj.text == "super" and "this" in obj.fields:
            return self._base_method(scope, obj, name, call)
        if isinstance(obj, Obj):
            return self._object_method(scope, obj, name, call)
        if isinstance(obj, Code):
            return self.invoke(obj, call.args, call.keywords, repeated=self._repeated(scope))
        if isinstance(obj, Ref):
            known = library_calls.method(obj, name, call.args, call.keywords) if obj.literal else MISSING
            if known is not MISSING:
                return known
            return self._call_value(scope, self.value(scope, func, call.span), call)
        known = library_calls.method(obj, name, call.args, call.keywords)
        if known is not MISSING:
            return known
        unknown = self._unknown(scope, call)
        self._log(scope, None, name, (), call).result = unknown  # the arguments are used
        return unknown

    def _unknown(self, scope: Scope, call: _Call) -> Gap:
        return Gap(shown(call.source), Place(scope.unit.path, call.line))

    def _base_method(self, scope: Scope, proxy: Obj, name: str, call: _Call) -> Data:
        this = proxy.fields["this"]
        if not isinstance(this, Obj):
            return self._unknown(scope, call)
        found = None
        if this.cls is not None:
            found = self.find_method(this.cls, name, this, proxy.cls)
        if found is not None:
            return self.invoke(found, call.args, call.keywords, repeated=self._repeated(scope))
        return self._library_method(scope, this, name, call)

    def _object_method(self, scope: Scope, obj: Obj, name: str, call: _Call) -> Data:
        code: Data = obj.methods.get(name)
        if code is None and obj.cls is not None and not obj.methods:
            code = self.find_method(obj.cls, name, obj)
        if code is None and isinstance(obj.fields.get(name), Code):
            code = obj.fields[name]
        if isinstance(code, Code):
            logged = self._log(scope, obj, name, (), call)
            logged.inlined = True
            logged.result = self.invoke(code, call.args, call.keywords, repeated=self._repeated(scope))
            return logged.result
        return self._library_method(scope, obj, name, call)

    def _library_method(self, scope: Scope, obj: Obj, name: str, call: _Call) -> Data:
        logged = self._log(scope, obj, name, (), call)
        if name in _PUTS and obj.content is None and len(call.args) > 1:
            obj.content, obj.open = {}, True
        rows = library_calls.for_each(obj, name, call.args)
        if rows is not None and isinstance(call.args[0], Code):
            for row in rows[:_MAX_ITERATIONS]:
                self.invoke(call.args[0], row, {}, repeated=self._repeated(scope))
            return None
        known = library_calls.method(obj, name, call.args, call.keywords)
        if known is MISSING:
            library_calls.opens(name, obj, call.args)
        logged.result = self._result(logged) if known is MISSING else known
        return logged.result

    def member_call(self, obj: Obj, name: str, args: tuple[Data, ...], source: Text, span: Span) -> Data:
        """Log `obj[args]`; equal keys give the same object."""
        for earlier in obj.calls:
            if earlier.name == name and earlier.args == args:
                return earlier.result
        scope = Scope(source.function, self.symbols.units[source.function.path])
        logged = self._log(scope, obj, name, (), _Call(args, {}, (), source, span, span.line), kind="item")
        logged.result = self._result(logged)
        return logged.result

    def _call_value(self, scope: Scope, callee: Data, call: _Call) -> Data:
        match callee:
            case Code():
                return self.invoke(callee, call.args, call.keywords, repeated=self._repeated(scope))
            case Ref(cls=ClassInfo() as cls):
                return self._new(scope, cls, call)
            case Ref(names=names):
                return self._library_function(scope, names, call)
            case Obj(methods=methods) if len(methods) == 1:
                return self.invoke(next(iter(methods.values())), call.args, call.keywords)
            case _:
                return self._unknown(scope, call)

    def _library_function(self, scope: Scope, names: tuple[str, ...], call: _Call) -> Data:
        short = ".".join(names[-1].split(".")[-2:])
        if short in library_calls.ENDINGS:
            raise _EndError("exit")
        known = library_calls.function(names, call.args, call.keywords)
        if known is not MISSING:
            if isinstance(known, Obj) and not known.place.path:
                known.place = Place(scope.unit.path, call.line)
            return known
        name = names[-1].rpartition(".")[2]
        library_calls.opens(name, None, call.args)
        logged = self._log(scope, None, name, names, call)
        obj = logged.result = self._result(logged)
        if not self.library.maps.isdisjoint(names):
            obj.content = {}
        method = self.library.callbacks.get(short)
        for arg in call.args[:1] if method is not None else ():
            if isinstance(arg, Obj) and method is not None:
                self._method(scope, arg, Attr(Name(""), method), call._replace(args=call.args[1:]))
        return logged.result

    def _new(self, scope: Scope, cls: ClassInfo, call: _Call) -> Data:
        """Create an object of a class of the project."""
        logged = self._log(scope, None, cls.name, self.names_of(cls), call)
        obj = logged.result = self._result(logged)
        obj.cls = cls
        obj.captured = dict(call.keywords)
        foreign = self.symbols.lineage(cls).foreign
        if any(
            base in self.library.maps or library_calls.unknown_collection(base.rpartition(".")[2])
            for base in foreign
        ):
            obj.content = {}
        constructor = self._constructor(obj, cls)
        if constructor is not None:
            self._construct(constructor, call.args, call.keywords, repeated=self._repeated(scope))
        return obj

    def _constructor(self, obj: Obj, cls: ClassInfo) -> Code | None:
        for each in self.symbols.lineage(cls).order:
            name = next((name for name in CONSTRUCTORS if each.named(name)), None)
            if name is not None and not self.is_outside(each):
                return self.method_of(each, name, obj)
        return None

    def _construct(
        self, code: Code, args: Sequence[Data], keywords: Mapping[str, Data], *, repeated: bool = False
    ) -> None:
        """Run a constructor, and before it that of the base class if the language does so."""
        function = self._overload(code.variants, args) if code.variants else code.function
        if function.name == _IMPLICIT and code.cls is not None and not _calls_constructor(function):
            order = self.symbols.lineage(code.cls).order
            for base in order[1:]:
                if base.named(_IMPLICIT):
                    self._construct(self.method_of(base, _IMPLICIT, code.this), (), {}, repeated=repeated)
                    break
        self.invoke(code, args, keywords, repeated=repeated)

    def _delegate(self, scope: Scope, obj: Data, call: _Call) -> Data:
        """`super(...)` and `this(...)` in a constructor, `Base.__init__(self, ...)`."""
        repeated = self._repeated(scope)
        if isinstance(obj, Obj) and obj.text == "super":
            this, home = obj.fields.get("this"), obj.cls
            if not isinstance(this, Obj):
                return None
            order = self.symbols.lineage(home).order[1:] if home is not None else ()
            for base in order:
                name = next((name for name in CONSTRUCTORS if base.named(name)), None)
                if name is not None:
                    self._construct(
                        self.method_of(base, name, this), call.args, call.keywords, repeated=repeated
                    )
                    return None
            self._log(scope, this, "super", (), call)
        elif isinstance(obj, Obj) and (home := self._home(scope)) is not None:
            name = next((name for name in CONSTRUCTORS if home.named(name)), None)
            if name is not None:
                self.invoke(self.method_of(home, name, obj), call.args, call.keywords, repeated=repeated)
        elif isinstance(obj, Ref) and obj.cls is not None and call.args:
            this = call.args[0]
            constructor = self._constructor(this, obj.cls) if isinstance(this, Obj) else None
            if constructor is not None:
                self._construct(constructor, call.args[1:], call.keywords, repeated=repeated)
        return None

    # ---- the log ----

    def _repeated(self, scope: Scope) -> bool:
        return scope.repeated or bool(scope.unknown_loops)

    def _log(
        self,
        scope: Scope,
        receiver: Obj | None,
        name: str,
        names: tuple[str, ...],
        call: _Call,
        kind: str = "call",
    ) -> Invocation:
        path = scope.unit.path
        calls = self._run.calls
        logged = Invocation(
            name,
            receiver,
            names,
            call.args,
            call.texts,
            Place(path, call.line),
            Place(path, call.span.line),
            len(calls),
            call.source,
            call.keywords,
            kind,
            self._repeated(scope),
        )
        calls.append(logged)
        if receiver is not None:
            receiver.calls.append(logged)
        return logged

    @staticmethod
    def _result(logged: Invocation) -> Obj:
        return Obj(logged.names, made=logged, place=logged.place)


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


def _calls_constructor(function: Function) -> bool:
    return any(
        isinstance(step.op, Call) and isinstance(step.op.func, Attr) and step.op.func.name in CONSTRUCTORS
        for step in function.cfg.steps
    )


def _fits(written: str, data: Data) -> int:
    """How well an argument fits a declared type."""
    last = written.rpartition(".")[2]
    match data:
        case bool():
            return 2 * (last in ("boolean", "Boolean"))
        case str():
            return 2 * (last == "String")
        case int():
            return 2 * (last in ("int", "Integer")) + (last in ("long", "Long", "double"))
        case Obj(names=names, kind=kind, cls=cls):
            inherits = cls is not None and any(last == str(getattr(base, "id", "")) for base in cls.bases)
            same = any(name.rpartition(".")[2] == last for name in names)
            return (
                2 * same + inherits + (kind == "dict" and "Map" in last) + (kind == "list" and "List" in last)
            )
        case _:
            return 0

"""Calls of the abstract interpreter: code of the project is executed, calls of other code are logged."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ackdoctor.flow.symbols import SymbolTable
from ackdoctor.libraries.vocabulary import CONSTRUCTORS
from ackdoctor.model.cfg import (
    ENTRY,
    SUPER,
    Arg,
    Attr,
    Call,
    ClassInfo,
    Expr,
    Function,
    Global,
    Name,
    Notation,
)
from ackdoctor.model.source import Span
from ackdoctor.model.topology import Gap, Place
from ackdoctor.topology import library_calls
from ackdoctor.topology.evaluator import Evaluator
from ackdoctor.topology.library_calls import MISSING, new_dict, new_list
from ackdoctor.topology.loops import MAX_ITERATIONS
from ackdoctor.topology.objects import FOREVER, Code, Data, Invocation, Library, Obj, Ref, Scope, Text, shown

_MAX_DEPTH = 24  # of calls of the project's functions
_MAX_ACTIVE = 2  # calls of one function inside each other
_IMPLICIT = "<init>"  # a constructor whose body may leave out the call of the base class's constructor
_PUTS = frozenset("put setProperty __setitem__".split())
# reflection: a class by its name, its constructors, and an object of it
_LOADS = frozenset({"forName", "loadClass"})
_CONSTRUCTOR = frozenset({"getConstructor", "getDeclaredConstructor", "asSubclass"})
_CREATES = "newInstance"


class Decision(NamedTuple):
    """A branch that the files do not decide, and the choice of this run; `key` identifies equal conditions.

    `only` is true if the other choice raises an exception or ends the program at once.
    """

    key: Hashable
    text: str  # the condition that holds
    place: Place
    choice: bool
    only: bool = False


class Part(NamedTuple):
    """A part of the code of which a run executes only the beginning: what it is, and which calls were logged in it."""

    why: str
    place: Place
    first: int  # the order of the first call
    last: int  # the order after the last call


@dataclass(slots=True, eq=False)
class Run:
    """One path through an entry point: the calls of code outside the project, in order, and the decisions.

    `ended` is "" at a normal end, "thrown", "exit" (the code ends the program), "endless" (a loop
    without an end) or "limit" (too many steps).  `cut` are the loops and recursions that a limit cut short.
    """

    calls: list[Invocation] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    executed: set[Function] = field(default_factory=set)
    cut: list[Part] = field(default_factory=list)
    result: Data = None
    ended: str = ""


class EndError(Exception):
    """The run is over."""


class Arguments(NamedTuple):
    """The evaluated arguments of a call, and where it is."""

    args: tuple[Data, ...]
    keywords: Mapping[str, Data]
    texts: tuple[Text, ...]
    source: Text
    span: Span
    line: int


class Calls(Evaluator):
    """Calls of functions, methods and constructors on one path, and the log of them."""

    def __init__(self, symbols: SymbolTable, notation: Notation, library: Library) -> None:
        super().__init__(symbols, notation, library)
        self._run = Run()
        self._active: dict[int, int] = {}  # running functions
        self._recursions: set[int] = set()  # functions whose inner calls were not executed
        self._depth = 0

    # ---- functions ----

    def invoke(
        self, code: Code, args: Sequence[Data], keywords: Mapping[str, Data], *, repeated: bool = False
    ) -> Data:
        """Execute a function of the project."""
        function = self._overload(code.variants, args) if code.variants else code.function
        key = id(function)
        place = Place(function.path, function.head.line)
        if function.docstring_only:
            return Gap(f"{function.name}(...)", place)
        if self._depth >= _MAX_DEPTH or self._active.get(key, 0) >= _MAX_ACTIVE:
            self._recursions.add(key)
            if not self._active.get(key):
                self._run.cut.append(Part(f"calls nested so deeply as `{function.name}`", place, 0, FOREVER))
            return Gap(f"{function.name}(...)", place)
        scope = Scope(function, code.unit, {}, code.scope, code.cls, repeated=repeated)
        self._bind_parameters(scope, code, args, keywords)
        if function.cfg.steps[ENTRY].edges:
            self._active[key] = self._active.get(key, 0) + 1
            self._depth += 1
            first = len(self._run.calls)
            try:
                return self.execute(scope)
            finally:
                self._active[key] -= 1
                self._depth -= 1
                if key in self._recursions and not self._active[key]:
                    self._recursions.discard(key)
                    why = f"the recursion of `{function.name}`"
                    self._run.cut.append(Part(why, place, first, len(self._run.calls)))
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

    def _arguments(self, scope: Scope, args: Sequence[Arg], source: Text, span: Span) -> Arguments:
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
        return Arguments(tuple(values), keywords, tuple(texts), source, span, line)

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

    def _method(self, scope: Scope, obj: Data, func: Attr, call: Arguments) -> Data:
        """Call a method of an object, or a member of a class or module."""
        name = func.name
        if isinstance(obj, Obj) and obj.text == "super" and "this" in obj.fields:
            return self._base_method(scope, obj, name, call)
        if isinstance(obj, Obj):
            return self._object_method(scope, obj, name, call)
        if isinstance(obj, Code):
            return self.invoke(obj, call.args, call.keywords, repeated=self._repeated(scope))
        if isinstance(obj, Ref):
            known = self._reflected(scope, obj, name, call)
            if known is not MISSING:
                return known
            return self._call_value(scope, self.value(scope, func, call.span), call)
        known = library_calls.method(obj, name, call.args, call.keywords)
        if known is not MISSING:
            return known
        unknown = self._unknown(scope, call)
        self._log(scope, None, name, (), call).result = unknown  # the arguments are used
        return unknown

    def _reflected(self, scope: Scope, ref: Ref, name: str, call: Arguments) -> Data:
        """The result of `Class.forName(name)`, or of a method of a class object; MISSING for other references."""
        if ref.last == "Class" and name in _LOADS:
            return self._loaded(scope, call)
        if not ref.literal:
            return MISSING
        if name in _CONSTRUCTOR:
            return ref
        if name == _CREATES:
            return self._call_value(scope, replace(ref, literal=False), call)
        return library_calls.method(ref, name, call.args, call.keywords)

    def _loaded(self, scope: Scope, call: Arguments) -> Data:
        """The class whose name an argument is; MISSING if only a run knows the name."""
        name = call.args[0] if call.args else None
        if not isinstance(name, str) or not name:
            return MISSING
        cls = self.symbols.type_of(scope.unit, name.replace("$", "."))
        return replace(self.class_ref(cls) if isinstance(cls, ClassInfo) else Ref((name,)), literal=True)

    def _unknown(self, scope: Scope, call: Arguments) -> Gap:
        return Gap(shown(call.source), Place(scope.unit.path, call.line))

    def _base_method(self, scope: Scope, proxy: Obj, name: str, call: Arguments) -> Data:
        this = proxy.fields["this"]
        if not isinstance(this, Obj):
            return self._unknown(scope, call)
        found = None
        if this.cls is not None:
            found = self.find_method(this.cls, name, this, proxy.cls)
        if found is not None:
            return self.invoke(found, call.args, call.keywords, repeated=self._repeated(scope))
        return self._library_method(scope, this, name, call)

    def _object_method(self, scope: Scope, obj: Obj, name: str, call: Arguments) -> Data:
        code: Data = obj.methods.get(name)
        if code is None and obj.cls is not None and not obj.methods:
            code = self.find_method(obj.cls, name, obj)
        if code is None and isinstance(obj.fields.get(name), Code):
            code = obj.fields[name]
        if isinstance(code, Code):
            logged = self._log(scope, obj, name, (), call)
            logged.inlined = not code.function.docstring_only
            logged.result = self.invoke(code, call.args, call.keywords, repeated=self._repeated(scope))
            logged.until = len(self._run.calls)
            return logged.result
        return self._library_method(scope, obj, name, call)

    def _library_method(self, scope: Scope, obj: Obj, name: str, call: Arguments) -> Data:
        loaded = self._loaded(scope, call) if name in _LOADS else MISSING
        if loaded is not MISSING:
            return loaded
        logged = self._log(scope, obj, name, (), call)
        if name in _PUTS and obj.content is None and len(call.args) > 1:
            obj.content, obj.open = {}, True
        rows = library_calls.for_each(obj, name, call.args)
        if rows is not None and isinstance(call.args[0], Code):
            for row in rows[:MAX_ITERATIONS]:
                self.invoke(call.args[0], row, {}, repeated=self._repeated(scope))
            if len(rows) > MAX_ITERATIONS:
                self.cut_loop(logged.place, logged.order)
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
        logged = self._log(
            scope, obj, name, (), Arguments(args, {}, (), source, span, span.line), kind="item"
        )
        logged.result = self._result(logged)
        return logged.result

    def _call_value(self, scope: Scope, callee: Data, call: Arguments) -> Data:
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

    def _library_function(self, scope: Scope, names: tuple[str, ...], call: Arguments) -> Data:
        short = ".".join(names[-1].split(".")[-2:])
        if short in library_calls.ENDINGS:
            raise EndError("exit")
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

    def _new(self, scope: Scope, cls: ClassInfo, call: Arguments) -> Data:
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

    def _delegate(self, scope: Scope, obj: Data, call: Arguments) -> Data:
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

    def cut_loop(self, place: Place, first: int) -> None:
        """Note a loop with more iterations than are executed; `first` is the order of its first call."""
        why = f"the iterations of this loop after the first {MAX_ITERATIONS}"
        self._run.cut.append(Part(why, place, first, len(self._run.calls)))

    def _repeated(self, scope: Scope) -> bool:
        return scope.repeated or bool(scope.unknown_loops)

    def _log(
        self,
        scope: Scope,
        receiver: Obj | None,
        name: str,
        names: tuple[str, ...],
        call: Arguments,
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

"""Expressions of the abstract interpreter: names, members of objects and classes, operators, comparisons."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from ackdoctor.flow.symbols import SymbolTable
from ackdoctor.libraries.vocabulary import ARRAY_SIZES, CONSTRUCTORS, IMMUTABLE_TYPES
from ackdoctor.model.cfg import (
    Arg,
    Attr,
    Build,
    ClassInfo,
    Closure,
    Compare,
    Expr,
    Function,
    Global,
    IsType,
    Item,
    Literal,
    Mix,
    Name,
    Not,
    Notation,
    Star,
    Unit,
)
from ackdoctor.model.source import Span
from ackdoctor.model.topology import Gap, Place
from ackdoctor.topology import library_calls
from ackdoctor.topology.library_calls import MISSING, concatenated, key_of, new_dict, new_list
from ackdoctor.topology.objects import Code, Data, Library, Obj, Ref, Scope, Text, describe, shown
from ackdoctor.topology.operators import ARITHMETIC, arithmetic, compared, truth

_MAX_TEXT = 200  # characters of a text that describes a value
_CLASS_INITIALISER = "<clinit>"
_IMPLICIT = (
    "<init>"  # a constructor that initialises the fields: the class-level values are those of its objects
)
_MODULE_NAME = "__name__"
_CLASS_LITERAL = "class"


class Evaluator:
    """Evaluates pure expressions; a subclass runs the functions that they call."""

    def __init__(self, symbols: SymbolTable, notation: Notation, library: Library) -> None:
        self.symbols = symbols
        self.notation = notation
        self.library = library
        self._modules: dict[str, Scope] = {}
        self._symbols: dict[tuple[str, str], Data] = {}
        self._statics: dict[int, Scope] = {}
        self._methods_at: dict[str, dict[Span, ClassInfo]] = {}

    # ---- what the subclass does ----

    def call(self, scope: Scope, func: Expr, args: Sequence[Arg], source: Text, span: Span) -> Data:
        """Call a function."""
        raise NotImplementedError

    def choose(self, scope: Scope, condition: Expr, span: Span) -> bool:
        """Decide a condition, or follow the plan."""
        raise NotImplementedError

    def execute(self, scope: Scope) -> Data:
        """Run the function of a scope."""
        raise NotImplementedError

    def member_call(self, obj: Obj, name: str, args: tuple[Data, ...], source: Text, span: Span) -> Data:
        """Log `obj[args]` or another access of an object outside the project."""
        raise NotImplementedError

    # ---- expressions ----

    def place(self, scope: Scope, span: Span) -> Place:
        """A place in the file of a running function."""
        return Place(scope.unit.path, span.line)

    def text(self, scope: Scope, expr: Expr) -> str:
        """The source text of an expression, for a gap."""
        return shown(Text(scope.function, expr, self.notation))

    def gap(self, scope: Scope, expr: Expr, span: Span) -> Gap:
        """An expression that the files do not decide."""
        return Gap(self.text(scope, expr), self.place(scope, span))

    def value(self, scope: Scope, expr: Expr, span: Span) -> Data:
        """The value of an expression; `span` is where its statement is."""
        match expr:
            case Literal(value=None | bool() | int() | float() | str() | bytes() as value):
                return value
            case Name(id=name):
                found = scope.find(name)
                return Gap(name, self.place(scope, span)) if found is None else found.names[name]
            case Global(id=name):
                return self._global(scope, name)
            case Attr(obj=inner, name=name):
                return self._attribute(scope, expr, self.value(scope, inner, span), name, span)
            case Item(obj=inner, key=key):
                return self._item(
                    scope, expr, self.value(scope, inner, span), self.value(scope, key, span), span
                )
            case Build():
                return self._build(scope, expr, span)
            case Closure(key=key):
                return self._closure(scope, key)
            case Compare() | Not() | IsType():
                decided = self.decide(scope, expr, span)
                return self.gap(scope, expr, span) if decided is None else decided
            case Mix():
                return self._mix(scope, expr, span)
            case _:
                return self.gap(scope, expr, span)

    def elements(self, scope: Scope, items: Sequence[Expr], span: Span) -> tuple[list[Data], bool]:
        """The values of the items of a display, and whether there may be more."""
        found: list[Data] = []
        more = False
        for item in items:
            if not isinstance(item, Star):
                found.append(self.value(scope, item, span))
                continue
            spread = self.value(scope, item.value, span)
            if isinstance(spread, Obj) and spread.content is not None:
                found += list(spread.content)  # type: ignore[arg-type]
                more = more or spread.open
            else:
                more = True
        return found, more

    def _build(self, scope: Scope, build: Build, span: Span) -> Data:
        items = build.items
        if build.kind == "object":
            return self._anonymous(scope, items, span)
        places = [Place(scope.unit.path, line) for line in build.lines]
        if build.kind != "dict":
            found, more = self.elements(scope, items, span)
            obj = new_list(found, build.kind, is_open=more)
            if len(found) == len(places):
                obj.places = {index: (place, place) for index, place in enumerate(places)}
            return obj
        table = new_dict()
        for index in range(0, len(items) - 1, 2):
            key, data = items[index], self.value(scope, items[index + 1], span)
            if isinstance(key, Mix) and key.op == "**":
                library_calls.method(table, "update", (data,), {})
            else:
                where = (places[index], places[index + 1]) if places else None
                library_calls.put(table, self.value(scope, key, span), data, where)
        return table

    def _anonymous(self, scope: Scope, items: Sequence[Expr], span: Span) -> Data:
        """An object of an anonymous class: closures, then the arguments of its base class."""
        obj = Obj(place=self.place(scope, span))
        for item in items:
            data = self.value(scope, item, span)
            if not isinstance(item, Closure) or not isinstance(data, Code):
                continue
            obj.methods[data.function.name] = data
            if obj.cls is None:
                obj.cls = self._class_at(scope.unit, data.function.head)
        if obj.cls is not None:
            obj.names = self.names_of(obj.cls)
        return obj

    def _class_at(self, unit: Unit, head: Span) -> ClassInfo | None:
        """The class of a file with a method at a place."""
        if unit.path not in self._methods_at:
            self._methods_at[unit.path] = {
                method.head: cls for cls in unit.classes.values() for method in cls.all_methods()
            }
        return self._methods_at[unit.path].get(head)

    def _closure(self, scope: Scope, key: str) -> Data:
        around: Scope | None = scope
        while around is not None:
            function = around.function.closures.get(key)
            if function is not None:
                return Code(function, around.unit, around, None, around.cls)
            around = around.parent
        function = self._find_closure(scope.unit.body, key)
        return Gap("a function", Place(scope.unit.path)) if function is None else Code(function, scope.unit)

    @staticmethod
    def _find_closure(function: Function, key: str) -> Function | None:
        return next((each.closures[key] for each in function.tree() if key in each.closures), None)

    # ---- operators ----

    def _mix(self, scope: Scope, mix: Mix, span: Span) -> Data:
        match mix.op, mix.parts:
            case "call", (func, *args):
                source = Text(scope.function, mix, self.notation)
                return self.call(scope, func, [_argument(arg) for arg in args], source, span)
            case "if", (condition, then, otherwise):
                return self.value(scope, then if self.choose(scope, condition, span) else otherwise, span)
            case "f", parts:
                return self._known(
                    scope, mix, span, concatenated([self.value(scope, part, span) for part in parts])
                )
            case "len", (part,):
                obj = self.value(scope, part, span)
                if isinstance(obj, str):
                    return len(obj)
                if isinstance(obj, Obj) and obj.content is not None and not obj.open:
                    return len(obj.content)
                return self.gap(scope, mix, span)
            case "class", (Literal(value=str() as qualname), *_) if qualname in scope.unit.classes:
                return self.class_ref(scope.unit.classes[qualname])
            case "and" | "or", parts:
                for part in parts[:-1]:
                    if self.choose(scope, part, span) is (mix.op == "or"):
                        return self.value(scope, part, span)
                return self.value(scope, parts[-1], span)
            case op, (first, *rest) if op in ARITHMETIC and rest:
                return self._known(scope, mix, span, self._computed(scope, op, first, rest, span))
            case _:
                return self.gap(scope, mix, span)

    def _known(self, scope: Scope, expr: Expr, span: Span, data: Data) -> Data:
        return self.gap(scope, expr, span) if data is MISSING else data

    def _computed(self, scope: Scope, op: str, first: Expr, rest: Sequence[Expr], span: Span) -> Data:
        total = self.value(scope, first, span)
        for part in rest:
            total = arithmetic(op, total, self.value(scope, part, span))
            if total is MISSING:
                break
        return total

    def decide(self, scope: Scope, condition: Expr, span: Span) -> bool | None:
        """The truth of a condition, or None if the files do not decide it."""
        match condition:
            case Not(value=value):
                inner = self.decide(scope, value, span)
                return None if inner is None else not inner
            case Compare(left=left, op=op, right=right):
                return compared(self.value(scope, left, span), op, self.value(scope, right, span))
            case IsType(value=value, types=types):
                return self._is_type(self.value(scope, value, span), scope, types, span)
            case _:
                return truth(self.value(scope, condition, span))

    def _is_type(self, data: Data, scope: Scope, types: Sequence[Expr], span: Span) -> bool | None:
        if not isinstance(data, Obj) or data.cls is None:
            return None
        wanted = [self.value(scope, each, span) for each in types]
        order = self.symbols.lineage(data.cls).order
        if any(isinstance(each, Ref) and each.cls in order for each in wanted):
            return True
        known = all(isinstance(each, Ref) and each.cls is not None for each in wanted)
        return False if known else None

    # ---- names ----

    def _global(self, scope: Scope, name: str) -> Data:
        around: Scope | None = scope
        while around is not None and around.cls is not None:  # the body of a class sees its own names
            if around.function is scope.unit.body and name in around.names:
                return around.names[name]
            around = around.parent
        return self.module_member(scope.unit, name)

    def module_member(self, unit: Unit, name: str) -> Data:
        """The value of a name of a module: a variable, a class, a function, an import or a builtin."""
        running = self._modules.get(unit.path)
        if running is None and (name in unit.values or name == _MODULE_NAME):
            running = self.module(unit)
        if running is not None and name in running.names:  # also the variable of a loop
            return running.names[name]
        names = self.symbols.qualify(unit, Global(name))
        symbol = self._symbol(unit, name)
        return self._imported(unit, names) if symbol is None else symbol

    def _symbol(self, unit: Unit, dotted: str) -> Data:
        """The class or function that a dotted name means, or None."""
        key = unit.path, dotted
        if key not in self._symbols:
            self._symbols[key] = self._resolved(unit, dotted)
        return self._symbols[key]

    def _resolved(self, unit: Unit, dotted: str) -> Data:
        first, *rest = dotted.split(".")
        expr: Expr = Global(first)
        for part in rest:
            expr = Attr(expr, part)
        for symbol in self.symbols.resolve(unit, expr):
            if isinstance(symbol, str):
                continue
            if self._is_opaque(self.symbols.units[symbol.path], unit):
                return Ref(self.symbols.qualify(unit, expr))
            return self.class_ref(symbol) if isinstance(symbol, ClassInfo) else self._function(symbol)
        return None

    def _is_opaque(self, unit: Unit, user: Unit) -> bool:
        """Whether a file belongs to a package whose code is not entered, and its user does not."""
        packages = self.library.packages.intersection(unit.module.split("."))
        return bool(packages) and packages.isdisjoint(user.module.split("."))

    def _imported(self, unit: Unit, names: tuple[str, ...]) -> Data:
        """A variable of another module, a static member of a class, or a name outside the project."""
        for name in names:
            head, _, last = name.rpartition(".")
            found = self.symbols.module_value(unit, name) if head else None
            if found is not None and found[0] is not unit and not self._is_opaque(found[0], unit):
                module = self.module(found[0])
                if last in module.names:
                    return module.names[last]
            cls = self.symbols.type_of(unit, head) if head and head != unit.module else None
            if isinstance(cls, ClassInfo) and self.is_outside(cls):
                continue
            if isinstance(cls, ClassInfo) and not self._is_opaque(self.symbols.units[cls.path], unit):
                member = self.class_member(cls, last)
                if member is not MISSING:
                    return member
            if head and (symbol := self._symbol(unit, name)) is not None:
                return symbol
        short = ".".join(names[-1].split(".")[-2:]) if names else ""
        return library_calls.CONSTANTS.get(short, Ref(names))

    def _function(self, function: Function) -> Code:
        unit = self.symbols.units[function.path]
        cls = self.symbols.owner(function)
        this = self.class_ref(cls) if cls is not None else None
        return Code(function, unit, None, this, cls, () if cls is None else cls.named(function.name))

    def module(self, unit: Unit) -> Scope:
        """The names of a module, after its body has run."""
        if unit.path not in self._modules:
            scope = Scope(unit.body, unit, {_MODULE_NAME: unit.module})
            self._modules[unit.path] = scope
            self.execute(scope)
        return self._modules[unit.path]

    def names_of(self, cls: ClassInfo) -> tuple[str, ...]:
        """The qualified name of a class of the project."""
        return (f"{cls.module}.{cls.qualname}".lstrip("."),)

    def class_ref(self, cls: ClassInfo) -> Ref:
        """A reference to a class of the project."""
        return Ref(self.names_of(cls), None if self.is_outside(cls) else cls)

    def is_outside(self, cls: ClassInfo) -> bool:
        """Whether a class belongs to a library, although the project has its source."""
        return cls.module in self.library.outside or self.names_of(cls)[0] in self.library.outside

    # ---- members ----

    def statics(self, cls: ClassInfo) -> Scope:
        """The names of a class, after its initialiser has run; those of a class body are evaluated in order."""
        if id(cls) in self._statics:
            return self._statics[id(cls)]
        unit = self.symbols.units[cls.path]
        scope = self._statics[id(cls)] = Scope(unit.body, unit, {}, None, cls)
        initialiser = cls.methods.get(_CLASS_INITIALISER)
        for name, expr in cls.attrs.items():
            if isinstance(expr, Literal) or not (initialiser is not None or _IMPLICIT in cls.methods):
                scope.names[name] = self._class_attribute(scope, cls, name, expr)
        if initialiser is not None:
            self.execute(Scope(initialiser, unit, {}, None, cls))
        for name in cls.constants:
            found = scope.names.get(name)
            if not isinstance(found, Obj) or found.cls is None:
                found = Obj(self.names_of(cls), cls, fields={"value": found, "name": name})
                scope.names[name] = found
            found.constant = name
        return scope

    def _class_attribute(self, scope: Scope, cls: ClassInfo, name: str, expr: Expr) -> Data:
        return self.value(scope, expr, cls.attr_spans.get(name, cls.head))

    def class_member(self, cls: ClassInfo, name: str) -> Data:
        """A static member of a class: a variable, a method or a nested class; MISSING if there is none."""
        for each in self.symbols.lineage(cls).order:
            names = self.statics(each).names
            if name in names:
                return names[name]
            if name in each.attrs:  # of the objects, or not yet initialised
                return self._class_attribute(self.statics(each), each, name, each.attrs[name])
            nested = self.symbols.units[each.path].classes.get(f"{each.qualname}.{name}")
            if nested is not None:
                return self.class_ref(nested)
            if each.named(name):
                return self.method_of(each, name, self.class_ref(cls))
        return MISSING

    def method_of(self, cls: ClassInfo, name: str, this: Data) -> Code:
        """A method that a class defines itself, bound to an object."""
        several = cls.named(name)
        unit = self.symbols.units[cls.path]
        return Code(several[0], unit, None, this, cls, several if len(several) > 1 else ())

    def find_method(
        self, cls: ClassInfo, name: str, this: Data, after: ClassInfo | None = None
    ) -> Code | None:
        """The method that a call on an object runs; after a class, that of its base classes."""
        order = self.symbols.lineage(cls).order
        start = order.index(after) + 1 if after in order else 0
        for each in order[start:]:
            several = () if self.is_outside(each) else each.named(name)
            if several and not all(method.docstring_only for method in several):
                return self.method_of(each, name, this)
        return None

    def _attribute(self, scope: Scope, expr: Attr, obj: Data, name: str, span: Span) -> Data:
        match obj:
            case Ref(cls=None, names=names):
                if name == _CLASS_LITERAL:
                    return replace(obj, literal=True)
                if name.startswith("__"):
                    return self.gap(scope, expr, span)
                return self._imported(scope.unit, tuple(f"{each}.{name}" for each in names))
            case Ref(cls=ClassInfo() as cls):
                if name == _CLASS_LITERAL:
                    return replace(obj, literal=True)
                member = self.class_member(cls, name)
                return (
                    Ref(tuple(f"{each}.{name}" for each in self._bases_of(cls)))
                    if member is MISSING
                    else member
                )
            case Obj():
                return self._field(scope, expr, obj, name, span)
            case Gap(why=why):
                return Gap(f"{why}.{name}"[:_MAX_TEXT], self.place(scope, span))
            case _:
                return self.gap(scope, expr, span)

    def _bases_of(self, cls: ClassInfo) -> Iterator[str]:
        """The names of a class and of its bases outside the project."""
        yield from self.symbols.lineage(cls).foreign
        yield from self.names_of(cls)

    def of_type(self, unit: Unit, written: str, name: str, place: Place) -> Data:
        """What the caller or a container gives: an object of the declared class, or a gap."""
        if not written or written.rpartition(".")[2] in IMMUTABLE_TYPES:
            return Gap(name, place)
        collection = library_calls.unknown_collection(written.rpartition(".")[2])
        if collection is not None:
            collection.text, collection.place = name, place
            return collection
        found = self.symbols.type_of(unit, written)
        if isinstance(found, ClassInfo):
            exact = self.symbols.lineage(found).framework is not None and found not in self._parents
            return Obj(self.names_of(found), found, place=place, given=True, exact=exact, text=name)
        return Obj(found, place=place, given=True, text=name)

    @cached_property
    def _parents(self) -> frozenset[ClassInfo]:
        """The classes from which the project derives others."""
        return frozenset(
            each for cls in self.symbols.classes() for each in self.symbols.lineage(cls).order[1:]
        )

    def _field(self, scope: Scope, expr: Attr, obj: Obj, name: str, span: Span) -> Data:
        if name in obj.fields:
            return obj.fields[name]
        if name in ARRAY_SIZES and obj.content is not None and not obj.open:
            return len(obj.content)
        if obj.given:
            return Gap(f"{describe(obj)}.{name}"[:_MAX_TEXT], self.place(scope, span))
        if obj.cls is None:
            return self.gap(scope, expr, span)
        method = self.find_method(obj.cls, name, obj)
        if method is not None and name not in CONSTRUCTORS:
            return method
        member = self.class_member(obj.cls, name)
        if member is not MISSING:
            return member
        lineage = self.symbols.lineage(obj.cls)
        foreign = lineage.foreign or (lineage.framework.role.classes if lineage.framework is not None else ())
        declared = next((each for each in lineage.order if name in each.types), None)
        if declared is not None:  # a field without a value, unless a container injects a component
            made = self.of_type(self.symbols.units[declared.path], declared.types[name], name, obj.place)
            return made if isinstance(made, Obj) and made.exact else None
        if name.isupper():  # a constant that is inherited or imported
            return Ref(tuple(f"{base}.{name}" for base in foreign) or (name,))
        if not foreign:
            return self.gap(scope, expr, span)
        inherited = Obj(tuple(f"{base}.{name}" for base in foreign), place=self.place(scope, span), text=name)
        obj.fields[name] = inherited
        return inherited

    def _item(self, scope: Scope, expr: Item, obj: Data, key: Data, span: Span) -> Data:
        match obj:
            case Gap(why=why):
                return Gap(f"{why}[{describe(key)}]"[:_MAX_TEXT], self.place(scope, span))
            case Obj(content=list() as items):
                if isinstance(key, int) and not obj.open and -len(items) <= key < len(items):
                    element: Data = items[key]
                    return element
                return self.gap(scope, expr, span)
            case Obj(content=dict() as table) if key_of(key) in table:
                entry: Data = table[key_of(key)]
                return entry
            case Obj(content=None):
                source = Text(scope.function, expr, self.notation)
                return self.member_call(obj, "[]", (key,), source, span)
            case str() if isinstance(key, int) and -len(obj) <= key < len(obj):
                return obj[key]
            case _:
                return self.gap(scope, expr, span)


def _argument(expr: Expr) -> Arg:
    """Read one part of a pure call as an argument."""
    match expr:
        case Mix(op="**", parts=(value,)):
            return Arg(value, star="**")
        case Mix(op=op, parts=(value,)) if op.endswith("=") and op[:-1].isidentifier():
            return Arg(value, name=op[:-1])
        case Star(value=value):
            return Arg(value, star="*")
        case _:
            return Arg(expr)

"""Value numbering of one path: expressions with equal numbers have, as far as the code shows, equal values.

An object that changes keeps its number; its version counts the changes, and what is read from it later has another
number.  Some truths follow from the path itself: a new list is empty, a list that got an element is not.  Code that
the path does not enter may change every object that it gets, and what that object holds.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from ackdoctor.flow.domains.aliases import SHALLOW
from ackdoctor.flow.domains.heap_cells import shared_locals
from ackdoctor.flow.expressions import (
    RESULT,
    is_slice,
    last_name,
    memoize,
    name_words,
    parts_of,
    subexpressions,
)
from ackdoctor.flow.pure_calls import PURE_FUNCTIONS, is_read_only, is_size, size_of
from ackdoctor.libraries.vocabulary import (
    CLEARS,
    COLLECTION_WRAPPERS,
    CONSTRUCTORS,
    CONTAINER_BULK_STORES,
    CONTAINER_STORES,
    LIVE_VIEWS,
    MEMBERSHIP_TESTS,
    OPTIONALS,
    PRESENCE_TESTS,
    VALUE_HOLDERS,
    VALUE_READS,
    VALUE_SETS,
    VALUE_TAKES,
)
from ackdoctor.model.cfg import (
    SUPER,
    Attr,
    Build,
    Call,
    Closure,
    Compare,
    Expr,
    Function,
    Global,
    Item,
    Literal,
    Mix,
    Name,
    Star,
    Test,
)

_METHODS = SHALLOW | VALUE_SETS  # they change nothing but their receiver
_QUESTIONS = (
    "is_",
    "has_",
    "startswith",
    "endswith",
)  # beginnings of methods that only read, beside `is_read_only`
_TAKES = frozenset(
    "next read poll take pop remove receive recv fetch consume try increment decrement".split()
)
_STORES = CONTAINER_STORES - CONTAINER_BULK_STORES  # they add at least one element


@dataclass(slots=True, eq=False)
class Frame:
    """The numbers of the locals of one function that is running, and the call of `caller` that entered it.

    `outer` is the frame of the function around a closure.
    """

    function: Function
    caller: "Frame | None" = None
    call: Call | None = None
    outer: "Frame | None" = None
    locals: dict[str, int] = field(default_factory=dict)
    has_receiver: bool = False

    def owner(self, name: str) -> "Frame":
        """The frame that has a local: for a local that a closure captures, that of the function around it."""
        frame = self
        while frame.outer is not None and name in (*frame.function.captures, frame.function.receiver):
            frame = frame.outer
        return frame

    @property
    def is_direct(self) -> bool:
        """Whether the call itself calls the function; else code that gets the function does."""
        func, name = self.call.func if self.call is not None else Name(""), self.function.name
        return isinstance(func, Closure) or name in CONSTRUCTORS or last_name(func) == name


@dataclass(slots=True, eq=False)
class ValueNumbers:
    """The numbers of the values on a path.

    `methods` are the names of the component's methods.  `known` has the number of each expression over numbers and
    versions, `truths` the truth of each version of a value.  `literals` are the values that cannot change, `objects`
    those that are not None.  `holds` has what may change with an object; an element without a known index, one of
    `elements`, shares the set of its collection.
    """

    methods: Collection[str] = ()
    known: dict[object, int] = field(default_factory=dict)
    versions: dict[int, int] = field(default_factory=dict)
    truths: dict[tuple[int, int], bool] = field(default_factory=dict)
    literals: set[int] = field(default_factory=set)
    objects: set[int] = field(default_factory=set)
    holds: dict[int, set[int]] = field(default_factory=dict)
    elements: set[int] = field(default_factory=set)
    count: int = 0

    def new(self) -> int:
        """A number that no other value has."""
        self.count += 1
        return self.count

    def new_object(self, *, truth: bool | None = True) -> int:
        """The number of a new object; `truth` is what it is in a condition, None if that is unknown."""
        number = self.new()
        self.objects.add(number)
        if truth is not None:
            self.truths[number, 0] = truth
        return number

    def version(self, number: int) -> tuple[int, int]:
        """A value and the count of its changes so far."""
        return number, self.versions.get(number, 0)

    # ---- expressions ----

    def of(self, frame: Frame, expr: Expr) -> int:
        """The number of an expression."""
        found: dict[int, int] = {}
        for part in reversed([*subexpressions(expr)]):  # the parts of an expression before it
            found[id(part)] = self._of(frame, part, found)
        return found[id(expr)]

    def _of(self, frame: Frame, expr: Expr, found: Mapping[int, int]) -> int:
        """The number of an expression; `found` has those of its parts, by their identity."""
        parts = [found[id(each)] for each in parts_of(expr)]
        match expr:
            case Name(id=name):
                return self._local(frame.owner(name), name)
            case Compare(op="in", right=Build(items=items)):
                return self._numbered((Compare, "in"), parts[0], *(found[id(each)] for each in items))
            case Compare(op="in"):
                return self._membership(*parts)
            case Compare(op="==" | "is" | "<" as op, right=Literal()):
                return self._numbered((Compare, op, *parts))  # no change makes an object equal to a literal
            case Mix(op="call", parts=(Attr(obj=whole, name=name), *_)):
                return self._query(name, found[id(whole)], parts[1:]) or self._numbered(Call, *parts)
            case Mix(op="call"):
                return self._numbered(Call, *parts)
            case Attr(name=name) if name in _METHODS or name in self.methods:
                return self._view(self._numbered((Attr, name), *parts), parts[0])
            case Attr(name=word) | Compare(op=word) | Mix(op=word):
                return self._numbered((expr.__class__, word), *parts)
            case Item(key=key):
                number = self._numbered(Item, *parts)
                return number if isinstance(key, Literal) else self._inside(number, parts[0])
            case Literal(value=value):
                return self._literal(value)
            case Build(items=items):
                return self._display(expr, parts, empty=None if _unpacks(items) else not items)
            case Closure(key=key):
                captured = frame.function.closures[key].captures if key in frame.function.closures else ()
                number = self._numbered((expr, frame))
                self._hold(number, *(self._local(frame.owner(name), name) for name in captured))
                return number
            case Global():
                return self._numbered((expr, frame.function.path))
            case _:
                return self._numbered(expr.__class__ if parts else expr, *parts)

    def _local(self, frame: Frame, name: str) -> int:
        """The number of a local; one that closures assign has another number each time."""
        if name not in frame.locals or name in shared_locals(frame.function):
            frame.locals[name] = self.new()
        return frame.locals[name]

    def _display(self, display: Build, parts: list[int], *, empty: bool | None) -> int:
        """The number of a new collection; that of each value in it is known by its key or index."""
        number = self.new_object(truth=None if empty is None else not empty)
        self._hold(number, *parts)
        if display.kind == "dict":
            items = zip(parts[::2], parts[1::2], strict=True)
        else:
            items = zip(map(self._literal, range(len(parts))), parts, strict=True)
        for key, value in items if empty is not None else ():
            self.known[self._key(Item, number, key)] = value
        return number

    def _literal(self, value: object) -> int:
        number = self._numbered((Literal, value.__class__, value))
        self.literals.add(number)
        self.truths[number, 0] = bool(value)
        if value is not None:
            self.objects.add(number)
        return number

    def _membership(self, element: int, whole: int) -> int:
        """The number of the test whether a collection has an element: an empty one has none."""
        number = self._numbered((Compare, "in"), element, whole)
        if self.truths.get(self.version(whole)) is False:
            self.truths[number, 0] = False
        return number

    def _query(self, name: str, whole: int, args: list[int]) -> int:
        """The number of the result of a method that asks what an object has; 0 if it is no such method."""
        if name in MEMBERSHIP_TESTS and len(args) == 1:
            return self._membership(args[0], whole)
        if name in VALUE_READS and not args:
            return self._numbered("content", whole)
        # an Optional is true here if it has a value
        return whole if name in PRESENCE_TESTS and not args else 0

    def _numbered(self, shape: object, *parts: int) -> int:
        key = self._key(shape, *parts)
        if key not in self.known:
            self.known[key] = self.new()
        return self.known[key]

    def _key(self, shape: object, *parts: int) -> object:
        return (shape, *(self.version(part) for part in parts))

    def element(self, whole: int, index: int | None = None) -> int:
        """The number of one element of a sequence; of a new one without an index."""
        if index is None:
            return self._inside(self.new(), whole)
        return self._numbered(Item, whole, self._literal(index))

    # ---- conditions ----

    def condition(self, frame: Frame, fact: Expr) -> tuple[int, int]:
        """The value, and its version, whose truth a normalised condition asks for."""
        if isinstance(fact, Mix) and fact.op == "any":
            fact = fact.parts[0]
        number = self.of(frame, fact)
        if isinstance(fact, Compare) and fact.op in ("is", "==") and fact.right == Literal(None):
            left, null = self.of(frame, fact.left), self.of(frame, fact.right)
            if left == null or left in self.objects:
                self.truths[number, 0] = left == null
        if isinstance(fact, Compare) and fact.op == "<" and self._is_empty(frame, size_of(fact.left)):
            is_limit = not isinstance(fact.right, Literal) and not is_size(fact.right)
            self.truths.update({(number, 0): True} if is_limit else {})  # it is at least one
        return self.version(number)

    def _is_empty(self, frame: Frame, whole: Expr | None) -> bool:
        return whole is not None and self.truths.get(self.version(self.of(frame, whole))) is False

    # ---- changes ----

    def _hold(self, whole: int, *parts: int) -> None:
        self.holds.setdefault(whole, set()).update(part for part in parts if part not in self.literals)

    def _inside(self, element: int, whole: int) -> int:
        """Note that a value may be any of those that an object holds."""
        self.elements.add(element)
        self.holds.setdefault(element, self.holds.setdefault(whole, set()))
        return element

    def _view(self, number: int, whole: int) -> int:
        """Note that a change through a value, such as a method or a view, changes the object behind it."""
        self.elements.add(number)
        self.holds[number] = {whole}
        return number

    def change(self, *numbers: int) -> None:
        """Note that objects may have changed, and what they hold."""
        seen, todo = set[int](), [*numbers]
        while todo:
            number = todo.pop()
            if number not in seen and number not in self.literals:
                seen.add(number)
                self._change_only(number)
                todo += self.holds.get(number, ())

    def _change_only(self, number: int) -> None:
        self.versions[number] = self.versions.get(number, 0) + 1

    def assign(self, frame: Frame, target: Expr, number: int) -> None:
        """Give a local, a field or an item another number; the object of an item has changed."""
        match target:
            case Name(id=name):
                frame.owner(name).locals[name] = number
            case Attr(obj=obj, name=name):
                whole = self.of(frame, obj)
                self._hold(whole, number)
                self.known[self._key((Attr, name), whole)] = number
            case Item(obj=obj, key=key):
                whole = self.of(frame, obj)
                self._change_only(whole)
                self._hold(whole, number)
                if not is_slice(key):
                    self.truths[self.version(whole)] = True
                    self.known[self._key(Item, whole, self.of(frame, key))] = number
            case Global():
                self.known[self._key((target, frame.function.path))] = number
            case _:
                pass

    def drop(self, frame: Frame, target: Expr) -> None:
        """Forget what is deleted; the object of an item has changed."""
        if isinstance(target, Item):
            self._change_only(self.of(frame, target.obj))
        else:
            self.assign(frame, target, self.new())

    def call(self, frame: Frame, call: Call, *, is_verb: bool) -> None:
        """Number the result of a call that the path does not enter: as that of an equal call, if it is a question.

        A call with arguments that is a condition is one, and a method without arguments whose result is used, unless
        its name says that it takes something; both change only objects that the path has made.  Any other call has
        another result each time, and changes its receiver and its arguments; a method of a collection leaves its
        arguments as they are.
        """
        name, args = last_name(call.func), [self.of(frame, arg.value) for arg in call.args]
        obj = call.func.obj if isinstance(call.func, Attr) else None
        receiver = self.of(frame, obj) if obj is not None else None
        if obj is not None and name in VALUE_TAKES and args:
            self.assign(frame, call.result, self._take(frame, obj, args))
            return
        reads = is_read_only(call) or name.startswith(_QUESTIONS)
        if not is_verb and not reads:
            if receiver is not None and name in _METHODS and not isinstance(obj, Global):
                self._change_container(receiver, name, args)
            elif call.result in _conditions(frame.function) if args else _is_getter(call):
                self.change(*self.objects.intersection((receiver, *args)))
                reads = True
            elif name not in PURE_FUNCTIONS:
                self.change(self.of(frame, call.func) if receiver is None else receiver, *args)
        self.assign(frame, call.result, self._result(frame, call, receiver, args, reads=reads))

    def _take(self, frame: Frame, holder: Expr, args: list[int]) -> int:
        """Give an object that holds one value a new one; `compareAndSet` does so only if it holds the first argument.

        In a field of an object that the path has made, the first such exchange succeeds.
        """
        number = self.of(frame, holder)
        held = self._numbered("content", number)
        if len(args) == 1:
            self._change_only(number)
            self.known[self._key("content", number)] = args[0]
            return held
        result = self._numbered((Compare, "=="), held, args[0])
        whole = self.of(frame, holder.obj) if isinstance(holder, Attr) else None
        if {held, args[0]} <= self.literals:
            self.truths[result, 0] = held == args[0]
        elif whole in self.objects and number not in self.versions:
            self.truths[result, 0] = True
        succeeds = self.truths.get((result, 0))
        if succeeds is not False:
            self._change_only(number)
            if succeeds:
                self.known[self._key("content", number)] = args[1]
            elif args[0] != args[1]:  # whatever the outcome
                now = self._numbered("content", number)
                self.truths[self._numbered((Compare, "=="), now, args[0]), 0] = False
        return result

    def _change_container(self, receiver: int, name: str, args: list[int]) -> None:
        (self.change if receiver in self.elements else self._change_only)(receiver)
        if name in VALUE_SETS and len(args) == 1:
            self.known[self._key("content", receiver)] = args[0]
        if name in CONTAINER_STORES:
            self._hold(receiver, *args)
        if name in CLEARS:
            self.truths[self.version(receiver)] = False
        if name in _STORES:
            self.truths[self.version(receiver)] = True
            for element in args[:1]:
                self.truths[self._membership(element, receiver), 0] = True

    def _result(self, frame: Frame, call: Call, receiver: int | None, args: list[int], *, reads: bool) -> int:
        name = last_name(call.func)
        match call.func:
            case Global(id=dotted) if dotted == SUPER and frame.function.receiver:
                return self._local(frame.owner(frame.function.receiver), frame.function.receiver)
            case Global(id=dotted) if name in COLLECTION_WRAPPERS:
                number = self.new_object(truth=None if args or "." in dotted else False)
            case Attr(obj=Global(id=cls)) if name in OPTIONALS and cls.endswith("Optional"):
                number = self.new_object(truth=OPTIONALS[name])
            case Global() if name in VALUE_HOLDERS:
                number = self.new_object(truth=None)
                self.known[self._key("content", number)] = (
                    args[0] if args else self._literal(VALUE_HOLDERS[name])
                )
            case Global() if name[:1].isupper():
                number = self.new_object(truth=None)
            case Attr() if receiver is not None and (query := self._query(name, receiver, args)):
                return query
            case func if reads or (name in PURE_FUNCTIONS and args):
                number = self._numbered(Call, self.of(frame, func), *args)
                if receiver is not None:
                    return (self._view if name in LIVE_VIEWS else self._inside)(number, receiver)
            case _:
                number = self.new()
        self._hold(number, *args)
        return number

    def enter(self, frame: Frame) -> None:
        """Give the parameters of a function that a call enters the numbers of the arguments.

        The call may also pass the function to code that calls it with other arguments.
        """
        function, caller, call = frame.function, frame.caller, frame.call
        assert caller is not None
        assert call is not None
        plain = [arg.value for arg in takewhile(lambda arg: not (arg.star or arg.name), call.args)]
        func: Expr | None = call.func
        if not frame.is_direct:
            func = next((each for each in plain if last_name(each) == function.name), None)
        match func:
            case Attr(obj=Global()) if function.binding == "instance" and plain[:1] == [
                Name(caller.function.receiver)
            ]:
                frame.locals[function.receiver] = self.of(caller, plain.pop(0))  # `Base.check(self, tup)`
            case Attr(obj=obj) if function.receiver:
                frame.locals[function.receiver] = self.of(caller, obj)
            case Global() if function.name in CONSTRUCTORS:
                frame.locals[function.receiver] = self.new_object(truth=None)
            case _:
                pass
        frame.has_receiver = frame.outer is not None or function.receiver in frame.locals
        if frame.is_direct:
            params = [param.name for param in function.params if param.kind == "positional"]
            params = [name for name in params if name != function.receiver]
            named = ((arg.name, arg.value) for arg in call.args if arg.name is not None)
            for name, value in (*zip(params, plain, strict=False), *named):
                frame.locals[name] = self.of(caller, value)

    def leave(self, frame: Frame) -> None:
        """Give the result of a call the number of what the function returned, or of the object that it made."""
        function, caller, call = frame.function, frame.caller, frame.call
        assert caller is not None
        assert call is not None
        returned = None
        if function.name in CONSTRUCTORS:
            returned = frame.locals.get(function.receiver)
        elif frame.is_direct and not function.is_generator:
            returned = frame.locals.get(RESULT)
        self.assign(caller, call.result, self.new() if returned is None else returned)


def _is_getter(call: Call) -> bool:
    """Whether a method without arguments is taken to read its object only."""
    is_used = isinstance(call.func, Attr) and not call.dropped
    return is_used and _TAKES.isdisjoint(name_words(last_name(call.func))[:1])


@memoize
def _conditions(function: Function) -> frozenset[Expr]:
    """The locals that are conditions by themselves."""
    conditions = (step.op.condition for step in function.cfg.steps if isinstance(step.op, Test))
    return frozenset(condition for condition in conditions if isinstance(condition, Name))


def _unpacks(items: tuple[Expr, ...]) -> bool:
    """Whether the elements of a display depend on what it unpacks."""
    return any(isinstance(item, Star) or (isinstance(item, Mix) and item.op == "**") for item in items)

"""Value numbering of one path: expressions with equal numbers have, as far as the code shows, equal values.

An object that changes keeps its number; its version counts the changes, and what is read from it later has another
number.  Some truths follow from the path itself: a new list is empty, a list that got an element is not.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ackdoctor.flow.expressions import RESULT, last_name, name_words, parts_of, subexpressions
from ackdoctor.flow.pure_calls import is_read_only
from ackdoctor.libraries.vocabulary import (
    COLLECTION_WRAPPERS,
    CONSTRUCTORS,
    CONTAINER_BULK_STORES,
    CONTAINER_STORES,
    MEMBERSHIP_TESTS,
    OPTIONALS,
    PRESENCE_TESTS,
    VALUE_READS,
    VALUE_SETS,
)
from ackdoctor.model.cfg import (
    Attr,
    Build,
    Call,
    Compare,
    Expr,
    Function,
    Global,
    Item,
    Literal,
    Mix,
    Name,
    Star,
)

_TAKES = frozenset(
    "next read poll take pop remove receive recv fetch consume try increment decrement".split()
)
_STORES = CONTAINER_STORES - CONTAINER_BULK_STORES  # they add at least one element


@dataclass(slots=True, eq=False)
class Frame:
    """The numbers of the locals of one function that is running."""

    locals: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class ValueNumbers:
    """The numbers of the values on a path.

    `known` has the number of each expression over numbers and versions, `truths` the truth of each version of a value.
    `made` are the collections that the path makes, and `objects` the values that are not None.
    """

    known: dict[object, int] = field(default_factory=dict)
    versions: dict[int, int] = field(default_factory=dict)
    truths: dict[tuple[int, int], bool] = field(default_factory=dict)
    made: set[int] = field(default_factory=set)
    objects: set[int] = field(default_factory=set)
    count: int = 0

    def new(self) -> int:
        """A number that no other value has."""
        self.count += 1
        return self.count

    def new_object(self) -> int:
        """The number of a new object that is true in a condition."""
        number = self.new()
        self.objects.add(number)
        self.truths[number, 0] = True
        return number

    def _new_collection(self, *, empty: bool | None) -> int:
        """The number of a new collection; `empty` is None if that is unknown."""
        number = self.new()
        self.objects.add(number)
        self.made.add(number)
        if empty is not None:
            self.truths[number, 0] = not empty
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
                if name not in frame.locals:
                    frame.locals[name] = self.new()
                return frame.locals[name]
            case Compare(op="in", right=Build(items=items)):
                return self._numbered((Compare, "in"), parts[0], *(found[id(each)] for each in items))
            case Compare(op="in"):
                return self._membership(*parts)
            case Mix(op="call", parts=(Attr(obj=whole, name=name), _)) if name in MEMBERSHIP_TESTS:
                return self._membership(parts[1], found[id(whole)])
            case Mix(op="call", parts=(Attr(obj=whole, name=name),)) if name in PRESENCE_TESTS:
                return found[id(whole)]  # an Optional is true here if it has a value
            case Mix(op="call", parts=(Attr(obj=holder, name=name),)) if name in VALUE_READS:
                return self._numbered("content", found[id(holder)])
            case Mix(op="call"):
                return self._numbered(Call, *parts)
            case Attr(name=word) | Compare(op=word) | Mix(op=word):
                return self._numbered((expr.__class__, word), *parts)
            case Literal(value=value):
                return self._literal(value)
            case Build(items=items):
                return self._display(expr, parts, empty=None if _unpacks(items) else not items)
            case _:
                return self._numbered(expr.__class__ if parts else expr, *parts)

    def _display(self, display: Build, parts: list[int], *, empty: bool | None) -> int:
        """The number of a new collection; that of each value in it is known by its key or index."""
        number = self._new_collection(empty=empty)
        if display.kind == "dict":
            items = zip(parts[::2], parts[1::2], strict=True)
        else:
            items = zip(map(self._literal, range(len(parts))), parts, strict=True)
        for key, value in items if empty is not None else ():
            self.known[self._key(Item, number, key)] = value
        return number

    def _literal(self, value: object) -> int:
        number = self._numbered((Literal, value.__class__, value))
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

    def _numbered(self, shape: object, *parts: int) -> int:
        key = self._key(shape, *parts)
        if key not in self.known:
            self.known[key] = self.new()
        return self.known[key]

    def _key(self, shape: object, *parts: int) -> object:
        return (shape, *(self.version(part) for part in parts))

    def element(self, whole: int, index: int) -> int:
        """The number of one element of a sequence."""
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
        return self.version(number)

    # ---- changes ----

    def change(self, number: int) -> None:
        """Note that an object has changed."""
        self.versions[number] = self.versions.get(number, 0) + 1

    def assign(self, frame: Frame, target: Expr, number: int) -> None:
        """Give a local, a field or an item another number; the object of an item has changed."""
        match target:
            case Name(id=name):
                frame.locals[name] = number
            case Attr(obj=obj, name=name):
                self.known[self._key((Attr, name), self.of(frame, obj))] = number
            case Item(obj=obj, key=key):
                whole = self.of(frame, obj)
                self.change(whole)
                self.truths[self.version(whole)] = True
                self.known[self._key(Item, whole, self.of(frame, key))] = number
            case _:
                for part in parts_of(target)[:1]:
                    self.change(self.of(frame, part))

    def call(self, frame: Frame, function: Function, call: Call) -> None:
        """Number the result of a call that the path does not enter: as that of an equal call, unless objects changed.

        A call is taken to change its receiver if the code ignores the result, or if its name says that it takes
        something from it.  It changes a collection that the path has made if it is called on it or gets it.
        """
        func, args = call.func, [self.of(frame, arg.value) for arg in call.args]
        reads = is_read_only(call)
        if isinstance(func, Attr) and func.obj != Name(function.receiver) and not reads:
            receiver = self.of(frame, func.obj)
            takes = not _TAKES.isdisjoint(name_words(func.name)[:1])
            if call.dropped or takes or receiver in self.made or func.name in CONTAINER_STORES:
                self._change_receiver(receiver, func.name, args)
        for number in self._passed(frame, call) if not reads else ():
            self.change(number)
        self.assign(frame, call.result, self._result(frame, call, args))

    def _change_receiver(self, receiver: int, name: str, args: list[int]) -> None:
        self.change(receiver)
        if name in VALUE_SETS and len(args) == 1:
            self.known[self._key("content", receiver)] = args[0]
        if name in _STORES:
            self.truths[self.version(receiver)] = True
            for element in args[:1]:
                self.truths[self._membership(element, receiver), 0] = True

    def _passed(self, frame: Frame, call: Call) -> Iterator[int]:
        """The collections of the path that a call gets: themselves, in a display or as a bound method."""
        parts = (
            part for arg in call.args for part in subexpressions(arg.value) if not isinstance(part, Build)
        )
        return (number for part in parts if (number := self.of(frame, part)) in self.made)

    def _result(self, frame: Frame, call: Call, args: list[int]) -> int:
        match call.func:
            case Global(id=name) if last_name(call.func) in COLLECTION_WRAPPERS:
                return self._new_collection(empty=None if args or "." in name else True)
            case Attr(obj=Global(id=cls), name=name) if name in OPTIONALS and cls.endswith("Optional"):
                number = self.new()
                self.truths[number, 0] = OPTIONALS[name]
                return number
            case Global() if last_name(call.func)[:1].isupper():
                number = self.new()
                self.objects.add(number)
                if len(args) == 1:
                    self.known[self._key("content", number)] = args[0]
                return number
            case Attr(obj=whole, name=name) if name in MEMBERSHIP_TESTS and len(args) == 1:
                return self._membership(args[0], self.of(frame, whole))
            case Attr(obj=whole, name=name) if name in PRESENCE_TESTS and not args:
                return self.of(frame, whole)
            case Attr(obj=holder, name=name) if name in VALUE_READS and not args:
                return self._numbered("content", self.of(frame, holder))
            case func:
                return self._numbered(Call, self.of(frame, func), *args)

    def enter(self, caller: Frame, call: Call, function: Function) -> Frame:
        """The frame of a function that a call enters: its parameters have the numbers of the arguments."""
        frame = Frame()
        if last_name(call.func) != function.name and function.name not in CONSTRUCTORS:
            return frame  # a callback: other code calls it
        params = [param.name for param in function.params]
        if function.receiver and isinstance(call.func, Attr):
            frame.locals[function.receiver] = self.of(caller, call.func.obj)
            params = [name for name in params if name != function.receiver]
        plain = (arg.value for arg in call.args if arg.name is None and not arg.star)
        named = ((arg.name, arg.value) for arg in call.args if arg.name is not None)
        for name, value in (*zip(params, plain, strict=False), *named):
            frame.locals[name] = self.of(caller, value)
        return frame

    def leave(self, caller: Frame, call: Call, function: Function, frame: Frame) -> None:
        """Give the result of a call the number of what the function returned."""
        returned = None if function.is_generator else frame.locals.get(RESULT)
        self.assign(caller, call.result, self.new() if returned is None else returned)


def _unpacks(items: tuple[Expr, ...]) -> bool:
    """Whether the elements of a display depend on what it unpacks."""
    return any(isinstance(item, Star) or (isinstance(item, Mix) and item.op == "**") for item in items)

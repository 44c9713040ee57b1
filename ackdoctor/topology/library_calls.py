"""What functions and methods of the standard libraries return, as far as the interpreter follows them.

A function is known by the last part of its name, a method by its name and the kind of its object.  MISSING says that the
call is not known here, or that its arguments are not.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ackdoctor.model.topology import Gap, Place
from ackdoctor.topology.objects import Code, Data, Obj, Ref

MISSING: Final = Obj(text="missing")
ENDINGS = frozenset("System.exit sys.exit os._exit exit quit _exit".split())  # calls that end the program

_DICTS = frozenset(
    "HashMap LinkedHashMap TreeMap ConcurrentHashMap Hashtable Properties EnumMap IdentityHashMap ConcurrentSkipListMap "
    "dict OrderedDict defaultdict newHashMap newLinkedHashMap newTreeMap emptyMap".split()
)
_LISTS = frozenset(
    "ArrayList LinkedList Vector CopyOnWriteArrayList ArrayDeque list deque newArrayList newLinkedList emptyList".split()
)
_SETS = frozenset(
    "HashSet LinkedHashSet TreeSet set frozenset newHashSet newLinkedHashSet newTreeSet emptySet".split()
)
_LITERAL_LISTS = frozenset(
    "Arrays.asList List.of Set.of ImmutableList.of ImmutableSet.of Collections.singletonList Collections.singleton "
    "Lists.newArrayList Sets.newHashSet Stream.of Arrays.stream tuple".split()
)
_LITERAL_DICTS = frozenset("Map.of ImmutableMap.of Collections.singletonMap".split())
_SAME = frozenset(  # functions that return their first argument, or a copy of it
    "Collections.unmodifiableMap Collections.unmodifiableList Collections.unmodifiableSet Objects.requireNonNull "
    "Preconditions.checkNotNull ImmutableMap.copyOf ImmutableList.copyOf Map.copyOf List.copyOf Optional.of "
    "Optional.ofNullable copy.copy copy.deepcopy deepcopy sorted reversed iter Collections.synchronizedMap".split()
)
_NUMBERS: Mapping[str, Callable[[str], int | float]] = {
    **dict.fromkeys(
        "Integer.parseInt Integer.valueOf Long.parseLong Long.valueOf Short.valueOf int long".split(), int
    ),
    **dict.fromkeys("Double.parseDouble Double.valueOf Float.parseFloat Float.valueOf float".split(), float),
}
CONSTANTS: Mapping[str, Data] = {  # of the standard libraries
    "Integer.MAX_VALUE": 2**31 - 1,
    "Integer.MIN_VALUE": -(2**31),
    "Long.MAX_VALUE": 2**63 - 1,
    "Boolean.TRUE": True,
    "Boolean.FALSE": False,
    "sys.maxsize": 2**63 - 1,
    "sys.maxint": 2**63 - 1,
}
_WRAPPERS = frozenset("Integer Long Short Double Float Boolean String Byte".split())


def _text(value: Data) -> str:
    """A constant as text in a concatenation."""
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


def concatenated(parts: Sequence[Data]) -> Data:
    """The text of several values, or MISSING if one is not known."""
    texts: list[str] = []
    for part in parts:
        if isinstance(part, Obj) and part.constant:
            texts.append(part.constant)
        elif part is None or isinstance(part, (str, int, float)):
            texts.append(_text(part))
        else:
            return MISSING
    return "".join(texts)


def new_list(items: Sequence[Data] = (), kind: str = "list", *, is_open: bool = False) -> Obj:
    """A list with these elements."""
    return Obj(kind=kind, content=list(items), open=is_open)


def new_dict(entries: "Mapping[Any, Data] | None" = None, *, is_open: bool = False) -> Obj:
    """A dict with these entries."""
    return Obj(kind="dict", content=dict(entries or {}), open=is_open)


def unknown_collection(type_name: str) -> Obj | None:
    """A collection of a declared type whose elements are unknown."""
    if type_name in _DICTS or type_name in ("Map", "SortedMap", "ConcurrentMap"):
        return new_dict(is_open=True)
    if type_name in _LISTS | _SETS or type_name in ("List", "Set", "Collection", "Iterable"):
        return new_list(is_open=True)
    return None


# ---- functions ----


def function(names: Sequence[str], args: Sequence[Data], keywords: Mapping[str, Data]) -> Data:
    """The result of a call of a library function or constructor."""
    short = ".".join(names[-1].split(".")[-2:]) if names else ""
    last = short.rpartition(".")[2]
    if last in _DICTS:
        return _a_dict(args, keywords)
    if last in _LISTS | _SETS and short not in _LITERAL_LISTS:
        return _a_list(args, "list" if last in _LISTS else "set")
    if short in _LITERAL_LISTS:
        only = args[0] if len(args) == 1 else None
        items = only.content if isinstance(only, Obj) and isinstance(only.content, list) else None
        return new_list(args if items is None else items)
    if short in _LITERAL_DICTS:
        return new_dict(dict(zip(map(key_of, args[::2]), args[1::2], strict=False)))
    if short in _SAME and args:
        return args[0]
    if short in _NUMBERS and args:
        return _number(_NUMBERS[short], args[0])
    found = _FUNCTIONS.get(short)
    if found is None and len(args) == 1 and last in _WRAPPERS:
        return _known(args[0])
    return MISSING if found is None else _attempt(found, *args)


def _a_dict(args: Sequence[Data], keywords: Mapping[str, Data]) -> Data:
    table = new_dict()
    _put_all(
        table, [each for each in args[:1] if not isinstance(each, int)], keywords
    )  # an int is a capacity
    return table


def _a_list(args: Sequence[Data], kind: str) -> Data:
    for each in args[:1]:
        if isinstance(each, Obj) and each.content is not None:
            return new_list(list(each.content), kind, is_open=each.open)  # type: ignore[arg-type]
        if not isinstance(each, int):
            return new_list((), kind, is_open=True)
    return new_list((), kind)


def _known(value: Data) -> Data:
    return value if isinstance(value, (bool, int, float, str, Gap)) else MISSING


def _number(convert: Callable[[Any], int | float], value: Data) -> Data:
    if isinstance(value, Gap):
        return value
    if not isinstance(value, (int, float, str)):
        return MISSING
    return _attempt(convert, value)


def _attempt(call: Callable[..., Any], *args: Data) -> Data:
    """The result on known arguments; MISSING if one is not known or the call fails."""
    if any(isinstance(arg, (Gap, Code)) or (isinstance(arg, Obj) and arg.content is None) for arg in args):
        return MISSING
    try:
        result: Data = call(*args)
    except Exception:  # noqa: BLE001 - odd code is not our fault
        return MISSING
    return result


def _range(*bounds: Any) -> Data:
    numbers = range(*bounds)
    return new_list(list(numbers[:1000]), is_open=len(numbers) > 1000)  # noqa: PLR2004


def _items(obj: Any) -> list[Data]:
    return list(obj.content)


def _enumerate(obj: Any, first: int = 0) -> Data:
    return new_list([new_list(pair, "tuple") for pair in enumerate(_items(obj), first)])


def _format(pattern: str, *args: Any) -> Data:
    shown = args if not (len(args) == 1 and isinstance(args[0], Obj)) else tuple(_items(args[0]))
    if not all(isinstance(arg, (str, int, float)) for arg in shown):
        return MISSING
    return pattern % shown


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "str": _text,
    "String.valueOf": _text,
    "Objects.toString": _text,
    "Integer.toString": _text,
    "String.format": _format,
    "String.join": lambda joint, *rest: joint.join(_items(rest[0]) if isinstance(rest[0], Obj) else rest),
    "Boolean.parseBoolean": lambda text: str(text).lower() == "true",
    "Boolean.valueOf": lambda text: str(text).lower() == "true",
    "Objects.equals": lambda one, other: one == other,
    "Objects.isNull": lambda one: one is None,
    "Objects.nonNull": lambda one: one is not None,
    "Math.max": max,
    "Math.min": min,
    "max": max,
    "min": min,
    "abs": abs,
    "len": lambda obj: len(obj) if isinstance(obj, str) else len(obj.content),
    "bool": bool,
    "range": _range,
    "xrange": _range,
    "IntStream.range": _range,
    "IntStream.rangeClosed": lambda low, high: _range(low, high + 1),
    "enumerate": _enumerate,
    "zip": lambda *many: new_list([new_list(row, "tuple") for row in zip(*map(_items, many), strict=False)]),
    "TimeUnit.toSeconds": lambda number: number,
}


# ---- methods ----


def key_of(value: Data) -> object:
    """The key under which a value is stored: an enum's constant and equal references are one key."""
    if isinstance(value, Obj) and value.kind == "tuple" and isinstance(value.content, list):
        return tuple(map(key_of, value.content))
    return value


def method(obj: Data, name: str, args: Sequence[Data], keywords: Mapping[str, Data]) -> Data:
    """The result of a method of a constant or a collection; a collection changes."""
    if isinstance(obj, str):
        found = _STRING.get(name)
        return MISSING if found is None else _attempt(found, obj, *args)
    if isinstance(obj, (bool, int, float)):
        return _number_method(obj, name)
    if isinstance(obj, Ref):
        return _class_method(obj, name)
    if not isinstance(obj, Obj):
        return MISSING
    if obj.constant and name in ("name", "toString"):
        return obj.constant
    if isinstance(obj.content, dict):
        known = _DICT.get(name)
        return MISSING if known is None else _guarded(known, obj, args, keywords)
    if isinstance(obj.content, list):
        known = _LIST.get(name)
        return MISSING if known is None else _guarded(known, obj, args, keywords)
    return MISSING


_FILLS = ("load", "read", "fill", "parse", "populate", "merge", "addAll", "init")


def opens(name: str, obj: Data, args: Sequence[Data]) -> None:
    """Let the collections that an unknown call may fill have more elements."""
    if name.startswith(_FILLS):
        for each in (obj, *args):
            if isinstance(each, Obj) and each.content is not None:
                each.open = True


def _guarded(
    call: Callable[[Any, Sequence[Data], Mapping[str, Data]], Data],
    obj: Obj,
    args: Sequence[Data],
    keywords: Mapping[str, Data],
) -> Data:
    try:
        return call(obj, args, keywords)
    except (IndexError, KeyError, TypeError, ValueError, AttributeError):
        return MISSING


def _number_method(value: float, name: str) -> Data:
    if name == "toString":
        return _text(value)
    if name in ("intValue", "longValue", "doubleValue", "booleanValue"):
        return value
    return MISSING


def _class_method(ref: Ref, name: str) -> Data:
    if name in ("getName", "getCanonicalName", "getTypeName"):
        return ref.names[-1]
    if name == "getSimpleName":
        return ref.last
    return MISSING


_STRING: Mapping[str, Callable[..., Any]] = {
    **dict.fromkeys(("toUpperCase", "upper"), str.upper),
    **dict.fromkeys(("toLowerCase", "lower"), str.lower),
    **dict.fromkeys(("trim", "strip"), str.strip),
    **dict.fromkeys(("toString", "intern", "encode", "decode"), lambda text, *_: text),
    "concat": lambda text, other: text + _text(other),
    "replace": str.replace,
    "isEmpty": lambda text: not text,
    "length": len,
    "substring": lambda text, first, last=None: text[first:last],
    "format": lambda text, *args: text.format(*args),
    "join": lambda text, items: text.join(_items(items)),
    "split": lambda text, *by: new_list(text.split(*by)),
    "contains": lambda text, other: other in text,
    **dict.fromkeys(("startsWith", "startswith"), str.startswith),
    **dict.fromkeys(("endsWith", "endswith"), str.endswith),
    "equalsIgnoreCase": lambda text, other: text.lower() == other.lower(),
    "equals": lambda text, other: text == other,
}


def put(obj: Any, key: Data, value: Data, places: tuple[Place, Place] | None = None) -> None:
    """Set an entry of a dict; `places` are those of the key and the value, if they are known."""
    if isinstance(key, Gap):
        obj.open = True
    obj.content[key_of(key)] = value
    obj.places.pop(key_of(key), None)
    if places is not None:
        obj.places[key_of(key)] = places


def _put(obj: Any, args: Sequence[Data], _keywords: Mapping[str, Data]) -> Data:
    put(obj, args[0], args[1])
    return None


def _put_all(obj: Any, args: Sequence[Data], keywords: Mapping[str, Data]) -> Data:
    for each in args:
        if isinstance(each, Obj) and isinstance(each.content, dict):
            obj.content.update(each.content)
            obj.places = {
                key: place for key, place in obj.places.items() if key not in each.content
            } | each.places
            obj.open = obj.open or each.open
        else:
            obj.open = True
    obj.content.update(keywords)
    return None


def _get(obj: Any, args: Sequence[Data], _keywords: Mapping[str, Data]) -> Data:
    key = key_of(args[0])
    if key in obj.content:
        found: Data = obj.content[key]
        return found
    if obj.open or isinstance(key, (Gap, Obj)):
        return MISSING
    return args[1] if len(args) > 1 else None


def _set_default(obj: Any, args: Sequence[Data], keywords: Mapping[str, Data]) -> Data:
    if key_of(args[0]) not in obj.content and not obj.open:
        obj.content[key_of(args[0])] = args[1] if len(args) > 1 else None
    return _get(obj, args, keywords)


def _contains_key(obj: Any, args: Sequence[Data], _keywords: Mapping[str, Data]) -> Data:
    key = key_of(args[0])
    return True if key in obj.content else MISSING if obj.open or isinstance(key, (Gap, Obj)) else False


def _entries(obj: Any, kind: str) -> Data:
    rows = [new_list((key, value), kind) for key, value in obj.content.items()]
    return new_list(rows, is_open=obj.open)


def _remove(obj: Any, args: Sequence[Data], _keywords: Mapping[str, Data]) -> Data:
    found: Data = obj.content.pop(key_of(args[0]), None)
    return found


def _sized(obj: Any, _args: Sequence[Data], _keywords: Mapping[str, Data]) -> Data:
    return MISSING if obj.open else len(obj.content)


def _is_empty(obj: Any, _args: Sequence[Data], _keywords: Mapping[str, Data]) -> Data:
    return MISSING if obj.open and not obj.content else not obj.content


def for_each(obj: Data, name: str, args: Sequence[Data]) -> Sequence[tuple[Data, ...]] | None:
    """The arguments of each call that `table.forEach(callback)` makes, if the entries are known."""
    callback = args[0] if len(args) == 1 else None
    if name != "forEach" or not isinstance(callback, Code) or not isinstance(obj, Obj):
        return None
    content = obj.content
    if isinstance(content, dict):
        return [(key, value) for key, value in content.items()]  # type: ignore[misc]
    return [(item,) for item in content] if isinstance(content, list) else None


_DICT: Mapping[str, Callable[[Any, Sequence[Data], Mapping[str, Data]], Data]] = {
    **dict.fromkeys(("put", "setProperty", "putIfAbsent", "__setitem__"), _put),
    **dict.fromkeys(("putAll", "update"), _put_all),
    **dict.fromkeys(("get", "getOrDefault", "getProperty"), _get),
    "setdefault": _set_default,
    **dict.fromkeys(("containsKey", "has_key"), _contains_key),
    "entrySet": lambda obj, _args, _keywords: _entries(obj, "entry"),
    **dict.fromkeys(("items", "iteritems"), lambda obj, _args, _keywords: _entries(obj, "tuple")),
    **dict.fromkeys(
        ("keySet", "keys", "iterkeys"),
        lambda obj, _args, _keywords: new_list(list(obj.content), is_open=obj.open),
    ),
    **dict.fromkeys(
        ("values", "itervalues"),
        lambda obj, _args, _keywords: new_list(list(obj.content.values()), is_open=obj.open),
    ),
    **dict.fromkeys(("remove", "pop"), _remove),
    "copy": lambda obj, _args, _keywords: _a_dict((obj,), {}),
    "size": _sized,
    "isEmpty": _is_empty,
}


def _add(obj: Any, args: Sequence[Data], _keywords: Mapping[str, Data]) -> Data:
    if len(args) > 1:  # at an index
        obj.content.insert(args[0], args[1])
    else:
        obj.content.append(args[0])
    return True


def _add_all(obj: Any, args: Sequence[Data], _keywords: Mapping[str, Data]) -> Data:
    for each in args:
        if isinstance(each, Obj) and each.content is not None:
            obj.content.extend(each.content)
            obj.open = obj.open or each.open
        else:
            obj.open = True
    return True


def _element(obj: Any, args: Sequence[Data], _keywords: Mapping[str, Data]) -> Data:
    if obj.open or not isinstance(args[0], int):
        return MISSING
    found: Data = obj.content[args[0]]
    return found


def _contains(obj: Any, args: Sequence[Data], _keywords: Mapping[str, Data]) -> Data:
    unknown = (
        obj.open or isinstance(args[0], (Gap, Obj)) or any(isinstance(each, Gap) for each in obj.content)
    )
    return True if args[0] in obj.content else MISSING if unknown else False


_LIST: Mapping[str, Callable[[Any, Sequence[Data], Mapping[str, Data]], Data]] = {
    **dict.fromkeys("add append addLast push offer addElement".split(), _add),
    **dict.fromkeys(("addAll", "extend"), _add_all),
    **dict.fromkeys(("get", "elementAt"), _element),
    **dict.fromkeys(("getKey", "getFirst", "getLeft"), lambda obj, _args, _keywords: obj.content[0]),
    **dict.fromkeys(("getValue", "getRight"), lambda obj, _args, _keywords: obj.content[1]),
    "contains": _contains,
    "size": _sized,
    "isEmpty": _is_empty,
    **dict.fromkeys(
        "iterator stream toArray collect toList boxed listIterator asList".split(),
        lambda obj, _args, _keywords: obj,
    ),
}

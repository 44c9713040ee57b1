"""What the wiring passes to a library class: the calls on the object, on its builder and on its configuration objects.

A call `setMaxRetries(3)` or `withMaxRetries(3)` and an assignment of the field `maxRetries` are all "maxRetries": 3;
`setProp("group.id", "x")` is "group.id": "x".
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ackdoctor.model.topology import Gap, Place, Setting, Value
from ackdoctor.topology.objects import FOREVER, Data, Invocation, Obj, Ref, chain, plain, root
from ackdoctor.topology.settings import LATE_STREAM

_PREFIXES = ("set", "with", "add")
_READS = ("get", "is", "to", "has", "create", "build", "parse", "run", "submit", "execute", "contains")
_FACTORIES = frozenset({"builder", "newBuilder", "create", "of", "defaults"})
_PUTS = frozenset({"setProp", "put", "setProperty", "addProperty", "__setitem__", "putIfAbsent"})
_PUT_ALL = frozenset({"setProp", "putAll", "withProducerProperties", "withConfigs"})
_MAX_DEPTH = 3  # of configuration objects inside each other
_WINDOWS = frozenset({"withWindow", "withTumblingWindow"})
_UNITS = {
    "MILLISECONDS": 1,
    "SECONDS": 1000,
    "MINUTES": 60_000,
    "HOURS": 3_600_000,
    "DAYS": 86_400_000,
}
_TIMES = {  # Storm's Duration.seconds, and java.time's Duration.ofSeconds, which Heron takes
    **{name.lower(): factor for name, factor in _UNITS.items()},
    **{f"of{name.title()}": factor for name, factor in _UNITS.items()},
    "of": 1,
    "millis": 1,
    "ofMillis": 1,
}
_POSITIONS = {  # names of constructor arguments, by the last part of the class
    "KafkaSpoutRetryExponentialBackoff": ("initialDelay", "delayPeriod", "maxRetries", "maxDelay"),
    "SpoutConfig": ("hosts", "topic", "zkRoot", "id"),
    "KafkaConfig": ("hosts", "topic", "clientId"),
    "TridentKafkaConfig": ("hosts", "topic", "clientId"),
    "CountSyncPolicy": ("syncCount",),
}


class Window(NamedTuple):
    """The length or the interval of a window: a number of tuples, or milliseconds."""

    tuples: Value = None
    milliseconds: Value = None


class Given(NamedTuple):
    """One argument, and the line that gives it."""

    name: str
    value: Value
    place: Place


def arguments_of(obj: Obj, before: int = FOREVER) -> dict[str, Value]:
    """The names and values that the wiring gives to an object."""
    return {name: given.value for name, given in given_to(obj, before).items()}


def given_to(obj: Obj, before: int = FOREVER) -> dict[str, Given]:
    """What the wiring gives to an object, by its names."""
    return {each.name: each for each in _arguments(root(obj), before, _MAX_DEPTH)}


def _arguments(obj: Obj, before: int, depth: int) -> Iterator[Given]:
    args = () if obj.made is None else obj.made.args
    for arg in args if depth else ():
        yield from _of_argument(arg, before, depth)
    yield from _by_position(obj, args)
    for call in chain(obj, before):
        yield from _of_call(call, before, depth)


def _of_argument(arg: Data, before: int, depth: int) -> Iterator[Given]:
    """What an argument holds, if it is a configuration object: one that was created here, or by a builder."""
    if not isinstance(arg, Obj) or arg.cls is not None or arg.content is not None or arg.constant:
        return
    first = root(arg)
    if first.made is not None and (first.made.name[:1].isupper() or first.made.name in _FACTORIES):
        yield from _arguments(first, before, depth - 1)


def _by_position(obj: Obj, args: Sequence[Data]) -> Iterator[Given]:
    last = obj.names[-1].rpartition(".")[2] if obj.names else ""
    for name, arg in zip(_POSITIONS.get(last, ()), args, strict=False):
        yield Given(name, plain(arg, obj.place), obj.place)


def _of_call(call: Invocation, before: int, depth: int) -> Iterator[Given]:
    name, args, place = call.name, call.args, call.place
    if call.kind == "set":
        if not (call.receiver is not None and call.receiver.cls is not None):
            yield Given(name, plain(args[0], place), place)
    elif call.inlined:
        return
    elif name in _WINDOWS:
        for label, length in window_of(args, place, tumbling=name != "withWindow"):
            yield Given(label, length, place)
    elif name in _PUTS and len(args) > 1 and not isinstance(args[0], Gap):
        yield Given(_key(args[0]), plain(args[1], place), place)
    elif name in _PUT_ALL and args and isinstance(args[0], Obj) and isinstance(args[0].content, dict):
        puts = {
            _key(put.args[0]): put.place
            for put in args[0].calls
            if put.name in _PUTS and put.args and not isinstance(put.args[0], Gap)
        }
        for key, value in args[0].content.items():
            if isinstance(key, Gap):
                continue
            name = _key(key)  # type: ignore[arg-type]
            yield Given(name, plain(value, place), puts.get(name, place))
    elif args and not name.startswith(_READS):
        prefix = next((each for each in _PREFIXES if name.startswith(each) and len(name) > len(each)), "")
        key = name[len(prefix) : len(prefix) + 1].lower() + name[len(prefix) + 1 :]
        for arg in args if depth else ():
            yield from _of_argument(arg, before, depth)
        values = tuple(_plain(arg, place) for arg in args)
        yield Given(key, values[0] if len(values) == 1 else values, place)


def _plain(data: Data, place: Place) -> Value:
    """The value of an argument; a duration is its milliseconds."""
    window = _length(data, place)
    return window.milliseconds if window.tuples is None else window.tuples


def _key(key: Data) -> str:
    """A property's name: `ConsumerConfig.GROUP_ID_CONFIG` is "group.id"."""
    if isinstance(key, Ref):
        return key.last.removesuffix("_CONFIG").lower().replace("_", ".")
    return str(plain(key, Place("")))


def window_of(args: Sequence[Data], place: Place, *, tumbling: bool) -> Iterator[tuple[str, Value]]:
    """The length and the sliding interval; a tumbling window slides by its length, a single length by one tuple."""
    lengths = [_length(arg, place) for arg in args[:2]]
    if not lengths:
        return
    first = lengths[0]
    second = lengths[1] if len(lengths) > 1 else first if tumbling else Window(tuples=1)
    for label, window in (("windowLength", first), ("slidingInterval", second)):
        if window.tuples is not None:
            yield f"{label}Count", window.tuples
        if window.milliseconds is not None:
            yield f"{label}Ms", window.milliseconds


# ---- windows as settings ----

_LATE = "withLateTupleStream"
_LAG = "withLag"
_WINDOW_KEYS = {
    "windowLengthMs": "topology.bolts.window.length.duration.ms",
    "windowLengthCount": "topology.bolts.window.length.count",
    "slidingIntervalMs": "topology.bolts.window.sliding.interval.duration.ms",
    "slidingIntervalCount": "topology.bolts.window.sliding.interval.count",
    _LATE: LATE_STREAM,
    _LAG: "topology.bolts.tuple.timestamp.max.lag.ms",
}


def window_settings(data: Data, before: int, component: str) -> Iterator[Setting]:
    """The component settings that a bolt with windows makes of its lengths."""
    for call in chain(root(data), before) if isinstance(data, Obj) else ():
        if call.inlined or not call.args:
            continue
        values: dict[str, Value] = {}
        if call.name in _WINDOWS:
            values = dict(window_of(call.args, call.place, tumbling=call.name != "withWindow"))
        elif call.name in (_LATE, _LAG):
            values = {call.name: _plain(call.args[0], call.place)}
        for name, value in values.items():
            yield Setting(key=_WINDOW_KEYS[name], value=value, place=call.place, component=component)


def as_settings(arguments: Mapping[str, Value], place: Place, component: str) -> Iterator[Setting]:
    """The settings of a window that was read before."""
    for name, key in _WINDOW_KEYS.items():
        if name in arguments:
            yield Setting(key=key, value=arguments[name], place=place, component=component)


def _length(data: Data, place: Place) -> Window:
    """A `Count` or a `Duration`."""
    if isinstance(data, Obj) and data.made is not None and data.made.args:
        call = data.made
        number = call.args[0]
        *_, owner, last = ("", *(call.names[-1] if call.names else "").split("."))
        if owner == "Count" or last == "Count":
            return Window(tuples=plain(number, place))
        unit = call.args[1] if len(call.args) > 1 else None
        factor = _UNITS.get(unit.last) if isinstance(unit, Ref) else _TIMES.get(last)
        if isinstance(number, int) and factor is not None:
            return Window(milliseconds=number * factor)
    return Window(milliseconds=plain(data, place))

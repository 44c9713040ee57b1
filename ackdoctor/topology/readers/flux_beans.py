"""Beans of Flux and ECO files: the objects that a file describes, and what they say about a component.

A bean has a class, constructor arguments, properties and methods to call; it may refer to other beans by their id.  Only
the names that libraries publish are read, nothing is constructed.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ackdoctor.model.topology import DEFAULT_STREAM, Gap, Place, Setting, Value
from ackdoctor.topology.marked_yaml import Marked
from ackdoctor.topology.settings import LATE_STREAM, TICKS
from ackdoctor.topology.shell import SHELL_CLASSES, runs

_LENGTH = "topology.bolts.window.length"
_SLIDE = "topology.bolts.window.sliding.interval"
_UNIT_MS = {
    "NANOSECONDS": 1e-6,
    "MICROSECONDS": 1e-3,
    "MILLISECONDS": 1,
    "SECONDS": 1000,
    "MINUTES": 60_000,
    "HOURS": 3_600_000,
    "DAYS": 86_400_000,
}
# constructors of library classes, by the simple name of the class: what their arguments are called
_CONSTRUCTORS: Mapping[str, tuple[str, ...]] = {
    "KafkaSpoutConfig$Builder": ("bootstrapServers", "topics"),
    "KafkaSpoutRetryExponentialBackoff": ("initialDelay", "delayPeriod", "maxRetries", "maxDelay"),
    "SpoutConfig": ("hosts", "topic", "zkRoot", "id"),
    "KafkaConfig": ("hosts", "topic", "clientId"),
    "CountSyncPolicy": ("syncCount",),
}
_PUTS = frozenset({"put", "setProp"})  # a key and its value, or a map of them


class Method(NamedTuple):
    """A configuration method: its name, its arguments with references followed, and where it is called."""

    name: str
    args: tuple[Marked, ...]
    place: Place


class Beans:
    """The beans of a file, by id."""

    def __init__(self, beans: Mapping[str, Marked]) -> None:
        self._beans = beans

    def followed(self, value: Marked) -> Marked:
        """The bean that `ref: ID` means; the value itself if it is no reference."""
        target = value.get("ref") if value.names == ("ref",) else None
        return self._beans.get(target.text, value) if target is not None else value

    def _all_of(self, value: Marked) -> tuple[Marked, ...]:
        """A value as a list: several beans of a `reflist`."""
        several = value.get("reflist") if value.names == ("reflist",) else None
        if several is None:
            return (self.followed(value),)
        return tuple(self._beans.get(each.text, each) for each in several.items())

    def methods(self, bean: Marked) -> Iterator[Method]:
        """The configuration methods of a bean in order, then its properties as setters are called before them."""
        for each in bean.items_of("properties"):
            name = each.get("name")
            value = each.get("value") or (each if each.get("ref") else None)
            if name is not None and name.text and value is not None:
                target = each.get("ref")
                found = self._beans.get(target.text, value) if target is not None else value
                yield Method(f"set{name.text[:1].upper()}{name.text[1:]}", (found,), name.place)
        for each in bean.items_of("configMethods"):
            name = each.get("name")
            if name is not None and name.text:
                args = tuple(self.followed(arg) for arg in each.items_of("args"))
                yield Method(name.text, args, name.place)

    def arguments(self, component: Marked) -> tuple[dict[str, Value], dict[str, Place]]:
        """What a component and its beans are given, by the library's own names, and where; the component's own come first."""
        found: dict[str, Value] = {}
        places: dict[str, Place] = {}
        seen: set[int] = set()
        queue = [component]
        while queue:
            bean = queue.pop(0)
            if id(bean) in seen or (bean is not component and bean.get("className") is None):
                continue
            seen.add(id(bean))
            own: dict[str, Value] = {}
            lines: dict[str, Place] = {}
            names = _CONSTRUCTORS.get(simple_name(class_of(bean)), ())
            for at, value in enumerate(bean.items_of("constructorArgs") or bean.items_of("factoryArgs")):
                queue += self._all_of(value)
                content = value.value
                if at < len(names):
                    own[names[at]] = content
                    lines[names[at]] = value.place
                if isinstance(content, dict) and not content.keys() & {"ref", "reflist"}:
                    own |= content
            for method in self.methods(bean):
                queue += method.args
                given = _given(method)
                own |= given
                lines |= dict.fromkeys(given, method.args[-1].place if method.args else method.place)
            found, places = own | found, lines | places
        return found, places

    # ---- what the methods of a component mean ----

    def settings(self, component: str, bean: Marked) -> Iterator[Setting]:
        """The settings that the configuration methods of a component make."""
        for name, args, place in self.methods(bean):
            made: dict[str, Value] = {}
            match name, args:
                case "addComponentConfig", (key, value) if key.text:
                    made = {key.text: value.value}
                case (("withTickTupleIntervalSeconds" | "setTickTupleIntervalSeconds"), (seconds,)):
                    made = {TICKS: seconds.value}
                case "withLateTupleStream", (stream,):
                    made = {LATE_STREAM: stream.value}
                case "withTumblingWindow", (length,):
                    made = self._window(_LENGTH, length) | self._window(_SLIDE, length)
                case "withWindow", (length,):
                    made = self._window(_LENGTH, length) | {f"{_SLIDE}.count": 1}
                case "withWindow", (length, slide):
                    made = self._window(_LENGTH, length) | self._window(_SLIDE, slide)
            for made_key, made_value in made.items():
                yield Setting(key=made_key, value=made_value, place=place, component=component)

    def _window(self, prefix: str, bean: Marked) -> dict[str, Value]:
        """The setting of one window: `Count` or `Duration`, made by a constructor or by a factory of Storm's."""
        kind = simple_name(class_of(bean)).rpartition("$")[2]
        args = bean.items_of("constructorArgs") or bean.items_of("factoryArgs")
        amount = args[0].value if args else None
        if kind == "Count":
            return {f"{prefix}.count": amount}
        if kind != "Duration":
            gap = Gap("the file does not say how long the window is", bean.place)
            return {f"{prefix}.duration.ms": gap}
        unit = args[1].text if len(args) > 1 else bean.text_of("factory").upper() or "MILLISECONDS"
        scale = _UNIT_MS.get(unit) or (1 if unit == "OF" else None)
        if isinstance(amount, int | float) and scale is not None:
            return {f"{prefix}.duration.ms": int(amount * scale)}
        known = (
            amount
            if isinstance(amount, Gap)
            else Gap(f"the length of the window is {amount} {unit}", bean.place)
        )
        return {f"{prefix}.duration.ms": known}

    def streams(self, bean: Marked) -> Mapping[str, tuple[str, ...] | None] | None:
        """The streams that the wiring declares for a component in another process; None for any other class."""
        if not is_shell(bean):
            return None
        found: dict[str, tuple[str, ...] | None] = {}
        args = bean.items_of("constructorArgs")
        if len(args) > 1:
            found[DEFAULT_STREAM] = _fields(args[1])
        for name, given, _ in self.methods(bean):
            if name == "setDefaultStream" and given:
                found[DEFAULT_STREAM] = _fields(given[0])
            elif name == "setNamedStream" and len(given) > 1 and given[0].text:
                found[given[0].text] = _fields(given[1])
        return found


def _fields(value: Marked) -> tuple[str, ...] | None:
    return tuple(each.text for each in value.items()) if all(each.text for each in value.items()) else None


def class_of(bean: Marked) -> str:
    """The class of a bean as it is written; "" if the file does not decide it."""
    return bean.text_of("className")


def simple_name(cls: str) -> str:
    """A class without its package: "KafkaSpoutConfig$Builder"."""
    return cls.rpartition(".")[2]


def is_shell(bean: Marked) -> bool:
    """Whether a component runs in another process."""
    return simple_name(class_of(bean)) in SHELL_CLASSES


def code_of(bean: Marked) -> tuple[str, str]:
    """The class or script of a component, and why its code cannot be known, if so."""
    named = bean.get("className")
    cls = class_of(bean)
    if not cls:
        why = named.value.why if named is not None and isinstance(named.value, Gap) else "it has no className"
        return "?", why
    factory = bean.text_of("factory")
    if factory and not bean.items_of("constructorArgs"):
        return cls, f"{factory} of {cls} makes it"
    if not is_shell(bean):
        return cls, ""
    args = bean.items_of("constructorArgs")
    words = [each.text for each in (args[0].items() or args[:1])] if args else []
    return runs([word for word in words if word], cls)


def _given(method: Method) -> dict[str, Value]:
    """What one call sets: `setMaxRetries(3)` is {"maxRetries": 3}."""
    name, args, _ = method
    if name in _PUTS:
        match args:
            case (key, _) if key.text:
                return {key.text: method.args[1].value}
            case (several,) if several.get("className") is None and isinstance(
                content := several.value, dict
            ):
                return content
        return {}
    plain = name
    for prefix in ("set", "with"):
        if name.startswith(prefix) and name[len(prefix) : len(prefix) + 1].isupper():
            plain = f"{name[len(prefix)].lower()}{name[len(prefix) + 1 :]}"
    if not args:
        return {plain: True}
    values = tuple(class_of(each) or each.value for each in args)
    return {plain: values if len(values) > 1 else values[0]}

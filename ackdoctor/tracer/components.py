"""What the tracer reads from a live component: its dialect and role, its switches, and the fields that hold tuples."""

import inspect
import linecache
import re
from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator
from contextlib import suppress
from functools import cache, lru_cache, partial
from types import FunctionType
from typing import Any

from ackdoctor import dialects
from ackdoctor.dialects import known
from ackdoctor.dialects.storm_py import SHELL_BOLT
from ackdoctor.model.dialect import (
    Cost,
    Dialect,
    Discipline,
    Entry,
    EntryKind,
    Kind,
    Misuse,
    Price,
    Role,
    Switch,
)
from ackdoctor.model.trace import CallSite, TracedComponent
from ackdoctor.tracer.sites import parsed


@lru_cache  # of the last classes: tests make some each, and one that is kept alive is wrapped by every installation to come
def belongs(cls: type) -> tuple[Dialect, Role] | None:
    """The dialect and role of a component class, from the nearest base that a dialect names."""
    for base in cls.__mro__:
        found = _roles().get(f"{base.__module__}.{base.__qualname__}")
        if found is None:
            found = _vendored(base)
        if found is not None:
            return found
    return None


@cache
def _roles() -> dict[str, tuple[Dialect, Role]]:
    return {
        path: (dialect, role)
        for dialect in dialects.load()
        for role in dialect.roles
        for path in role.classes
    }


def _vendored(base: type) -> tuple[Dialect, Role] | None:
    """The role in a project's own copy of a module: `resources.storm.Bolt` is storm.py's Bolt."""
    tail = f"{base.__module__.rpartition('.')[2]}.{base.__qualname__}"
    found = _roles().get(tail)
    return found if found is not None and found[0].vendored else None


def switched_on(component: object, switch: Switch) -> bool:
    """Whether a switch of the framework is on for this instance now."""
    if switch.attribute is None:
        return switch.default
    return bool(getattr(component, switch.attribute, switch.default))


def describe(component: object, dialect: Dialect, role: Role) -> TracedComponent:
    """The component as a finding names it."""
    cls: type = type(component)
    path, line = _defined(cls)
    discipline = role.discipline
    task = getattr(component, "task_id", 0)
    return TracedComponent(
        name=cls.__qualname__,
        dialect=dialect.name,
        role=role.name,
        path=path,
        line=line,
        task=task if isinstance(task, int) else 0,
        auto_ack=switched_on(component, discipline.auto_ack),
        auto_fail=switched_on(component, discipline.auto_fail),
        auto_anchor=switched_on(component, discipline.auto_anchor),
    )


@lru_cache
def _defined(cls: type) -> tuple[str, int]:
    """File and line of a class statement, also in a file that does not parse: Python 2, or a file that has changed."""
    path, line = "", 0
    with suppress(OSError, TypeError):  # no file; a built-in
        path = inspect.getsourcefile(cls) or ""
        try:
            line = inspect.getsourcelines(cls)[1]
        except SyntaxError:
            begins = re.compile(rf"\s*class\s+{re.escape(cls.__name__)}\b")
            lines = enumerate(linecache.getlines(path), 1)
            line = next((at for at, text in lines if begins.match(text)), 0)
    return path, line


@lru_cache
def played_by(cls: type, names: tuple[str, ...]) -> CallSite | None:
    """The first of these functions of the framework that the class inherits."""
    for base in cls.__mro__:
        for module in (base.__module__, base.__module__.rpartition(".")[2]):
            for name in names:
                owner, _, method = name.rpartition(".")
                code = getattr(vars(base).get(method), "__code__", None)
                if owner == f"{module}.{base.__qualname__}" and code is not None:
                    return CallSite(
                        code.co_filename, code.co_firstlineno, f"{base.__qualname__}.{method}", framework=True
                    )
    return None


def overrides(cls: type, role: Role, method: str) -> bool:
    """Whether the author, and not the framework, defines a method."""
    for base in cls.__mro__:
        if method in vars(base):
            return belongs(base) is not None and f"{base.__module__}.{base.__qualname__}" not in role.classes
    return False


NODES = 20_000  # objects examined per component
_DEPTH = 5  # containers within containers
_PLAIN = (str, bytes, bytearray, int, float, complex, bool, type(None), type, range)
# from the handshake, since task ids look like delivery ids; of heronpy, which stores every tuple
_NO_BUFFERS = frozenset({"context", "storm_conf", "conf", "delegate"})
_CONTAINERS = (list, tuple, set, frozenset, deque)


def fields_holding(
    component: object, wanted: Collection[Hashable], besides: Collection[str] = (), *, ids: bool = False
) -> dict[Hashable, str]:
    """For each delivery in `wanted` whose tuple a field holds, the field ("pending"), except the fields in `besides`.

    With `ids` a field that holds the id counts as well. An id may also be a value of the author's.
    """
    found: dict[Hashable, str] = {}
    budget = NODES
    for field, value in list(getattr(component, "__dict__", {}).items()):
        if field in _NO_BUFFERS or field in besides:
            continue
        seen: set[int] = {id(component)}
        edge: list[tuple[Any, int]] = [(value, 0)]
        while edge and budget > 0 and len(found) < len(wanted):
            node, depth = edge.pop()
            budget -= 1
            # a test's stand-in for a tuple may be its own id
            key = node.id if _has_id(node) else node if ids or not isinstance(node, _PLAIN) else None
            if _is_in(key, wanted):
                found.setdefault(key, field)
            elif depth < _DEPTH and not isinstance(node, _PLAIN) and id(node) not in seen:
                seen.add(id(node))
                edge.extend((inner, depth + 1) for inner in _inside(node))
    return found


def tuples_in(arguments: Any, wanted: Collection[Hashable]) -> Iterator[Hashable]:
    """The deliveries in `wanted` whose tuples are among a call's arguments, also in containers, partials and closures."""
    seen: set[int] = set()
    edge: list[tuple[Any, int]] = [(arguments, 0)]
    while edge and len(seen) < NODES:
        node, depth = edge.pop()
        if _has_id(node):
            if _is_in(node.id, wanted):
                yield node.id
        elif depth < _DEPTH and id(node) not in seen:
            seen.add(id(node))
            edge.extend((inner, depth + 1) for inner in _carried(node))


def _carried(node: Any) -> Iterable[Any]:
    """What an argument contains, without the fields of objects."""
    if isinstance(node, dict):
        return dict.values(node)
    if isinstance(node, _CONTAINERS):
        return list(node)
    if isinstance(node, partial):
        return (node.func, node.args, node.keywords)
    if isinstance(node, FunctionType):
        inner = list(node.__defaults__ or ())
        for cell in node.__closure__ or ():
            with suppress(ValueError):  # its variable has no value yet
                inner.append(cell.cell_contents)
        return inner
    return ()


def _is_in(key: Any, wanted: Collection[Hashable]) -> bool:
    try:
        return key is not None and key in wanted
    except TypeError:  # unhashable, or a tuple with a list in it
        return False


def _has_id(node: Any) -> bool:
    """Whether `node.id` is a plain attribute: a property could run the author's code."""
    return (
        "id" in getattr(node, "__dict__", ())
        or "id" in getattr(type(node), "_fields", ())
        or "id" in getattr(type(node), "__slots__", ())
    )


def _inside(node: Any) -> Iterable[Any]:
    if isinstance(node, dict):
        return [*dict.keys(node), *dict.values(node)]
    if isinstance(node, _CONTAINERS):
        return list(node)
    if hasattr(type(node), "call_args_list"):  # what a mock remembers is no buffer
        return ()
    fields = getattr(node, "__dict__", None)
    if not isinstance(fields, dict) or "call_args_list" in fields:
        return ()
    return list(fields.values())


UNOBSERVED = " unobserved: "
_SWITCHES = ("auto_ack", "auto_fail", "auto_anchor")

MULTILANG = Role(  # a component of which only the pipe is known, as the proxy sees it
    name="multilang",
    kind=Kind.BOLT,
    classes=(),
    entries=(),
    verbs=(),
    discipline=Discipline(costs=SHELL_BOLT),
)

STORM = Role(  # Java's IRichBolt, and what the lab runs
    name="IRichBolt",
    kind=Kind.BOLT,
    classes=(),
    entries=(Entry(method="execute", kind=EntryKind.DATA),),
    verbs=(),
    discipline=Discipline(
        thread_safe=True,
        costs={
            Misuse.TWICE: Cost(
                prices=(Price.ZOMBIE,),
                note="Storm does not notice, and the acker keeps an entry that can never complete",
            ),
            Misuse.MIXED: Cost(
                prices=(Price.ZOMBIE,),
                note="Storm does not notice, and which of the two the spout gets depends on their order",
            ),
            Misuse.LATE_EMIT: Cost(
                prices=(Price.ZOMBIE,), note="the new tuple is not tracked, or the tree can never complete"
            ),
            Misuse.NEVER: Cost(
                prices=(Price.TIMEOUT, Price.ZOMBIE),
                note="the tree times out, and is replayed if its spout emitted it with a message id",
            ),
            Misuse.UNANCHORED: SHELL_BOLT[Misuse.UNANCHORED],
        },
    ),
)


def described(traced: TracedComponent) -> str:
    """The note for a component."""
    switches = [name for name in _SWITCHES if getattr(traced, name)]
    return " ".join([traced.dialect, traced.role, *switches])


def unobserved(note: str) -> str:
    """What hides the completions of the component in a NAMED row, or ''."""
    return note.partition(UNOBSERVED)[2]


def recalled(name: str, task: int, site: str = "", note: str = "") -> TracedComponent:
    """The component of a NAMED row; without one, any multilang component."""
    dialect, _, rest = note.partition(" ")
    role, _, switches = rest.partition(UNOBSERVED)[0].partition(" ")
    place = parsed(site)
    on = switches.split()
    return TracedComponent(
        name=name,
        dialect=dialect,
        role=role or MULTILANG.name,
        path=place.path if place is not None else "",
        line=place.line if place is not None else 0,
        task=task,
        auto_ack="auto_ack" in on,
        auto_fail="auto_fail" in on,
        auto_anchor="auto_anchor" in on,
    )


def role_of(traced: TracedComponent) -> Role:
    """The role of a component by its names; MULTILANG for names that no dialect has."""
    if (traced.dialect, traced.role) == ("storm", STORM.name):
        return STORM
    roles = (role for dialect in known() if dialect.name == traced.dialect for role in dialect.roles)
    return next((role for role in roles if role.name == traced.role), MULTILANG)

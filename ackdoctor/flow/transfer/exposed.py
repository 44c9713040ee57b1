"""Who else may write a local: what code out of sight has got hold of may be changed by any later call of such code.

Terms.  A box or a cell is *exposed* once code out of sight was given it, or a closure that knows it, or such a closure was put
where others find it.  From then on each call that leads out of sight leaves it open what is in it: the one that was given it, as
`client.each(rows, lambda row: done.set(True))`, and any later one, as `client.poll()`, which may run what was given before.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ackdoctor.flow.context import Context
from ackdoctor.flow.expressions import last_name, memoize
from ackdoctor.flow.invalidation import forget, inside
from ackdoctor.flow.library import HARMLESS, LOGGING, NO_RAISE, VIEWS
from ackdoctor.flow.predicates import leaves_alone
from ackdoctor.flow.state import Coll, Const, FunctionRef, Instance, Partial, State, Value
from ackdoctor.flow.transfer.boxes import BOX, asked_places, bare, boxes, emptied, is_box, own_method
from ackdoctor.flow.transfer.cells import shared, where, without
from ackdoctor.model.cfg import Attr, Call, Closure, Expr, Item, Name
from ackdoctor.model.component import Function

__all__ = ["behind", "behind_own", "put_away"]

_EXPOSED = f"{BOX}exposed"
_CODE = (FunctionRef, Partial, Coll, Instance)
_RUNS_NOTHING = (LOGGING | HARMLESS | NO_RAISE | VIEWS) - {"sleep"}  # while this one sleeps others run


class _Handing(NamedTuple):
    """What a call gives away: locals, by their names, and what the closures know that are written there; and what it may change or run itself."""

    names: tuple[str, ...]
    places: frozenset[str]
    receiver: str  # the local that it is made on, itself or something in it, if it may change that
    runs: str  # the local that it calls, or whose method
    quiet: bool  # whether its name says that it runs nothing that others were given


def behind(context: Context, function: Function, state: State, call: Call) -> State:
    """The state behind a call out of sight."""
    handing = _handings(function)[call.result.id]
    given = handing.places
    for name in (*handing.names, handing.runs):
        value = state.env.get(name)
        if isinstance(value, _CODE):
            given |= frozenset(_reached(value))
    given |= _boxes_in(function, state, handing.names)
    if not given and not handing.receiver and _EXPOSED not in state.fields:
        return state
    state = _expose(state, given)
    changed = given | _receiver(function, state, call, handing)
    if _EXPOSED in state.fields and not _runs_nothing(context, function, state, call, handing):
        changed |= _exposed(state)
    return _opened(function, state, call, changed, given)


def behind_own(function: Function, state: State, call: Call) -> State:
    """The state behind a call of the project's own code, which knows a box that it was given by another name, and may keep it."""
    handing = _handings(function)[call.result.id]
    state = _expose(state, _boxes_in(function, state, handing.names))
    return _opened(function, state, call, _exposed(state) | _receiver(function, state, call, handing))


def put_away(state: State, value: Value | None) -> State:
    """The state in which a value lies where others find it."""
    return _expose(state, frozenset(_reached(value))) if isinstance(value, _CODE) else state


def _boxes_in(function: Function, state: State, names: tuple[str, ...]) -> frozenset[str]:
    if not names or not (function.captures or boxes(function)):
        return frozenset()
    return frozenset(where(function, name) for name in names if is_box(function, state, name))


def _expose(state: State, places: frozenset[str]) -> State:
    if not places:
        return state
    known = _exposed(state)
    return state if places <= known else state.but(fields={**state.fields, _EXPOSED: Const(known | places)})


def _exposed(state: State) -> frozenset[str]:
    known = state.fields.get(_EXPOSED)
    return known.value if isinstance(known, Const) and isinstance(known.value, frozenset) else frozenset()


def _opened(
    function: Function, state: State, call: Call, places: frozenset[str], given: frozenset[str] = frozenset()
) -> State:
    """The state in which nothing is known of what is in these boxes and cells, nor of anything else that was given just now."""
    if not places:
        return state
    state = without(state, places)
    for place in places:
        state = emptied(state, place)
        name = place.rpartition(":")[2]
        if where(function, name) == place and (place in given or name in _tracked(function)):
            own = is_box(function, state, name) and name not in shared(function)
            state = inside(state, Name(name), call) if own else forget(state, Name(name))
    return state


def _receiver(function: Function, state: State, call: Call, handing: _Handing) -> frozenset[str]:
    """The box that a call is made on and may change otherwise than is known."""
    name = handing.receiver
    if not name or not is_box(function, state, name) or _known_method(function, state, call):
        return frozenset()
    return frozenset({where(function, name)})


def _runs_nothing(context: Context, function: Function, state: State, call: Call, handing: _Handing) -> bool:
    """Whether a call is known to run no code of the project's that others were given."""
    if handing.quiet or _known_method(function, state, call):
        return True
    return last_name(call.func) in context.verb_names


def _known_method(function: Function, state: State, call: Call) -> bool:
    match call.func:
        case Attr(obj=Name(id=local), name=method):
            return own_method(function, state, local, method)
        case _:
            return False


@memoize
def _handings(function: Function) -> Mapping[str, _Handing]:
    """What each call of a function gives away, by its result."""
    return {
        step.op.result.id: _handing(function, step.op)
        for step in function.cfg.steps
        if isinstance(step.op, Call)
    }


def _handing(function: Function, call: Call) -> _Handing:
    given = list(bare(arg.value for arg in call.args))
    closures = (function.closures.get(expr.key) for expr in given if isinstance(expr, Closure))
    func: Expr = call.func.obj if isinstance(call.func, Attr) else call.func
    root = func
    while isinstance(root, (Attr, Item)):
        root = root.obj
    changes = isinstance(call.func, Attr) and isinstance(root, Name) and not leaves_alone(call)
    return _Handing(
        names=tuple(expr.id for expr in given if isinstance(expr, Name)),
        places=frozenset(
            where(each, name) for each in closures if each is not None for name in each.captures
        ),
        receiver=root.id if changes and isinstance(root, Name) else "",
        runs=func.id if isinstance(func, Name) else "",
        quiet=last_name(call.func) in _RUNS_NOTHING or leaves_alone(call),
    )


def _reached(value: Value | None) -> Iterator[str]:
    """What the code knows that a value is, or has in it."""
    match value:
        case FunctionRef(function=inner):
            yield from (where(inner, name) for name in inner.captures)
        case Partial(target=target, args=args):
            for part in (target, *args):
                yield from _reached(part)
        case Coll(items=items):
            for item in items:
                yield from _reached(item)
        case Instance(cls=cls):
            yield from (where(inner, name) for inner in cls.methods.values() for name in inner.captures)
        case _:
            pass


@memoize
def _tracked(function: Function) -> frozenset[str]:
    """The locals whose content is kept beside the fields, or is asked about although another function's."""
    return boxes(function) | shared(function) | function.captures.intersection(asked_places(function))

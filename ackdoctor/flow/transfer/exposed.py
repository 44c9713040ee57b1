"""Who else may write a local: what code out of sight has got hold of may be changed by any later call of such code.

Terms.  A box or a cell is *exposed* once code out of sight was given it, or a closure that knows it, or such a closure was put
where others find it.  From then on each call that leads out of sight leaves it open what is in it: the one that was given it, as
`client.each(rows, lambda row: done.set(True))`, and any later one, as `client.poll()`, which may run what was given before.
"""

from collections.abc import Iterable, Iterator

from ackdoctor.flow.graph.once import once
from ackdoctor.flow.graph.wording import last_name
from ackdoctor.flow.linking.known import HARMLESS, LOGGING, NO_RAISE, VIEWS
from ackdoctor.flow.path.context import Context
from ackdoctor.flow.path.lattice import Coll, Const, FunctionRef, Instance, Partial, State, Value
from ackdoctor.flow.path.questions import leaves_alone
from ackdoctor.flow.transfer.boxes import BOX, asked_places, bare, boxes, emptied, is_box, own_method
from ackdoctor.flow.transfer.cells import shared, where, without
from ackdoctor.flow.transfer.holding import forget
from ackdoctor.model.cfg import Attr, Call, Closure, Expr, Item, Name
from ackdoctor.model.component import Function

__all__ = ["behind", "behind_own", "put_away"]

_EXPOSED = f"{BOX}exposed"
_CODE = (FunctionRef, Partial, Coll, Instance)
_RUNS_NOTHING = (LOGGING | HARMLESS | NO_RAISE | VIEWS) - {"sleep"}  # while this one sleeps others run


def behind(context: Context, function: Function, state: State, call: Call) -> State:
    """The state behind a call out of sight."""
    known = state.fields.get(_EXPOSED)
    if (
        known is None
        and not (function.closures or function.captures or boxes(function))
        and not _given_code(state, call)
    ):
        return state
    given = _known_to(function, state, (*_receivers(state, call), *(arg.value for arg in call.args)))
    state = _expose(state, given)
    changed = _receiver(function, state, call) | given
    if not _runs_nothing(context, function, state, call):
        changed |= _exposed(state)
    return _opened(function, state, changed, given)


def behind_own(function: Function, state: State, call: Call) -> State:
    """The state behind a call of the project's own code, which knows a box that it was given by another name, and may keep it."""
    if not _tracked(function):
        return state
    given = {expr.id for expr in bare(arg.value for arg in call.args) if isinstance(expr, Name)}
    held = frozenset(where(function, name) for name in given if is_box(function, state, name))
    state = _expose(state, held)
    return _opened(function, state, _exposed(state) | _receiver(function, state, call))


def put_away(state: State, value: Value | None) -> State:
    """The state in which a value lies where others find it."""
    return _expose(state, frozenset(_reached(value))) if isinstance(value, _CODE) else state


def _known_to(function: Function, state: State, values: Iterable[Expr]) -> frozenset[str]:
    """The boxes and cells that somebody knows who has these values: boxes, and closures with all that those know."""
    places: set[str] = set()
    for expr in bare(values):
        if isinstance(expr, Name) and is_box(function, state, expr.id):
            places.add(where(function, expr.id))
        elif isinstance(expr, Name):
            places.update(_reached(state.env.get(expr.id)))
        elif isinstance(expr, Closure) and expr.key in function.closures:
            inner = function.closures[expr.key]
            places.update(where(inner, name) for name in inner.captures)
    return frozenset(places)


def _expose(state: State, places: frozenset[str]) -> State:
    known = _exposed(state)
    return state if places <= known else state.but(fields={**state.fields, _EXPOSED: Const(known | places)})


def _exposed(state: State) -> frozenset[str]:
    known = state.fields.get(_EXPOSED)
    return known.value if isinstance(known, Const) and isinstance(known.value, frozenset) else frozenset()


def _opened(
    function: Function, state: State, places: frozenset[str], given: frozenset[str] = frozenset()
) -> State:
    """The state in which nothing is known of what is in these boxes and cells, nor of anything else that was given just now."""
    if not places:
        return state
    state = without(state, places)
    for place in places:
        state = emptied(state, place)
        name = place.rpartition(":")[2]
        if where(function, name) == place and (place in given or name in _tracked(function)):
            state = forget(state, Name(name))
    return state


def _receiver(function: Function, state: State, call: Call) -> frozenset[str]:
    """The box that a call is made on, itself or something in it, and that the call may change."""
    if not isinstance(call.func, Attr) or leaves_alone(call):
        return frozenset()
    root: Expr = call.func.obj
    while isinstance(root, (Attr, Item)):
        root = root.obj
    if not isinstance(root, Name) or not is_box(function, state, root.id):
        return frozenset()
    own = root is call.func.obj and own_method(function, state, root.id, call.func.name)
    return frozenset() if own else frozenset({where(function, root.id)})


def _runs_nothing(context: Context, function: Function, state: State, call: Call) -> bool:
    """Whether a call is known to run no code of the project's that others were given."""
    name = last_name(call.func)
    if name in _RUNS_NOTHING or leaves_alone(call) or any(verb.name == name for verb in context.verbs()):
        return True
    match call.func:
        case Attr(obj=Name(id=local), name=method):
            return own_method(function, state, local, method)
        case _:
            return False


def _given_code(state: State, call: Call) -> bool:
    """Whether a call is given a local that is a function."""
    env = state.env
    return any(isinstance(arg.value, Name) and isinstance(env.get(arg.value.id), _CODE) for arg in call.args)


def _receivers(state: State, call: Call) -> tuple[Expr, ...]:
    """The local whose code a call runs, itself or by a method."""
    func = call.func.obj if isinstance(call.func, Attr) else call.func
    return (func,) if isinstance(func, Name) and isinstance(state.env.get(func.id), _CODE) else ()


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


@once
def _tracked(function: Function) -> frozenset[str]:
    """The locals whose content is kept beside the fields, or is asked about although another function's."""
    return boxes(function) | shared(function) | function.captures.intersection(asked_places(function))

"""Effects that happen after the ack: what a bolt collects from acked tuples and sends later, by tick, count or thread.

A *store* keeps data of a tuple in a field, a *flush* emits or writes what was read from that field.  The ack is early if
another handler, a thread or `cleanup` flushes the field, or if a path of the handler stores without a flush and another
one flushes and empties the field.  State that is only kept, or that each input emits, is no early ack.

The field may belong to the bolt, or to an object of the project that the bolt keeps and passes its tuples to.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from ackdoctor.checks.facts.dataflow import (
    can_skip,
    canonical_form,
    carriers_of,
    data_params,
    derived_names,
    edges_past,
    mentions_any,
    reachable,
    tuple_names,
)
from ackdoctor.checks.facts.fields import (
    INITIALISERS,
    REMOVES_FROM_VIEW,
    Use,
    is_emptied,
    uses_of,
    uses_resource,
)
from ackdoctor.checks.facts.spouts import values_of
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.flow.events import Ended, Flow
from ackdoctor.flow.expressions import calls_by_result, last_name, mentions, operands, subexpressions
from ackdoctor.flow.transfer.dispatch import methods_named
from ackdoctor.libraries.vocabulary import CONTAINER_STORES, LOGGING, PURE_CALLS, TASK_METHODS, TICK
from ackdoctor.model.cfg import (
    ENTRY,
    EXIT,
    Attr,
    Call,
    ClassInfo,
    Closure,
    EdgeKind,
    Expr,
    Function,
    Item,
    Literal,
    Mix,
    Name,
    Return,
    Test,
)
from ackdoctor.model.dialect import EntryKind, Moment, VerbKind
from ackdoctor.model.protocol import Stage
from ackdoctor.model.topology import Place
from ackdoctor.topology.remote_writes import is_remote_stream, project_methods, writes_arguments

_EMITS = (VerbKind.EMIT, VerbKind.EMIT_MANY)
_STORES = CONTAINER_STORES | frozenset(
    "merge compute incrementAndGet addAndGet getAndIncrement inc increment".split()
)
_CHANGES = frozenset({"+=", "-=", "|="})
_COUNTS = frozenset("incrementAndGet getAndIncrement inc increment".split())  # without data of the tuple
_EMPTIES = REMOVES_FROM_VIEW | frozenset(
    "pop popitem popleft drainTo take get_nowait pollFirst pollLast reset setLength".split()
)
_TEXTS = frozenset("StringIO BytesIO StringBuilder StringBuffer ByteArrayOutputStream StringWriter".split())
_CLEARS = frozenset({"clear", "reset"})
_COMMITS = frozenset({"commit"})
_SENDS = frozenset(
    "execute executeBatch executemany flush sync syncAndReturnAll flushCommits sendBatch".split()
)
_SYNCS = frozenset({"hsync", "hflush"})  # of a file of HDFS, whose client keeps what was written before
_CLOCKS = frozenset("time monotonic now utcnow perf_counter currentTimeMillis nanoTime".split())
_SYSTEM = frozenset({"__system", "__tick", "SYSTEM_TICK_STREAM_ID", "SYSTEM_COMPONENT_ID"})
_DEPTH = 3  # calls followed from a function


class Stored(NamedTuple):
    """The first lines where a bolt that acks on arrival stores data: what it sends later, and what it only keeps."""

    early: Place | None = None
    kept: Place | None = None


def stored_data(context: RuleContext) -> Stored:
    """Return where a bolt stores the data of tuples that it acks at once."""
    if not acks_on_arrival(context):
        return Stored()
    early: list[Place] = []
    kept: list[Place] = []
    for flow in context.flows_of(EntryKind.DATA, EntryKind.BATCH):
        objects = [_bolt(context, flow)]
        early += _early_stores(*objects[0])
        if not early:
            objects += _collaborators(context, flow)
            for each in objects[1:]:
                early += _early_stores(*each)
        for obj, _ in objects:
            kept += obj.kept_in_memory()
    return Stored(min(early, default=None), min(kept, default=None))


def acks_on_arrival(context: RuleContext) -> bool:
    """Whether the tuple is acked when its handler returns, by the framework or by the code."""
    if context.component.auto_ack:
        return context.discipline.completion is Moment.RETURN
    stages = stages_at_return(context)
    return Stage.ACKED in stages and Stage.HELD not in stages


def stages_at_return(context: RuleContext) -> set[Stage | None]:
    """Return the stages of the tuple where its handler returns; None is a path without a tuple."""
    return {
        _stage(ended)
        for _, ended in context.events(Ended, EntryKind.DATA, EntryKind.BATCH)
        if ended.raised is None and ended.deferral is None and not ended.is_system
    }


def _stage(ended: Ended) -> Stage | None:
    held = ended.state.tokens.get(ended.token) if ended.token is not None else None
    return held.stage if held is not None else None


@dataclass(slots=True, eq=False, kw_only=True)
class _Object:
    """The bolt, or an object that it keeps: how its functions name it, and those that run on the arrival of a tuple."""

    context: RuleContext
    names: Mapping[Function, Name]
    lineage: tuple[ClassInfo, ...]
    arrival: tuple[Function, ...]
    data: Mapping[Function, frozenset[str]]  # locals with data of the tuple

    def method(self, function: Function, func: Expr) -> Function | None:
        """Return the object's own method that `self.name` denotes."""
        if isinstance(func, Attr) and func.obj == self.names.get(function):
            return next(iter(methods_named(self.lineage, func.name)), None)
        return None

    # ---- stores ----

    def stores(self) -> Iterator[Use]:
        """Yield each store of data of the tuple in a field."""
        for function in self.arrival:
            own = self.names.get(function)
            if own is not None:
                uses = chain(uses_of(function, own), self._uses_of_getters(function, own))
                yield from (use for use in uses if self._is_store(use))

    def overwrites(self) -> Iterator[Use]:
        """Yield each assignment that replaces what a field holds with data of the tuple."""
        for function in self.arrival:
            data = self.data.get(function, frozenset[str]())
            own = self.names.get(function)
            for use in uses_of(function, own) if own is not None else ():
                if use.how == "=" and use.whole and any(mentions_any(value, data) for value in use.values):
                    yield use

    def _uses_of_getters(self, function: Function, own: Name) -> Iterator[Use]:
        """Yield the calls on what a getter of the object returns: `getRankings().updateWith(row)`."""
        calls = calls_by_result(function)
        for step in function.cfg.steps:
            if not isinstance(step.op, Call) or not isinstance(step.op.func, Attr):
                continue
            getter = calls.get(step.op.func.obj)
            if getter is None or getter.args or not isinstance(getter.func, Attr):
                continue
            field = _returned_field(methods_named(self.lineage, getter.func.name))
            if field:
                given = tuple(arg.value for arg in step.op.args)
                yield Use(
                    field, function, step, step.op.func.name, Attr(own, field), whole=True, values=given
                )

    def _is_store(self, use: Use) -> bool:
        data = self.data.get(use.function, frozenset[str]())
        given = [*use.values, *([use.key] if use.key is not None else [])]
        derived = any(mentions_any(value, data) for value in given)
        match use.how:
            case "=" if isinstance(use.place, Item):
                return derived
            case "=":  # another value for each input, unless it contains the old one
                return use.whole and any(mentions(value, use.place) for value in use.values) and derived
            case how if how in _CHANGES:
                return True
            case how if how in _COUNTS:
                return use.whole
            case how if how in _STORES:
                return derived
            case "write":  # of a text in memory
                values = values_of(self.context, use.function, use.place)
                return derived and any(_is_new_text(use.function, value) for _, value in values)
            case _:
                return derived and self._changes(use)

    def _changes(self, use: Use) -> bool:
        """Whether a use calls a method of a collecting object of the project: it changes the object and writes nothing."""
        if not use.whole or not isinstance(use.step.op, Call):
            return False
        cls = self.context.project_class(use.function, use.place) or self.context.field_class(use.field)
        found = _reached(self.context, cls, use.how) if cls is not None else []
        stores = any(
            each.how in _STORES or each.how.endswith("=") or _is_dropped_call(each)
            for method in found
            for each in uses_of(method, Name(method.receiver))
        )
        return stores and not any(
            self.context.is_remote(method, call.func)
            for method in found
            for call in calls_by_result(method).values()
        )

    def kept_in_memory(self) -> Iterator[Place]:
        """Yield each store in a collection, and in a number that the arrival of a tuple sends."""
        for use in self.stores():
            field = Attr(self.names[use.function], use.field)
            if use.whole and (use.how in _CHANGES or use.how in _COUNTS):
                kept = any(self.flushes(function, use.field) for function in self.arrival)
            else:
                kept = self.context.is_in_memory(use.function, field)
            if kept:
                yield Place(use.function.path, use.step.span.line)

    # ---- flushes ----

    def flushes(self, function: Function, field: str) -> list[int]:
        """Return the steps of a function that emit or write what it read from a field."""
        own = self.names.get(function)
        if own is None:
            return []
        place = Attr(own, field)
        if not any(mentions(value, place) for step in function.cfg.steps for value in operands(step.op)):
            return []
        carriers = carriers_of(function, place)
        return [
            index
            for index, step in enumerate(function.cfg.steps)
            if isinstance(step.op, Call) and self._sends(function, step.op, carriers, place)
        ]

    def _sends(
        self, function: Function, call: Call, carriers: frozenset[str], place: Expr | None, depth: int = 0
    ) -> bool:
        """Whether a call emits or writes these locals, or what a place holds."""
        given = [arg.value for arg in call.args]

        def is_carried(value: Expr) -> bool:
            return mentions_any(value, carriers) or (place is not None and mentions(value, place))

        if isinstance(call.func, Attr) and is_carried(call.func.obj):  # `counts.forEach((key, n) -> ...)`
            closures = [function.closures[each.key] for each in given if isinstance(each, Closure)]
            if depth < _DEPTH and any(self._is_sent_by(each, depth) for each in closures):
                return True
        if not any(map(is_carried, given)):
            return False
        if self.context.verb_kind(function, call) in _EMITS:
            return True
        helper = self.method(function, call.func)
        if helper is not None:
            return depth < _DEPTH and self._is_sent_by(helper, depth)
        return self._writes(function, call)

    def _is_sent_by(self, helper: Function, depth: int) -> bool:
        """Whether a function emits or writes its arguments."""
        names = derived_names(helper, frozenset(data_params(helper)))
        calls = calls_by_result(helper).values()
        return any(self._sends(helper, each, names, None, depth + 1) for each in calls)

    def _writes(self, function: Function, call: Call) -> bool:
        """Whether a call writes to a resource: not a log, nor a collection, nor another object of the project."""
        name = last_name(call.func)
        if name in LOGGING | PURE_CALLS or name in _EMPTIES:
            return False
        methods = project_methods(self.context, function, call)
        if methods is not None:
            return writes_arguments(self.context, methods)
        if not isinstance(call.func, Attr):  # `bulk(client, rows)` of a client's library
            return self.context.is_remote(function, call.func)
        obj = call.func.obj
        own = self.names.get(function)
        if function in self.context.own_names:
            return uses_resource(self.context, function, call) or is_remote_stream(
                self.context, function, obj
            )
        is_field = isinstance(obj, Attr) and obj.obj == own
        in_memory = self.context.is_in_memory(function, obj) or name in CONTAINER_STORES
        remote = self.context.is_remote(function, obj) or is_remote_stream(self.context, function, obj)
        return remote or (is_field and not in_memory)

    # ---- when it flushes ----

    def is_flushed_later(self, field: str, skipped: frozenset[str] = frozenset()) -> bool:
        """Whether code that the arrival of a tuple does not run flushes a field; not counting methods of these names."""
        for function in self.names:
            if function in self.arrival or function.name in INITIALISERS | skipped:
                continue
            if (
                self.flushes(function, field)
                and self._runs(function)
                and not self._is_cleanup(function, field)
            ):
                return True
        return False

    def _runs(self, function: Function) -> bool:
        """Whether the framework, a thread or other code of the component runs a function."""
        entries = {entry.method for entry in self.context.role.entries}
        if (
            function.name in entries
            or function.name in TASK_METHODS
            or self.context.program.owner(function) is None
        ):
            return True  # a closure has no owner
        named = Attr(Name(function.receiver), function.name)
        for caller in dict.fromkeys((*self.names, *self.context.functions)):
            for call in calls_by_result(caller).values() if caller is not function else ():
                if last_name(call.func) == function.name or any(arg.value == named for arg in call.args):
                    return True
        return False

    def _is_cleanup(self, function: Function, field: str) -> bool:
        """Whether a function only emits when the bolt ends, which sends nothing."""
        steps = (function.cfg.steps[index].op for index in self.flushes(function, field))
        emits = (isinstance(op, Call) and self.context.verb_kind(function, op) in _EMITS for op in steps)
        return function.name in self.ends and all(emits)

    @property
    def ends(self) -> frozenset[str]:
        """The methods that the framework calls once: at the start and at the end of the bolt."""
        return frozenset(e.method for e in self.context.role.entries if e.kind is EntryKind.LIFECYCLE)

    def waits(self, handler: Function, field: str, stores: Iterable[Use], *, collects: bool) -> bool:
        """Whether a path through the handler stores and does not flush, and another one flushes in the end.

        The flush waits for a tick, a number or a time; a field that collects may also wait until it is complete and can be
        emptied.
        """
        sites = {(use.function, use.function.cfg.steps.index(use.step)) for use in stores}
        flushes = {(f, index) for f in self.arrival for index in self.flushes(f, field)}
        if not any(self._is_awaited(*site) or (collects and self._is_emptied(field)) for site in flushes):
            return False
        steps = handler.cfg.steps
        stored = [i for i, step in enumerate(steps) if self._reaches(handler, i, step.op, sites)]
        done = self._certain(handler, flushes)
        closed = edges_past(handler, done)
        before = reachable(handler, [ENTRY], closed)
        return any(index in before and EXIT in reachable(handler, [index], closed) for index in stored)

    def _is_emptied(self, field: str) -> bool:
        uses = (use for each in self.arrival for use in uses_of(each, self.names[each]))
        return any(self._empties(use) for use in uses if use.field == field)

    def _is_awaited(self, function: Function, index: int) -> bool:
        """Whether a step waits for a tick, for a time, or for a number that the bolt counts up to."""
        counters = self._counters()
        return any(
            _asks_time(condition) or any(part in counters for part in subexpressions(condition))
            for condition in self._conditions(function, index)
        )

    def _counters(self) -> set[Expr]:
        """Return the fields that the arrival of a tuple increments, and that something sets back."""
        found = [use for each in self.arrival for use in uses_of(each, self.names[each]) if use.whole]
        reset = {use.field for use in found if use.how == "=" and isinstance(use.values[0], Literal)}
        return {use.place for use in found if use.how == "+=" and use.field in reset}

    # ---- writes that a client defers ----

    def kept_by_client(self, handler: Function) -> Iterator[Place]:
        """Yield where the data of a tuple goes to a client that sends them later: a pipeline, a statement, a transaction."""
        sends = [
            (function, function.cfg.steps.index(use.step), use)
            for function in self.names
            if function in self.arrival or (function.name not in INITIALISERS and self._runs(function))
            for use in uses_of(function, self.names[function])
            if _makes_client_send(use)
        ]
        fields = {use.field for _, _, use in sends}
        if not sends or not self._is_sent_later(handler, {(f, index) for f, index, _ in sends}):
            return
        commits = any(use.how in _COMMITS for _, _, use in sends)
        for function in self.arrival:
            data = self.data.get(function, frozenset[str]())
            for use in uses_of(function, self.names[function]):
                op = use.step.op
                if not isinstance(op, Call) or use.how == "pass" or _makes_client_send(use):
                    continue
                given = any(mentions_any(value, data) for value in use.values)
                if given and (use.field in fields or commits) and self._writes(function, op):
                    yield Place(function.path, use.step.span.line)

    def _is_sent_later(self, handler: Function, sends: set[tuple[Function, int]]) -> bool:
        here = {site for site in sends if site[0] in self.arrival}
        if not here:
            return True  # at a tick, or on a thread
        skips = can_skip(handler, self._certain(handler, here))
        return skips and any(self._is_awaited(*site) or self._is_sync(*site) for site in here)

    @staticmethod
    def _is_sync(function: Function, index: int) -> bool:
        op = function.cfg.steps[index].op
        return isinstance(op, Call) and last_name(op.func) in _SYNCS

    def _conditions(self, function: Function, index: int, depth: int = 0) -> Iterator[Expr]:
        """Yield the conditions that decide whether a step runs, also those around the calls of its function."""
        yield from _guards(function, index)
        for caller in self.arrival if depth < _DEPTH else ():
            for at, step in enumerate(caller.cfg.steps):
                if isinstance(step.op, Call) and self.method(caller, step.op.func) is function:
                    yield from self._conditions(caller, at, depth + 1)

    def _empties(self, use: Use) -> bool:
        if use.how == "=":
            empty = isinstance(use.values[0], Literal) or _is_new_text(use.function, use.values[0])
            reset = empty and use.function.name not in INITIALISERS
            return reset or is_emptied(self.context, use)
        op = use.step.op
        if isinstance(op, Call) and op.dropped and not op.args and use.how not in _CLEARS:
            return False  # the oldest element of a sliding window goes
        return use.how == "del" or (use.how in _EMPTIES and (use.whole or isinstance(use.place, Name)))

    def _reaches(
        self, function: Function, index: int, op: object, sites: set[tuple[Function, int]], depth: int = 0
    ) -> bool:
        """Whether a step is one of these sites, or a call of a method with one."""
        if (function, index) in sites:
            return True
        helper = self.method(function, op.func) if isinstance(op, Call) and depth < _DEPTH else None
        return helper is not None and any(
            self._reaches(helper, i, step.op, sites, depth + 1) for i, step in enumerate(helper.cfg.steps)
        )

    def _certain(self, function: Function, sites: set[tuple[Function, int]], depth: int = 0) -> set[int]:
        """Return the steps that are one of these sites, or call a method in which every path has one."""
        found = {index for each, index in sites if each is function}
        for index, step in enumerate(function.cfg.steps):
            helper = self.method(function, step.op.func) if isinstance(step.op, Call) else None
            if helper is None or depth >= _DEPTH or index in found:
                continue
            inner = self._certain(helper, sites, depth + 1)
            if inner and not can_skip(helper, inner):
                found.add(index)
        return found

    def is_sent_at_once(self, handler: Function, field: str) -> bool:
        """Whether every input sends the field: a running aggregate."""
        sites = {(function, index) for function in self.arrival for index in self.flushes(function, field)}
        return bool(sites) and not can_skip(handler, self._certain(handler, sites))


def _guards(function: Function, index: int) -> Iterator[Expr]:
    """Yield the conditions that decide whether a step runs."""
    for step in function.cfg.steps:
        if isinstance(step.op, Test):
            sides = {edge.kind: edge.target for edge in step.edges}
            both = [
                index in reachable(function, [sides[kind]])
                for kind in (EdgeKind.TRUE, EdgeKind.FALSE)
                if kind in sides
            ]
            if True in both and False in both:
                yield canonical_form(function, step.op.condition)


def _is_new_text(function: Function, value: Expr | Call) -> bool:
    """Whether a value is a new buffer in memory: `io.StringIO()`."""
    call = value if isinstance(value, Call) else calls_by_result(function).get(value)
    return call is not None and last_name(call.func) in _TEXTS and not call.args


def _asks_time(condition: Expr) -> bool:
    """Whether a condition asks for a tick, for every N-th tuple or for the time."""
    for part in subexpressions(condition):
        word = str(part.value) if isinstance(part, Literal) else last_name(part)
        modulo = isinstance(part, Mix) and part.op == "%"
        if modulo or TICK.search(word) or word in _SYSTEM or word in _CLOCKS:
            return True
    return False


def _makes_client_send(use: Use) -> bool:
    """Whether a use makes a client send what it has: `pipe.execute()`, `conn.commit()`."""
    op = use.step.op
    return isinstance(op, Call) and (use.how in _SYNCS or (not op.args and use.how in _SENDS | _COMMITS))


def _returned_field(methods: Sequence[Function]) -> str:
    """Return the field that a getter returns and nothing else; "" if it is no getter."""
    returned = [
        (method, step.op.value)
        for method in methods
        for step in method.cfg.steps
        if isinstance(step.op, Return)
    ]
    match returned:
        case [(method, Attr(obj=obj, name=name))] if obj == Name(method.receiver):
            return name
        case _:
            return ""


def _is_dropped_call(use: Use) -> bool:
    """Whether a use passes something to a method of the field and ignores the result."""
    op = use.step.op
    return use.whole and isinstance(op, Call) and op.dropped and bool(op.args) and use.how not in LOGGING


def _reached(context: RuleContext, cls: ClassInfo, name: str) -> list[Function]:
    """Return the methods of a name of a class, and the methods of the same object that they call."""
    lineage = tuple(context.program.lineage(cls).order)
    found = [each for each in methods_named(lineage, name) if each.receiver]
    for function in found:  # the list grows during the loop
        for call in calls_by_result(function).values():
            if isinstance(call.func, Attr) and call.func.obj == Name(function.receiver):
                called = methods_named(lineage, call.func.name)
                found += [each for each in called if each.receiver and each not in found]
    return found


# ---- the bolt, and the objects that it keeps ----


def _bolt(context: RuleContext, flow: Flow) -> tuple[_Object, Function]:
    """Return the bolt as an object, and its handler."""
    arrival = tuple(context.functions_of(flow))
    bolt = _Object(
        context=context,
        names={f: own for f, own in context.own_names.items() if f in context.functions},
        lineage=context.component.lineage,
        arrival=tuple(function for function in arrival if function in context.own_names),
        data={function: tuple_names(flow, function) for function in arrival},
    )
    return bolt, flow.function


def _collaborators(context: RuleContext, flow: Flow) -> Iterator[tuple[_Object, Function]]:
    """Yield the objects that get the tuple's data from the handler, each with the function that gets them."""
    for function in context.functions_of(flow):
        data = tuple_names(flow, function)
        for call in calls_by_result(function).values():
            given = any(mentions_any(arg.value, data) for arg in call.args)
            if not given or not isinstance(call.func, Attr) or context.field(function, call.func.obj) is None:
                continue
            cls = context.project_class(function, call.func.obj)
            arrival = _reached(context, cls, call.func.name) if cls is not None else []
            if cls is not None and arrival and cls not in context.component.lineage:
                yield _collaborator(context, cls, arrival), arrival[0]


def _collaborator(context: RuleContext, cls: ClassInfo, arrival: Sequence[Function]) -> _Object:
    lineage = tuple(context.program.lineage(cls).order)
    functions = (f for each in lineage for method in each.all_methods() for f in method.tree() if f.receiver)
    return _Object(
        context=context,
        names={function: Name(function.receiver) for function in functions},
        lineage=lineage,
        arrival=tuple(arrival),
        data={f: derived_names(f, frozenset(data_params(f))) for f in arrival},
    )


def _early_stores(obj: _Object, handler: Function) -> Iterator[Place]:
    stores = _by_field(obj.stores())
    for field, found in stores.items():
        waits = obj.is_flushed_later(field) or obj.waits(handler, field, found, collects=True)
        if waits and not obj.is_sent_at_once(handler, field):
            yield _first(found)
    for field, found in _by_field(obj.overwrites()).items():  # the last tuple before a tick wins
        waits = obj.is_flushed_later(field, obj.ends) or obj.waits(handler, field, found, collects=False)
        if field not in stores and waits and not obj.is_sent_at_once(handler, field):
            yield _first(found)
    yield from obj.kept_by_client(handler)


def _by_field(uses: Iterable[Use]) -> Mapping[str, list[Use]]:
    found: dict[str, list[Use]] = {}
    for use in uses:
        found.setdefault(use.field, []).append(use)
    return found


def _first(uses: Iterable[Use]) -> Place:
    return min(Place(use.function.path, use.step.span.line) for use in uses)

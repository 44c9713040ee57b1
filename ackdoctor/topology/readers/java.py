"""The topologies that Java code wires: it is executed, and what was submitted is read from the builders' calls.

A graph with other components or settings on another branch of the code is a topology of its own.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, TypeAlias

from ackdoctor.flow.symbols import SymbolTable
from ackdoctor.model.cfg import JAVA
from ackdoctor.model.topology import Defect, Gap, Place, Setting, Topology
from ackdoctor.topology.frameworks import framework_of_imports
from ackdoctor.topology.interpreter import Decision, Entry, Paths, Run, explore
from ackdoctor.topology.objects import FOREVER, Data, Invocation, Library, Obj, root
from ackdoctor.topology.readers import linear_drpc, storm_java, storm_streams, trident
from ackdoctor.topology.readers.java_config import CONFIGS, is_config, settings_of
from ackdoctor.topology.readers.java_entries import EntryPoints, has_main, is_main, mentions
from ackdoctor.topology.readers.undecided import unsubmitted_settings, without_fragments
from ackdoctor.topology.readers.unfollowed import unfollowed
from ackdoctor.topology.readers.wiring import Wired

_CONFIGURABLE = frozenset(
    f"{package}.ConfigurableTopology"
    for package in (
        "org.apache.storm.topology",
        "com.digitalpebble.stormcrawler",
        "com.digitalpebble.storm.crawler",
        "org.apache.stormcrawler",
    )
)
_WIRING = storm_java.WIRING | trident.WIRING | storm_streams.WIRING
_ALL_WIRING = _WIRING | linear_drpc.WIRING


class _BuilderKind(NamedTuple):
    """What a class of builders makes: the kind of topology, and the methods that wire it."""

    topology: str
    wiring: frozenset[str]
    graph_of: Callable[[Obj, int, Sequence[Invocation]], Wired]


_BUILDERS = {
    name: _BuilderKind(topology, wiring, reader.graph_of)
    for reader, wiring in (
        (storm_java, _WIRING),
        (trident, _WIRING),
        (storm_streams, _WIRING),
        (linear_drpc, linear_drpc.WIRING),
    )
    for name, topology in reader.BUILDERS.items()
}
_CLASSES = {*_BUILDERS, *_CONFIGURABLE}
_ROOTS = ("org.apache.storm", "backtype.storm", "com.twitter.heron.api", "org.apache.heron.api")
_SUBMITTERS = frozenset(
    f"{package}.{name}"
    for package in _ROOTS
    for name in ("StormSubmitter", "LocalCluster", "HeronSubmitter", "generated.StormTopology")
)
_NAMES = _CLASSES | _SUBMITTERS
_PACKAGES = frozenset(name.rpartition(".")[0] for name in _NAMES)
_INSIDE = (
    "topology topology.base tuple utils generated task grouping lambda windowing state streams streams.windowing drpc trident "
    "trident.fluent trident.operation trident.operation.builtin trident.state kafka.spout.KafkaSpoutConfig "
    "kafka.spout.KafkaSpoutConfig.Builder kafka.spout.KafkaSpoutRetryExponentialBackoff"
).split()
_OUTSIDE = frozenset(  # packages and classes of the frameworks, whose source may be in the run
    (*_ROOTS, *(f"{root}.{name}" for root in _ROOTS for name in _INSIDE))
) | {"storm.trident", "storm.trident.fluent", "storm.trident.operation.builtin"}
_LIBRARY = Library(_OUTSIDE, CONFIGS, {"ConfigurableTopology.start": "run"})
_SUBMITS = ("submit", "run", "launch", "deploy", "start", "execute", "simulate")
_JSTORM = ("com.alibaba.jstorm", "com.alipay.dw.jstorm")
_HARMLESS = frozenset({"topology.debug", "topology.workers", "topology.max.task.parallelism"})
_ADDRESS = re.compile(
    r"server|host|topic|url|uri|zk|broker|serializer|user|password|port$|path|table|index|client|group|scheme|id$",
    re.IGNORECASE,
)
_MAX_BRANCHES = 8  # of one topology; of more, one is reported
_MAX_ENTRIES = 40  # of one cluster of files
_MAX_STEPS = 80_000  # of the interpreter for one cluster, before it begins with another entry point
_LIMIT = "the code in its reach has more branches or entry points than are followed"


class _Submission(NamedTuple):
    """How a topology is submitted: the name and the configuration, and where; without a call, it is not."""

    order: int = FOREVER
    name: Data = None
    conf: Data = None
    call: Invocation | None = None


class _Unused(NamedTuple):
    """A configuration object that a path fills and does not submit: the defect, and the settings without effect."""

    defect: Defect
    settings: tuple[Setting, ...] = ()


class _Wiring(NamedTuple):
    """A topology on one path, and whether the path submits it."""

    topology: Topology
    submitted: bool
    unused: tuple[_Unused, ...] = ()
    cut: bool = False  # the path is longer than the interpreter follows

    def complete(self, used: AbstractSet[Place | None]) -> Topology:
        """The topology with the defects of the configuration objects that no path submits."""
        lost = [each for each in self.unused if not each.settings or each.defect.place not in used]
        return replace(
            self.topology,
            settings=(*self.topology.settings, *(setting for each in lost for setting in each.settings)),
            defects=(*self.topology.defects, *(each.defect for each in lost)),
        )


_Outcome: TypeAlias = "tuple[_Wiring, ...] | None"  # what one path wires; None without a topology


class _Branch(NamedTuple):
    """A topology with the decisions of the first path that leads to it."""

    topology: Topology
    decisions: tuple[Decision, ...]


def from_program(program: SymbolTable, own: set[str]) -> tuple[Topology, ...]:
    """Return the topologies that the Java files of `own` wire."""
    units = [unit for path, unit in program.units.items() if path.endswith(".java")]
    wires = any(mentions(unit, _CLASSES, _PACKAGES) for unit in units)
    starting = any(
        unit.path in own and (has_main(unit) or mentions(unit, _NAMES, _PACKAGES)) for unit in units
    )
    if not wires or not starting:
        return ()
    points = EntryPoints(program)
    linear = any(mentions(unit, linear_drpc.BUILDERS, _PACKAGES) for unit in units)
    starts = points.wiring(_ALL_WIRING if linear else _WIRING)
    wiring = [each for each in starts if each.function.path in own]
    entries = {(id(each.function), id(each.this)): each for each in points.above(starts)}
    search = _Search(program)
    for entry in entries.values():
        if entry.function.path in own:
            search.explore(entry)
    for entry in wiring:
        if id(entry.function) not in search.executed:
            search.explore(entry)
    return without_fragments((*search.topologies(), *search.unread(wiring)))


@dataclass(slots=True)
class _Search:
    """The topologies of one cluster of files: each entry point is executed, up to a limit."""

    program: SymbolTable
    found: dict[tuple[Place, str], list[Topology]] = field(default_factory=dict)
    executed: set[int] = field(default_factory=set)
    productive: set[int] = field(default_factory=set)  # functions on the way to a topology
    barren: set[int] = field(default_factory=set)  # functions on a way that ends at a limit
    skipped: list[Entry] = field(default_factory=list)
    entries: int = 0
    steps: int = 0

    def explore(self, entry: Entry) -> None:
        """Execute an entry point, and add the topologies that are not yet known."""
        if self.entries >= _MAX_ENTRIES or self.steps >= _MAX_STEPS:
            self.skipped.append(entry)
            return
        paths = explore(self.program, entry, JAVA, partial(_outcome, self.program), _LIBRARY)
        self.entries, self.steps = self.entries + 1, self.steps + paths.steps
        self.executed |= paths.executed
        head = entry.function.head.line if is_main(entry.function) else None
        main = Place(entry.function.path, head) if head is not None else None
        topologies = [_of_main(each, main) for each in _merged(paths)]
        if topologies:
            self.productive |= paths.executed
        elif paths.truncated or paths.limited:
            self.barren |= paths.executed
        for topology in topologies:
            same = self.found.setdefault((topology.place, topology.kind), [])
            named = [
                each for each in same if each.name == topology.name
            ]  # another program may give the same graph
            if all(_identity(each) != _identity(topology) for each in named):
                same.append(topology)

    def topologies(self) -> Iterator[Topology]:
        """The topologies that were read."""
        return (topology for several in self.found.values() for topology in several)

    def unread(self, wiring: Sequence[Entry]) -> Iterator[Topology]:
        """An empty topology, with the reason, for each file with code that was not executed to its end."""
        barren = (each for each in wiring if id(each.function) in self.barren - self.productive)
        for function in {each.function.path: each.function for each in (*barren, *self.skipped)}.values():
            if self.program.units[function.path].module in _OUTSIDE:
                continue  # the source of a framework
            place = Place(function.path, function.head.line)
            why = f"the entry point `{function.qualname}` is not judged: {_LIMIT}"
            yield Topology(
                name=_stem(function.path),
                kind="java-builder",
                framework="",
                place=place,
                nodes=(),
                edges=(),
                gaps=(Gap(why, place),),
            )


# ---- one path ----


def _outcome(program: SymbolTable, run: Run) -> _Outcome:
    """The topologies of one path; None without one."""
    wirings: list[_Wiring] = []
    for builder, kind in _builders(program, run):
        for submission in _submissions(run, builder) or [_Submission()]:
            topology = _topology(program, run, builder, kind, submission)
            if topology is not None:
                gaps = unfollowed(run, builder, kind.wiring, submission.order)
                submitted = submission.call is not None
                if run.ended == "limit" and not submitted:
                    gaps = (*gaps, Gap("the code that wires this is longer than is followed", topology.place))
                topology = replace(topology, gaps=(*topology.gaps, *gaps))
                unused = tuple(_unused(program, run, submission))
                wirings.append(_Wiring(topology, submitted, unused, cut=run.ended == "limit"))
    return tuple(wirings) or None


def _builders(program: SymbolTable, run: Run) -> Iterable[tuple[Obj, _BuilderKind]]:
    """The builders of a path that something wires, in the order of their first wiring call."""
    found: dict[int, tuple[Obj, _BuilderKind]] = {}
    for call in run.calls:
        if call.receiver is not None and call.name in _ALL_WIRING and id(call.receiver) not in found:
            kind = _kind_of(program, call.receiver)
            if kind is not None and call.name in kind.wiring:
                found[id(call.receiver)] = (call.receiver, kind)
    return found.values()


def _kind_of(program: SymbolTable, obj: Obj) -> _BuilderKind | None:
    """What an object builds; None if it is no builder."""
    return next((_BUILDERS[name] for name in _classes_of(program, obj) if name in _BUILDERS), None)


def _classes_of(program: SymbolTable, obj: Obj) -> tuple[str, ...]:
    """The names of an object's class and of its bases outside the project."""
    return obj.names if obj.cls is None else (*obj.names, *program.lineage(obj.cls).foreign)


def _submissions(run: Run, builder: Obj) -> list[_Submission]:
    """The calls that submit what a builder builds."""
    found: list[_Submission] = []
    for call in run.calls:
        if call.inlined or call.kind != "call" or not call.name.startswith(_SUBMITS):
            continue
        at = next(
            (i for i, arg in enumerate(call.args) if isinstance(arg, Obj) and root(arg) is builder), None
        )
        if at is None or (call.receiver is not None and root(call.receiver) is builder):
            continue
        before = call.args[at - 1] if at else None
        configs = [arg for arg in call.args if is_config(arg)]
        conf = configs[0] if configs else before
        if isinstance(conf, str):
            conf = None
        names = [arg for arg in call.args[:1] if arg is not conf]
        found.append(_Submission(call.order, names[0] if names else None, conf, call))
    return found


def _topology(
    program: SymbolTable, run: Run, builder: Obj, made: _BuilderKind, submission: _Submission
) -> Topology | None:
    """The topology that a builder has wired when it is submitted."""
    wired = made.graph_of(builder, submission.order, run.calls)
    if not wired.nodes:
        return None
    first = next(call.place for call in builder.calls if call.name in made.wiring)
    place = builder.place if builder.place.path == first.path and not builder.given else first
    kind = made.topology
    call, conf = submission.call, submission.conf
    if call is None:
        settings = unsubmitted_settings(place)
    else:
        settings = settings_of(conf, run.calls, call.order, call.place)
    configurable = _is_configurable(program, submission)
    imports = [name for names in program.units[place.path].imports.values() for name in names]
    jstorm = any(name.startswith(_JSTORM) for name in imports)
    return Topology(
        name=submission.name if isinstance(submission.name, str) else "",
        kind="java-configurable"
        if configurable and kind == "java-builder"
        else "jstorm"
        if jstorm and kind == "java-builder"
        else kind,
        framework=framework_of_imports(imports),
        place=place,
        nodes=wired.nodes,
        edges=wired.edges,
        settings=(*settings, *wired.settings),
        gaps=wired.gaps,
        defects=wired.defects,
        config=conf.place if isinstance(conf, Obj) and conf.place.path else None,
    )


def _is_configurable(program: SymbolTable, submission: _Submission) -> bool:
    """Whether a `ConfigurableTopology` submits itself."""
    receiver = None if submission.call is None else submission.call.receiver
    return receiver is not None and not _CONFIGURABLE.isdisjoint(_classes_of(program, receiver))


def _unused(program: SymbolTable, run: Run, submission: _Submission) -> Iterator[_Unused]:
    """The configuration objects that this path fills and does not submit."""
    call, conf = submission.call, submission.conf
    if call is None:
        return
    if _is_configurable(program, submission) and isinstance(conf, Obj) and conf.is_one_of(CONFIGS):
        own = call.receiver.fields.get("conf") if call.receiver is not None else None
        merged = own is not None and any(own in each.args for each in conf.calls)
        if conf is not own and not merged:
            why = "a new configuration is submitted, not the field `conf`: the settings of `-conf` files are lost"
            yield _Unused(Defect(kind="config-object-shadowed", sure="certain", place=conf.place, why=why))
    used = {id(arg) for each in run.calls for arg in (*each.args, *each.keywords.values())} | {id(run.result)}
    for each in run.calls:
        obj = each.result
        if (
            not isinstance(obj, Obj)
            or id(obj) in used
            or not obj.is_one_of(CONFIGS)
            or each.receiver is not None
        ):
            continue
        settings = settings_of(obj, run.calls, call.order, obj.place)
        if settings:
            what = "another configuration object" if isinstance(conf, Obj) else "no configuration object"
            why = f"the settings of this configuration are lost: {what} is submitted"
            lost = (replace(setting, effective=False, why=why) for setting in settings)
            defect = Defect(kind="config-object-not-passed", sure="certain", place=obj.place, why=why)
            yield _Unused(defect, tuple(lost))


# ---- all paths ----


def _merged(paths: Paths[_Outcome]) -> Iterator[Topology]:
    """The topologies of all paths of an entry point; those that differ are branches of one."""
    groups: dict[tuple[Place, str], list[tuple[_Wiring, tuple[Decision, ...]]]] = {}
    outcomes = [(path.outcome, path.decisions) for path in paths.paths if path.outcome is not None]
    for outcome, decisions in outcomes:
        for wiring in outcome:
            key = (wiring.topology.place, wiring.topology.kind)
            groups.setdefault(key, []).append((wiring, decisions))
    used = {wiring.topology.config for group in groups.values() for wiring, _ in group}
    for (place, _), group in groups.items():
        submitted = [each for each in group if each[0].submitted or each[0].cut] or group
        names = [wiring.topology.name for wiring, _ in submitted if wiring.topology.name]
        name = names[0] if names else _stem(place.path)
        branches: list[_Branch] = []
        for wiring, decisions in submitted:
            topology = replace(wiring.complete(used), name=name)
            identity = _identity(topology)
            if paths.truncated:
                gap = Gap("this code has more branches than are followed", place)
                topology = replace(topology, gaps=(*topology.gaps, gap))
            if all(_identity(branch.topology) != identity for branch in branches):
                branches.append(_Branch(topology, decisions))
        if len(branches) > _MAX_BRANCHES:
            largest = max(branches, key=lambda branch: len(branch.topology.nodes)).topology
            why = f"{len(branches)} branches of this code wire other graphs or settings; this is one of them"
            yield replace(largest, gaps=(*largest.gaps, Gap(why, place)))
        else:
            yield from _with_conditions(branches, paths)


def _identity(topology: Topology) -> Topology:
    """A topology without what no guarantee depends on: names, addresses, settings of the cluster."""
    nodes = tuple(
        replace(
            node, arguments={key: each for key, each in node.arguments.items() if not _ADDRESS.search(key)}
        )
        for node in topology.nodes
    )
    settings = tuple(each for each in topology.settings if _is_relevant(each))
    return replace(
        topology, name="", branch="", nodes=nodes, settings=settings, config=None, gaps=(), main=None
    )


def _of_main(topology: Topology, main: Place | None) -> Topology:
    """The topology of a program: without a name of its own it has that of the program's file."""
    unnamed = main is not None and topology.name == _stem(topology.place.path)
    return replace(topology, main=main, name=_stem(main.path) if main and unnamed else topology.name)


def _is_relevant(setting: Setting) -> bool:
    return setting.key.startswith("topology.") and setting.key not in ("topology.name", "topology.debug")


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _with_conditions(branches: Sequence[_Branch], paths: Paths[_Outcome]) -> Iterator[Topology]:
    """The branches of one topology with their conditions; a setting of some of them only is a defect."""
    if len(branches) == 1:
        yield branches[0].topology
        return
    choices = [{decision.key: decision.choice for decision in branch.decisions} for branch in branches]
    for index, (topology, decisions) in enumerate(branches):
        others = [each for place, each in enumerate(choices) if place != index]
        texts = [
            f"{decision.text} ({decision.place})"
            for decision in decisions
            if decision.key in paths.relevant
            and any(other.get(decision.key) is not decision.choice for other in others)
        ]
        defects = _in_one_branch(topology, [each.topology for each in branches])
        yield replace(topology, branch=" and ".join(texts), defects=(*topology.defects, *defects))


def _in_one_branch(topology: Topology, branches: Sequence[Topology]) -> Iterator[Defect]:
    """The settings of a branch that another branch does not set."""
    for setting in topology.settings:
        elsewhere = [{each.key for each in other.settings if each.effective} for other in branches]
        if (
            setting.component
            or not setting.effective
            or not _is_relevant(setting)
            or setting.key in _HARMLESS
        ):
            continue
        if all(setting.key in keys for keys in elsewhere):
            continue
        why = f"`{setting.key}` is set on this branch only"
        yield Defect(kind="setting-in-one-branch", sure="information", place=setting.place, why=why)

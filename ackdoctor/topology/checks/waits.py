"""ACK504: a bolt holds tuples by design for longer than the message timeout.

A window holds a tuple until it expires: length plus sliding interval; a tumbling window slides by its length, so it
counts twice.  A bolt that flushes at ticks holds a tuple for up to one tick.  The waits of a path add up.  A batch that is
larger than the number of open tuples does not fill.  A Kafka producer keeps a record for `linger.ms`, and its bolt the
tuple.  The server of DRPC gives a request up by a timeout of its own.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ackdoctor.model.topology import Defect, Node, Place, Setting
from ackdoctor.rulebook import BATCH_WITHOUT_TICKS, FLUSH_SLOWER_THAN_TIMEOUT
from ackdoctor.topology.checks.wiring import Wiring
from ackdoctor.topology.settings import MAX_PENDING, REQUEST_TIMEOUT, TICKS, TIMEOUT, is_of_cluster
from ackdoctor.topology.tracking import is_heron, lacks_ticks, number, timeouts_off

_WINDOW = "topology.bolts.window"
_LENGTH, _SLIDE = f"{_WINDOW}.length.duration.ms", f"{_WINDOW}.sliding.interval.duration.ms"
_LENGTH_COUNT, _SLIDE_COUNT = f"{_WINDOW}.length.count", f"{_WINDOW}.sliding.interval.count"
_CHECKPOINTS = "topology.state.checkpoint.interval.ms"
_MILLISECONDS = 1000
_SUBPROCESS = "topology.subprocess.timeout.secs"
_WORKER = "supervisor.worker.timeout.secs"  # the heartbeat of a process falls back to it
_USUAL = 30
_REQUESTS = ".DRPCSpout"
_USUAL_REQUEST = 600  # defaults.yaml


class _Wait(NamedTuple):
    """How long a component holds a tuple, in seconds, and the line that says so."""

    component: str
    seconds: float
    place: Place
    is_limit: bool = False  # a full batch ends the wait sooner


class _Path(NamedTuple):
    """The waits of a path: the longest, their sum, and the part of it that no full batch ends sooner."""

    slowest: _Wait
    total: float
    firm: float


def ack504_flush_slower_than_timeout(wiring: Wiring) -> Iterator[Defect]:
    """Yield windows, ticks and checkpoints that outlast the timeout, alone or along a path."""
    yield from _subprocesses(wiring)
    timeout = number(wiring.graph.setting(TIMEOUT))
    if timeout is None or timeouts_off(wiring.graph) is not None:
        return
    yield from _count_windows(wiring)
    refused = set()
    for node in wiring.graph.nodes.values():
        window = _window(wiring, node)
        if window is not None and window.seconds > timeout and not is_heron(wiring.judged.topology):
            refused.add(node.id)
            yield _defect(wiring, "window-exceeds-timeout", "certain", window, timeout)
    if wiring.is_trident:
        return
    yield from _checkpoints(wiring, timeout)
    yield from _batches(wiring)
    waits = {
        node.id: wait for node in wiring.graph.nodes.values() if (wait := _wait(wiring, node)) is not None
    }
    for path in _slowest(wiring, waits, wiring.graph.spouts):
        sure = _certainty(wiring, path, timeout)
        if sure and path.slowest.component not in refused:
            yield _defect(wiring, "path-exceeds-timeout", sure, path.slowest, timeout, path.total)
    yield from _requests(wiring, waits, timeout)


def _requests(wiring: Wiring, waits: Mapping[str, _Wait], timeout: float) -> Iterator[Defect]:
    """Yield what holds a request of DRPC until its server has given it up, sooner than the message timeout fails it.

    The server reads its timeout from the cluster's file (DRPC.java:89-93@v2.8.8).
    """
    given = [each for each in wiring.judged.topology.settings if each.key == REQUEST_TIMEOUT]
    of_cluster = [each for each in given if is_of_cluster(each) and number(each) is not None]
    limit, source = float(_USUAL_REQUEST), "Storm's default"
    for each in of_cluster[:1]:
        limit, source = number(each) or limit, f"{each.place}, if this is the cluster's file"
    spouts = [spout for spout in wiring.graph.spouts if spout.cls.endswith(_REQUESTS)]
    for path in _slowest(wiring, waits, spouts) if limit < timeout else ():
        if path.total >= limit:
            yield _defect(
                wiring, "request-exceeds-timeout", "likely", path.slowest, limit, path.total, source=source
            )


def _defect(
    wiring: Wiring, kind: str, sure: str, wait: _Wait, timeout: float, total: float = 0, **more: str
) -> Defect:
    values = {"name": wait.component, "time": f"{wait.seconds:g} s", "timeout": f"{timeout:g} s"}
    place, code = wait.place, FLUSH_SLOWER_THAN_TIMEOUT
    return wiring.defect(code, kind, sure, place, wait.component, total=f"{total:g} s", **values, **more)


def _certainty(wiring: Wiring, path: _Path, timeout: float) -> str:
    """A root times out between once and twice the timeout after its emit."""
    if path.total < timeout / 2:
        return ""
    if path.total < timeout or wiring.is_untracked:
        return "information"
    return "certain" if path.firm >= 2 * timeout and wiring.ids and wiring.tracking.on else "likely"


def _wait(wiring: Wiring, node: Node) -> _Wait | None:
    """Return how long a bolt holds its input; None if it does not, or if that is unknown."""
    window = _window(wiring, node)
    if window is not None:
        return window
    facts = wiring.facts(node)
    ticks = wiring.setting(TICKS, node.id)
    holds = facts.holds or facts.flushes_at_ticks if facts is not None else node.role == "bolt"
    seconds = number(ticks) if ticks is not None else None
    own = ticks is not None and (ticks.component == node.id or facts is not None)
    if ticks is not None and seconds is not None and seconds > 0 and holds and own:
        return _Wait(node.id, seconds, ticks.place)
    return (
        _Wait(node.id, *facts.linger, is_limit=True)
        if facts is not None and facts.linger is not None
        else None
    )


def _window(wiring: Wiring, node: Node) -> _Wait | None:
    length = wiring.setting(_LENGTH, node.id)
    seconds = number(length) if length is not None else None
    if length is None or seconds is None:
        return None
    slide = wiring.setting(_SLIDE, node.id)
    more = (number(slide) or 0) if slide is not None else 0
    return _Wait(node.id, (seconds + more) / _MILLISECONDS, length.place)


def _count_windows(wiring: Wiring) -> Iterator[Defect]:
    """Yield count windows that need more open tuples than a spout may have: Storm refuses them."""
    pending = wiring.setting(MAX_PENDING)
    bound = number(pending) if pending is not None else None
    if bound is None or is_heron(wiring.judged.topology):
        return
    for node in wiring.graph.nodes.values():
        length = wiring.setting(_LENGTH_COUNT, node.id)
        count = number(length) if length is not None else None
        if length is None or count is None:
            continue
        slide = wiring.setting(_SLIDE_COUNT, node.id)
        total = count + ((number(slide) or 0) if slide is not None else 0)
        if total > bound:
            values = {"name": node.id, "count": f"{total:g}", "bound": f"{bound:g}"}
            kind = "window-exceeds-max-pending"
            yield wiring.defect(FLUSH_SLOWER_THAN_TIMEOUT, kind, "certain", length.place, node.id, **values)


def _checkpoints(wiring: Wiring, timeout: float) -> Iterator[Defect]:
    """Yield a checkpoint interval that is longer than the timeout: a stateful bolt acks at the next checkpoint."""
    setting = wiring.setting(_CHECKPOINTS)
    interval = number(setting) if setting is not None else None
    stateful = [node.id for node in wiring.graph.nodes.values() if (f := wiring.facts(node)) and f.stateful]
    if setting is None or interval is None or not stateful or wiring.is_untracked:
        return
    seconds = interval / _MILLISECONDS
    if seconds >= timeout:
        sure = "certain" if wiring.ids else "likely"
        yield _defect(
            wiring, "checkpoint-exceeds-timeout", sure, _Wait(stateful[0], seconds, setting.place), timeout
        )


def _subprocesses(wiring: Wiring) -> Iterator[Defect]:
    """Yield bolts in another process that sleep longer than Storm waits for their heartbeat."""
    setting = wiring.setting(_SUBPROCESS) or wiring.setting(_WORKER)
    timeout = _USUAL if setting is None else number(setting)
    if timeout is None or is_heron(wiring.judged.topology):  # Heron runs Python in its own instances
        return
    for node in wiring.graph.nodes.values():
        facts = wiring.facts(node)
        slept = facts.sleep if facts is not None and node.role == "bolt" else None
        if slept is not None and slept[0] >= timeout and slept[1].path.endswith(".py"):
            values = {"name": node.id, "time": f"{slept[0]:g} s", "timeout": f"{timeout:g} s"}
            kind = "subprocess-timeout"
            yield wiring.defect(FLUSH_SLOWER_THAN_TIMEOUT, kind, "likely", slept[1], node.id, **values)


def _batches(wiring: Wiring) -> Iterator[Defect]:
    """Yield bolts that wait for more tuples than the spouts may have open."""
    for node in wiring.graph.nodes.values():
        facts = wiring.facts(node)
        size = facts.batch_size if facts is not None and not facts.flushes_at_ticks else None
        found = _open_tuples(wiring, node) if size is not None and wiring.tracking.on else None
        if size is not None and found is not None and found[0] < size:
            values = {"name": node.id, "count": f"{size:g}", "bound": f"{found[0]:g}"}
            kind = "batch-larger-than-max-pending"
            yield wiring.defect(FLUSH_SLOWER_THAN_TIMEOUT, kind, "certain", found[1].place, node.id, **values)


def _open_tuples(wiring: Wiring, node: Node) -> tuple[float, Setting] | None:
    """Return how many tuples of its spouts a bolt may hold at most, and the setting that says so; None if that is unknown.

    A bolt between them may emit several tuples for each one, so only a bolt behind spouts has a bound.
    """
    total, bound = 0.0, None
    for name in {edge.source for edge in wiring.graph.topology.edges if edge.target == node.id}:
        spout = wiring.graph.nodes.get(name)
        if spout is None or spout.role != "spout" or not _has_only_ids(wiring, spout):
            return None
        bound = wiring.setting(MAX_PENDING, name)
        pending = number(bound) if bound is not None else None
        tasks = spout.tasks or spout.parallelism
        if pending is None or pending <= 0 or tasks is None or spout.repeated:
            return None
        total += pending * tasks
    return (total, bound) if bound is not None else None


def _has_only_ids(wiring: Wiring, spout: Node) -> bool:
    """Whether each emit of a spout certainly has an id, so that max spout pending counts it."""
    facts = wiring.facts(spout)
    return facts is not None and {emit.has_id for emit in facts.emits} == {True}


def _slowest(wiring: Wiring, waits: Mapping[str, _Wait], spouts: Iterable[Node]) -> Iterator[_Path]:
    """Yield the path with the longest sum for each component that is the slowest of a path."""
    best: dict[str, _Path] = {}
    for spout in spouts:
        for path in wiring.graph.longest_paths(
            spout.id, {name: wait.seconds for name, wait in waits.items()}
        ):
            held = [waits[name] for name in path if name in waits]
            if held:
                slowest = max(held, key=lambda wait: wait.seconds)
                firm = sum(wait.seconds for wait in held if not wait.is_limit)
                found = _Path(slowest, sum(wait.seconds for wait in held), firm)
                if slowest.component not in best or found.total > best[slowest.component].total:
                    best[slowest.component] = found
    yield from best.values()


# ---- ACK507 batch-without-ticks ----


def ack507_batch_without_ticks(wiring: Wiring) -> Iterator[Defect]:
    """Yield each component that waits for ticks and gets none."""
    for node in wiring.graph.nodes.values():
        if lacks_ticks(wiring.graph, node.id):
            kind = "batch-without-ticks"
            yield wiring.defect(BATCH_WITHOUT_TICKS, kind, "certain", node.place, node.id, name=node.id)

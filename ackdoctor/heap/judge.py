"""From a heap dump to findings: the codes of lint and trace, with a heap as the witness."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from ackdoctor.acker.residue import blame, residue, suspicions
from ackdoctor.heap.dump import HeapDump
from ackdoctor.heap.jvm.entries import Acker, Kind, entry_bytes
from ackdoctor.heap.jvm.holders import Holder
from ackdoctor.heap.signs import CAUSES, LABELS
from ackdoctor.model.event import Event, EventKind
from ackdoctor.model.finding import Confidence, Finding, HeapWitness, Severity, TreeWitness, Unreadable, stamp
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.verdict import PendingEntry, Residue, TupleTree, Verdict
from ackdoctor.tracer.disk.reading import read
from ackdoctor.tracer.disk.workerlog import WorkerLogs, is_log
from ackdoctor.tracer.judge.entries import ACKER, tree_findings
from ackdoctor.tracer.judge.keeping import Keeper, stays
from ackdoctor.tracer.judge.labels import name_of
from ackdoctor.tracer.judge.place import Places

__all__ = ["Testimony", "findings", "heap_finding", "joined", "testimony", "trees"]


def heap_finding(
    code: str,
    message: str,
    witness: HeapWitness,
    *,
    help: str,  # noqa: A002  # the word a reader of the finding knows
    component: str = ACKER,
    site: Site | None = None,
    severity: Severity = Severity.WARNING,
) -> Finding:
    """MAY, since a heap shows what is there and not how it came; without a `site` it stands on the component."""
    return Finding(
        code=code,
        name=name_of(code),
        severity=severity,
        confidence=Confidence.MAY,
        site=site or Site(f"<{component}>", NOWHERE),
        message=message,
        component=component,
        handler="",
        dialect="",
        evidence=witness,
        cause=f"{witness.path}|{message}",
        help=help,
    )


_ANSWERS = {
    EventKind.COMPLETED: Verdict.COMPLETE,
    EventKind.GAVE_UP: Verdict.FAILED,
    EventKind.TIMED_OUT: Verdict.EXPIRED,
}
_FOREIGN = "no part of a trace"
_LOGS = ("*.log", "*.log.*")


@dataclass(slots=True, kw_only=True)
class Testimony:
    """`trees` are the roots that were told of, with their culprits; `logs` whether a worker's log was among the files."""

    trees: tuple[TupleTree, ...]
    logs: bool
    unreadable: tuple[Unreadable, ...]

    @property
    def named(self) -> int:
        """Of how many the culprits are known."""
        return sum(bool(tree.culprits) for tree in self.trees)

    @property
    def expected(self) -> int:
        """How many others are orphans that correct programs leave, too: acks after a fail or a timeout (L4)."""
        return sum(
            not tree.culprits and tree.verdict in {Verdict.FAILED, Verdict.EXPIRED} and _orphan(tree)
            for tree in self.trees
        )


def _orphan(tree: TupleTree) -> bool:
    return tree.entry is not None and tree.entry.task is None


def testimony(paths: Iterable[Path], wanted: Mapping[int, TupleTree]) -> Testimony:
    """What those files tell of the wanted trees; a folder is one of logs, if it has any, else one of traces."""
    traces, logs = _sorted(paths)
    reading, told = read(traces), WorkerLogs(logs, wanted.keys())
    heard = _Heard(wanted)
    seen = suspicions(heard.noted(reading.events, told.events), wanted)
    trees = (heard.tree(wanted[root]) for root in wanted if seen[root] or root in heard)
    return Testimony(
        trees=tuple(blame(tree, seen[tree.root]) for tree in trees),
        logs=bool(logs),
        unreadable=(*map(_neither, reading.unreadable), *told.unreadable),
    )


def _neither(fault: Unreadable) -> Unreadable:
    """The reader of traces does not know that a log would do."""
    return replace(fault, reason=fault.reason + ", nor a worker's log") if fault.reason == _FOREIGN else fault


def _sorted(paths: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Traces, and worker logs."""
    traces: list[Path] = []
    logs: list[Path] = []
    for path in paths:
        within = sorted({each for form in _LOGS for each in path.rglob(form)}) if path.is_dir() else [path]
        found = [each for each in within if each.is_file() and is_log(each)]
        logs += found
        if not found:
            traces.append(path)
    return traces, logs


class _Heard:
    """What became of each root, as far as it is told: by an answer to its spout, else by the messages themselves."""

    def __init__(self, wanted: Mapping[int, TupleTree]) -> None:
        self._wanted = wanted
        self._answers: dict[int, Verdict] = {}
        self._sums: dict[int, int] = {}  # the values so far
        self._asked: set[int] = set()  # an init came
        self._ends: dict[int, Verdict] = {}  # the sum came to zero, or a fail was there

    def __contains__(self, root: int) -> bool:
        return root in self._asked or root in self._answers

    def noted(self, *readings: Callable[[], Iterator[Event]]) -> Iterator[Event]:
        """All events, as they are read."""
        for event in chain.from_iterable(reading() for reading in readings):
            if event.root in self._wanted:
                self._note(event)
            yield event

    def _note(self, event: Event) -> None:
        root, kind = event.root, event.kind
        if kind in _ANSWERS:
            self._answers.setdefault(root, _ANSWERS[kind])
        elif kind in {EventKind.INIT, EventKind.ACK}:
            self._sums[root] = self._sums.get(root, 0) ^ event.value
            if kind is EventKind.INIT:
                self._asked.add(root)
            if root in self._asked and not self._sums[root]:
                self._ends.setdefault(root, Verdict.COMPLETE)
        elif kind is EventKind.FAIL:
            self._ends.setdefault(root, Verdict.FAILED)

    def tree(self, tree: TupleTree) -> TupleTree:
        """The tree with what its spout has heard; who had asked for an orphan and got no answer has timed out."""
        verdict = self._answers.get(tree.root)
        if _orphan(tree):
            ended = self._ends.get(tree.root, Verdict.EXPIRED) if tree.root in self._asked else None
            verdict = verdict or ended
        elif verdict is not Verdict.EXPIRED:
            return tree
        return replace(tree, verdict=verdict, residue=residue(tree.entry, verdict)) if verdict else tree


_ORPHANS = (Kind.ORPHAN, Kind.ZERO, Kind.FAILED, Kind.NIL)
_TIMEOUTS_OF_AN_OLD_MAP = 4  # 2.x drops an entry after three message timeouts, the others earlier
_MANY_INPUTS = 1_000
_TICK = "__tick"
_MORE_TICKS = 2  # one may be at work, one may wait
_ROOTS_TOLD = 3


def findings(dump: HeapDump, keeper: Keeper | None = None) -> tuple[Finding, ...]:
    """All that the dump shows, sorted and stamped; `keeper` is whose acker it is, where the user knows."""
    found = [*_of_ackers(dump, keeper), *_of_shells(dump)]
    return stamp(sorted(found, key=lambda finding: (finding.code, finding.component, finding.cause)))


def _of_ackers(dump: HeapDump, keeper: Keeper | None) -> Iterator[Finding]:
    """One finding of each kind, over all ackers of the worker."""
    site, ackers = Site(dump.path, NOWHERE), dump.ackers
    waiting = sum(acker.tally.old.get(Kind.WAITING, 0) for acker in ackers)
    orphans = sum(acker.tally.kinds.get(kind, 0) for acker in ackers for kind in _ORPHANS)
    if waiting:
        known, lines, certain = _given_up(dump)
        yield heap_finding(
            "ACK601",
            site=site,
            message=f"the acker keeps entries that never came to zero, {known}: "
            f"a tuple of the tree was never acked, or an even number of times; such an entry {stays(keeper)}",
            severity=Severity.ERROR if certain else Severity.WARNING,
            witness=_witness(ackers, dump, (Kind.WAITING,), amount=waiting, more=lines, old=True),
            help="name the tuple: give this dump --trace with a trace of the run, or a worker's log with topology.debug; or lint its source",
        )
    if orphans:
        most = max(_ORPHANS, key=lambda kind: sum(acker.tally.kinds.get(kind, 0) for acker in ackers))
        reason = CAUSES[most].causes[0].text
        tracked = sum(acker.tally.kinds.get(Kind.WAITING, 0) for acker in ackers)
        old = any(acker.tally.old.get(kind, 0) for acker in ackers for kind in _ORPHANS)
        yield heap_finding(
            "ACK602",
            site=site,
            message=f"the acker keeps entries that no spout waits for, most likely because {reason}; "
            f"such an entry {stays(keeper)}",
            severity=Severity.WARNING if orphans > tracked or old else Severity.INFO,
            witness=_witness(ackers, dump, _ORPHANS, amount=orphans),
            help="lint the source for a second ack; an orphan alone proves no misuse while trees fail or time out",
        )
    limit_ms = _TIMEOUTS_OF_AN_OLD_MAP * dump.timeout.seconds * 1000
    if still := [acker for acker in ackers if acker.tally.oldest_ms > limit_ms]:
        yield heap_finding(
            "ACK603",
            site=site,
            message="the acker's map does not rotate: entries are older than rotation would let them become, so it grows "
            "until the worker restarts",
            severity=Severity.ERROR,
            witness=_witness(still, dump, tuple(Kind), amount=sum(acker.tally.entries for acker in still)),
            help="Storm 0.9 to 1.1.1 never rotates it (STORM-2786): upgrade; in 2.x enable message timeouts",
        )


def _given_up(dump: HeapDump) -> tuple[str, Sequence[str], bool]:
    """What is known of the spouts that had asked for the old tracked entries: in words, in figures, and whether they gave up."""
    waits = [acker.tally.waits for acker in dump.ackers]
    given_up, pending, unknown = (
        sum(getattr(each, name) for each in waits) for name in ("given_up", "pending", "unknown")
    )
    oldest_ms = max(acker.tally.oldest_ms for acker in dump.ackers)
    lines = []
    if given_up or pending:
        lines.append(f"their spouts have given up {given_up:,}, and still have {pending:,} pending")
    if unknown:
        lines.append(f"of {unknown:,} the spouts are not in this dump: whether they still wait is not known")
    twice = oldest_ms > 2 * dump.timeout.seconds * 1000
    if unknown and not (given_up or pending):
        age = "older than twice the message timeout" if twice else "older than the message timeout"
        return f"and are {age}, and whether their spouts still wait for them is not known", lines, twice
    if not given_up:
        return "and their spouts still wait for them, longer than the message timeout", lines, False
    some = "some of them" if pending or unknown else "them"
    return f"and their spouts have given {some} up", lines, True


def _of_shells(dump: HeapDump) -> Iterator[Finding]:
    """One finding for each component; its executors in the worker have a ShellBolt each."""
    shells: dict[str, list[Holder]] = {}
    for holder in dump.holders:
        if holder.role == "shell" and holder.entries > 0:
            shells.setdefault(holder.owner, []).append(holder)
    return (_of_shell(alike, dump) for alike in shells.values())


def _of_shell(shells: Sequence[Holder], dump: HeapDump) -> Finding:
    """Inputs under way are as many as the spouts may have pending; ticks are at most one or two."""
    entries, looked_at = sum(each.entries for each in shells), sum(each.looked_at for each in shells)
    groups = sum((Counter(each.groups) for each in shells), Counter[str]())
    ticks = max(each.groups.get(_TICK, 0) for each in shells)
    notable = any(each.entries >= _MANY_INPUTS for each in shells) or ticks > _MORE_TICKS
    streams = ", ".join(f"{amount:,} of {stream}" for stream, amount in sorted(groups.items()))
    of = f"in a sample of {looked_at:,}: " if looked_at < entries else ""
    of_all = f" of {len(shells)} ShellBolts" if len(shells) > 1 else ""
    return heap_finding(
        "ACK401",
        site=Site(dump.path, NOWHERE),
        message="ShellBolt keeps tuples that its component has neither acked nor failed, ticks among them: nothing "
        "takes them away but an ack or a fail"
        if ticks > _MORE_TICKS
        else "ShellBolt keeps tuples that its component has neither acked nor failed: nothing takes them away "
        "but an ack or a fail",
        severity=Severity.WARNING if notable else Severity.INFO,
        witness=HeapWitness(path=f"{shells[0].path}{of_all}", entries=entries, left=(f"{of}{streams}",)),
        help="lint the component: a path without ack, a buffer that is never drained, ticks that are never acked",
        component=shells[0].owner or "ShellBolt",
    )


def _witness(
    ackers: Sequence[Acker],
    dump: HeapDump,
    kinds: Sequence[Kind],
    *,
    amount: int,
    more: Sequence[str] = (),
    old: bool = False,
) -> HeapWitness:
    """What all these ackers hold of these kinds; with `old`, the roots are those of old entries."""
    least_ms = dump.timeout.seconds * 1000 * (1 if ackers[0].clojure else 2) if old else -1
    lines, samples, whole, size = [], [], 0, 0
    for kind in kinds:
        many = sum(acker.tally.kinds.get(kind, 0) for acker in ackers)
        if not many:
            continue
        aged = sum(acker.tally.old.get(kind, 0) for acker in ackers)
        lines.append(f"{LABELS[kind]}: {many:,}, {aged:,} of them old")
        whole += many
        size += many * entry_bytes(kind, dump.oops, clojure=ackers[0].clojure)
        kept = (entry for acker in ackers for entry in acker.tally.samples.get(kind, ()))
        samples += [entry.root for entry in kept if entry.age_ms > least_ms]
    if len(ackers) > 1:
        parts = (
            f"{sum(acker.tally.kinds.get(kind, 0) for kind in kinds):,} in acker {number}"
            for number, acker in enumerate(dump.ackers, start=1)
            if acker in ackers
        )
        lines.append(", ".join(parts))
    return HeapWitness(
        path=_path(ackers),
        entries=amount,
        size=size * amount // whole if whole else 0,
        roots=tuple(samples[:_ROOTS_TOLD]),
        left=(*lines, *more),
    )


def _path(ackers: Sequence[Acker]) -> str:
    """How the maps are reached; the ackers of one worker are of one class."""
    path = next((acker.path for acker in ackers), "")
    return f"{path} of {len(ackers)} ackers" if len(ackers) > 1 else path


# ---- with a trace ----


def trees(dump: HeapDump) -> Mapping[int, TupleTree]:
    """The sampled entries as trees, by their roots: what a trace is asked about."""
    return {
        entry.root: TupleTree(
            root=entry.root,
            verdict=_verdict(entry, dump),
            entry=entry,
            residue=_residue(entry),
        )
        for acker in dump.ackers
        for kept in acker.tally.samples.values()
        for entry in kept
    }


def _residue(entry: PendingEntry) -> Residue:
    if entry.failed:
        return Residue.FAILED
    if entry.value is None:
        return Residue.NONE
    return Residue.EVEN if entry.value else Residue.ODD


def _verdict(entry: PendingEntry, dump: HeapDump) -> Verdict:
    if entry.task is None:
        return Verdict.ORPHAN
    if entry.root in dump.pending:
        return Verdict.OPEN
    return Verdict.EXPIRED if entry.age_ms > 2 * dump.timeout.seconds * 1000 else Verdict.OPEN


def joined(
    blamed: Sequence[TupleTree],
    dump: HeapDump,
    found: Sequence[Finding],
    *,
    keeper: Keeper | None,
    places: Places,
) -> tuple[Finding, ...]:
    """The findings with those whose culprits the trace has named; each cause once, with its roots.

    Where the trace explains every entry, that is all there is to say of them.
    """
    named = [tree for tree in blamed if tree.culprits]
    told = tree_findings(named, profile=keeper, places=places, nowhere=Site(dump.path, NOWHERE))
    causes: dict[tuple[str, str], list[Finding]] = {}
    for finding in told:
        causes.setdefault((finding.component, finding.cause), []).append(finding)
    path, read = _path(dump.ackers), len(trees(dump))
    sample = (read, dump.entries) if read < dump.entries else None
    more = [_gathered(alike, path, sample) for alike in causes.values()]
    if len(named) == dump.entries:
        found = [each for each in found if each.code not in {"ACK601", "ACK602"}]
    return stamp(sorted([*found, *more], key=lambda each: (each.code, each.component, each.cause)))


def _gathered(alike: Sequence[Finding], path: str, sample: tuple[int, int] | None) -> Finding:
    witnesses = [finding.evidence for finding in alike if isinstance(finding.evidence, TreeWitness)]
    roots = [witness.root for witness in witnesses if witness.root is not None]
    return replace(
        alike[0],
        evidence=HeapWitness(
            path=path,
            entries=len(alike),
            sample=sample,
            roots=tuple(roots[:_ROOTS_TOLD]),
            left=witnesses[0].left,
            steps=witnesses[0].steps,
        ),
    )

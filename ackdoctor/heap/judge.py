"""From a heap dump or class histograms to findings: the codes of lint and trace, with a heap as the witness."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from ackdoctor import rulebook
from ackdoctor.acker.residue import find_culprits, residue, traced_tuples
from ackdoctor.heap.dump import HeapDump
from ackdoctor.heap.entries import Kind, entry_bytes
from ackdoctor.heap.growth import ClassTrend, Growth
from ackdoctor.heap.pending import Acker, Buffer
from ackdoctor.heap.signs import KINDS, Sign
from ackdoctor.model.acker import AckerVersion
from ackdoctor.model.finding import Confidence, Finding, HeapWitness, Severity, TreeWitness, Unreadable, stamp
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.trace import Event, EventKind, PendingEntry, TupleTree, Verdict
from ackdoctor.rulebook import Words, rule_name, words
from ackdoctor.tracer.acker_findings import ACKER, filled_in, stays, tree_findings
from ackdoctor.tracer.sites import Places
from ackdoctor.tracer.trace_reader import read
from ackdoctor.tracer.worker_log import WorkerLogs, is_log

_NO_TRACE = "no part of a trace"
_LOGS = ("*.log", "*.log.*")
_ORPHANS = (Kind.ORPHAN, Kind.ZERO, Kind.FAILED, Kind.NIL)
_TIMEOUTS_OF_AN_OLD_MAP = 4  # 2.x drops an entry after three message timeouts, other versions earlier
_MANY_INPUTS = 1_000
_TICK = "__tick"
_MORE_TICKS = 2  # one in work, one in the queue
_SAMPLE_ROOTS = 3
_VERDICTS = {
    EventKind.COMPLETED: Verdict.COMPLETE,
    EventKind.GAVE_UP: Verdict.FAILED,
    EventKind.TIMED_OUT: Verdict.EXPIRED,
}


def heap_finding(
    code: str,
    text: Words,
    witness: HeapWitness,
    *,
    component: str = ACKER,
    site: Site | None = None,
    severity: Severity = Severity.WARNING,
) -> Finding:
    """Return a *may* finding of a heap, since a heap has no history. Without a `site` it names the component."""
    return Finding(
        code=code,
        name=rule_name(code),
        severity=severity,
        confidence=Confidence.MAY,
        site=site or Site(f"<{component}>", NOWHERE),
        message=text.message,
        component=component,
        handler="",
        dialect="",
        evidence=witness,
        cause=f"{witness.path}|{text.case}",
        help=text.help,
    )


def findings(dump: HeapDump, keeper: AckerVersion | None = None) -> tuple[Finding, ...]:
    """Return all findings of a dump, sorted and stamped; `keeper` is the acker's version, if the user names it."""
    shells: dict[str, list[Buffer]] = {}  # by component; each of its executors has its own ShellBolt
    for buffer in dump.buffers:
        if buffer.role == "shell" and buffer.entries > 0:
            shells.setdefault(buffer.owner, []).append(buffer)
    found = [*_acker_findings(dump, keeper), *(_shell_finding(group, dump) for group in shells.values())]
    return stamp(sorted(found, key=lambda finding: (finding.code, finding.component, finding.cause)))


def _kinds(ackers: Iterable[Acker]) -> Counter[Kind]:
    return sum((acker.tally.kinds for acker in ackers), Counter[Kind]())


def _old(ackers: Iterable[Acker]) -> Counter[Kind]:
    return sum((acker.tally.old for acker in ackers), Counter[Kind]())


def _acker_findings(dump: HeapDump, keeper: AckerVersion | None) -> Iterator[Finding]:
    """At most one finding of each rule, over all ackers of the worker."""
    site, ackers = Site(dump.path, NOWHERE), dump.ackers
    kinds, old = _kinds(ackers), _old(ackers)
    if waiting := old[Kind.WAITING]:
        known, lines, certain = _given_up(dump)
        yield heap_finding(
            rulebook.NEVER_ZERO_ENTRY,
            words(rulebook.NEVER_ZERO_ENTRY, "dump", known=known, stays=stays(keeper)),
            site=site,
            severity=Severity.ERROR if certain else Severity.WARNING,
            witness=_witness(ackers, dump, (Kind.WAITING,), amount=waiting, more=lines, old=True),
        )
    if orphans := sum(kinds[kind] for kind in _ORPHANS):
        reason = KINDS[max(_ORPHANS, key=kinds.__getitem__)].causes[0].text
        notable = orphans > kinds[Kind.WAITING] or any(old[kind] for kind in _ORPHANS)
        yield heap_finding(
            rulebook.ORPHAN_ENTRY,
            words(rulebook.ORPHAN_ENTRY, "dump", reason=reason, stays=stays(keeper)),
            site=site,
            severity=Severity.WARNING if notable else Severity.INFO,
            witness=_witness(ackers, dump, _ORPHANS, amount=orphans),
        )
    limit_ms = _TIMEOUTS_OF_AN_OLD_MAP * dump.timeout.seconds * 1000
    if stuck := [acker for acker in ackers if acker.tally.oldest_ms > limit_ms]:
        yield heap_finding(
            rulebook.PENDING_GROWTH,
            words(rulebook.PENDING_GROWTH, "dump"),
            site=site,
            severity=Severity.ERROR,
            witness=_witness(stuck, dump, tuple(Kind), amount=sum(acker.tally.entries for acker in stuck)),
        )


def _given_up(dump: HeapDump) -> tuple[str, Sequence[str], bool]:
    """Look up old tracked entries in the spouts' pending maps: words, lines of figures, and whether spouts gave some up."""
    waits = [acker.tally.waits for acker in dump.ackers]
    given_up = sum(each.given_up for each in waits)
    pending = sum(each.pending for each in waits)
    unknown = sum(each.unknown for each in waits)
    lines = []
    if given_up or pending:
        lines.append(f"their spouts have given up {given_up:,}, and {pending:,} are still pending")
    if unknown:
        lines.append(f"the spouts of {unknown:,} are not in this dump: these may still be pending")
    if unknown and not (given_up or pending):
        oldest_ms = max(acker.tally.oldest_ms for acker in dump.ackers)
        twice = oldest_ms > 2 * dump.timeout.seconds * 1000
        age = "older than twice the message timeout" if twice else "older than the message timeout"
        return f"and are {age}; their spouts are not in this dump and may still wait for them", lines, twice
    if not given_up:
        return "and their spouts have waited for them longer than the message timeout", lines, False
    some = "some of them" if pending or unknown else "them"
    return f"and their spouts have given {some} up", lines, True


def _shell_finding(shells: Sequence[Buffer], dump: HeapDump) -> Finding:
    """Inputs in work are bounded by max spout pending; more than two ticks are never normal."""
    entries, looked_at = sum(each.entries for each in shells), sum(each.looked_at for each in shells)
    groups = sum((Counter(each.groups) for each in shells), Counter[str]())
    ticks = max(each.groups.get(_TICK, 0) for each in shells)
    notable = any(each.entries >= _MANY_INPUTS for each in shells) or ticks > _MORE_TICKS
    streams = ", ".join(f"{amount:,} of {stream}" for stream, amount in sorted(groups.items()))
    of = f"in a sample of {looked_at:,}: " if looked_at < entries else ""
    of_all = f" of {len(shells)} ShellBolts" if len(shells) > 1 else ""
    return heap_finding(
        rulebook.UNDRAINED_BUFFER,
        words(rulebook.UNDRAINED_BUFFER, "shell", ticks=", ticks among them" if ticks > _MORE_TICKS else ""),
        site=Site(dump.path, NOWHERE),
        severity=Severity.WARNING if notable else Severity.INFO,
        witness=HeapWitness(path=f"{shells[0].path}{of_all}", entries=entries, left=(f"{of}{streams}",)),
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
    """What these ackers hold of these kinds; with `old`, the sample roots are those of old entries."""
    clojure = ackers[0].clojure
    least_ms = dump.timeout.seconds * 1000 * (1 if clojure else 2) if old else -1
    amounts, aged = _kinds(ackers), _old(ackers)
    present = [kind for kind in kinds if amounts[kind]]
    lines = [f"{KINDS[kind].label}: {amounts[kind]:,}, {aged[kind]:,} of them old" for kind in present]
    if len(ackers) > 1:
        parts = (
            f"{sum(acker.tally.kinds[kind] for kind in kinds):,} in acker {number}"
            for number, acker in enumerate(dump.ackers, start=1)
            if acker in ackers
        )
        lines.append(", ".join(parts))
    size = sum(amounts[kind] * entry_bytes(kind, dump.oops, clojure=clojure) for kind in present)
    samples = (
        entry.root
        for kind in present
        for acker in ackers
        for entry in acker.tally.samples.get(kind, ())
        if entry.age_ms > least_ms
    )
    return HeapWitness(
        path=_path(ackers),
        entries=amount,
        size=size * amount // max(1, sum(amounts[kind] for kind in kinds)),
        roots=tuple(islice(samples, _SAMPLE_ROOTS)),
        left=(*lines, *more),
    )


def _path(ackers: Sequence[Acker]) -> str:
    """The path to the maps; all ackers of a worker have the same class."""
    path = next((acker.path for acker in ackers), "")
    return f"{path} of {len(ackers)} ackers" if len(ackers) > 1 else path


def growth_findings(grown: Growth, path: str, keeper: AckerVersion | None = None) -> tuple[Finding, ...]:
    """Return the growth as findings. A single histogram has none: it cannot tell a leak from load."""
    unbounded = keeper is not None and not keeper.forgets
    found = []
    for row in grown.rows if grown.sufficient else ():
        sign = row.sign
        if sign is None or not sign.code or not row.growing:
            continue
        entries = row.last if row.bounds is None else row.bounds[0]
        finding = heap_finding(
            sign.code,
            words(sign.code, sign.grows, stays=stays(keeper)),
            HeapWitness(
                path=row.name,
                entries=entries,
                size=entries * sign.each,
                left=tuple(_growth_lines(row, sign, grown)),
            ),
            component=sign.of,
            site=Site(path, NOWHERE),
            severity=Severity.ERROR if sign.of == ACKER and unbounded else Severity.WARNING,
        )
        found.append(finding)
    return stamp(found)


def _growth_lines(row: ClassTrend, sign: Sign, grown: Growth) -> Iterator[str]:
    """Instances and rate; bytes and time to a full heap, if the size of an entry is known."""
    per = "a second" if grown.dated else "a histogram"
    rate = row.line.per_second
    if row.bounds is None:
        yield f"{row.first:,} at first, {row.last:,} at last: {rate:,.1f} {per} (R2 {row.line.fit:.2f})"
    else:
        new, most = row.bounds
        rate = new / (grown.seconds if grown.dated else grown.points - 1)
        yield f"{new:,} since the first histogram: {rate:,.1f} {per}; at most {most - new:,} before it"
        yield f"the other {row.last - most:,} to {row.last - new:,} are other Clojure maps; a dump counts the acker's exactly"
    if not sign.each or not grown.dated:
        return
    speed = rate * sign.each
    amount = f"{speed / 1e3:,.2f} kB" if speed < 100_000 else f"{speed / 1e6:,.2f} MB"  # noqa: PLR2004
    yield f"at {sign.each} bytes an entry, its share of the table included, {amount} a second"
    left = grown.limit - grown.last_size
    if left > 0:
        yield f"they alone fill the rest of {grown.limit >> 20:,} MB in {filled_in(speed, left)}"


# ---- the culprits in a trace or log of the same run ----


def trees(dump: HeapDump) -> Mapping[int, TupleTree]:
    """Return the sampled entries as trees, by root."""
    found = {}
    for entry in (each for acker in dump.ackers for kept in acker.tally.samples.values() for each in kept):
        verdict = _verdict(entry, dump)
        found[entry.root] = TupleTree(
            root=entry.root, verdict=verdict, entry=entry, residue=residue(entry, verdict)
        )
    return found


def _verdict(entry: PendingEntry, dump: HeapDump) -> Verdict:
    if entry.task is None:
        return Verdict.ORPHAN
    if entry.root in dump.pending:
        return Verdict.OPEN
    return Verdict.EXPIRED if entry.age_ms > 2 * dump.timeout.seconds * 1000 else Verdict.OPEN


@dataclass(slots=True, kw_only=True)
class RunEvidence:
    """Trees of the roots that a trace or log mentions, with their culprits; `logs` is whether the files include a worker's log."""

    trees: tuple[TupleTree, ...]
    logs: bool
    unreadable: tuple[Unreadable, ...]

    @property
    def named(self) -> int:
        """Number of trees with known culprits."""
        return sum(bool(tree.culprits) for tree in self.trees)

    @property
    def expected(self) -> int:
        """Number of orphans that correct programs leave too: acks after a fail or a timeout (law L4)."""
        return sum(
            not tree.culprits and tree.verdict in {Verdict.FAILED, Verdict.EXPIRED} and _orphan(tree)
            for tree in self.trees
        )


def _orphan(tree: TupleTree) -> bool:
    return tree.entry is not None and tree.entry.task is None


def run_evidence(paths: Iterable[Path], wanted: Mapping[int, TupleTree]) -> RunEvidence:
    """Read what the files say about the wanted trees. A folder with logs is read as logs, any other as traces."""
    traces, logs = _split(paths)
    trace, log = read(traces), WorkerLogs(logs, wanted.keys())
    history = _RootHistory(wanted)
    seen = traced_tuples(history.recorded(trace.events, log.events), wanted)
    trees = (history.tree(wanted[root]) for root in wanted if seen[root] or root in history)
    unreadable = [
        replace(fault, reason=f"{_NO_TRACE}, nor a worker's log") if fault.reason == _NO_TRACE else fault
        for fault in trace.unreadable
    ]
    return RunEvidence(
        trees=tuple(find_culprits(tree, seen[tree.root]) for tree in trees),
        logs=bool(logs),
        unreadable=(*unreadable, *log.unreadable),
    )


def _split(paths: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Split the paths into traces and worker logs."""
    traces: list[Path] = []
    logs: list[Path] = []
    for path in paths:
        within = sorted({each for form in _LOGS for each in path.rglob(form)}) if path.is_dir() else [path]
        found = [each for each in within if each.is_file() and is_log(each)]
        logs += found
        if not found:
            traces.append(path)
    return traces, logs


class _RootHistory:
    """The end of each root: from the acker's answer to its spout, else from the messages to the acker."""

    def __init__(self, wanted: Mapping[int, TupleTree]) -> None:
        self._wanted = wanted
        self._answers: dict[int, Verdict] = {}
        self._values: dict[int, int] = {}  # XOR of the ack values so far
        self._begun: set[int] = set()  # roots with an init
        self._ends: dict[int, Verdict] = {}  # the value became zero, or a fail came

    def __contains__(self, root: int) -> bool:
        return root in self._begun or root in self._answers

    def recorded(self, *sources: Callable[[], Iterator[Event]]) -> Iterator[Event]:
        """Pass all events through, and record those of the wanted roots."""
        for event in chain.from_iterable(source() for source in sources):
            if event.root in self._wanted:
                self._record(event)
            yield event

    def _record(self, event: Event) -> None:
        root, kind = event.root, event.kind
        if kind in _VERDICTS:
            self._answers.setdefault(root, _VERDICTS[kind])
        elif kind in {EventKind.INIT, EventKind.ACK}:
            self._values[root] = self._values.get(root, 0) ^ event.value
            if kind is EventKind.INIT:
                self._begun.add(root)
            if root in self._begun and not self._values[root]:
                self._ends.setdefault(root, Verdict.COMPLETE)
        elif kind is EventKind.FAIL:
            self._ends.setdefault(root, Verdict.FAILED)

    def tree(self, tree: TupleTree) -> TupleTree:
        """Return the tree with its verdict. An orphan with an init and no answer has timed out."""
        verdict = self._answers.get(tree.root)
        if _orphan(tree):
            ended = self._ends.get(tree.root, Verdict.EXPIRED) if tree.root in self._begun else None
            verdict = verdict or ended
        elif verdict is not Verdict.EXPIRED:
            return tree
        return replace(tree, verdict=verdict, residue=residue(tree.entry, verdict)) if verdict else tree


def with_culprits(
    blamed: Sequence[TupleTree],
    dump: HeapDump,
    found: Sequence[Finding],
    *,
    keeper: AckerVersion | None,
    places: Places,
) -> tuple[Finding, ...]:
    """Add the findings whose culprits the trace names: each cause once, with its roots.

    If the trace explains every entry, these findings replace the dump's own ACK601 and ACK602.
    """
    named = [tree for tree in blamed if tree.culprits]
    explained = tree_findings(named, profile=keeper, places=places, nowhere=Site(dump.path, NOWHERE))
    causes: dict[tuple[str, str], list[Finding]] = {}
    for finding in explained:
        causes.setdefault((finding.component, finding.cause), []).append(finding)
    path, read = _path(dump.ackers), len(trees(dump))
    sample = (read, dump.entries) if read < dump.entries else None
    more = [_merged(group, path, sample) for group in causes.values()]
    if len(named) == dump.entries:
        found = [
            each for each in found if each.code not in {rulebook.NEVER_ZERO_ENTRY, rulebook.ORPHAN_ENTRY}
        ]
    return stamp(sorted([*found, *more], key=lambda each: (each.code, each.component, each.cause)))


def _merged(group: Sequence[Finding], path: str, sample: tuple[int, int] | None) -> Finding:
    witnesses = [finding.evidence for finding in group if isinstance(finding.evidence, TreeWitness)]
    roots = [witness.root for witness in witnesses if witness.root is not None]
    return replace(
        group[0],
        evidence=HeapWitness(
            path=path,
            entries=len(group),
            sample=sample,
            roots=tuple(roots[:_SAMPLE_ROOTS]),
            left=witnesses[0].left,
            steps=witnesses[0].steps,
        ),
    )

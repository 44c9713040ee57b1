"""From a dump to findings: the codes and names that lint and traces use, with a heap as the witness.

A heap shows what is there, not how it came: what only age or a trace can prove is MAY.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ackdoctor.heap.causes import CAUSES, LABELS
from ackdoctor.heap.dump import HeapDump
from ackdoctor.heap.jvm.ackers import Holder
from ackdoctor.heap.jvm.bytes import entry_bytes
from ackdoctor.heap.jvm.entries import Acker, Kind
from ackdoctor.heap.told import heap_finding
from ackdoctor.model.finding import Finding, HeapWitness, Severity, TreeWitness
from ackdoctor.model.fingerprint import stamp
from ackdoctor.model.source import NOWHERE, Site
from ackdoctor.model.verdict import PendingEntry, Residue, TupleTree, Verdict
from ackdoctor.tracer.judge.entries import tree_findings
from ackdoctor.tracer.judge.keeping import Keeper, stays
from ackdoctor.tracer.judge.place import Places

__all__ = ["findings", "joined", "trees"]

_ORPHANS = (Kind.ORPHAN, Kind.ZERO, Kind.FAILED, Kind.NIL)
_TIMEOUTS_OF_AN_OLD_MAP = 4  # 2.x drops an entry after three message timeouts, the others earlier
_MANY_INPUTS = 1_000
_TICK = "__tick"
_MORE_TICKS = 2  # one may be at work, one may wait
_ROOTS_TOLD = 3


def findings(dump: HeapDump, keeper: Keeper | None = None) -> tuple[Finding, ...]:
    """All that the dump shows, sorted and stamped; `keeper` is whose acker it is, where the user knows."""
    found: list[Finding] = []
    for acker in dump.ackers:
        found += _of_acker(acker, dump, keeper)
    for holder in dump.holders:
        if holder.role == "shell":
            found += _of_shell(holder, dump)
    return stamp(sorted(found, key=lambda finding: (finding.code, finding.component, finding.cause)))


def _of_acker(acker: Acker, dump: HeapDump, keeper: Keeper | None) -> Iterator[Finding]:
    site = Site(dump.path, NOWHERE)
    kinds, old = acker.tally.kinds, acker.tally.old
    orphans = sum(kinds.get(kind, 0) for kind in _ORPHANS)
    if old.get(Kind.WAITING, 0):
        given_up = acker.tally.oldest_ms > 2 * dump.timeout_s * 1000
        known = "their spouts have given them up" if given_up else "they are older than the message timeout"
        yield heap_finding(
            "ACK601",
            site=site,
            message=f"the acker keeps entries that never came to zero, and {known}: "
            f"a tuple of the tree was never acked, or an even number of times; such an entry {stays(keeper)}",
            severity=Severity.ERROR if given_up else Severity.WARNING,
            witness=_witness(acker, dump, (Kind.WAITING,), amount=old[Kind.WAITING]),
            help="name the tuple: give this dump --trace with a trace of the run, or a worker's log with topology.debug; or lint its source",
        )
    if orphans:
        most = max(_ORPHANS, key=lambda kind: kinds.get(kind, 0))
        reason = CAUSES[most].causes[0].text
        notable = orphans > kinds.get(Kind.WAITING, 0) or any(old.get(kind, 0) for kind in _ORPHANS)
        yield heap_finding(
            "ACK602",
            site=site,
            message=f"the acker keeps entries that no spout waits for, most likely because {reason}; "
            f"such an entry {stays(keeper)}",
            severity=Severity.WARNING if notable else Severity.INFO,
            witness=_witness(acker, dump, _ORPHANS, amount=orphans),
            help="lint the source for a second ack; an orphan alone proves no misuse while trees fail or time out",
        )
    if acker.tally.oldest_ms > _TIMEOUTS_OF_AN_OLD_MAP * dump.timeout_s * 1000:
        yield heap_finding(
            "ACK603",
            site=site,
            message="the acker's map does not rotate: entries are older than rotation would let them become, so it grows "
            "until the worker restarts",
            severity=Severity.ERROR,
            witness=_witness(acker, dump, tuple(Kind), amount=acker.tally.entries),
            help="Storm 0.9 to 1.1.1 never rotates it (STORM-2786): upgrade; in 2.x enable message timeouts",
        )


def _of_shell(holder: Holder, dump: HeapDump) -> Iterator[Finding]:
    """Inputs under way are as many as the spouts may have pending; ticks are at most one or two."""
    site = Site(dump.path, NOWHERE)
    ticks = holder.groups.get(_TICK, 0)
    if not holder.entries:
        return
    notable = holder.entries >= _MANY_INPUTS or ticks > _MORE_TICKS
    streams = ", ".join(f"{amount:,} of {stream}" for stream, amount in sorted(holder.groups.items()))
    of = f"of {holder.looked_at:,} looked at: " if holder.looked_at < holder.entries else ""
    yield heap_finding(
        "ACK401",
        site=site,
        message="ShellBolt keeps tuples that its component has neither acked nor failed, ticks among them: nothing "
        "takes them away but an ack or a fail"
        if ticks > _MORE_TICKS
        else "ShellBolt keeps tuples that its component has neither acked nor failed: nothing takes them away "
        "but an ack or a fail",
        severity=Severity.WARNING if notable else Severity.INFO,
        witness=HeapWitness(path=holder.path, entries=holder.entries, left=(f"{of}{streams}",)),
        help="lint the component: a path without ack, a buffer that nobody drains, ticks that nobody acks",
        component=holder.owner or "ShellBolt",
    )


def _witness(acker: Acker, dump: HeapDump, kinds: Sequence[Kind], *, amount: int) -> HeapWitness:
    present = [kind for kind in kinds if acker.tally.kinds.get(kind, 0)]
    lines = [
        f"{LABELS[kind]}: {acker.tally.kinds[kind]:,}, {acker.tally.old.get(kind, 0):,} of them old"
        for kind in present
    ]
    each = [
        (acker.tally.kinds[kind], entry_bytes(kind, dump.oops, clojure=acker.clojure)) for kind in present
    ]
    whole = sum(many for many, _ in each)
    samples = [entry.root for kind in present for entry in acker.tally.samples.get(kind, ())]
    return HeapWitness(
        path=acker.path,
        entries=amount,
        size=sum(many * size for many, size in each) * amount // whole if whole else 0,
        roots=tuple(samples[:_ROOTS_TOLD]),
        left=tuple(lines),
    )


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
    return Verdict.EXPIRED if entry.age_ms > 2 * dump.timeout_s * 1000 else Verdict.OPEN


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
    path = next((acker.path for acker in dump.ackers), "")
    more = [_gathered(alike, path) for alike in causes.values()]
    if len(named) == dump.entries:
        found = [each for each in found if each.code not in {"ACK601", "ACK602"}]
    return stamp(sorted([*found, *more], key=lambda each: (each.code, each.component, each.cause)))


def _gathered(alike: Sequence[Finding], path: str) -> Finding:
    witnesses = [finding.evidence for finding in alike if isinstance(finding.evidence, TreeWitness)]
    roots = [witness.root for witness in witnesses if witness.root is not None]
    return replace(
        alike[0],
        evidence=HeapWitness(
            path=path,
            entries=len(alike),
            roots=tuple(roots[:_ROOTS_TOLD]),
            left=witnesses[0].left,
            steps=witnesses[0].steps,
        ),
    )

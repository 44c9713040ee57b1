"""What heaps hold, on a screen and as JSON: a dump, class histograms, snapshots of a Python process."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from itertools import islice
from shlex import quote
from typing import TextIO

from ackdoctor.heap.dump import ClassRow, HeapDump, held_bytes
from ackdoctor.heap.entries import Kind
from ackdoctor.heap.growth import TOP, ClassTrend, Growth
from ackdoctor.heap.pending import Acker, Buffer
from ackdoctor.heap.python_heap import Snapshot
from ackdoctor.heap.python_judge import HoldingRow, TypeRow, holding_rows, type_rows
from ackdoctor.heap.signs import KINDS, TUPLES
from ackdoctor.model.finding import Finding, HeapWitness, Report, counted
from ackdoctor.model.trace import Cause, PendingEntry
from ackdoctor.reporters import Context, printable
from ackdoctor.reporters.machine import document
from ackdoctor.reporters.tables import block, bytes_in_words, span
from ackdoctor.reporters.terminal import full, headline, more_findings, nothing_wrong

_MAX_NOTES = 5
_MAX_FAULTS = 5
_MAX_CAUSES = 3
_MOST_ROWS = 20  # of a snapshot
_MAX_STEPS = 4  # of a course: its first number and its last ones
_MANY_TUPLES = 10_000  # more than the queues of a worker that keeps up hold


def _opening(report: Report, verdict: str, about: Iterable[str], stream: TextIO, context: Context) -> None:
    """Write the verdict, what was read, and the findings."""
    stream.write(headline(verdict, context))
    stream.writelines(f"  {printable(line)}\n" for line in about)
    if report.findings:
        stream.write("\n")
        full(report, stream, context)


def _verdict(report: Report, volume: str) -> str:
    """Return the worst finding, or that nothing is wrong in `volume`, such as "3 histograms"."""
    if report.findings:
        worst = max(
            report.findings, key=lambda finding: (finding.severity, finding.confidence, _entries(finding))
        )
        what = worst.message.partition("; ")[0]
        sample = worst.evidence.sample if isinstance(worst.evidence, HeapWitness) else None
        part = "" if sample is None else f" in a sample of {sample[0]:,}"
        return f"BROKEN: {printable(what)} ({worst.code}, {_entries(worst):,} entries{part}){more_findings(report)}"
    nothing = nothing_wrong(report)
    if report.unreadable:
        return f"INCOMPLETE: {nothing} in what could be read ({volume})"
    return f"OK: {volume}, {nothing}"


def _entries(finding: Finding) -> int:
    return finding.evidence.entries if isinstance(finding.evidence, HeapWitness) else 0


# ---- a dump ----


def dump_screen(report: Report, dump: HeapDump, stream: TextIO, context: Context, *, top: int) -> None:
    """Write the verdict, the findings and the tables of a dump."""
    _opening(report, dump_verdict(report, dump), _about_dump(report, dump), stream, context)
    blocks = [
        *(_acker(number, acker, dump, context) for number, acker in enumerate(dump.ackers, start=1)),
        _kinds(dump, context),
        _buffers(dump, context),
        _classes(dump.classes[:top], dump.size, context),
        _next_commands(report, dump),
    ]
    shown = list(filter(None, blocks))
    if shown and not report.findings:
        stream.write("\n")
    stream.write("\n".join(shown))


def dump_document(report: Report, dump: HeapDump, stream: TextIO, *, top: int) -> None:
    """Write the report as one JSON object, with the dump under `heap`; roots and values are text."""
    heap = {
        "format": dump.version,
        "id_size": dump.id_size,
        "taken_ms": dump.taken_ms,
        "file_bytes": dump.file_size,
        "objects": dump.objects,
        "bytes": dump.size,
        "tuples": dump.tuples,
        "message_timeout": asdict(dump.timeout),
        "compressed_oops": dump.oops.reference < dump.id_size,
        "incomplete": list(dump.faults),
        "classes": [asdict(row) for row in dump.classes[:top]],
        "ackers": [_plain_acker(acker, dump) for acker in dump.ackers],
        "buffers": [_plain_buffer(buffer) for buffer in dump.buffers],
    }
    document(report, stream, verdict=dump_verdict(report, dump), heap=heap)


def _plain_buffer(buffer: Buffer) -> dict[str, object]:
    return {
        "role": buffer.role,
        "owner": buffer.owner,
        "path": buffer.path,
        "entries": buffer.entries,
        "groups": buffer.groups,
        "looked_at": buffer.looked_at,
        "roots": [str(root) for root in buffer.roots],
        "more": buffer.more,
        "tasks": sorted(buffer.tasks),
    }


def _plain_acker(acker: Acker, dump: HeapDump) -> dict[str, object]:
    tally = acker.tally
    return {
        "class": acker.class_name,
        "path": acker.path,
        "task": acker.task,
        "problem": acker.problem,
        "entries": tally.entries,
        "lost": tally.lost,
        "bytes": held_bytes(acker, dump.oops),
        "oldest_ms": tally.oldest_ms,
        "old_tracked": asdict(tally.waits),
        "buckets": [
            {
                "size": bucket.size,
                "lost": bucket.lost,
                "kinds": {kind.name.lower(): amount for kind, amount in bucket.kinds.items() if amount},
                "old": {kind.name.lower(): amount for kind, amount in bucket.old.items() if amount},
            }
            for bucket in tally.buckets
        ],
        "samples": [
            {
                **asdict(entry),
                "root": str(entry.root),
                "kind": kind.name.lower(),
                "value": None if entry.value is None else str(entry.value),
            }
            for kind, kept in tally.samples.items()
            for entry in kept
        ],
    }


def dump_verdict(report: Report, dump: HeapDump) -> str:
    """Return the verdict; EMPTY for a dump without an acker, which may be of another process."""
    if not (report.findings or report.unreadable or report.hidden or dump.ackers):
        return f"EMPTY: {_no_acker(dump)}"
    lost = sum(acker.tally.lost for acker in dump.ackers)
    read = f"{dump.entries - lost:,} of {dump.entries:,}" if lost else f"{dump.entries:,}"
    text = _verdict(report, f"{read} entries in {counted(len(dump.ackers), 'acker')}")
    if not text.startswith("OK") or dump.tuples < _MANY_TUPLES:
        return text
    where = f": {field}" if (field := _largest_field(dump)) else ""
    return f"{text} with them, but {dump.tuples:,} tuples are alive elsewhere{where}"


def _largest_field(dump: HeapDump) -> str:
    """Return the field of a bolt that leads to most live tuples, as far as the search has come."""
    kept = (buffer for buffer in dump.buffers if buffer.role == "bolt")
    return next((f"{printable(most.path)} leads to {_amount(most)} of them" for most in kept), "")


def _amount(buffer: Buffer) -> str:
    return f"{buffer.entries:,}{' or more' if buffer.more else ''}"


def _about_dump(report: Report, dump: HeapDump) -> Iterator[str]:
    taken = datetime.fromtimestamp(dump.taken_ms / 1000, tz=timezone.utc)
    when = f"{taken:%Y-%m-%d %H:%M:%S} UTC" if dump.taken_ms else "at an unknown time"
    yield (
        f"{dump.path}: {bytes_in_words(dump.file_size)}, {dump.objects:,} objects, {bytes_in_words(dump.size)} of heap as modelled, "
        f"taken {when}"
    )
    oops = {8: "off"}.get(dump.oops.reference, "on") if dump.id_size > 4 else "none: a JVM of 32 bits"  # noqa: PLR2004
    yield f"HPROF {dump.version}, ids of {dump.id_size} bytes; compressed oops {oops}"
    if dump.entries:
        off = ", but message timeouts are disabled" if dump.timeout.off else ""
        yield f"message timeout {dump.timeout.seconds:,} s ({dump.timeout.source}){off}"
    for fault in dump.faults[:_MAX_FAULTS]:
        yield f"incomplete: {fault}"
    if len(dump.faults) > _MAX_FAULTS:
        yield f"incomplete: {len(dump.faults) - _MAX_FAULTS:,} more faults"
    if not dump.ackers and dump.faults:
        yield _no_acker(dump)
    if dump.tuples >= _MANY_TUPLES:
        field = _largest_field(dump)
        where = (
            f"{field}, acked or not"
            if field
            else "a bolt keeps them, acked or not, or they wait in a queue before a slow one"
        )
        yield f"{dump.tuples:,} tuples (TupleImpl) are alive: {where}; ackdoctor heap hist shows whether they grow"
    if report.hidden:
        yield f"{counted(report.hidden, 'finding')} below --min-severity not shown"
    yield from report.notes[:_MAX_NOTES]


def _no_acker(dump: HeapDump) -> str:
    if dump.faults:
        return "no acker in what could be read"
    if dump.storm:
        return "no acker: this worker runs none; take the dump of a worker that runs one (__acker in the UI)"
    return "no acker: no class of Storm is loaded; this is not the dump of a worker"


def _acker(number: int, acker: Acker, dump: HeapDump, context: Context) -> str:
    tally = acker.tally
    task = f", task {acker.task}" if acker.task is not None else ""
    title = f"acker {number}: {acker.path}{task}"
    if acker.problem:
        return f"{printable(title)}\n  {acker.problem}\n"
    weight = held_bytes(acker, dump.oops)
    oldest = f", the oldest {span(tally.oldest_ms / 1000)}" if tally.oldest_ms else ""
    title += f": {tally.entries:,} entries, about {bytes_in_words(weight)}{oldest}"
    present = [kind for kind in Kind if tally.kinds.get(kind)]
    rows = [
        {
            "bucket": str(bucket.number),
            "entries": f"{bucket.size:,}",
            **{KINDS[kind].label: f"{bucket.kinds[kind]:,}" for kind in present},
            **({"old": f"{sum(bucket.old.values()):,}"} if any(tally.old.values()) else {}),
            **({"lost": f"{bucket.lost:,}"} if tally.lost else {}),
        }
        for bucket in tally.buckets
    ]
    numbers = {"bucket", "entries", "old", "lost", *(kind.label for kind in KINDS.values())}
    return block(printable(title), rows, context, numbers=numbers) or f"{printable(title)}\n"


def _kinds(dump: HeapDump, context: Context) -> str:
    """Return what each kind of entry means, with its causes, most likely first."""
    rows = []
    for kind in Kind:
        amount = sum(acker.tally.kinds.get(kind, 0) for acker in dump.ackers)
        if not amount:
            continue
        samples = [entry for acker in dump.ackers for entry in acker.tally.samples.get(kind, ())]
        causes = KINDS[kind].causes[:_MAX_CAUSES]
        lines = [f"{place}. {_cause(cause)}" for place, cause in enumerate(causes, start=1)]
        rows.append(
            {
                "entries": f"{amount:,} {KINDS[kind].label}",
                "example": _example(samples[0]) if samples else "",
                "likely causes, in order": "\n".join(
                    [f"{KINDS[kind].meaning}:", *lines] if lines else [KINDS[kind].meaning]
                ),
            }
        )
    return block("what they mean", rows, context, unfolded={"entries", "example"})


def _cause(cause: Cause) -> str:
    law = f"law {cause.law}" if cause.law else ""
    beside = ", ".join(filter(None, (law, " ".join(cause.rules))))
    return f"{cause.text} ({beside})" if beside else cause.text


def _example(entry: PendingEntry) -> str:
    value = "none" if entry.value is None else str(entry.value)
    task = "" if entry.task is None else f"\ntask {entry.task}"
    age = f"\nage {span(entry.age_ms / 1000)}" if entry.age_ms else ""
    return f"root {entry.root}\nvalue {value}{task}{age}"


def _buffers(dump: HeapDump, context: Context) -> str:
    rows = []
    for buffer in dump.buffers:
        groups = ", ".join(f"{amount:,} {stream}" for stream, amount in sorted(buffer.groups.items()))
        sample = f" (of {buffer.looked_at:,} looked at)" if 0 < buffer.looked_at < buffer.entries else ""
        what = "messages that the spout waits for" if buffer.role == "spout" else f"{groups}{sample}"
        rows.append(
            {
                "where": printable(buffer.path),
                "of": printable(buffer.owner),
                "entries": _amount(buffer),
                "content": printable(what),
            }
        )
    return block("what else holds tuples", rows, context, numbers={"entries"})


def _classes(classes: Sequence[ClassRow], total: int, context: Context) -> str:
    rows = [
        {
            "instances": f"{row.instances:,}",
            "bytes": f"{row.size:,}",
            "%": f"{100 * row.size / total if total else 0:.1f}",
            "class": printable(row.name),
        }
        for row in classes
    ]
    return block("largest classes", rows, context, numbers={"instances", "bytes", "%"})


def _next_commands(report: Report, dump: HeapDump) -> str:
    """Return the commands to run next, for the most frequent kind of entry; none if a trace names the lines."""
    if any(finding.evidence.steps for finding in report.findings):
        return ""
    tracked = sum(acker.tally.kinds.get(Kind.WAITING, 0) for acker in dump.ackers)
    if not dump.entries:
        return ""
    most = Kind.WAITING if 2 * tracked > dump.entries else Kind.ORPHAN
    rules = ",".join(dict.fromkeys(rule for cause in KINDS[most].causes for rule in cause.rules))
    lines = [f"ackdoctor lint --select {rules} SOURCES"] if rules else []
    if not report.notes:  # else --trace was given
        lines.append(
            f"ackdoctor heap dump {printable(quote(dump.path))} --trace TRACE   "
            "names the tuple, if the run was traced or logged with topology.debug"
        )
    return "next\n" + "".join(f"  {line}\n" for line in lines)


# ---- histograms ----


def growth_screen(report: Report, grown: Growth, stream: TextIO, context: Context, *, top: int) -> None:
    """Write the verdict, the findings and the classes of histograms."""
    _opening(report, growth_verdict(report, grown), _about_growth(report, grown), stream, context)
    shown = [row for row in grown.rows[:top] if row.last or row.first]
    if not shown:
        return
    if not report.findings:
        stream.write("\n")
    stream.write((_largest if grown.points == 1 else _trends)(shown, grown, context))
    explained = [row for row in grown.rows if row.growing or row in shown or row in grown.acking]
    signs = list(dict.fromkeys(line for row in explained for line in _meaning(row)))
    if signs:
        stream.write("\nwhat they mean\n" + "".join(f"{line}\n" for line in signs))


def _trends(shown: Sequence[ClassTrend], grown: Growth, context: Context) -> str:
    per = "a second" if grown.dated else "each time"
    rows = [
        {
            "class": printable(row.name),
            "first": f"{row.first:,}",
            "last": f"{row.last:,}",
            per: f"{row.line.per_second:+,.1f}",
            "R2": f"{row.line.fit:.2f}",
            "bytes gained": f"{row.gained:+,}",
        }
        for row in shown
    ]
    return block("classes", rows, context, numbers={"first", "last", per, "R2", "bytes gained"})


def _largest(shown: Sequence[ClassTrend], grown: Growth, context: Context) -> str:
    rows = [
        {
            "class": printable(row.name),
            "instances": f"{row.last:,}",
            "bytes": f"{row.size:,}",
            "%": f"{100 * row.size / max(1, grown.last_size):.1f}",
        }
        for row in shown
    ]
    return block("largest classes", rows, context, numbers={"instances", "bytes", "%"})


def _meaning(row: ClassTrend) -> Iterator[str]:
    """Yield what a class is, and what to do if it grows and no finding covers it."""
    if row.sign is None:
        return
    yield f"  {printable(row.name)}: {row.means}"
    if row.growing and row.sign.help and not row.sign.code:
        yield f"    next: {row.sign.help}"


def growth_document(report: Report, grown: Growth, stream: TextIO, *, top: int) -> None:
    """Write the report as one JSON object, with the trends under `growth`."""
    about = {
        "histograms": grown.points,
        "seconds": grown.seconds,
        "dated": grown.dated,
        "first_bytes": grown.first_size,
        "last_bytes": grown.last_size,
        "bytes_per_second": grown.bytes_per_second,
        "fit": grown.fit,
        "limit_bytes": grown.limit,
        "full_in": grown.full_in,
        "acking": _acking(grown) if grown.points == 1 else "",
        "unexplained": _unexplained(grown),
        "classes": [
            {
                "name": row.name,
                "first": row.first,
                "last": row.last,
                "bytes_gained": row.gained,
                "per_second": row.line.per_second,
                "fit": row.line.fit,
                "monotone": row.monotone,
                "bytes": row.size,
                "growing": row.growing,
                "at_least": None if row.bounds is None else row.bounds[0],
                "at_most": None if row.bounds is None else row.bounds[1],
                "means": row.means,
                "next": row.sign.next_step if row.sign and row.growing else "",
            }
            for row in grown.rows[:top]
        ],
    }
    document(report, stream, verdict=growth_verdict(report, grown), growth=about)


def growth_verdict(report: Report, grown: Growth) -> str:
    """Return the verdict; INCOMPLETE for too few histograms, GROWING for a heap that grows without a finding."""
    volume = counted(grown.points, "histogram")
    if not (report.findings or report.hidden):
        if not grown.sufficient:
            return f"INCOMPLETE: {volume} cannot show growth: take three or more, some seconds apart"
        kept = grown.cause
        if grown.steady and kept is not None:
            return (
                f"GROWING: the heap grows linearly together with {kept.name} ({kept.first:,} to {kept.last:,}): "
                f"{kept.means}"
            )
        if grown.steady:
            most = grown.most
            return (
                f"GROWING: the heap grows linearly, but no known class of Storm does; the fastest is "
                f"{printable(most.name)} ({most.gained:+,} of {grown.last_size - grown.first_size:+,} bytes)"
            )
    text = _verdict(report, volume)
    doubt = (_unexplained(grown) or _unsteady(grown)) if text.startswith("OK") else ""
    return f"INCOMPLETE: {doubt}" if doubt else text


def _unsteady(grown: Growth) -> str:
    """Return that a pending map grows, but not steadily enough for a finding; '' if none does."""
    if row := grown.restarted:
        before, after = row.fall or (0, 0)
        return (
            f"{row.name} grows, but falls from {before:,} to {after:,} between two histograms: the worker restarted, "
            "or its trees completed; take the histograms of one run"
        )
    if row := grown.uneven:
        return (
            f"{row.name} never falls and grows from {row.first:,} to {row.last:,}, but not along a line: take more "
            "histograms, over a longer time and at equal intervals"
        )
    return ""


def _acking(grown: Growth) -> str:
    """Return which of the largest classes belong to acking: all that one histogram can show."""
    if grown.acking:
        parts = (_part(row, grown) for row in grown.acking)
        return f"acking has among the {TOP} largest classes: {'; '.join(parts)}"
    tuples = grown.counted(TUPLES)
    unless = f", unless the content of its {tuples:,} tuples does" if tuples else ""
    return f"acking takes no large part of the {TOP} largest classes: it does not fill this heap{unless}"


def _part(row: ClassTrend, grown: Growth) -> str:
    if row.bounds is not None:
        return f"{printable(row.name)}, at most {row.bounds[1]:,} of its {row.last:,}"
    return (
        f"{printable(row.name)}, {bytes_in_words(row.size)}, {100 * row.size / max(1, grown.last_size):.1f} %"
    )


def _unexplained(grown: Growth) -> str:
    """Return that ackers of 2.x hold more entries than the worker's spouts have pending messages; '' if not."""
    if grown.unexplained is None:
        return ""
    entries, waiting = grown.unexplained
    return (
        f"the ackers hold {entries:,} entries, and this worker's spouts wait for {waiting:,} messages; the other entries are "
        "orphans, or belong to spouts in other workers: ackdoctor heap dump distinguishes them"
    )


def _about_growth(report: Report, grown: Growth) -> Iterator[str]:
    over = f" over {span(grown.seconds)}" if grown.dated and grown.points > 1 else ""
    growth = f" at first, {bytes_in_words(grown.last_size)} at last" if grown.points > 1 else ""
    yield f"{counted(grown.points, 'histogram')}{over}: {bytes_in_words(grown.first_size)}{growth}"
    if grown.unexplained and report.findings:
        yield _unexplained(grown)
    if grown.points > 1 and not grown.dated:
        yield "the files have no times and keep the order given: give the interval with --every SECONDS"
    if 0 < grown.limit <= grown.last_size:
        yield f"the last histogram holds more than --xmx, {bytes_in_words(grown.limit)}: is that the -Xmx of this worker?"
    elif grown.limit and grown.full_in:
        yield f"{grown.limit >> 20:,} MB are full in {grown.full_in}, at {bytes_in_words(round(grown.bytes_per_second))} a second (R2 {grown.fit:.2f})"
    elif grown.limit and grown.sufficient and grown.dated:
        yield f"{grown.limit >> 20:,} MB: no forecast, the heap does not grow linearly"
    if grown.points == 1:
        yield _acking(grown)
    if report.hidden:
        yield f"{counted(report.hidden, 'finding')} below --min-severity not shown"


# ---- snapshots of a Python process: which components hold what, and what has grown ----


def snapshots_screen(snapshots: Sequence[Snapshot], stream: TextIO, context: Context) -> None:
    """Write the containers and the types; nothing without a snapshot."""
    if not snapshots:
        return
    stream.writelines(f"{line}\n" for line in _about_snapshots(snapshots))
    holdings = _holdings(holding_rows(snapshots, _MOST_ROWS), context)
    stream.write(f"\n{holdings}" if holdings else "\nno acker, spout or bolt holds much\n")
    counts = sum(snapshot.census is not None for snapshot in snapshots)
    if types := _types(type_rows(snapshots, _MOST_ROWS), counts, context):
        stream.write(f"\n{types}")


def _about_snapshots(snapshots: Sequence[Snapshot]) -> Iterator[str]:
    labels = "; ".join(snapshot.label for snapshot in snapshots)
    size = ""
    if last := snapshots[-1].census:
        size = f": {last.size:,} bytes in {last.objects:,} objects"
        earlier = ((each.label, each.census) for each in snapshots[:-1] if each.census is not None)
        for label, first in islice(earlier, 1):
            size += f", {last.size - first.size:+,} since {label}"
    yield f"{counted(len(snapshots), 'snapshot')} ({labels}){size}"
    for acker in snapshots[-1].ackers:
        yield (
            f"{acker.component}: {counted(acker.entries, 'entry')} after {acker.tuples:,} roots: "
            f"{acker.tracked:,} tracked, {acker.orphans:,} orphans"
        )


def _holdings(found: Sequence[HoldingRow], context: Context) -> str:
    rows = [
        {
            "path": printable(row.last.path),
            "entries": f"{row.last.entries:,}",
            "course": _course(row.course),
            "bytes each": f"{row.last.each:,}",
            "bytes": f"{'' if row.last.exact else 'about '}{row.last.size:,}",
            "per 1,000 tuples": "" if row.per_thousand is None else f"{row.per_thousand:+,.0f}",
            "each": printable(row.last.what),
        }
        for row in found
    ]
    numbers = {"entries", "bytes each", "bytes", "per 1,000 tuples"}
    return block("who holds what", rows, context, numbers=numbers)


def _course(course: Sequence[int]) -> str:
    if len(course) < 2:  # noqa: PLR2004
        return ""
    steps = [f"{entries:,}" for entries in course]
    if len(steps) > _MAX_STEPS:
        steps = [*steps[:1], "..", *steps[1 - _MAX_STEPS :]]
    return " > ".join(steps)


def _types(found: Sequence[TypeRow], snapshots: int, context: Context) -> str:
    rows = [
        {
            "count": f"{row.count:,}",
            "gained": f"{row.gained:+,}",
            "lately": f"{row.lately:+,}",
            "bytes": f"{row.size:,}",
            "bytes gained": f"{row.gained_size:+,}",
            "type": printable(row.name),
        }
        for row in found
    ]
    return block(
        "types that grew most" if snapshots > 1 else "largest types",
        rows,
        context,
        numbers={"count", "gained", "lately", "bytes", "bytes gained"},
        # columns without content
        dropped={1: {"gained", "lately", "bytes gained"}, 2: {"lately"}}.get(snapshots, ()),
    )

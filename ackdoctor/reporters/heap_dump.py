"""What a dump of a heap holds, on a screen: the verdict first, then what is wrong, then the tables."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from shlex import quote
from typing import TextIO

from ackdoctor.heap.dump import ClassRow, HeapDump, held_bytes
from ackdoctor.heap.jvm.entries import Acker, Kind
from ackdoctor.heap.jvm.holders import Holder
from ackdoctor.heap.signs import CAUSES, LABELS, Cause
from ackdoctor.model.finding import Report
from ackdoctor.model.verdict import PendingEntry
from ackdoctor.reporters.as_json import content
from ackdoctor.reporters.context import Context, printable
from ackdoctor.reporters.figures import drawn, sized, span, table
from ackdoctor.reporters.footer import counted
from ackdoctor.reporters.heap import opening, verdict

__all__ = ["dump_document", "dump_screen", "dump_verdict"]

_MOST_NOTES = 5
_MOST_FAULTS = 5
_MOST_CAUSES = 3
_MANY_TUPLES = 10_000  # more than are on their way through the queues of a worker that keeps up


def dump_screen(
    report: Report, dump: HeapDump, stream: TextIO, context: Context, *, width: int, top: int
) -> None:
    """The whole screen."""
    opening(report, dump_verdict(report, dump), _about(report, dump), stream, context)
    blocks = [
        *(_acker(number, acker, dump, context, width) for number, acker in enumerate(dump.ackers, start=1)),
        _kinds(dump, context, width),
        _holders(dump, context, width),
        _classes(dump.classes[:top], dump.size, context, width),
        _next(report, dump),
    ]
    shown = [block for block in blocks if block]
    if shown and not report.findings:
        stream.write("\n")
    stream.write("\n".join(shown))


def dump_document(report: Report, dump: HeapDump, stream: TextIO, *, top: int) -> None:
    """The report as one JSON object, with the dump under `heap`; roots and values are text."""
    about = {
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
        "ackers": [_plain(acker, dump) for acker in dump.ackers],
        "holders": [_plain_holder(holder) for holder in dump.holders],
    }
    json.dump({**content(report), "verdict": dump_verdict(report, dump), "heap": about}, stream, indent=2)
    stream.write("\n")


def _plain_holder(holder: Holder) -> dict[str, object]:
    return {
        "role": holder.role,
        "owner": holder.owner,
        "path": holder.path,
        "entries": holder.entries,
        "groups": holder.groups,
        "looked_at": holder.looked_at,
        "roots": [str(root) for root in holder.roots],
        "more": holder.more,
        "tasks": sorted(holder.tasks),
    }


def _plain(acker: Acker, dump: HeapDump) -> dict[str, object]:
    tally = acker.tally
    return {
        "class": acker.class_name,
        "path": acker.path,
        "task": acker.task,
        "trouble": acker.trouble,
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
                "root": str(entry.root),
                "kind": kind.name.lower(),
                "value": None if entry.value is None else str(entry.value),
                "task": entry.task,
                "failed": entry.failed,
                "age_ms": entry.age_ms,
                "bucket": entry.bucket,
            }
            for kind, kept in tally.samples.items()
            for entry in kept
        ],
    }


def dump_verdict(report: Report, dump: HeapDump) -> str:
    """Nothing is wrong in the dump of another process either; that it is another is what has to be known."""
    if not (report.findings or report.unreadable or report.hidden or dump.ackers):
        return f"EMPTY: {_no_acker(dump)}"
    lost = sum(acker.tally.lost for acker in dump.ackers)
    read = f"{dump.entries - lost:,} of {dump.entries:,}" if lost else f"{dump.entries:,}"
    told = verdict(report, f"{read} entries in {counted(len(dump.ackers), 'acker')}")
    if not told.startswith("OK") or dump.tuples < _MANY_TUPLES:
        return told
    where = f": {led}" if (led := _led_to(dump)) else ""
    return f"{told} with them, but {dump.tuples:,} tuples are alive elsewhere{where}"


def _led_to(dump: HeapDump) -> str:
    """The field of a bolt that leads to most of them, as far as the search has come."""
    kept = (holder for holder in dump.holders if holder.role == "bolt")
    return next((f"{printable(most.path)} leads to {_amount(most)} of them" for most in kept), "")


def _amount(holder: Holder) -> str:
    return f"{holder.entries:,}{' or more' if holder.more else ''}"


def _about(report: Report, dump: HeapDump) -> Iterator[str]:
    taken = datetime.fromtimestamp(dump.taken_ms / 1000, tz=timezone.utc)
    when = f"{taken:%Y-%m-%d %H:%M:%S} UTC" if dump.taken_ms else "at a time that is not known"
    yield (
        f"{dump.path}: {sized(dump.file_size)}, {dump.objects:,} objects, {sized(dump.size)} of heap as modelled, "
        f"taken {when}"
    )
    oops = {8: "off"}.get(dump.oops.reference, "on") if dump.id_size > 4 else "none: a JVM of 32 bits"  # noqa: PLR2004
    yield f"HPROF {dump.version}, ids of {dump.id_size} bytes; compressed oops {oops}"
    if dump.entries:
        off = ", but message timeouts are disabled" if dump.timeout.off else ""
        yield f"message timeout {dump.timeout.seconds:,} s ({dump.timeout.source}){off}"
    for fault in dump.faults[:_MOST_FAULTS]:
        yield f"incomplete: {fault}"
    if len(dump.faults) > _MOST_FAULTS:
        yield f"incomplete: {len(dump.faults) - _MOST_FAULTS:,} more faults"
    if not dump.ackers and dump.faults:
        yield _no_acker(dump)
    if dump.tuples >= _MANY_TUPLES:
        led = _led_to(dump)
        where = (
            f"{led}, acked or not"
            if led
            else "a bolt keeps them, acked or not, or they wait in a queue before a slow one"
        )
        yield f"{dump.tuples:,} tuples (TupleImpl) are alive: {where}; ackdoctor heap hist tells whether they grow"
    if report.hidden:
        yield f"{counted(report.hidden, 'finding')} below --min-severity not shown"
    yield from report.notes[:_MOST_NOTES]


def _no_acker(dump: HeapDump) -> str:
    if dump.faults:
        return "no acker: none in what could be read"
    if dump.storm:
        return "no acker: this worker runs none; take the dump of a worker that does (__acker in the UI)"
    return "no acker: no class of Storm's is loaded: this is not the dump of a worker"


def _acker(number: int, acker: Acker, dump: HeapDump, context: Context, width: int) -> str:
    tally = acker.tally
    task = f", task {acker.task}" if acker.task is not None else ""
    title = f"acker {number}: {acker.path}{task}"
    if acker.trouble:
        return f"{printable(title)}\n  {acker.trouble}\n"
    weight = held_bytes(acker, dump.oops)
    oldest = f", the oldest {span(tally.oldest_ms / 1000)}" if tally.oldest_ms else ""
    title += f": {tally.entries:,} entries, about {sized(weight)}{oldest}"
    present = [kind for kind in Kind if tally.kinds.get(kind)]
    heads = [
        "bucket",
        "entries",
        *(LABELS[kind] for kind in present),
        *(["old"] if any(tally.old.values()) else []),
    ]
    heads += ["lost"] if tally.lost else []
    rows = table(context, *heads, numbers=range(len(heads)))
    for bucket in tally.buckets:
        cells = [str(bucket.number), f"{bucket.size:,}", *(f"{bucket.kinds[kind]:,}" for kind in present)]
        cells += [f"{sum(bucket.old.values()):,}"] if any(tally.old.values()) else []
        cells += [f"{bucket.lost:,}"] if tally.lost else []
        rows.add_row(*cells)
    return f"{printable(title)}\n{drawn(rows, width, context)}"


def _kinds(dump: HeapDump, context: Context, width: int) -> str:
    """What each kind of entry tells, with its causes in order."""
    present = [kind for kind in Kind if any(acker.tally.kinds.get(kind) for acker in dump.ackers)]
    if not present:
        return ""
    rows = table(context, "entries", "one of them", "likely causes, in order", numbers=[], whole=[0, 1])
    for kind in present:
        amount = sum(acker.tally.kinds.get(kind, 0) for acker in dump.ackers)
        samples = [entry for acker in dump.ackers for entry in acker.tally.samples.get(kind, ())]
        causes = CAUSES[kind].causes[:_MOST_CAUSES]
        lines = [f"{place}. {_cause(cause)}" for place, cause in enumerate(causes, start=1)]
        rows.add_row(
            f"{amount:,} {LABELS[kind]}",
            _one(samples[0]) if samples else "",
            "\n".join([f"{CAUSES[kind].says}:", *lines] if lines else [CAUSES[kind].says]),
        )
    return f"what they tell\n{drawn(rows, width, context)}"


def _cause(cause: Cause) -> str:
    law = f"law {cause.law}" if cause.law else ""
    beside = ", ".join(filter(None, (law, " ".join(cause.rules))))
    return f"{cause.text} ({beside})" if beside else cause.text


def _one(entry: PendingEntry) -> str:
    value = "none" if entry.value is None else str(entry.value)
    task = "" if entry.task is None else f"\ntask {entry.task}"
    age = f"\nage {span(entry.age_ms / 1000)}" if entry.age_ms else ""
    return f"root {entry.root}\nvalue {value}{task}{age}"


def _holders(dump: HeapDump, context: Context, width: int) -> str:
    if not dump.holders:
        return ""
    rows = table(context, "where", "of", "entries", "what it holds", numbers=[2])
    for holder in dump.holders:
        groups = ", ".join(f"{amount:,} {stream}" for stream, amount in sorted(holder.groups.items()))
        sample = f" (of {holder.looked_at:,} looked at)" if 0 < holder.looked_at < holder.entries else ""
        what = "messages that the spout waits for" if holder.role == "spout" else f"{groups}{sample}"
        rows.add_row(printable(holder.path), printable(holder.owner), _amount(holder), printable(what))
    return f"what else holds tuples\n{drawn(rows, width, context)}"


def _classes(rows: Sequence[ClassRow], total: int, context: Context, width: int) -> str:
    if not rows:
        return ""
    made = table(context, "instances", "bytes", "%", "class", numbers=[0, 1, 2])
    for row in rows:
        share = 100 * row.size / total if total else 0
        made.add_row(f"{row.instances:,}", f"{row.size:,}", f"{share:.1f}", printable(row.name))
    return f"largest classes\n{drawn(made, width, context)}"


def _next(report: Report, dump: HeapDump) -> str:
    """The command that tells more, by what there is most of; none where a trace has named the lines."""
    if any(finding.evidence.steps for finding in report.findings):
        return ""
    tracked = sum(acker.tally.kinds.get(Kind.WAITING, 0) for acker in dump.ackers)
    if not dump.entries:
        return ""
    most = Kind.WAITING if 2 * tracked > dump.entries else Kind.ORPHAN
    rules = ",".join(dict.fromkeys(rule for cause in CAUSES[most].causes for rule in cause.rules))
    lines = [f"ackdoctor lint --select {rules} SOURCES"] if rules else []
    if not report.notes:  # else one has been given
        lines.append(
            f"ackdoctor heap dump {printable(quote(dump.path))} --trace TRACE   "
            "names the tuple, if the run was traced, or a log with topology.debug is there"
        )
    return "next\n" + "".join(f"  {line}\n" for line in lines)

"""What `ackdoctor trace report` shows: the verdict, the findings, the figures.  `explain --trace`: the timeline of a root."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TextIO

from ackdoctor.model.finding import Finding, Report, counted
from ackdoctor.model.source import NOWHERE
from ackdoctor.model.trace import PendingEntry, RunTally, TupleTree
from ackdoctor.reporters import Context, printable
from ackdoctor.reporters.machine import document as write_document
from ackdoctor.reporters.promise import Promise
from ackdoctor.reporters.tables import block, grid, span, sparkline, table
from ackdoctor.reporters.terminal import (
    finding_place,
    full,
    headline,
    more_findings,
    nothing_wrong,
    worst_first,
)
from ackdoctor.tracer.replay import Moment, Timeline

_MAX_KINDS = 10  # of entries
_MAX_NOTES = 5
_NARROW = 72  # a table on fewer columns drops the columns that matter least
_MIN_POINTS = 3  # of a curve
_HEADS = ("after", "what", "component", "delivery", "the acker holds", "answer", "where", "test")
_NS = 1_000_000_000


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class About:
    """What the screen shows besides the report: counts, the acker's version, what could not be judged.

    `telling`: some row is about acking.  `unjudged`: components whose rows cannot be judged.  `taken`: restarted workers
    lost tuples.  `left_out`: lines of logs that contradict each other.  `expired`: timed-out roots by cause.  `partial`: logs
    are missing.
    """

    tally: RunTally
    acker: str
    rows: int = 0
    roots: int = 0
    seconds: float = 0.0
    quarantined: int = 0
    telling: bool = True
    unjudged: int = 0
    taken: bool = False
    left_out: int = 0
    expired: tuple[tuple[str, int], ...] = ()
    deaths: int = 0
    partial: bool = False
    promise: Promise | None = None


def screen(report: Report, about: About, stream: TextIO, context: Context) -> None:
    """Write the verdict, the findings and the tables."""
    stream.write(headline(verdict(report, about), context))
    acker = f", judged as {about.acker} would have acked" if about.roots else ""
    stream.write(f"  {about.rows:,} rows over {span(about.seconds)}{acker}\n")
    unread = "of the trace could not be read to the end"
    stream.writelines(f"  {line}\n" for line in caveats(report, about.tally, unread, report.notes))
    stream.writelines(f"  not observed: {printable(line)}\n" for line in about.tally.unobserved)
    if about.promise is not None:
        stream.writelines(f"  {line}\n" for line in about.promise.lines())
    if report.findings:
        stream.write("\n")
        full(report, stream, context)
    elif about.rows:
        stream.write("\n")
    blocks = [
        _entries(about, context),
        growth(about.tally, context, roots=bool(about.roots)),
        _components(about, context),
    ]
    stream.write("\n".join(block for block in blocks if block))


def document(report: Report, about: About, stream: TextIO) -> None:
    """Write the report as one JSON object, with the figures under `run`; roots and values are text."""
    run = {
        "acker": about.acker,
        "rows": about.rows,
        "seconds": about.seconds,
        "roots": about.roots,
        **plain_tally(about.tally),
        "unobserved": list(about.tally.unobserved),
        "entries": [
            {**plain_tree(tree), "task": tree.entry.task, "failed": tree.entry.failed}
            for tree in about.tally.trees
            if tree.entry is not None
        ],
    }
    if about.promise is not None:
        run["promise"] = about.promise.plain()
    write_document(report, stream, verdict=verdict(report, about), run=run)


def plain_tally(tally: RunTally) -> dict[str, object]:
    """Return the counts of a run for JSON; the key `offences` stays for scripts that read it."""
    return {
        "completed": tally.completed,
        "pending": tally.pending,
        "high_water": tally.high_water,
        "dropped": tally.dropped,
        "components": [
            {("offences" if key == "violations" else key): value for key, value in asdict(each).items()}
            for each in tally.components
        ],
        "growth": [asdict(point) for point in tally.growth],
    }


def plain_tree(tree: TupleTree) -> dict[str, object]:
    """Return a tree with its entry and its culprits for JSON; the root and values are text."""
    entry = tree.entry
    return {
        "root": str(tree.root),
        "verdict": tree.verdict.value,
        "residue": tree.residue.name.lower(),
        "value": None if entry is None or entry.value is None else str(entry.value),
        "age_ms": None if entry is None else entry.age_ms,
        "culprits": [{**asdict(culprit), "value": str(culprit.value)} for culprit in tree.culprits],
        "ambiguous": tree.ambiguous,
    }


# ---- the verdict ----


def verdict(report: Report, about: About) -> str:
    """Return `BROKEN: ...`, `INCOMPLETE: ...`, `EMPTY: ...` or `OK: ...`, in one sentence."""
    if report.findings:
        return f"BROKEN: {_gist(worst_first(report.findings)[0])}{more_findings(report)}"
    if not about.rows:
        return "INCOMPLETE: no row could be read" if report.unreadable else "EMPTY: the trace has no rows"
    word = "INCOMPLETE" if incomplete(report, about) else "OK"
    if not about.telling:
        quarantined = f": {about.quarantined:,} in quarantine" if about.quarantined else ""
        none = f"none of {counted(about.rows, 'row')} is about acking{quarantined}"
        return f"{'EMPTY' if word == 'OK' else word}: {none}"
    nothing = nothing_wrong(report)
    if word == "OK":
        return f"OK: {_volume(about)}, {nothing}"
    unused = about.quarantined or about.left_out
    what = "read" if _unread(report, about) else "used" if unused else "judged"
    more = "; logs are missing" if about.partial else ""
    more += "; restarted workers lost tuples that cannot be judged" if about.taken else ""
    if about.expired and not (_unread(report, about) or unused or about.taken or about.partial):
        return f"INCOMPLETE: {_expired(about.expired)} ({_volume(about)}); {nothing} in what could be judged"
    return f"INCOMPLETE: {nothing} in what could be {what} ({_volume(about)}){more}"


def incomplete(report: Report, about: About) -> bool:
    """Return whether something could not be read, used or judged, with or without findings in the rest."""
    unused = about.quarantined or about.left_out
    timed_out = about.expired and not report.findings  # findings explain timeouts
    unjudged = about.unjudged or about.taken or about.partial
    return bool(_unread(report, about) or unused or unjudged or about.deaths or timed_out)


def _expired(expired: Sequence[tuple[str, int]]) -> str:
    """`46 roots expired: a worker ended 40, cause not known 6`."""
    total = sum(roots for _, roots in expired)
    causes = ", ".join(f"{cause} {roots:,}" for cause, roots in expired)
    return f"{counted(total, 'root')} expired: {expired[0][0] if len(expired) == 1 else causes}"


def _unread(report: Report, about: About) -> bool:
    return bool(report.unreadable or about.tally.dropped)


def _gist(finding: Finding) -> str:
    """Return the component, the fault and how often it occurs."""
    who = f"{printable(finding.component)}: " if finding.component else ""
    what = finding.message.partition(": ")[0] if finding.code < "ACK6" else finding.message
    times = f", {finding.seen:,} times" if finding.seen > 1 else ""
    place = f", {finding_place(finding)}" if finding.site.span != NOWHERE else ""
    return f"{who}{printable(f'{what}{place}')} ({finding.code}{times})"


def _volume(about: About) -> str:
    deliveries = sum(component.delivered for component in about.tally.components)
    parts = [counted(about.roots, "root")] if about.roots else []
    parts += [counted(deliveries, "delivery")] if deliveries else []
    return ", ".join(parts) or counted(about.rows, "row")


def caveats(report: Report, tally: RunTally, unread: str, notes: Sequence[str]) -> Iterator[str]:
    """Yield what weakens the verdict; `unread` is the fault of files that could not be read."""
    if tally.dropped:
        yield f"{tally.dropped:,} rows are missing: the tracer had no room for them, or fell behind"
    if report.unreadable:
        yield f"{counted(len(report.unreadable), 'file')} {unread}"
    if report.hidden:
        yield f"{counted(report.hidden, 'finding')} below --min-severity not shown"
    if report.suppressed:
        yield f"{counted(report.suppressed, 'finding')} suppressed by comments"
    yield from map(printable, notes[:_MAX_NOTES])
    if (more := len(notes) - _MAX_NOTES) > 0:
        yield f"and {more:,} more notes; --output-format json has all"


# ---- the tables ----


def _entries(about: About, context: Context) -> str:
    """Return the entries left in the acker, one row for each explanation."""
    groups: dict[tuple[str, str], list[PendingEntry]] = {}
    for tree in about.tally.trees:
        if tree.entry is not None:
            orphan = "orphan, " if tree.entry.task is None else ""
            state = f"{orphan}{tree.verdict.value}"
            groups.setdefault((state, _explanation(tree)), []).append(tree.entry)
    largest = sorted(groups.items(), key=lambda group: -len(group[1]))
    rows = [
        {
            "entries": f"{len(entries):,}",
            "example": str(entries[0].root),
            "value left": "none" if entries[0].value is None else str(entries[0].value),
            "state": state,
            "meaning": explanation,
        }
        for (state, explanation), entries in largest[:_MAX_KINDS]
    ]
    total = sum(map(len, groups.values()))
    lines = block(
        f"{counted(total, 'entry')} left in the acker, {about.tally.high_water:,} at most at once",
        rows,
        context,
        numbers={"entries"},
        unfolded={"example"},
        dropped={"value left", "state"} if context.width < _NARROW else (),
    )
    more_kinds = len(largest) - _MAX_KINDS
    return f"{lines}  and {more_kinds:,} more kinds\n" if more_kinds > 0 else lines


def _explanation(tree: TupleTree) -> str:
    if not tree.culprits:
        return tree.residue.value
    acks = Counter(f"{printable(c.component)} acked it {c.acks}x" for c in tree.culprits)
    named = ", ".join(f"{text} ({count} tuples)" if count > 1 else text for text, count in acks.items())
    return f"{named} (or others)" if tree.ambiguous else named


def growth(tally: RunTally, context: Context, *, roots: bool, note: str = "") -> str:
    """Return the curve of pending roots, or of open deliveries in a trace without roots."""
    if len(tally.growth) < _MIN_POINTS:
        return ""
    if not roots:
        peak = f"{tally.high_water:,} in one task"
        return f"open deliveries\n  {sparkline(tally.growth, context, peak)}\n"
    lines = [sparkline(tally.growth, context), *filter(None, [note])]
    return "pending roots\n" + "".join(f"  {line}\n" for line in lines)


def _components(about: About, context: Context) -> str:
    rows = [
        {
            "component": printable(tally.component),
            "delivered": f"{tally.delivered:,}",
            "emitted": f"{tally.emitted:,}",
            "acked": f"{tally.acked:,}",
            "failed": f"{tally.failed:,}",
            "open": f"{tally.pending:,}",
            "at most": f"{tally.high_water:,}",
            "oldest": span(tally.oldest_ms / 1000) if tally.pending else "",
            "violations": f"{tally.violations:,}" if tally.violations else "",
        }
        for tally in sorted(about.tally.components, key=lambda t: (-t.violations, -t.pending, t.component))
    ]
    return block(
        "components",
        rows,
        context,
        numbers={"delivered", "emitted", "acked", "failed", "open", "at most", "oldest", "violations"},
        dropped={"emitted", "at most", "oldest"} if context.width < _NARROW else (),
    )


# ---- the timeline of a root or a delivery ----


def timeline(found: Timeline, stream: TextIO, context: Context) -> None:
    """Write a row for each event, then the verdict and the law; empty columns are left out."""
    paint = context.palette.paint
    root = f"{context.sources.root.as_posix()}/"
    events = [_event_cells(moment, found.moments[0].time_ns, root) for moment in found.moments]
    columns = [n for n in range(len(_HEADS)) if any(event[n] for event in events)]
    rows = []
    for event, repeats in groupby(events):  # a loop repeats the same events
        count = len(list(repeats))
        rows.append([*(event[n] for n in columns), f"x {count}" if count > 1 else ""])
    stream.write(f"{paint('code', found.subject)}\n\n")
    heads = [_HEADS[n] for n in columns]
    drawn = grid(rows, context, heads=heads)
    if context.wraps and max(map(len, drawn.splitlines())) > context.width - 2:
        cells = [dict(zip((*heads, "times"), row, strict=True)) for row in rows]
        drawn = table(cells, context)
    else:
        drawn = "".join(f"  {line}\n" for line in drawn.splitlines())
    stream.write(drawn)
    if found.more:
        stream.write(f"  and {found.more:,} more rows\n")
    stream.write(f"\n{paint('label', 'verdict:')} {printable(found.verdict)}\n")
    if found.law:
        stream.write(f"{paint('label', 'why:')} {printable(found.law)}\n")


def _event_cells(moment: Moment, begin_ns: int, root: str) -> tuple[str, ...]:
    note = f" ({moment.note})" if moment.note else ""
    return tuple(
        printable(cell)
        for cell in (
            f"{(moment.time_ns - begin_ns) / _NS:.6f} s",
            f"{moment.what}{note}",
            moment.component,
            moment.delivery,
            moment.state,
            moment.answer,
            moment.site.removeprefix(root),
            moment.test,
        )
    )

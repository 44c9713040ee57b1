"""What a traced run came to, on a screen: the verdict first, then what is wrong, then the figures.

Whoever reads only the first line knows whether to go back to bed.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TextIO

from ackdoctor.model.finding import Finding, Report
from ackdoctor.model.source import NOWHERE
from ackdoctor.model.verdict import ComponentTally, RunTally, TupleTree
from ackdoctor.reporters.as_json import content
from ackdoctor.reporters.context import Context, printable
from ackdoctor.reporters.figures import drawn, span, sparkline, table
from ackdoctor.reporters.footer import counted
from ackdoctor.reporters.terminal import full

__all__ = ["About", "document", "incomplete", "run", "verdict", "worst_first"]

_MOST_ENTRIES = 10
_MOST_NOTES = 5
_NARROW = 72  # columns below which a table drops what can be missed


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class About:
    """What the screen needs besides the report: the counts, the acker's version, the size of the trace, rows that nobody can use.

    `telling` is whether any row tells of a tuple; of `unjudged` components none does that can be judged; `taken` is whether
    workers that were started anew took something along;
    `left_out` are lines of logs that differ where they should tell the same; `expired` says how many roots timed out, by cause;
    `deaths` is how often a worker died; `partial` is whether logs are missing.
    """

    tally: RunTally
    acker: str
    rows: int = 0
    roots: int = 0
    seconds: float = 0.0
    width: int = 100
    quarantined: int = 0
    telling: bool = True
    unjudged: int = 0
    taken: bool = False
    left_out: int = 0
    expired: tuple[tuple[str, int], ...] = ()
    deaths: int = 0
    partial: bool = False


def run(report: Report, stream: TextIO, context: Context, about: About) -> None:
    """The whole screen."""
    say = verdict(report, about)
    style = {"BROKEN": "error", "INCOMPLETE": "warning", "EMPTY": "warning"}.get(
        say.partition(":")[0], "label"
    )
    word, colon, rest = say.partition(":")
    stream.write(f"{context.palette.paint(style, word)}{colon}{rest}\n")
    stream.writelines(f"{line}\n" for line in _provisos(report, about))
    if report.findings:
        stream.write("\n")
        full(report, stream, context)
    elif about.rows:
        stream.write("\n")
    blocks = [_entries(about, context), _growth(about, context), _components(about, context)]
    stream.write("\n".join(block for block in blocks if block))


def document(report: Report, stream: TextIO, about: About) -> None:
    """The report as one JSON object, with what was counted under `run`; roots and values are text."""
    json.dump({**content(report), "verdict": verdict(report, about), "run": _plain(about)}, stream, indent=2)
    stream.write("\n")


def _plain(about: About) -> dict[str, object]:
    tally = about.tally
    return {
        "acker": about.acker,
        "rows": about.rows,
        "seconds": about.seconds,
        "roots": about.roots,
        "completed": tally.completed,
        "pending": tally.pending,
        "high_water": tally.high_water,
        "dropped": tally.dropped,
        "unobserved": list(tally.unobserved),
        "components": [asdict(component) for component in tally.components],
        "growth": [asdict(point) for point in tally.growth],
        "entries": [_plain_entry(tree) for tree in tally.trees if tree.entry is not None],
    }


def _plain_entry(tree: TupleTree) -> dict[str, object]:
    entry = tree.entry
    assert entry is not None  # the caller looked
    return {
        "root": str(tree.root),
        "value": None if entry.value is None else str(entry.value),
        "task": entry.task,
        "failed": entry.failed,
        "age_ms": entry.age_ms,
        "verdict": tree.verdict.value,
        "residue": tree.residue.name.lower(),
        "culprits": [{**asdict(culprit), "value": str(culprit.value)} for culprit in tree.culprits],
        "ambiguous": tree.ambiguous,
    }


# ---- the first line ----


def verdict(report: Report, about: About) -> str:
    """`BROKEN: ...`, `INCOMPLETE: ...`, `EMPTY: ...` or `OK: ...`, in one sentence."""
    if report.findings:
        worst = worst_first(report.findings)[0]
        others = len(report.findings) - 1
        more = f", and {counted(others, 'more finding')}" if others else ""
        return f"BROKEN: {_gist(worst)}{more}"
    if not about.rows:
        return "INCOMPLETE: no row could be read" if report.unreadable else "EMPTY: the trace has no rows"
    word = "INCOMPLETE" if incomplete(report, about) else "OK"
    if not about.telling:
        kept = f": {about.quarantined:,} in quarantine" if about.quarantined else ""
        none = f"of {counted(about.rows, 'row')} none tells of acking{kept}"
        return f"{'EMPTY' if word == 'OK' else word}: {none}"
    unseen = report.hidden + report.suppressed
    nothing = "nothing is wrong" + (f" but for {counted(unseen, 'finding')} not shown" if unseen else "")
    if word == "OK":
        return f"OK: {_volume(about)}, {nothing}"
    what = "read" if _unread(report, about) else "used" if about.quarantined or about.left_out else "judged"
    more = "; logs are missing" if about.partial else ""
    more += "; workers that were started anew took more along" if about.taken else ""
    unused = about.quarantined or about.left_out
    if about.expired and not (_unread(report, about) or unused or about.taken or about.partial):
        return f"INCOMPLETE: {_expired(about.expired)} ({_volume(about)}); {nothing} in what could be judged"
    return f"INCOMPLETE: {nothing} in what could be {what} ({_volume(about)}){more}"


def incomplete(report: Report, about: About) -> bool:
    """Whether something could not be read, used or judged, be there findings in the rest or not."""
    unused = about.quarantined or about.left_out
    timed_out = about.expired and not report.findings  # findings say why
    unjudged = about.unjudged or about.taken or about.partial
    return bool(_unread(report, about) or unused or unjudged or about.deaths or timed_out)


def _expired(expired: Sequence[tuple[str, int]]) -> str:
    """`46 roots expired: a worker ended 40, cause not known 6`."""
    total = sum(roots for _, roots in expired)
    causes = ", ".join(f"{cause} {roots:,}" for cause, roots in expired)
    return f"{counted(total, 'root')} expired: {expired[0][0] if len(expired) == 1 else causes}"


def _unread(report: Report, about: About) -> bool:
    return bool(report.unreadable or about.tally.dropped)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """By severity, and then by how often it was seen."""
    return sorted(findings, key=lambda finding: (-finding.severity, -finding.seen))


def _gist(finding: Finding) -> str:
    """The worst finding in half a sentence: who, what, how often."""
    who = f"{printable(finding.component)}: " if finding.component else ""
    what = finding.message.partition(": ")[0] if finding.code < "ACK6" else finding.message
    seen = finding.seen
    often = f", {seen:,} times" if seen > 1 else ""
    place = f", {finding.site.path}:{finding.site.span.line}" if finding.site.span != NOWHERE else ""
    return f"{who}{printable(f'{what}{place}')} ({finding.code}{often})"


def _volume(about: About) -> str:
    tally = about.tally
    deliveries = sum(component.delivered for component in tally.components)
    parts = ["1 root" if about.roots == 1 else f"{about.roots:,} roots"] if about.roots else []
    parts += ["1 delivery" if deliveries == 1 else f"{deliveries:,} deliveries"] if deliveries else []
    return ", ".join(parts) or counted(about.rows, "row")


def _provisos(report: Report, about: About) -> Iterator[str]:
    """What makes the verdict less than the whole truth, and over what it was given."""
    acker = f", judged as {about.acker} would have acked" if about.roots else ""
    yield f"  {about.rows:,} rows over {span(about.seconds)}{acker}"
    if about.tally.dropped:
        yield f"  {about.tally.dropped:,} rows are missing: the tracer had no room for them, or fell behind"
    if report.unreadable:
        yield f"  {counted(len(report.unreadable), 'file')} of the trace could not be read to the end"
    if report.hidden:
        yield f"  {counted(report.hidden, 'finding')} below --min-severity not shown"
    if report.suppressed:
        yield f"  {counted(report.suppressed, 'finding')} suppressed by comments"
    for line in report.notes[:_MOST_NOTES]:
        yield f"  {printable(line)}"
    if len(report.notes) > _MOST_NOTES:
        yield f"  and {len(report.notes) - _MOST_NOTES:,} more such lines; --output-format json has all"
    for line in about.tally.unobserved:
        yield f"  not observed: {printable(line)}"


# ---- the acker's map ----


def _entries(about: About, context: Context) -> str:
    """The entries that stay, those with the same explanation as one."""
    groups: dict[tuple[str, str], list[TupleTree]] = {}
    for tree in about.tally.trees:
        if tree.entry is not None:
            groups.setdefault((_state(tree), _explanation(tree)), []).append(tree)
    if not groups:
        return ""
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    narrow = about.width < _NARROW
    heads = ["entries", "one of them", "value left", "the spout", "what the value tells"]
    rows = table(context, *([*heads[:2], heads[-1]] if narrow else heads), numbers=[0], whole=[1])
    for (state, explanation), trees in ordered[:_MOST_ENTRIES]:
        first = trees[0].entry
        assert first is not None  # only those with an entry were taken
        value = "none" if first.value is None else str(first.value)
        more = [] if narrow else [value, state]
        rows.add_row(f"{len(trees):,}", str(first.root), *more, explanation)
    left = len(ordered) - _MOST_ENTRIES
    rest = f"  and {left:,} more kinds\n" if left > 0 else ""
    kept = sum(map(len, groups.values()))
    title = f"{kept:,} entries that no ack took out" if kept > 1 else "1 entry that no ack took out"
    return f"{title}, {about.tally.high_water:,} at most at once\n{drawn(rows, about.width, context)}{rest}"


def _state(tree: TupleTree) -> str:
    orphan = "orphan, " if tree.entry is not None and tree.entry.task is None else ""
    return f"{orphan}{tree.verdict.value}"


def _explanation(tree: TupleTree) -> str:
    if not tree.culprits:
        return tree.residue.value
    acked = Counter(f"{printable(c.component)} acked it {c.acks}x" for c in tree.culprits)
    named = ", ".join(f"{said} ({often} tuples)" if often > 1 else said for said, often in acked.items())
    return f"{named} (or others)" if tree.ambiguous else named


def _growth(about: About, context: Context) -> str:
    points = about.tally.growth
    if len(points) < 3:  # noqa: PLR2004  # no curve
        return ""
    if about.roots:
        return f"pending roots\n  {sparkline(points, context)}\n"
    most = f"{about.tally.high_water:,} in one task"
    return f"open deliveries\n  {sparkline(points, context, most)}\n"


# ---- the components ----


def _components(about: About, context: Context) -> str:
    tallies = sorted(about.tally.components, key=lambda t: (-t.violations, -t.pending, t.component))
    if not tallies:
        return ""
    narrow = about.width < _NARROW
    heads = ["component", "delivered", "acked", "failed", "open", "violations"]
    if not narrow:
        heads[2:2] = ["emitted"]
        heads[-1:-1] = ["at most", "oldest"]
    rows = table(context, *heads, numbers=range(1, len(heads)))
    for tally in tallies:
        rows.add_row(*_cells(tally, heads))
    return f"components\n{drawn(rows, about.width, context)}"


def _cells(tally: ComponentTally, heads: Iterable[str]) -> Iterator[str]:
    values = {
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
    yield from (values[head] for head in heads)

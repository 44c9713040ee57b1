"""What `ackdoctor lab run` shows: the screen and the JSON.  docs/json.md documents every field of the JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TextIO

from ackdoctor.lab.run import Options, Outcome
from ackdoctor.model.finding import Report, counted
from ackdoctor.model.topology import Judged
from ackdoctor.reporters import Context, printable
from ackdoctor.reporters.machine import document as write_document
from ackdoctor.reporters.tables import block, span, sparkline
from ackdoctor.reporters.terminal import full, headline
from ackdoctor.reporters.topology import guarantee

COUNTS = ("messages", "completed", "repeated", "lost", "stuck", "open", "untracked")
_RARE = frozenset({"stuck", "open", "untracked"})


@dataclass(slots=True, kw_only=True)
class LabRun:
    """A run with its topology and options; `command` makes it again."""

    judged: Judged
    options: Options
    outcome: Outcome
    command: str = ""


def about(made: LabRun) -> Iterator[tuple[str, str]]:
    """Yield what was run, and how it went, as pairs of a name and a text."""
    outcome, options, topology = made.outcome, made.options, made.judged.topology
    settling = span(max(0, outcome.virtual_s - options.seconds))
    yield "topology", f"{topology.name} ({topology.place}) with {outcome.profile.name}"
    yield "run", f"seed {options.seed}, {span(options.seconds)} with faults, {settling} to settle"
    yield "faults", str(options.plan)
    if outcome.missed:
        yield "did not happen", ", ".join(outcome.missed)
    yield "the files promise", guarantee(made.judged.verdict)
    for place in outcome.real_times:
        yield (
            "real time",
            f"{place} reads a clock of datetime, which shows the real time, not the simulated one",
        )
    if outcome.dropped:
        yield "the network lost", counted(outcome.dropped, "message")
    if outcome.stopped:
        yield "stopped early", outcome.stopped
    for each in outcome.unobserved:
        yield "not observed", each


def screen(made: LabRun, report: Report, stream: TextIO, context: Context) -> None:
    """Write the verdict, the run, what became of the messages, the deaths, the pending map and the findings."""
    outcome = made.outcome
    stream.write(headline(printable(outcome.verdict), context))
    lines = [*(f"{name}: {text}" for name, text in about(made)), *report.notes]
    if made.command and not outcome.survived:
        lines.append(f"again: {made.command}")
    stream.writelines(f"  {printable(line)}\n" for line in lines)
    stream.write("\n")
    lost = "untracked tuples: no spout learns that they are lost"
    blocks = [
        block("messages", fate_rows(outcome), context, numbers=COUNTS),
        block("why", cause_rows(outcome), context, numbers=("messages",)),
        block(lost, vanished_rows(outcome), context, numbers=("lost",)),
        block("deaths", death_rows(outcome), context, numbers=("deaths", "messages lost")),
        _pending(outcome, context),
        _blame(outcome),
        _unjudged(outcome),
    ]
    stream.write("\n".join(each for each in blocks if each))
    if report.findings:
        stream.write("\n")
        full(report, stream, context)


def fate_rows(outcome: Outcome) -> list[dict[str, str]]:
    """Return what became of each spout's messages; rare ends only if there are any."""
    shown = [
        name for name in COUNTS if name not in _RARE or any(getattr(each, name) for each in outcome.fates)
    ]
    rows = []
    for fate in outcome.fates:
        row = {"spout": printable(fate.spout), **{name: f"{getattr(fate, name):,}" for name in shown}}
        if fate.lost_at_death:
            row["lost"] += f" ({fate.lost_at_death:,} with the spout)"
        rows.append(row)
    return rows


def cause_rows(outcome: Outcome) -> list[dict[str, str]]:
    """Return what happened last to lost and stuck messages, with the values of one."""
    return [
        {
            "spout": printable(fate.spout),
            "end": each.end,
            "messages": f"{each.messages:,}",
            "what happened last": printable(str(each)),
            "one of them": printable(each.example),
        }
        for fate in outcome.fates
        for each in fate.causes
    ]


def vanished_rows(outcome: Outcome) -> list[dict[str, str]]:
    """Return the untracked tuples that are lost."""
    return [
        {
            "from": printable(each.source),
            "to": printable(each.target),
            "stream": printable(each.stream),
            "lost": f"{each.copies:,}",
        }
        for each in outcome.vanished
    ]


def death_rows(outcome: Outcome) -> list[dict[str, str]]:
    """Return the deaths by component and reason."""
    return [
        {
            "component": printable(each.component),
            "deaths": f"{each.times:,}",
            "why": printable(f"{each.reason}{', as planned' if each.planned else ''}"),
            "messages lost": f"{each.lost:,}",
        }
        for each in outcome.deaths
    ]


def _pending(outcome: Outcome, context: Context) -> str:
    if not outcome.growth:
        return ""
    return f"entries of the acker\n  {sparkline(outcome.growth, context, f'{outcome.high_water:,}')}\n"


def _blame(outcome: Outcome) -> str:
    """The faults that the files show in the components behind a loss."""
    lines = [
        f"{each.component or 'topology'}: {each.place} {each.code}: {each.message}" for each in outcome.blamed
    ]
    return _lines("what the files show in the components behind it", lines)


def _unjudged(outcome: Outcome) -> str:
    lines = [
        f"{each.component} ({each.place}): {each.why}" if each.place else each.why
        for each in outcome.unjudged
    ]
    return _lines("not judged: no run can see it", lines)


def _lines(head: str, lines: Sequence[str]) -> str:
    return (
        "".join(f"{line}\n" for line in (head, *(f"  {printable(each)}" for each in lines))) if lines else ""
    )


def document(made: LabRun, report: Report, stream: TextIO) -> None:
    """Write the run as JSON."""
    outcome, options, topology = made.outcome, made.options, made.judged.topology
    run = {
        "topology": topology.name,
        "place": str(topology.place),
        "promise": made.judged.verdict.word,
        "acker": outcome.profile.name,
        "faults": str(options.plan),
        "seed": options.seed,
        "seconds": options.seconds,
        "virtual_seconds": outcome.virtual_s,
        "stopped": outcome.stopped or None,
        "missed": list(outcome.missed),
        "real_times": list(outcome.real_times),
        "dropped": outcome.dropped,
        "messages": [
            {**asdict(each), "causes": [cause._asdict() for cause in each.causes]} for each in outcome.fates
        ],
        "vanished": [asdict(each) for each in outcome.vanished],
        "deaths": [asdict(each) for each in outcome.deaths],
        "growth": [asdict(each) for each in outcome.growth],
        "high_water": outcome.high_water,
        "blamed": [each._asdict() for each in outcome.blamed],
        "unjudged": [each._asdict() for each in outcome.unjudged],
        "command": made.command,
    }
    write_document(report, stream, verdict=outcome.verdict, run=run)

"""What `ackdoctor lab run` shows: the screen and the JSON.  docs/json.md documents every field of the JSON."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TextIO

from ackdoctor.lab.fates import Fate
from ackdoctor.lab.run import Options, Outcome
from ackdoctor.model.finding import Report
from ackdoctor.model.topology import Judged
from ackdoctor.reporters import Context, counted, printable
from ackdoctor.reporters.machine import document as write_document
from ackdoctor.reporters.tables import block, span, sparkline
from ackdoctor.reporters.terminal import full, headline
from ackdoctor.reporters.topology import guarantee

_COUNTS = ("messages", "completed", "repeated", "lost", "stuck", "open", "untracked")
_SHOWN = 10  # faults of one component in the files


@dataclass(slots=True, kw_only=True)
class LabRun:
    """A run with its topology and options."""

    judged: Judged
    options: Options
    outcome: Outcome


def verdict(made: LabRun, report: Report) -> str:
    """Return `BROKEN: ...`, `INCOMPLETE: ...` or `OK: ...`, in one sentence."""
    outcome = made.outcome
    faults = [
        *(text for fate in outcome.fates for text in _losses(fate)),
        *(
            f"{counted(each.copies, 'untracked tuple')} from {each.source} to {each.target} lost"
            for each in outcome.vanished
        ),
        *([counted(len(report.findings), "finding")] if report.findings else []),
    ]
    if faults:
        return f"BROKEN: {printable('; '.join(faults))}"
    if outcome.stopped:
        return f"INCOMPLETE: {printable(outcome.stopped)}; nothing wrong until then"
    total = sum(fate.messages + fate.untracked for fate in outcome.fates)
    return f"OK: {counted(total, 'message')}, none lost or stuck"


def _losses(fate: Fate) -> Iterator[str]:
    who = f"of {fate.spout}"
    if fate.lost:
        yield f"{counted(fate.lost, 'message')} {who} lost"
    if fate.stuck:
        yield f"{counted(fate.stuck, 'message')} {who} stuck"
    if fate.open:
        yield f"{counted(fate.open, 'message')} {who} open at the end"


def screen(made: LabRun, report: Report, stream: TextIO, context: Context, width: int) -> None:
    """Write the verdict, the run, what became of the messages, the deaths, the pending map and the findings."""
    outcome, options, topology = made.outcome, made.options, made.judged.topology
    stream.write(headline(verdict(made, report), context))
    lines = [
        f"{topology.name} ({topology.place}) with {outcome.profile.name}, seed {options.seed}:"
        f" {span(options.seconds)} with faults, {span(max(0, outcome.virtual_s - options.seconds))} to settle",
        f"faults: {options.plan}",
        f"the files promise: {guarantee(made.judged.verdict)}",
    ]
    if outcome.dropped:
        lines.append(f"the network lost {counted(outcome.dropped, 'message')}")
    if outcome.stopped:
        lines.append(f"stopped early: {outcome.stopped}")
    lines += (f"not observed: {each}" for each in outcome.unobserved)
    lines += report.notes
    stream.writelines(f"  {printable(line)}\n" for line in lines)
    stream.write("\n")
    blocks = [
        _fates(outcome, context, width),
        _vanished(outcome, context, width),
        _deaths(outcome, context, width),
        _pending(outcome, context),
        _blame(made),
    ]
    stream.write("\n".join(each for each in blocks if each))
    if report.findings:
        stream.write("\n")
        full(report, stream, context)


def _fates(outcome: Outcome, context: Context, width: int) -> str:
    rows = []
    for fate in outcome.fates:
        cells = {name: f"{getattr(fate, name):,}" for name in _COUNTS}
        if fate.lost_at_death:
            cells["lost"] += f" ({fate.lost_at_death:,} with the spout)"
        rows.append({"spout": printable(fate.spout), **cells})
    empty = [name for name in ("stuck", "open", "untracked") if all(row[name] == "0" for row in rows)]
    return block("messages", rows, context, width, numbers=_COUNTS, dropped=empty)


def _vanished(outcome: Outcome, context: Context, width: int) -> str:
    rows = [
        {
            "from": printable(each.source),
            "to": printable(each.target),
            "stream": printable(each.stream),
            "lost": f"{each.copies:,}",
        }
        for each in outcome.vanished
    ]
    return block(
        "untracked tuples: no spout learns that they are lost", rows, context, width, numbers=("lost",)
    )


def _deaths(outcome: Outcome, context: Context, width: int) -> str:
    rows = [
        {
            "component": printable(each.component),
            "deaths": f"{each.times:,}",
            "why": printable(f"{each.reason}{', as planned' if each.planned else ''}"),
            "messages lost": f"{each.lost:,}",
        }
        for each in outcome.deaths
    ]
    return block("deaths", rows, context, width, numbers=("deaths", "messages lost"))


def _pending(outcome: Outcome, context: Context) -> str:
    if not outcome.growth:
        return ""
    return f"entries of the acker\n  {sparkline(outcome.growth, context, f'{outcome.high_water:,}')}\n"


def _blame(made: LabRun) -> str:
    """The faults that the files show in the components behind a loss."""
    lines = [
        f"  {printable(f'{component}: {place} {code}: {message}')}\n"
        for component, place, code, message in blamed(made)
    ]
    return f"what the files show in the components behind it\n{''.join(lines)}" if lines else ""


def blamed(made: LabRun) -> Iterator[tuple[str, str, str, str]]:
    """Yield component, place, rule and message of the faults of each component behind a loss."""
    outcome = made.outcome
    behind = [fate.spout for fate in outcome.fates if fate.lost or fate.stuck]
    if behind:  # a bolt may keep its messages from completing
        behind += [node.id for node in made.judged.topology.nodes if node.id not in behind]
    behind += (each.source for each in outcome.vanished if each.source not in behind)
    for component in behind:
        facts = made.judged.facts[component]
        for fault in [each for each in facts.faults if not each.ignored][:_SHOWN]:
            yield component, str(fault.place), fault.code, fault.message


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
        "dropped": outcome.dropped,
        "messages": [asdict(each) for each in outcome.fates],
        "vanished": [asdict(each) for each in outcome.vanished],
        "deaths": [asdict(each) for each in outcome.deaths],
        "growth": [asdict(each) for each in outcome.growth],
        "high_water": outcome.high_water,
        "blamed": [
            {"component": component, "place": place, "code": code, "message": message}
            for component, place, code, message in blamed(made)
        ],
    }
    write_document(report, stream, verdict=verdict(made, report), run=run)

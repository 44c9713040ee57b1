"""What `ackdoctor lab study` shows: the screen and the JSON.  docs/json.md documents every field of the JSON."""

import json
from collections.abc import Mapping, Sequence
from typing import TextIO

from ackdoctor import __version__
from ackdoctor.lab.study import Experiment, Outcome, Result, Row, Setting
from ackdoctor.model.finding import counted
from ackdoctor.reporters import Context, wrapped
from ackdoctor.reporters.tables import block

_NUMBERS = ("published", "law", "simulator", "lost")


def screen(results: Sequence[Result], setting: Setting, stream: TextIO, context: Context) -> None:
    """Write a table for each experiment, with its law, and the verdict."""

    def write(line: str) -> None:
        stream.write("".join(f"{part}\n" for part in wrapped(line, context.width)))

    palette = context.palette
    setup = (
        f"{setting.profile.name}, seed {setting.seed}, P = max spout pending = {setting.pending:,},"
        f" rate = {setting.rate:,g} tuples per second"
    )
    write(setup)
    for result in results:
        experiment = result.experiment
        rows = [_cells(experiment, row, outcome) for row, outcome in result.outcomes]
        title = f"{palette.paint('label', experiment.title)}: {experiment.quantity}"
        hidden = [head for head in ("published", "lost") if not any(cells[head] for cells in rows)]
        stream.write("\n")
        titled = "\n".join(wrapped(title, context.width))
        stream.write(block(titled, rows, context, numbers=_NUMBERS, dropped=hidden))
        for head, text in (("law", experiment.law), ("note", experiment.note)):
            if text:
                write(f"  {head}: {text}")
    stream.write("\n")
    write(verdict(results))


def verdict(results: Sequence[Result]) -> str:
    """Return one line: whether every law holds, or which do not."""
    total = sum(len(result.outcomes) for result in results)
    broken = [name for result in results for name in result.broken]
    if not broken:
        return f"OK: the law holds in {counted(total, 'row')}"
    return f"the law does not hold: {', '.join(broken)}"


def _cells(experiment: Experiment, row: Row, outcome: Outcome) -> Mapping[str, str]:
    exact = experiment.quantity == "sum"
    return {
        "row": experiment.identify(row),
        "published": "" if row.published is None else f"{row.published:,}",
        "law": _bounds(outcome),
        "simulator": f"{outcome.simulated:,}",
        "lost": "" if exact or experiment.quantity == "lost" else f"{outcome.lost:,}",
        "times seen": ", ".join(f"{times}x: {count:,}" for times, count in outcome.times_seen.items()),
        "holds": "; ".join(("no", *outcome.violations)) if not outcome.holds else "yes",
    }


def _bounds(outcome: Outcome) -> str:
    if outcome.most is None:
        return f">={outcome.least:,}"
    if outcome.least == outcome.most:
        return f"{outcome.least:,}"
    return f"{outcome.least:,}..{outcome.most:,}"


def document(results: Sequence[Result], setting: Setting, stream: TextIO) -> None:
    """Write the results as JSON."""
    value = {
        "version": __version__,
        "profile": setting.profile.name,
        "seed": setting.seed,
        "scale": setting.scale,
        "max_spout_pending": setting.pending,
        "rate": setting.rate,
        "experiments": [_experiment(result) for result in results],
        "broken": [name for result in results for name in result.broken],
    }
    json.dump(value, stream, indent=2)
    stream.write("\n")


def _experiment(result: Result) -> dict[str, object]:
    experiment = result.experiment
    return {
        "name": experiment.name,
        "title": experiment.title,
        "quantity": experiment.quantity,
        "law": experiment.law,
        "note": experiment.note or None,
        "rows": [
            {
                "name": experiment.identify(row),
                "published": row.published,
                "least": outcome.least,
                "most": outcome.most,
                "simulated": outcome.simulated,
                "numbers": outcome.numbers,
                "lost": outcome.lost,
                "times_seen": {str(times): count for times, count in outcome.times_seen.items()},
                "pending": list(outcome.pending),
                "violations": list(outcome.violations),
                "holds": outcome.holds,
            }
            for row, outcome in result.outcomes
        ],
    }

"""The HTML page of `ackdoctor lab run`."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TextIO

from ackdoctor.lab.fates import FAILED
from ackdoctor.lab.run import Outcome
from ackdoctor.model.finding import Report, counted
from ackdoctor.reporters.html import MAX_CARDS, Step, Table, cards, growth_curve, repairs, table, write
from ackdoctor.reporters.lab_run import (
    COUNTS,
    LabRun,
    about,
    cause_rows,
    death_rows,
    fate_rows,
    vanished_rows,
)
from ackdoctor.reporters.terminal import worst_first

_STYLES = {"BROKEN": "bad", "INCOMPLETE": "warn"}


def page(made_run: LabRun, report: Report, stream: TextIO, *, inputs: Sequence[str], made: datetime) -> None:
    """Write the whole page; it depends on nothing but the arguments."""
    outcome = made_run.outcome
    word, _, rest = outcome.verdict.partition(": ")
    worst = worst_first(report.findings)
    found = cards(worst)
    write(
        "lab_run.html.jinja",
        stream,
        command="lab run",
        inputs=inputs,
        made=made,
        about=[*about(made_run), *(("note", note) for note in report.notes), ("again", made_run.command)],
        steps=[*repairs(worst), *_blame(outcome)],
        then=[*_repeated_failures(outcome), *_open_ends(outcome)],
        nothing="Nothing was lost or stuck in this run." if outcome.survived else "",
        unreadable=(),
        word=word,
        style=_STYLES.get(word, "good"),
        rest=rest,
        tiles=_tiles(outcome),
        findings=found,
        more_findings=len(worst) - MAX_CARDS,
        curve=growth_curve(outcome.growth),
        **_tables(outcome),
    )


def _blame(outcome: Outcome) -> Iterator[Step]:
    """Yield what the files show in the components behind a loss."""
    seen = {(finding.code, finding.component) for finding in outcome.findings}
    for each in outcome.blamed:
        if (each.code, each.component) not in seen:
            yield Step(
                action=f"read what {each.code} means, and repair {each.component or 'the topology'}",
                place=each.place,
                why=each.message,
                code=each.code,
                target="messages",
            )


def _repeated_failures(outcome: Outcome) -> Iterator[Step]:
    """Yield what to do about messages that a bolt fails each time."""
    for fate in outcome.fates:
        for each in fate.causes:
            if (each.end, each.why) == ("stuck", FAILED):
                yield Step(
                    action=f"find out why {each.component} fails it each time, or bound the retries of {fate.spout}",
                    why=f"{counted(each.messages, 'message')} stuck, such as {each.example}",
                    target="messages",
                )


def _open_ends(outcome: Outcome) -> Iterator[Step]:
    """Yield what to do about that which the run leaves open."""
    if outcome.stopped and not outcome.interrupted:
        yield Step(action="run it to its end", why=outcome.stopped)
    if outcome.missed:
        yield Step(
            action="let these faults come earlier, or the run last longer with --seconds",
            why=f"{', '.join(outcome.missed)} did not happen",
        )
    for each in outcome.unjudged:
        if each.place:
            yield Step(
                action="complete a tuple after its effect",
                place=each.place,
                why=f"not judged: {each.component} {each.why}",
                sure=False,
                target="unjudged",
            )


def _tiles(outcome: Outcome) -> Iterator[tuple[int, str]]:
    for name in COUNTS:
        amount = sum(getattr(fate, name) for fate in outcome.fates)
        if amount or name in {"messages", "completed", "repeated", "lost", "stuck"}:
            yield amount, "messages without an id" if name == "untracked" else name
    if outcome.vanished:
        yield sum(each.copies for each in outcome.vanished), "untracked tuples lost"
    yield outcome.high_water, "pending at most"


def _tables(outcome: Outcome) -> dict[str, Table]:
    unjudged = [
        {"component": each.component, "place": each.place, "what": each.why} for each in outcome.unjudged
    ]
    return {
        "fates": table("Messages", fate_rows(outcome), numbers=COUNTS),
        "causes": table("Why messages are lost or stuck", cause_rows(outcome), numbers={"messages"}),
        "vanished": table("Untracked tuples", vanished_rows(outcome), numbers={"lost"}),
        "deaths": table("Deaths", death_rows(outcome), numbers={"deaths", "messages lost"}),
        "unjudged": table("Not judged", unjudged),
    }

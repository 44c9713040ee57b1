"""ACK305: a spout's `next_tuple` goes round in a loop that nothing leaves, so the framework never gets the thread back."""

from collections.abc import Iterator

from ackdoctor.checks.diagnosis import Diagnosis
from ackdoctor.checks.facts.endless import endless_loop
from ackdoctor.flow.events import Emitted
from ackdoctor.model.dialect import EntryKind, Misuse
from ackdoctor.model.finding import Finding

__all__ = ["check"]


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    """One finding for each loop without end that a spout emits in while the framework waits for it."""
    if Misuse.NEVER_RETURNS not in diagnosis.discipline.prices:
        return
    told: set[int] = set()
    for flow, emit in diagnosis.sightings(Emitted, EntryKind.NEXT):
        if emit.deferral is not None:
            continue
        for visit in emit.trail.around():
            loop = endless_loop(diagnosis, visit.function, visit.index)
            if loop is None:
                continue
            head = visit.function.cfg.steps[loop]
            if id(head) not in told:
                told.add(id(head))
                yield diagnosis.finding(
                    at=(visit.function, head.span),
                    message=f"`{flow.function.name}` of {diagnosis.component.name} never returns from this loop",
                    misuse=Misuse.NEVER_RETURNS,
                    trail=visit,
                    last="emitted, and round again: nothing leaves the loop",
                    flow=flow,
                    help="emit what is there and return; the framework calls again at once",
                )

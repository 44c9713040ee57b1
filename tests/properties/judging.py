"""Compares what the engine says about a source with what its runs really did.

A `Dispute` is a disagreement: a run that the engine's states do not contain ("unsound"), a breach that no finding
tells ("missed"), a finding that no run shows ("false"), or a path of evidence that no run takes ("path").
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ackdoctor.checks import check_component
from ackdoctor.dialects import load
from ackdoctor.flow.component import solve_component
from ackdoctor.flow.events import Ended, Flow
from ackdoctor.flow.program import Program
from ackdoctor.frontends.python import lower_source
from ackdoctor.model.component import Component
from ackdoctor.model.finding import Confidence, Finding, Unreadable
from ackdoctor.model.protocol import Breach, Op, Stage
from tests.properties.runs import MOST_ROWS, PATH, Event, Run, explore
from tests.properties.settings import Setting

__all__ = ["Dispute", "diagnosed", "disputes", "findings_about", "findings_in", "linked", "told"]

FAMILIES = ("ACK101", "ACK103", "ACK104", "ACK105", "ACK106", "ACK202")
AUTO = (Op.AUTO_ACK, Op.AUTO_FAIL)
LATE = (Breach.EMIT_AFTER_ACK, Breach.EMIT_AFTER_FAIL)
MIXED = (Breach.ACK_AFTER_FAIL, Breach.FAIL_AFTER_ACK, Breach.DOUBLE_FAIL)


class Dispute(NamedTuple):
    """One disagreement, in words."""

    kind: str
    text: str


def linked(source: str) -> tuple[Program, Component]:
    """The one component of a source, and the program it stands in."""
    unit = lower_source(path=PATH, module="bolt", is_package=False, data=source.encode())
    assert not isinstance(unit, Unreadable), unit
    program = Program([unit], load({}))
    (component,) = program.components
    return program, component


def findings_about(source: str) -> list[Finding]:
    """The findings about the one component of a source."""
    return list(check_component(*linked(source)))


def findings_in(source: str) -> list[Finding]:
    """The findings about every component of a source."""
    unit = lower_source(path=PATH, module="bolt", is_package=False, data=source.encode())
    assert not isinstance(unit, Unreadable), unit
    program = Program([unit], load({}))
    return [finding for component in program.components for finding in check_component(program, component)]


def diagnosed(source: str, setting: Setting) -> tuple[list[Finding], Flow]:
    """The findings, and what was seen from the handler."""
    program, component = linked(source)
    (flow,) = (
        flow
        for flow in solve_component(program, component)
        if flow.entry is not None and flow.entry.method == setting.handler
    )
    return list(check_component(program, component)), flow


def disputes(source: str, setting: Setting) -> list[Dispute]:
    """Every disagreement about one source."""
    findings, flow = diagnosed(source, setting)
    exploration = explore(source, setting)
    found = [] if setting.batch else list(_unsound(flow, exploration.runs))
    found += _missed(findings, exploration.runs, setting, source)
    if exploration.complete:
        found += _false(findings, exploration.runs, setting)
    return list(dict.fromkeys(found))


# ---- soundness ----


def _unsound(flow: Flow, runs: Iterable[Run]) -> Iterator[Dispute]:
    """A run ends in a state that no end the engine saw contains; exceptions that leave a tuple untouched are no end."""
    if flow.limited:
        return
    seen = {
        (ended.state.tokens[ended.token].stage, ended.raised is not None)
        for ended in flow.events
        if isinstance(ended, Ended) and ended.token is not None and ended.deferral is None
    }
    for run in runs:
        stage = _before_the_framework(run)
        if run.raised and stage in (Stage.OWED, Stage.HELD):
            continue
        if (stage, run.raised) not in seen:
            word = "by an exception" if run.raised else "normally"
            yield Dispute("unsound", f"no end says {stage.value} {word}")


def _before_the_framework(run: Run) -> Stage:
    if not run.events or run.events[-1].op not in AUTO or run.events[-1].breach is not None:
        return run.state
    return Stage.HELD if any(event.op is Op.HOLD for event in run.events) else Stage.OWED


# ---- recall ----


def told(event: Event, setting: Setting) -> frozenset[str]:
    """The rules one of which must tell a breach."""
    if event.breach in LATE:
        return frozenset({"ACK202"})
    if event.breach is Breach.MISSING_ACK:
        return frozenset({"ACK101"})
    if setting.auto_ack:
        return frozenset({"ACK105", "ACK106"})
    if event.op in AUTO:
        return frozenset({"ACK106", "ACK107"})
    if event.breach is Breach.DOUBLE_ACK:
        return frozenset({"ACK103", "ACK104"})
    return frozenset({"ACK106", "ACK104"})


def _missed(findings: list[Finding], runs: Iterable[Run], setting: Setting, source: str) -> Iterator[Dispute]:
    for run in runs:
        for event in run.breaches:
            if setting.auto_ack and event.op not in AUTO and event.breach not in LATE:
                continue  # the first of them is told, against the framework's own
            if event.op is Op.AUTO_FAIL and (run.by_emit or (run.in_helper and "emit(" in source)):
                continue  # an emit's own exception is not told, and it hides others that leave the same helper
            codes = told(event, setting)
            lines = run.lines if event.op in AUTO or event.breach is Breach.MISSING_ACK else event.lines
            about = [f for f in findings if f.code in codes]
            assert event.breach is not None
            if not about:
                yield Dispute("missed", f"{event.breach.value} by {event.op.value} at {event.lines}")
            elif len(event.lines) != 1:
                continue  # told once where paths have met in one state, at an end or in a helper
            elif not any(f.site.span.line in lines for f in about):
                yield Dispute("missed here", f"{event.breach.value} by {event.op.value} at {event.lines}")


# ---- precision ----


def _false(findings: list[Finding], runs: list[Run], setting: Setting) -> Iterator[Dispute]:
    for finding in findings:
        if finding.code not in FAMILIES or finding.confidence is not Confidence.MUST:
            continue
        line = finding.site.span.line
        showing = [run for run in runs if _shows(run, finding.code, line, setting)]
        if not showing:
            yield Dispute("false", f"{finding.code} at {line}: {finding.message}")
        elif _within_reach(finding) and not any(_takes(run, finding) for run in showing):
            steps = " ".join(f"{step.site.span.line}:{step.note}" for step in finding.evidence.steps)
            yield Dispute("path", f"{finding.code} at {line}: {steps}")


def _shows(run: Run, code: str, line: int, setting: Setting) -> bool:
    return any(_SHOWN[code](event) and line in (event.lines or run.lines) for event in run.breaches)


_SHOWN: dict[str, Callable[[Event], bool]] = {
    "ACK101": lambda event: event.breach is Breach.MISSING_ACK,
    "ACK103": lambda event: event.breach is Breach.DOUBLE_ACK and event.op not in AUTO,
    "ACK104": lambda event: event.breach not in LATE and event.op not in AUTO,
    "ACK105": lambda event: event.op in AUTO,
    "ACK106": lambda event: event.breach in MIXED,
    "ACK202": lambda event: event.breach in LATE,
}


def _within_reach(finding: Finding) -> bool:
    """Whether the evidence goes round no loop more often than `rows()` has rows."""
    rounds = Counter(step.site.span.line for step in finding.evidence.steps if step.note == "next iteration")
    return max(rounds.values(), default=0) <= MOST_ROWS


def _takes(run: Run, finding: Finding) -> bool:
    """Whether a run goes through the lines of a finding's evidence, in this order."""
    rest = iter(run.lines)
    before = 0
    for step in finding.evidence.steps:
        line = step.site.span.line
        if line != before and line not in rest:
            return False
        before = line
    return True

"""Compare the analysis of a source with its concrete runs.

A `Disagreement` is a run that no abstract state contains ("unsound"), a breach without a finding ("missed"), a finding
that no run shows ("false"), or a witness path that no run takes ("path").
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ackdoctor.checks import all_findings
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.dialects import load
from ackdoctor.flow.component import solve_component
from ackdoctor.flow.events import Ended, Flow
from ackdoctor.flow.program import Program
from ackdoctor.frontends.python import lower_source
from ackdoctor.model.cfg import Component
from ackdoctor.model.finding import Confidence, Finding, Unreadable
from ackdoctor.model.protocol import Breach, Op, Stage
from tests.properties.bolt_settings import Setting
from tests.properties.concrete_runs import MAX_ROWS, PATH, Event, Run, explore

__all__ = [
    "Disagreement",
    "analysed",
    "disagreements",
    "expected_codes",
    "findings_about",
    "findings_in",
    "linked",
]

FAMILIES = ("ACK101", "ACK103", "ACK104", "ACK105", "ACK106", "ACK202")
AUTO = (Op.AUTO_ACK, Op.AUTO_FAIL)
LATE = (Breach.EMIT_AFTER_ACK, Breach.EMIT_AFTER_FAIL)
MIXED = (Breach.ACK_AFTER_FAIL, Breach.FAIL_AFTER_ACK, Breach.DOUBLE_FAIL)


class Disagreement(NamedTuple):
    """One disagreement, described."""

    kind: str
    text: str


def linked(source: str) -> tuple[Program, Component]:
    """Link a source; return the program and its only component."""
    unit = lower_source(path=PATH, module="bolt", is_package=False, data=source.encode())
    assert not isinstance(unit, Unreadable), unit
    program = Program([unit], load({}))
    (component,) = program.components
    return program, component


def findings_about(source: str) -> list[Finding]:
    """The findings about the only component of a source."""
    return list(all_findings(RuleContext.of(*linked(source))))


def findings_in(source: str) -> list[Finding]:
    """The findings about every component of a source."""
    unit = lower_source(path=PATH, module="bolt", is_package=False, data=source.encode())
    assert not isinstance(unit, Unreadable), unit
    program = Program([unit], load({}))
    return [
        finding
        for component in program.components
        for finding in all_findings(RuleContext.of(program, component))
    ]


def analysed(source: str, setting: Setting) -> tuple[list[Finding], Flow]:
    """The findings, and the flow of the handler."""
    program, component = linked(source)
    (flow,) = (
        flow
        for flow in solve_component(program, component)
        if flow.entry is not None and flow.entry.method == setting.handler
    )
    return list(all_findings(RuleContext.of(program, component))), flow


def disagreements(source: str, setting: Setting) -> list[Disagreement]:
    """All disagreements about one source."""
    findings, flow = analysed(source, setting)
    exploration = explore(source, setting)
    found = [] if setting.batch else list(_unsound(flow, exploration.runs))
    found += _missed(findings, exploration.runs, setting, source)
    if exploration.complete:
        found += _false(findings, exploration.runs, setting)
    return list(dict.fromkeys(found))


# ---- soundness ----


def _unsound(flow: Flow, runs: Iterable[Run]) -> Iterator[Disagreement]:
    """Runs that end in a stage that no `Ended` event has; exceptions with an untouched tuple are not events."""
    if flow.limited:
        return
    seen = {
        (ended.state.tokens[ended.token].stage, ended.raised is not None)
        for ended in flow.events
        if isinstance(ended, Ended) and ended.token is not None and ended.deferral is None
    }
    for run in runs:
        stage = _stage_before_framework(run)
        if run.raised and stage in (Stage.OWED, Stage.HELD):
            continue
        if (stage, run.raised) not in seen:
            word = "by an exception" if run.raised else "normally"
            yield Disagreement("unsound", f"no event ends {stage.value} {word}")


def _stage_before_framework(run: Run) -> Stage:
    if not run.events or run.events[-1].op not in AUTO or run.events[-1].breach is not None:
        return run.state
    return Stage.HELD if any(event.op is Op.HOLD for event in run.events) else Stage.OWED


# ---- recall ----


def expected_codes(event: Event, setting: Setting) -> frozenset[str]:
    """The rules of which one must report a breach."""
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


def _missed(
    findings: list[Finding], runs: Iterable[Run], setting: Setting, source: str
) -> Iterator[Disagreement]:
    for run in runs:
        for event in run.breaches:
            if setting.auto_ack and event.op not in AUTO and event.breach not in LATE:
                continue  # the finding is about the first completion and the framework's
            if event.op is Op.AUTO_FAIL and (run.by_emit or (run.in_helper and "emit(" in source)):
                continue  # an exception of an emit is not reported, and it hides others of the same helper
            codes = expected_codes(event, setting)
            lines = run.lines if event.op in AUTO or event.breach is Breach.MISSING_ACK else event.lines
            about = [f for f in findings if f.code in codes]
            assert event.breach is not None
            if not about:
                yield Disagreement("missed", f"{event.breach.value} by {event.op.value} at {event.lines}")
            elif len(event.lines) != 1:
                continue  # reported once for joined paths, at an exit or in a helper
            elif not any(f.site.span.line in lines for f in about):
                yield Disagreement(
                    "missed here", f"{event.breach.value} by {event.op.value} at {event.lines}"
                )


# ---- precision ----


def _false(findings: list[Finding], runs: list[Run], setting: Setting) -> Iterator[Disagreement]:
    for finding in findings:
        if finding.code not in FAMILIES or finding.confidence is not Confidence.MUST:
            continue
        line = finding.site.span.line
        showing = [run for run in runs if _shows(run, finding.code, line, setting)]
        if not showing:
            yield Disagreement("false", f"{finding.code} at {line}: {finding.message}")
        elif _is_reachable(finding) and not any(_takes(run, finding) for run in showing):
            steps = " ".join(f"{step.site.span.line}:{step.note}" for step in finding.evidence.steps)
            yield Disagreement("path", f"{finding.code} at {line}: {steps}")


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


def _is_reachable(finding: Finding) -> bool:
    """Whether the witness repeats no loop more often than `rows()` has rows."""
    iterations = Counter(
        step.site.span.line for step in finding.evidence.steps if step.note == "next iteration"
    )
    return max(iterations.values(), default=0) <= MAX_ROWS


def _takes(run: Run, finding: Finding) -> bool:
    """Whether a run executes the lines of a witness in this order."""
    rest = iter(run.lines)
    before = 0
    for step in finding.evidence.steps:
        line = step.site.span.line
        if line != before and line not in rest:
            return False
        before = line
    return True

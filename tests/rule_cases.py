"""Read the cases of `rules/` and `tests/rules/`, and run one in memory: code through lint, messages through an acker."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import pytest

from ackdoctor.checks import check_component
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.config import Settings
from ackdoctor.dialects import known, load
from ackdoctor.flow.program import Program
from ackdoctor.frontends import java
from ackdoctor.frontends.python import lower_source
from ackdoctor.lint.run import lint
from ackdoctor.model.cfg import Unit
from ackdoctor.model.finding import Finding, Severity, Unreadable
from tests.acker_cases import findings_by_line
from tests.rule_pages import (
    MARKER_IN_JSON,
    WIRING,
    Case,
    CaseFile,
    Expected,
    cases_of,
    load_rules,
    read_case_page,
)

__all__ = ["CASE_PAGES", "FIXES", "all_cases", "cases_by_code", "findings_of", "marked"]

FIXES = "fixes.md"  # a rule's help texts, applied: of `tests/advice`
CASE_PAGES = sorted(
    page for page in (Path(__file__).parent / "rules").glob("ACK*/*.md") if page.name != FIXES
)


@cache
def cases_by_code() -> Mapping[str, tuple[Case, ...]]:
    """Return the cases of each rule: those of its page, then those of its regression pages."""
    cases = {code: cases_of(page) for code, page in load_rules().items()}
    for path in CASE_PAGES:
        cases[path.parent.name] += read_case_page(path)
    return cases


def all_cases() -> list[Case]:
    """Return all cases of all rules."""
    return [case for cases in cases_by_code().values() for case in cases]


def marked(case: Case, defaults: Mapping[str, bool]) -> list[Expected]:
    """Return the findings of the default rules and of the case's own rule, as markers.

    Other rules' findings of severity info count only if a marker names them.
    """
    found: set[Expected] = set()
    for mark, finding in _findings(case):
        severity = case.severities.get(mark)
        if severity is None and finding.code != case.code and not _is_shown(finding, defaults):
            continue
        if severity is not None and finding.severity is not severity:
            found.add(mark._replace(code=f"{finding.code} as {finding.severity.word}"))
        else:
            found.add(mark)
    return sorted(found)


def _findings(case: Case) -> Iterator[tuple[Expected, Finding]]:
    """Yield each finding with its marker."""
    if case.language == "acker":
        for line, finding in findings_by_line(case):
            yield Expected(case.files[0].name, line, finding.code), finding
        return
    for finding in findings_of(case):
        yield Expected(finding.site.path, finding.site.span.line, finding.code), finding


def _is_shown(finding: Finding, defaults: Mapping[str, bool]) -> bool:
    return finding.severity is not Severity.INFO and defaults.get(finding.code, True)


def _versions(dialect: str) -> dict[str, str]:
    """Return the setting that selects an older dialect."""
    return {d.replaces: ".".join(map(str, d.since)) for d in known() if d.replaces and d.name == dialect}


def findings_of(case: Case) -> list[Finding]:
    """Return every finding in a case's files, one for each rule and place."""
    if case.language == WIRING:
        return _project_findings(case)
    units = [_java(file) if case.language == "java" else _python(file) for file in case.files]
    program = Program(units, load(_versions(case.dialect)))
    findings: dict[tuple[str, object], Finding] = {}
    for component in program.components:
        for finding in check_component(RuleContext.of(program, component)):
            if not finding.repaired_by:
                findings.setdefault((finding.code, finding.site), finding)
    return list(findings.values())


def _project_findings(case: Case) -> list[Finding]:
    """Lint the files of a case as a project."""
    with TemporaryDirectory() as folder:
        for file in case.files:
            path = Path(folder, file.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                MARKER_IN_JSON.sub("", file.text) if path.suffix == ".json" else file.text, encoding="utf-8"
            )
        report = lint([Path(folder)], Settings(), root=Path(folder))
    assert not report.unreadable
    return list(report.findings)


def _python(file: CaseFile) -> Unit:
    path = PurePosixPath(file.name)
    is_package = path.stem == "__init__"
    module = ".".join(path.parts[:-1] if is_package else (*path.parts[:-1], path.stem))
    unit = lower_source(path=file.name, module=module, is_package=is_package, data=file.text.encode())
    if isinstance(unit, Unreadable):
        pytest.fail(f"{unit.path}:{unit.line}:{unit.column}: {unit.reason}")
    return unit


def _java(file: CaseFile) -> Unit:
    lowered = java.lower_source(path=file.name, data=file.text.encode())
    for wrong in (lowered,) if isinstance(lowered, Unreadable) else lowered.broken:
        pytest.fail(f"{wrong.path}:{wrong.line}:{wrong.column}: {wrong.reason}")
    assert not isinstance(lowered, Unreadable)
    return lowered.unit

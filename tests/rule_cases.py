"""Runs one case of a rule page through the whole static engine, in memory."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import PurePosixPath

from ackdoctor.checks import diagnose
from ackdoctor.dialects import load
from ackdoctor.flow.program import Program
from ackdoctor.frontends.python import lower_source
from ackdoctor.model.finding import Finding, Severity, Unreadable
from ackdoctor.rulebook import Case

__all__ = ["findings_of", "found"]


def found(case: Case, defaults: Mapping[str, bool], least: Severity = Severity.WARNING) -> list[tuple[str, int, str]]:
    """(file, line, code) of every finding of the default rules and of the case's own rule, sorted."""
    return sorted(
        {
            (finding.site.path, finding.site.span.line, finding.code)
            for finding in findings_of(case)
            if finding.severity >= least and (defaults.get(finding.code) or finding.code == case.code)
        }
    )


def findings_of(case: Case) -> list[Finding]:
    """Every finding about a case's files."""
    units = []
    for file in case.files:
        path = PurePosixPath(file.name)
        parts = [*path.parts[:-1], path.stem]
        is_package = parts[-1] == "__init__"
        module = ".".join(parts[:-1] if is_package else parts)
        unit = lower_source(path=file.name, module=module, is_package=is_package, data=file.text.encode())
        if isinstance(unit, Unreadable):
            message = f"{unit.path}:{unit.line}:{unit.column}: {unit.reason}"
            raise ValueError(message)
        units.append(unit)
    versions = [case.dialect] if case.dialect == "streamparse_legacy" else []
    program = Program(units, load(*versions))
    findings: dict[tuple[str, object], Finding] = {}
    order: dict[str, list[str]] = defaultdict(list)
    for component in program.components:
        for finding in diagnose(program, component):
            findings.setdefault((finding.code, finding.site), finding)
            order[finding.code].append(component.name)
    return list(findings.values())

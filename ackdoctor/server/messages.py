"""Findings in the editor's terms: diagnostics with their path, hovers with the rule's page, code actions."""

from collections.abc import Callable, Sequence
from functools import cache

from lsprotocol import types

from ackdoctor.model import RulebookError
from ackdoctor.model.finding import Finding, Fix, HeapWitness, Severity, Unreadable
from ackdoctor.model.source import Site
from ackdoctor.rulebook import RULE_URL, known_rules
from ackdoctor.rulebook.pages import explanation, read_page
from ackdoctor.server.texts import Text

FIX_ALL = "source.fixAll.ackdoctor"
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}
_SOURCE = "ackdoctor"

TextOf = Callable[[str], tuple[str, Text]]  # place in a report -> URI and text


def diagnostic(finding: Finding, text_of: TextOf) -> types.Diagnostic:
    """Return a finding as a diagnostic; the steps of its path are related information."""
    _, text = text_of(finding.site.path)
    message = f"{finding.message}\nhelp: {finding.help}" if finding.help else finding.message
    steps = () if isinstance(finding.evidence, HeapWitness) else finding.evidence.steps
    return types.Diagnostic(
        range=text.range(finding.site.span),
        message=message,
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(RULE_URL.format(code=finding.code, name=finding.name)),
        source=_SOURCE,
        related_information=[
            types.DiagnosticRelatedInformation(
                _location(step.site, text_of), f"{step.note} [{step.state}]" if step.state else step.note
            )
            for step in steps
        ]
        or None,
    )


def unread_diagnostic(unread: Unreadable, text_of: TextOf) -> types.Diagnostic:
    """Return why a file is not checked, or not to its end."""
    _, text = text_of(unread.path)
    what = "not checked to the end" if unread.partial else "not checked"
    return types.Diagnostic(
        range=text.line_range(unread.line),
        message=f"{what}: {unread.reason}",
        severity=types.DiagnosticSeverity.Information,
        source=_SOURCE,
    )


def _location(site: Site, text_of: TextOf) -> types.Location:
    uri, text = text_of(site.path)
    return types.Location(uri, text.range(site.span))


# ---- hovers ----


def hover(findings: Sequence[Finding], text: Text, *, markdown: bool) -> types.Hover | None:
    """Return the pages of the rules of these findings, each once."""
    pages = {finding.code: page(finding.code) for finding in findings}
    shown = "\n\n---\n\n".join(filter(None, pages.values()))
    if not shown:
        return None
    kind = types.MarkupKind.Markdown if markdown else types.MarkupKind.PlainText
    return types.Hover(types.MarkupContent(kind, shown), text.range(findings[0].site.span))


@cache
def page(code: str) -> str:
    """Return the page of a rule as Markdown; "" if it cannot be read."""
    rule = known_rules().get(code)
    try:
        return explanation(read_page(rule.path)) if rule else ""
    except RulebookError:
        return ""


# ---- code actions ----


def quick_fix(
    finding: Finding, fix: Fix, edits: types.WorkspaceEdit, shown: types.Diagnostic
) -> types.CodeAction:
    """Return the fix of a finding as an action; an unsafe one says so."""
    return types.CodeAction(
        title=f"{finding.code}: {fix.title}" if fix.safe else f"{finding.code}: {fix.title} (unsafe)",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[shown],
        is_preferred=fix.safe or None,
        edit=edits,
    )


def ignore_action(finding: Finding, edits: types.WorkspaceEdit, shown: types.Diagnostic) -> types.CodeAction:
    """Return the action that silences a finding."""
    return types.CodeAction(
        title=f"Ignore {finding.code} on this line",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[shown],
        edit=edits,
    )


def fix_all(edits: types.WorkspaceEdit) -> types.CodeAction:
    """Return the action that applies all safe fixes of a file."""
    return types.CodeAction(title="ackdoctor: apply all safe fixes", kind=FIX_ALL, edit=edits)

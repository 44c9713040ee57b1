"""What findings do to a test's report: a passed one fails, the user's own failure stays first."""

import io
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ackdoctor.model.finding import Finding, Report
from ackdoctor.pytest_plugin.table import TURNED

if TYPE_CHECKING:
    from ackdoctor.reporters import Context

__all__ = ["SECTION", "attach", "context_of", "described", "fail", "one_line", "reason"]

SECTION = "ackdoctor"

_MOST_FINDINGS = 10  # of one test, without -vv
# how a test has failed that was expected to and did not: pytest's own, and unittest's
_EXPECTED = re.compile(r"\A(?:\[XPASS\(strict\)\] |Unexpected success(?:: )?)")


def fail(report: pytest.TestReport, why: str) -> bool:
    """Turns a passed report into a failed one; whether it did.

    A test that was expected to fail has failed as expected.
    """
    if hasattr(report, "wasxfail"):
        report.outcome = "skipped" if report.outcome == "passed" else report.outcome
    elif report.outcome == "failed" and _EXPECTED.match(str(report.longrepr)):
        report.outcome = "skipped"
        report.wasxfail = _EXPECTED.sub("", str(report.longrepr))
    elif report.outcome == "passed":
        report.outcome = "failed"
        report.longrepr = why
        setattr(report, TURNED, True)
        return True
    return False


def attach(report: pytest.TestReport, text: str, section: str = SECTION) -> None:
    """Puts the findings below whatever the report says already."""
    if text:
        report.sections.append((section, text))


def reason(findings: Sequence[Finding]) -> str:
    """Why a test failed, in one line."""
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    return one_line(findings[0]) + more


def one_line(finding: Finding) -> str:
    """The rule first: the end of the line may be cut."""
    return f"{finding.code} {finding.name} {finding.site.path}:{finding.site.span.line} {finding.message}"


def described(findings: Sequence[Finding], *, root: Path, verbosity: int) -> str:
    """The findings as `ackdoctor lint` shows them: none with -qq, all with -vv."""
    if verbosity < -1:
        return ""
    from ackdoctor.reporters import reporter  # a clean run shows nothing

    most = len(findings) if verbosity > 1 else _MOST_FINDINGS
    stream = io.StringIO()
    reporter("full")(Report(findings=tuple(findings[:most])), stream, context_of(root))
    if len(findings) > most:
        stream.write(f"... and {len(findings) - most} more; -vv shows all\n")
    return stream.getvalue().rstrip("\n")


def context_of(root: Path) -> "Context":
    """What reporters need to know of the terminal, and where the sources are."""
    from ackdoctor.reporters.context import ASCII, UNICODE, Context, Sources

    return Context(sources=Sources(root=root), glyphs=UNICODE if _shows_unicode() else ASCII)


def _shows_unicode() -> bool:
    """Whether the terminal has line-drawing characters; of a worker's, the controller's terminal is not known."""
    try:
        "╭·".encode(getattr(sys.__stdout__, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True

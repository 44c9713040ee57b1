"""Gathers the rows of all tests, on the process that talks to the user, and prints them at the end."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ackdoctor.pytest_plugin.options import Options, given

if TYPE_CHECKING:
    from ackdoctor.pytest_plugin.rows import Row

__all__ = ["TURNED", "Table"]

TURNED = "ackdoctor_turned"  # an attribute of reports that failed because of us; it travels through xdist


class Table:
    """Always registered, since under xdist only the workers know whether a mark turned a test on."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.rows: dict[str, Row] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Takes the row of a finished test; of a repeated one the last."""
        if report.when == "teardown" and report.user_properties:
            self._take(report)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> object:
        """Letter and word of a test that only the acking made fail."""
        if not report.failed or not hasattr(report, TURNED):
            return None
        return "failed" if report.when == "call" else "error", "A", "ACK"

    def pytest_terminal_summary(self, terminalreporter: "pytest.TerminalReporter") -> None:
        """The table, if any test was traced; else which options were given for nothing."""
        if not self.rows:
            if self.options.level == "off" and (flags := given(terminalreporter.config)):
                terminalreporter.write_sep("=", "ackdoctor")
                terminalreporter.write_line(f"no test was traced: {', '.join(flags)} without --ackdoctor")
            return
        from ackdoctor.pytest_plugin.summary import summary

        if self.options.warn:
            self._warn(terminalreporter)
        terminalreporter.write_sep("=", "ackdoctor")
        for line in summary(self.rows, terminalreporter.verbosity):
            terminalreporter.write_line(line)
        if self.options.write_baseline and self.options.baseline is not None:
            terminalreporter.write_line(self._accept(self.options.baseline))

    def _warn(self, terminalreporter: "pytest.TerminalReporter") -> None:
        """The findings of tests that passed all the same: of those pytest shows nothing, unless it is asked by -rP or -rA."""
        from ackdoctor.pytest_plugin.outcome import SECTION

        if not {"P", "A"}.isdisjoint(terminalreporter.reportchars):
            return
        passed = [each for each in terminalreporter.stats.get("passed", ()) if each.nodeid in self.rows]
        shown = [(each, text) for each in passed for section, text in each.sections if section == SECTION]
        for number, (report, text) in enumerate(shown):
            if not number:
                terminalreporter.write_sep("=", "ACKDOCTOR'S WARNINGS")
            terminalreporter.write_sep("_", report.head_line or report.nodeid)
            terminalreporter.write_line(text)

    def _take(self, report: pytest.TestReport) -> None:
        from ackdoctor.pytest_plugin.rows import PROPERTY, read_row  # only where there may be one

        for name, value in report.user_properties:
            if name == PROPERTY and (row := read_row(str(value))) is not None:
                self.rows[report.nodeid] = row

    def _accept(self, file: Path) -> str:
        """Writes the baseline; says what became of it."""
        from ackdoctor.lint.baseline import Entry, read, write
        from ackdoctor.model.errors import BaselineError

        entries = {Entry(*map(str, entry)) for row in self.rows.values() for entry in row.baseline}
        try:
            before = {*read(file).entries} if file.exists() else set()
            write(file, entries)
        except BaselineError as error:
            return str(error)
        new, dropped = len(entries - before), len(before - entries)
        return f"{file.name}: {len(entries)} accepted, {new} of them new, {dropped} dropped"

"""`pytest --ackdoctor`: a test fails if a tuple was not completed exactly once.

What is imported here is paid for by every pytest run on the machine: next to nothing.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ackdoctor.pytest_plugin import options
from ackdoctor.pytest_plugin.options import FAILED_BY_ACKDOCTOR

if TYPE_CHECKING:
    from ackdoctor.pytest_plugin.fixture import Fixture
    from ackdoctor.pytest_plugin.outcome import Row

__all__ = ["ackdoctor_fixture", "pytest_addoption", "pytest_collection_modifyitems", "pytest_configure"]

_HOOKS = "ackdoctor-hooks"
_SEPARATION = "ackdoctor-apart"
_ONE_TRACER = "`ackdoctor trace run` traces this process already: run pytest without it"
_OPTIONS = pytest.StashKey[options.Options]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    options.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Read the options and register the mark."""
    config.addinivalue_line("markers", options.MARK)
    config.stash[_OPTIONS] = session = options.read_options(config)
    config.pluginmanager.register(Table(session), "ackdoctor-table")
    beginning = sys.modules.get("ackdoctor.tracer.process.run")
    if beginning is not None and beginning.begun:
        from ackdoctor.pytest_plugin.hooks import TestSeparation

        config.pluginmanager.register(TestSeparation(*beginning.begun[0]), _SEPARATION)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Find the tests to trace, and import the tracer if there is one."""
    session = config.stash[_OPTIONS]
    traced = [(item, wanted) for item in items if (wanted := _wanted(item, session)) is not None]
    if not traced:
        return
    from ackdoctor.pytest_plugin.hooks import TEST_OPTIONS, Hooks, Refusal

    for item, wanted in traced:
        item.stash[TEST_OPTIONS] = wanted
    if config.pluginmanager.hasplugin(_HOOKS):
        return
    if config.pluginmanager.hasplugin(_SEPARATION):
        config.pluginmanager.register(Refusal(_ONE_TRACER), _HOOKS)
        return
    try:
        config.pluginmanager.register(Hooks(config, session), _HOOKS)
    except pytest.UsageError as error:
        if not hasattr(config, "workerinput"):
            raise
        config.pluginmanager.register(Refusal(str(error)))  # xdist would show a worker's error as its own


@pytest.fixture(name=options.NAME)
def ackdoctor_fixture(request: pytest.FixtureRequest) -> "Iterator[Fixture]":
    """Puts components on a bench, in virtual time, with an acker behind them, and knows their pending tuples."""
    hooks = request.config.pluginmanager.get_plugin(_HOOKS)
    fixture = hooks.fixture(request.node) if hooks is not None else None
    if fixture is None:
        raise pytest.UsageError(
            "the fixture `ackdoctor` needs a traced test, which names it among its arguments"
        )
    yield fixture
    fixture.close()


def _wanted(item: pytest.Item, session: options.Options) -> options.Options | str | None:
    """The options of a traced test, or the fault in its marks; below `trace run` a mark alone does not trace the test."""
    apart = item.config.pluginmanager.hasplugin(_SEPARATION)
    if apart and session.level == "off" and options.NAME not in getattr(item, "fixturenames", ()):
        return None
    try:
        return options.options_of_test(item, session)
    except pytest.UsageError as error:
        if not hasattr(item.config, "workerinput"):
            raise
        return str(error)  # xdist would show a worker's error as its own; so the test says it


class Table:
    """The summary of all tests. Always registered, since under xdist only the workers know whether a mark traces a test."""

    def __init__(self, session: options.Options) -> None:
        self.options = session
        self.rows: dict[str, Row] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the row of a finished test; the last one of a repeated test."""
        if report.when == "teardown" and report.user_properties:
            self._take(report)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> object:
        """Letter and word of a test that failed only because of ackdoctor."""
        if not report.failed or not hasattr(report, FAILED_BY_ACKDOCTOR):
            return None
        return "failed" if report.when == "call" else "error", "A", "ACK"

    def pytest_terminal_summary(self, terminalreporter: "pytest.TerminalReporter") -> None:
        """Print the table, or the options that had no effect since no test was traced."""
        if not self.rows:
            if self.options.level == "off" and (flags := options.tracing_flags(terminalreporter.config)):
                terminalreporter.write_sep("=", "ackdoctor")
                terminalreporter.write_line(f"no test was traced: {', '.join(flags)} without --ackdoctor")
            return
        from ackdoctor.pytest_plugin.outcome import summary

        if self.options.warn:
            self._warn(terminalreporter)
        terminalreporter.write_sep("=", "ackdoctor")
        for line in summary(self.rows, terminalreporter.verbosity):
            terminalreporter.write_line(line)
        if self.options.write_baseline and self.options.baseline is not None:
            terminalreporter.write_line(self._accept(self.options.baseline))

    def _warn(self, terminalreporter: "pytest.TerminalReporter") -> None:
        """Print the findings of tests that passed: pytest shows them with -rP or -rA only."""
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
        from ackdoctor.pytest_plugin.outcome import PROPERTY, read_row  # only where there may be one

        for name, value in report.user_properties:
            if name == PROPERTY and (row := read_row(str(value))) is not None:
                self.rows[report.nodeid] = row

    def _accept(self, file: Path) -> str:
        """Write the baseline; returns a line about it."""
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

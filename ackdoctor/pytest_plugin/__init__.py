"""`pytest --ackdoctor`: a test fails if one of its tuples is not completed exactly once.

Every pytest run imports this module, so it imports the tracer only if a test is traced.
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
_SEPARATION = "ackdoctor-separation"
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
    run = sys.modules.get("ackdoctor.tracer.run")
    if run is not None and run.begun:
        from ackdoctor.pytest_plugin.hooks import TestSeparation

        config.pluginmanager.register(TestSeparation(*run.begun[0]), _SEPARATION)


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
    """Runs components on a bench, in virtual time, with an acker; lists pending tuples and findings."""
    hooks = request.config.pluginmanager.get_plugin(_HOOKS)
    fixture = hooks.fixture(request.node) if hooks is not None else None
    if fixture is None:
        raise pytest.UsageError(
            "the fixture `ackdoctor` needs a traced test, which names it among its arguments"
        )
    yield fixture
    fixture.close()


def _wanted(item: pytest.Item, session: options.Options) -> options.Options | str | None:
    """Return the options of a traced test, or the error in its marks.  Under `trace run` a mark alone does not trace the test."""
    under_trace_run = item.config.pluginmanager.hasplugin(_SEPARATION)
    if under_trace_run and session.level == "off" and options.NAME not in getattr(item, "fixturenames", ()):
        return None
    try:
        return options.options_of_test(item, session)
    except pytest.UsageError as error:
        if not hasattr(item.config, "workerinput"):
            raise
        return str(error)  # xdist would show a worker's error as its own, so the test fails with it


class Table:
    """The summary of all tests.  Always registered, since under xdist only the workers know whether a mark traces a test."""

    def __init__(self, session: options.Options) -> None:
        self.options = session
        self.rows: dict[str, Row] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the row of a finished test; of a repeated test, the last one."""
        if report.when != "teardown" or not report.user_properties:
            return
        from ackdoctor.pytest_plugin.outcome import PROPERTY, read_row  # imported only if there may be a row

        for name, value in report.user_properties:
            if name == PROPERTY and (row := read_row(str(value))) is not None:
                self.rows[report.nodeid] = row

    def pytest_report_teststatus(self, report: pytest.TestReport) -> object:
        """Return letter and word of a test that failed only because of ackdoctor."""
        if not report.failed or not hasattr(report, FAILED_BY_ACKDOCTOR):
            return None
        return "failed" if report.when == "call" else "error", "A", "ACK"

    def pytest_terminal_summary(self, terminalreporter: "pytest.TerminalReporter") -> None:
        """Print the table; or, if no test was traced, the options that had no effect."""
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
        """Print the findings of passed tests, which pytest shows only with -rP or -rA."""
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

    def _accept(self, file: Path) -> str:
        """Write the baseline; return a line about it."""
        from ackdoctor.lint.baseline import Entry, read, write
        from ackdoctor.model import BaselineError

        entries = {Entry(*map(str, entry)) for row in self.rows.values() for entry in row.baseline}
        try:
            before = {*read(file).entries} if file.exists() else set()
            write(file, entries)
        except BaselineError as error:
            return str(error)
        new, dropped = len(entries - before), len(before - entries)
        return f"{file.name}: {len(entries)} accepted, {new} of them new, {dropped} dropped"

"""`pytest --ackdoctor`: a test fails if a tuple was not completed exactly once.

What is imported here is paid for by every pytest run on the machine: next to nothing.
"""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ackdoctor.pytest_plugin import marks, options
from ackdoctor.pytest_plugin.table import Table

if TYPE_CHECKING:
    from ackdoctor.pytest_plugin.fixture import Fixture

__all__ = ["ackdoctor_fixture", "pytest_addoption", "pytest_collection_modifyitems", "pytest_configure"]

_HOOKS = "ackdoctor-hooks"
_APART = "ackdoctor-apart"
_ONE_TRACER = "`ackdoctor trace run` traces this process already: run pytest without it"
_OPTIONS = pytest.StashKey[options.Options]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the plugin."""
    options.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Reads the options and makes the mark known."""
    config.addinivalue_line("markers", marks.MARK)
    config.stash[_OPTIONS] = session = options.read_options(config)
    config.pluginmanager.register(Table(session), "ackdoctor-table")
    beginning = sys.modules.get("ackdoctor.tracer.process.begin")
    if beginning is not None and beginning.begun:
        from ackdoctor.pytest_plugin.apart import Apart

        config.pluginmanager.register(Apart(*beginning.begun[0]), _APART)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Finds the tests to trace; only then is the tracer imported."""
    session = config.stash[_OPTIONS]
    traced = [(item, wanted) for item in items if (wanted := _wanted(item, session)) is not None]
    if not traced:
        return
    from ackdoctor.pytest_plugin.hooks import ASKED, Hooks, Refusal

    for item, wanted in traced:
        item.stash[ASKED] = wanted
    if config.pluginmanager.hasplugin(_HOOKS):
        return
    if config.pluginmanager.hasplugin(_APART):
        config.pluginmanager.register(Refusal(_ONE_TRACER), _HOOKS)
        return
    try:
        config.pluginmanager.register(Hooks(config, session), _HOOKS)
    except pytest.UsageError as error:
        if not hasattr(config, "workerinput"):
            raise
        config.pluginmanager.register(Refusal(str(error)))  # xdist would show a worker's error as its own


@pytest.fixture(name=marks.NAME)
def ackdoctor_fixture(request: pytest.FixtureRequest) -> "Iterator[Fixture]":
    """Puts components on a bench, in virtual time, with an acker behind them; knows what they owe."""
    hooks = request.config.pluginmanager.get_plugin(_HOOKS)
    fixture = hooks.fixture(request.node) if hooks is not None else None
    if fixture is None:
        raise pytest.UsageError(
            "the fixture `ackdoctor` needs a traced test, which names it among its arguments"
        )
    yield fixture
    fixture.close()


def _wanted(item: pytest.Item, session: options.Options) -> options.Options | str | None:
    """What the test is traced with, or what is wrong with its marks; below `trace run` a mark alone switches nothing on."""
    apart = item.config.pluginmanager.hasplugin(_APART)
    if apart and session.level == "off" and marks.NAME not in getattr(item, "fixturenames", ()):
        return None
    try:
        return marks.asked(item, session)
    except pytest.UsageError as error:
        if not hasattr(item.config, "workerinput"):
            raise
        return str(error)  # xdist would show a worker's error as its own; so the test says it

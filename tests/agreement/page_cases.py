"""Run the bolts of a rule page with every outcome of their imports, and collect the breaches."""

import io
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest import mock

import pystorm.component

from ackdoctor.lab.bench import Bench
from ackdoctor.lab.child import ShellError
from ackdoctor.lab.frameworks import descent
from ackdoctor.model.dialect import EntryKind, Kind
from ackdoctor.tracer.components import belongs
from ackdoctor.tracer.findings import findings
from ackdoctor.tracer.ledger import Ledger
from ackdoctor.tracer.sites import Places
from tests.agreement.fake_imports import Answers, Outcome, fake_imports, input_values
from tests.agreement.fixture_modules import import_fixture
from tests.agreement.idle_threads import wait_until_idle
from tests.rule_pages import Case

__all__ = ["BREACHES", "Breach", "Run", "run_case"]

_COMPLETIONS = frozenset({"ACK103", "ACK104", "ACK105", "ACK106"})
BREACHES: Mapping[str, frozenset[str]] = {
    "ACK101": frozenset({"ACK101", "ACK104", "ACK110", "ACK401", "ACK402", "ACK403", "ACK404"}),
    **dict.fromkeys(sorted(_COMPLETIONS), _COMPLETIONS),
    "ACK202": _COMPLETIONS | {"ACK202"},
}
"""The codes that a run proves, each with the codes under which lint may report it."""

_TICKS = 3  # more than any batch needs
_CONF = {"tumblingwindowbolt_duration_secs": 1, "slidingwindowbolt_duration_secs": 1}
_CONF |= {"slidingwindowbolt_slideinterval_secs": 1}
_BATCH_S = 2  # TicklessBatchingBolt's timer
_CASE_S = 5  # of processor time
_THREADS_S = 1  # at most, for threads of the case


class Breach(NamedTuple):
    """A rule that a component violated in a run."""

    code: str
    component: str


class Run(NamedTuple):
    """The breaches of a case, and the reasons for parts that could not run."""

    breaches: set[Breach]
    skipped: list[str]


def run_case(case: Case, folder: Path, ledger: Ledger) -> Run:
    """Run the bolts of a case with every outcome; `ledger` must be installed."""
    sources = [file.text for file in case.files]
    for file in case.files:
        place = folder / file.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(file.text, encoding="utf-8")
    run = Run(set(), [])
    try:
        values, keys = input_values(sources)
    except SyntaxError as error:
        run.skipped.append(type(error).__name__)
        return run
    ticks = _TICKS if any("tick" in source for source in sources) else 0
    for outcome in Outcome:
        answers = Answers(outcome)
        try:
            with _time_limit(), _imported_bolts(folder, answers, sources) as bolts:
                for bolt in bolts:
                    run.breaches.update(
                        _breaches_of(bolt, values, answers, conf=keys | _CONF, ticks=ticks, ledger=ledger)
                    )
        except (_ImportFailed, _LateError) as error:
            run.skipped.append(f"{outcome.name}: {error}")
        if not answers.asked:
            break  # the other outcomes are the same
    return run


class _LateError(BaseException):
    """The case does not end."""


class _ImportFailed(Exception):  # noqa: N818 - nothing is wrong
    """The modules of a case cannot be imported."""


@contextmanager
def _imported_bolts(folder: Path, answers: Answers, sources: Sequence[str]) -> Iterator[list[type]]:
    """The bolts of a case with fake imports; scripts do not start, and components do not get pytest's streams."""
    component = pystorm.component.Component
    streams = (io.BytesIO(), io.BytesIO(), None, "json")
    with (
        fake_imports(answers, sources),
        mock.patch.object(component, "run"),
        mock.patch.object(component.__init__, "__defaults__", streams),
    ):
        opened = import_fixture(folder, {})
        try:
            modules = opened.__enter__()
        except Exception as error:
            raise _ImportFailed(f"{type(error).__name__}: {error}") from error
        try:
            yield _bolts(modules)
        finally:
            opened.__exit__(None, None, None)


def _bolts(modules: Mapping[str, ModuleType]) -> list[type]:
    found = [
        value
        for name, module in modules.items()
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == name
    ]
    bases = {base for cls in found for base in cls.__mro__[1:]}
    known = ((cls, belongs(cls)) for cls in found if cls not in bases)
    return [cls for cls, role in known if role is not None and role[1].kind is Kind.BOLT]


def _breaches_of(
    bolt: type,
    values: Iterable[Sequence[Any]],
    answers: Answers,
    *,
    conf: Mapping[str, Any],
    ticks: int,
    ledger: Ledger,
) -> Iterator[Breach]:
    batches = any(entry.kind is EntryKind.BATCH for entry in descent(bolt)[1].entries)
    for each in values:
        answers.begin()
        survived = _run_bolt(bolt, each, answers, conf, _TICKS if batches else ticks)
        for finding in findings(ledger.settle().violations, places=Places()):
            if finding.code in BREACHES and (finding.code != "ACK101" or (survived and not answers.escaped)):
                yield Breach(finding.code, finding.component)


def _run_bolt(
    bolt: type, values: Sequence[Any], answers: Answers, conf: Mapping[str, Any], ticks: int
) -> bool:
    """Whether the worker survived; a dead one may leave tuples pending."""
    before = set(threading.enumerate())
    try:
        with suppress(ShellError), Bench(bolt, conf=conf) as bench:  # any fatal error
            answers.running = True
            bench.feed(*values)
            bench.feed(*values)
            for _ in range(ticks):
                bench.tick()
                bench.advance(_BATCH_S)
            wait_until_idle(set(threading.enumerate()) - before, _THREADS_S)
            return bench.died is None
        return False
    finally:
        _stop_timers(set(threading.enumerate()) - before)


def _stop_timers(threads: set[threading.Thread]) -> None:
    """Cancel timers: one that fires in a later test would raise there."""
    for thread in threads:
        if isinstance(thread, threading.Timer):
            thread.cancel()


@contextmanager
def _time_limit() -> Iterator[None]:
    def on_timeout(number: int, frame: object) -> None:
        raise _LateError("it does not end")

    handler = signal.signal(signal.SIGPROF, on_timeout)
    signal.setitimer(signal.ITIMER_PROF, _CASE_S, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)

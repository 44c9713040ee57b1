"""Run components on a bench with good and bad records, and collect their costs.

`tests.agreement.fake_imports` stubs every module that a component imports.  In some runs one call fails for each
tuple: the first, the second or the third.
"""

import io
import json
import signal
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, unique
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from ackdoctor.lab.bench import Bench, SpoutBench
from ackdoctor.lab.child import ShellError
from ackdoctor.lab.frameworks import descent
from ackdoctor.model.dialect import EntryKind, Kind
from ackdoctor.model.trace import Verdict
from ackdoctor.tracer.components import belongs
from tests.agreement.fake_imports import Answers, FailedError, Outcome, fake_imports, input_values
from tests.agreement.fixture_modules import import_fixture
from tests.agreement.idle_threads import wait_until_idle
from tests.frameworks import framework

__all__ = ["Cost", "Result", "run_components"]

_CONF = {
    "tumblingwindowbolt_duration_secs": 1,
    "slidingwindowbolt_duration_secs": 1,
    "slidingwindowbolt_slideinterval_secs": 1,
}
_TICKS = 4
_BATCH_S = 2  # TicklessBatchingBolt's own timer
_THREADS_S = 1  # at most, for threads of the component
_LIMIT_S = 2  # of processor time
_PROTOCOL = (
    "a non-existent or already acked/failed id",
    "Anchored onto",
    "Unknown command",
)  # from the JVM's messages
_CLEAN_UP = frozenset("close rollback unlock release shutdown stop end_transaction".split())


@unique
class Cost(Enum):
    """A fault of a component on the bench, as a page names it."""

    EXITS = "an exception ends the worker"
    LEAKS = "a tuple may stay open"
    LOSES = "a tuple whose work failed may be acked"
    TWICE = "a tuple may be completed twice"


@dataclass(slots=True, kw_only=True)
class Result:
    """The first run with each cost, and the components that ran.

    `settings` has every run, `runs` every run with a cost, `ends` what became of the tuples of each run in which a call
    failed or said no.
    """

    costs: dict[Cost, str] = field(default_factory=dict)
    settings: set[str] = field(default_factory=set)
    runs: set[tuple[Cost, str]] = field(default_factory=set)
    ends: dict[str, list[Verdict]] = field(default_factory=dict)
    classes: list[str] = field(default_factory=list)
    reason: str = ""  # why no component ran
    late: bool = False  # a run did not end within the time limit

    def note(self, cost: Cost, setting: str, error: str = "") -> None:
        self.costs.setdefault(cost, f"{setting}: {error}" if error else setting)
        self.runs.add((cost, setting))


class _LateError(BaseException):
    """A component that does not return."""


class _Failures(Answers):
    """Fails the call number `at` of each tuple, once; records whether work failed and was not repeated.

    `expected`: raise an error that the code names in an `except`, so that its author handles it.
    """

    def __init__(self, outcome: Outcome, at: int | None, *, expected: bool) -> None:
        super().__init__(outcome)
        self.at = at
        self.expected = expected
        self.begin_tuple()

    def begin_tuple(self) -> None:
        """Begin a new tuple."""
        self.calls = 0
        self.failed = False

    def __call__(self, *arguments: object) -> Any:
        is_clean_up = self.called in _CLEAN_UP
        if self.running and not is_clean_up:
            self.calls += 1
            self.failed = self.at == self.calls - 1
            if self.failed:
                self.asked = True
                raise self.error if self.expected else FailedError
        return super().__call__(*arguments)


def run_components(dialect: str, files: Mapping[str, str], folder: Path) -> Result:
    """Run every component of these files with every record and every failure."""
    result = Result()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    try:
        values, keys = input_values(list(files.values()))
    except SyntaxError:
        result.reason = "SyntaxError"  # Python 2
        return result
    good, bad = _records(values, keys)
    ticks = _TICKS if any(word in text for text in files.values() for word in ("tick", "__system")) else 0
    plans: list[tuple[Outcome, int | None, bool, list[Any]]] = [
        (Outcome.YES, None, False, [*good, *bad]),
        (Outcome.NO, None, False, good),
    ]
    plans += [(Outcome.YES, at, expected, good) for at in range(3) for expected in (False, True)]
    for outcome, at, expected, records in plans:
        failures = _Failures(outcome, at, expected=expected)
        try:
            with _time_limit(), _imported(dialect, folder, failures, list(files.values())) as classes:
                for cls in classes:
                    if cls.__name__ not in result.classes:
                        result.classes.append(cls.__name__)
                    for record in records:
                        _run(cls, record, failures, {**keys, **_CONF}, ticks, result)
        except _LateError:
            result.late = True
            break
        except _ImportError as error:
            result.reason = str(error)
            return result
        if not failures.asked and outcome is Outcome.YES:
            break
    if not result.classes:
        result.reason = "no component"
    return result


def _records(values: Sequence[Sequence[Any]], keys: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    """Return good records, and records of the wrong type, without a key, or empty."""
    size = max(map(len, values))
    good = [["a b"] * size, [1_000_000] * size, [dict(keys)] * size, [json.dumps(dict(keys))] * size]
    good.append([dict.fromkeys(keys, 1)] * size)
    bad = [[one] * size for one in ("", -1, None, [], {}, ["a", "b"], "{", dict.fromkeys(keys))]
    return good, bad


class _ImportError(Exception):
    """The files cannot be imported."""


@contextmanager
def _imported(dialect: str, folder: Path, answers: Answers, sources: list[str]) -> Iterator[list[type]]:
    scripts = _scripts(dialect)
    with fake_imports(answers, sources), _own_streams():
        imported = import_fixture(folder, {}, scripts)
        try:
            modules = imported.__enter__()
        except Exception as error:
            raise _ImportError(f"{type(error).__name__}: {error}".partition(" (")[0]) from error
        try:
            yield _components(modules)
        finally:
            imported.__exit__(None, None, None)


@contextmanager
def _own_streams() -> Iterator[None]:
    """Give components their own streams: a script creates its component on import, and would close ours."""
    component: Any = framework("pystorm.component").Component
    with mock.patch.object(component.__init__, "__defaults__", (io.BytesIO(), io.BytesIO(), None, "json")):
        yield


def _scripts(dialect: str) -> list[type]:
    """Return the classes whose `run` a script calls at its end."""
    match dialect:
        case "storm_py":
            module: Any = framework("storm")
            return [module.Bolt, module.BasicBolt, module.Spout]
        case "petrel":
            module = framework("petrel.storm")
            framework("petrel.emitter")
            return [module.Bolt, module.BasicBolt, module.Spout]
        case "pyleus":
            framework("pyleus.json_fields_bolt")
            return [framework("pyleus.storm.component").Component]
        case "heronpy":
            framework("heronpy.api.spout.spout")
            framework("heronpy.api.bolt.window_bolt")
            return []
        case _:
            framework("streamparse")
            return [framework("pystorm.component").Component]


def _components(modules: Mapping[str, ModuleType]) -> list[type]:
    found = [
        value
        for name, module in modules.items()
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == name
    ]
    bases = {base for cls in found for base in cls.__mro__[1:]}
    return [cls for cls in found if cls not in bases and belongs(cls) is not None]


def _run(
    cls: type, record: Sequence[Any], failures: _Failures, conf: Mapping[str, Any], ticks: int, result: Result
) -> None:
    failures.begin()
    setting = f"{cls.__name__}, {record!r}"
    if failures.outcome is Outcome.NO:
        setting += ", answers are empty"
    if failures.at is not None:
        setting += f", call {failures.at + 1} fails{' as expected' * failures.expected}"
    result.settings.add(setting)
    before = set(threading.enumerate())
    try:
        if descent(cls)[1].kind is Kind.SPOUT:
            _run_spout(cls, failures, conf, result, setting)
        else:
            _run_bolt(cls, record, failures, conf, ticks, result, setting)
    finally:
        for thread in set(threading.enumerate()) - before:
            if isinstance(thread, threading.Timer):
                thread.cancel()


def _run_spout(cls: type, failures: _Failures, conf: Mapping[str, Any], result: Result, setting: str) -> None:
    with suppress(ShellError), SpoutBench(cls, conf=conf) as bench:
        failures.running = True
        for act in ("next", "next", "ack", "fail", "next", "fail", "next", "ack"):
            failures.begin_tuple()
            if act == "next":
                bench.next_tuple()
            elif bench.waiting:
                (bench.ack if act == "ack" else bench.fail)(bench.waiting[0])
            if bench.died:
                _note_death(bench.died, result, setting)
                return


def _run_bolt(
    cls: type,
    record: Sequence[Any],
    failures: _Failures,
    conf: Mapping[str, Any],
    ticks: int,
    result: Result,
    setting: str,
) -> None:
    batches = any(entry.kind is EntryKind.BATCH for entry in descent(cls)[1].entries)
    with suppress(ShellError), Bench(cls, conf=conf) as bench:
        if bench.died:
            return  # in its constructor or in `initialize`
        failures.running = True
        before = set(threading.enumerate())  # a framework's loop is one of them
        lost: list[str] = []
        refused: list[str] = []
        for _ in range(2):
            failures.begin_tuple()
            emitted = len(bench.emitted)
            delivery = bench.feed(*record)
            if failures.failed or failures.outcome is Outcome.NO:
                refused.append(delivery)
            if bench.died:
                _note_death(bench.died, result, setting)
                return
            if failures.failed and not failures.expected and len(bench.emitted) == emitted:
                lost.append(delivery)
        for _ in range(_TICKS if batches else ticks):
            failures.begin_tuple()
            bench.tick()
            bench.advance(_BATCH_S)
            if bench.died:
                _note_death(bench.died, result, setting)
                return
        wait_until_idle(set(threading.enumerate()) - before, _THREADS_S)
        open_tuples: Collection[str] = bench.inputs
        if bench.dialect.name == "heronpy":
            open_tuples = [each for each in bench.roots if bench.verdict(each) is Verdict.OPEN]
        if open_tuples and not failures.escaped:
            result.note(Cost.LEAKS, setting)
        if any(bench.verdict(delivery) is Verdict.COMPLETE for delivery in lost):
            result.note(Cost.LOSES, setting)
        if refused:
            result.ends[setting] = [bench.verdict(delivery) for delivery in refused]


def _note_death(error: ShellError, result: Result, setting: str) -> None:
    broken = any(words in str(error) for words in _PROTOCOL)
    result.note(Cost.TWICE if broken else Cost.EXITS, setting, str(error))


@contextmanager
def _time_limit() -> Iterator[None]:
    def late(number: int, frame: object) -> None:
        raise _LateError

    handler = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, _LIMIT_S, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)

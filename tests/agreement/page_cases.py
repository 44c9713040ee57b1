"""Runs the bolts on a rule page, in every world that their imports allow, and says which breaches a run shows."""

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
from ackdoctor.lab.shell.frameworks import descent
from ackdoctor.lab.shell.pipe import ShellError
from ackdoctor.model.dialect import EntryKind, Kind
from ackdoctor.rulebook.cases import Case
from ackdoctor.tracer.judge.findings import findings
from ackdoctor.tracer.judge.place import Places
from ackdoctor.tracer.ledger.ledger import Ledger
from ackdoctor.tracer.ledger.suspects import belongs
from tests.agreement.make_believe import Answers, World, make_believe, wants
from tests.agreement.rest import wait_for_rest
from tests.agreement.stage import stage

__all__ = ["BREACHES", "Breach", "Run", "played"]

_COMPLETIONS = frozenset({"ACK103", "ACK104", "ACK105", "ACK106"})
BREACHES: Mapping[str, frozenset[str]] = {
    "ACK101": frozenset({"ACK101", "ACK110", "ACK401", "ACK402", "ACK403", "ACK404"}),
    **dict.fromkeys(sorted(_COMPLETIONS), _COMPLETIONS),
    "ACK202": frozenset({"ACK202"}),
}
"""What a run shows without a doubt, and by which names lint may foretell it."""

_TICKS = 3  # the most that a batch waits for
_CONF = {"tumblingwindowbolt_duration_secs": 1, "slidingwindowbolt_duration_secs": 1}
_CONF |= {"slidingwindowbolt_slideinterval_secs": 1}
_BATCH_S = 2  # TicklessBatchingBolt's own timer
_CASE_S = 5  # of the processor's time, however busy the machine is
_THREADS_S = 1  # at most, for what threads of the case still do


class Breach(NamedTuple):
    """What a run has shown: a rule, broken by a component."""

    code: str
    component: str


class Run(NamedTuple):
    """What a case's bolts have shown, and why some of it was not run."""

    shown: set[Breach]
    left_out: list[str]


def played(case: Case, folder: Path, ledger: Ledger) -> Run:
    """A case's bolts in every world.  `ledger` is installed."""
    sources = [file.text for file in case.files]
    for file in case.files:
        place = folder / file.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(file.text, encoding="utf-8")
    run = Run(set(), [])
    try:
        values, keys = wants(sources)
    except SyntaxError as error:
        run.left_out.append(type(error).__name__)
        return run
    ticks = _TICKS if any("tick" in source for source in sources) else 0
    for world in World:
        answers = Answers(world)
        try:
            with _time_limit(), _performed(folder, answers, sources) as bolts:
                for bolt in bolts:
                    run.shown.update(
                        _shown(bolt, values, answers, conf=keys | _CONF, ticks=ticks, ledger=ledger)
                    )
        except (_Unplayable, _LateError) as error:
            run.left_out.append(f"{world.name}: {error}")
        if not answers.asked:
            break  # the other worlds are the same
    return run


class _LateError(BaseException):
    """A case that never ends."""


class _Unplayable(Exception):  # noqa: N818 - nothing is wrong
    """The modules of a case cannot be imported."""


@contextmanager
def _performed(folder: Path, answers: Answers, sources: Sequence[str]) -> Iterator[list[type]]:
    """The bolts of a case, in a world; scripts do not start their components, nor do these get our streams."""
    component = pystorm.component.Component
    streams = (io.BytesIO(), io.BytesIO(), None, "json")  # not pytest's
    with (
        make_believe(answers, sources),
        mock.patch.object(component, "run"),
        mock.patch.object(component.__init__, "__defaults__", streams),
    ):
        opened = stage(folder, {})
        try:
            modules = opened.__enter__()
        except Exception as error:
            raise _Unplayable(f"{type(error).__name__}: {error}") from error
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


def _shown(
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
        lived = _play(bolt, each, answers, conf, _TICKS if batches else ticks)
        for finding in findings(ledger.settle().violations, places=Places()):
            if finding.code in BREACHES and (finding.code != "ACK101" or (lived and not answers.handed)):
                yield Breach(finding.code, finding.component)


def _play(bolt: type, values: Sequence[Any], answers: Answers, conf: Mapping[str, Any], ticks: int) -> bool:
    """Whether the worker has lived; one that dies, or code that is out of sight, may leave tuples open."""
    before = set(threading.enumerate())
    try:
        with suppress(ShellError), Bench(bolt, conf=conf) as bench:  # whatever kills it
            answers.at_work = True
            bench.feed(*values)
            bench.feed(*values)
            for _ in range(ticks):
                bench.tick()
                bench.advance(_BATCH_S)
            wait_for_rest(set(threading.enumerate()) - before, _THREADS_S)
            return bench.died is None
        return False
    finally:
        _stop_timers(set(threading.enumerate()) - before)


def _stop_timers(threads: set[threading.Thread]) -> None:
    """A timer that fires in some later test would raise there, since its pipe is closed."""
    for thread in threads:
        if isinstance(thread, threading.Timer):
            thread.cancel()


@contextmanager
def _time_limit() -> Iterator[None]:
    def late(number: int, frame: object) -> None:
        raise _LateError("it does not end")

    handler = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, _CASE_S, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)

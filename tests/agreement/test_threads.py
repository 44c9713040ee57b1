"""Components that complete tuples in another thread: ACK108 unless a lock protects the pipe."""

import threading
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ackdoctor.lab.bench import Bench
from ackdoctor.model.dialect import Misuse
from ackdoctor.tracer.install import install
from ackdoctor.tracer.ledger import Ledger
from tests.agreement.defects import lint_defects, run_defects
from tests.agreement.fixture_modules import import_fixture
from tests.agreement.scenarios import Scenario, Steps
from tests.cli.running import Shell
from tests.frameworks import framework

STORM = """
import threading

import storm


class LaterBolt(storm.Bolt):
    def process(self, tup):
        worker = threading.Thread(target=self.finish, args=(tup,))
        worker.start()
        worker.join()

    def finish(self, tup):
        storm.ack(tup)
"""
PYSTORM = """
import threading

from pystorm import Bolt


class LaterBolt(Bolt):
    auto_ack = False

    def process(self, tup):
        worker = threading.Thread(target=self.finish, args=(tup,))
        worker.start()
        worker.join()

    def finish(self, tup):
        self.ack(tup)
"""
GUESSED = PYSTORM.replace("        self.ack(tup)", "        self.emit([1])\n        self.ack(tup)")
PYLEUS = """
import threading

from pyleus.storm import Bolt


class LaterBolt(Bolt):
    def process_tuple(self, tup):
        worker = threading.Thread(target=self.finish, args=(tup,))
        worker.start()
        worker.join()

    def finish(self, tup):
        self.ack(tup)
"""


def feed(*values: object) -> Steps:
    return [lambda bench: bench.feed(*values)]


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        pytest.param("storm", STORM, ["later.py:14 ACK108 LaterBolt.process"], id="storm.py"),
        pytest.param("pyleus.storm", PYLEUS, ["later.py:14 ACK108 LaterBolt.process_tuple"], id="pyleus"),
        pytest.param("pystorm", PYSTORM, [], id="pystorm-has-a-lock"),
        pytest.param(
            "pystorm", GUESSED, ["later.py:16 ACK108 LaterBolt.process"], id="pystorm-guesses-anchors"
        ),
    ],
)
def test_lint_and_run_agree_on_an_ack_from_a_thread(module, source, expected, tmp_path, monkeypatch, capsys):
    framework(module)
    (tmp_path / "later.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    shell = Shell(monkeypatch, capsys)
    report = shell(
        "lint", "--isolated", "--no-cache", "--output-format", "json", "--quiet", "--exit-zero", "."
    )
    scenario = Scenario(topology="", component="later LaterBolt", runs=[feed("a"), feed("b")])
    with import_fixture(Path(tmp_path), {}) as modules:
        assert isinstance(modules["later"], ModuleType)
        by_run = run_defects(tmp_path, modules, scenario, scenario.runs)
    assert sorted(map(str, lint_defects(report.out))) == expected
    assert sorted(map(str, by_run)) == expected


def test_a_reused_thread_ident_is_attributed_to_the_new_component():
    storm: Any = framework("storm")
    ended, workers = set(), []

    class PromptBolt(storm.Bolt):
        def process(self, tup):
            ended.add(threading.get_ident())
            storm.ack(tup)

    class LaterBolt(storm.Bolt):
        def process(self, tup):
            worker = threading.Thread(target=self.finish, args=(tup,))
            worker.start()
            worker.join()

        def finish(self, tup):
            workers.append(threading.get_ident())
            storm.ack(tup)

    ledger = Ledger()
    installation = install(ledger)
    try:
        with ExitStack() as together:
            for bench in [together.enter_context(Bench(PromptBolt)) for _ in range(4)]:
                bench.feed("a")
        with Bench(LaterBolt) as bench:
            for _ in range(100):
                bench.feed("a")
                if workers[-1] in ended:
                    break
    finally:
        installation.undo()
    assert workers[-1] in ended
    assert [
        (one.traced.name.rpartition(".")[2], one.misuse, one.count) for one in ledger.settle().violations
    ] == [("LaterBolt", Misuse.OFF_THREAD, len(workers))]

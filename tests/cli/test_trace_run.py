"""The trace and the exit code of `ackdoctor trace run` and `trace proxy`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_trace import HEALTHY, write_trace

BOLTS = """from pystorm import Bolt


class TwiceBolt(Bolt):
    auto_ack = False

    def process(self, tup):
        self.ack(tup)
        self.ack(tup)
"""
DRIVER = """import json, sys
from io import BytesIO
from bolts import TwiceBolt

frames = b"".join(
    json.dumps({"id": str(n), "comp": "spout", "stream": "default", "task": 1, "tuple": [n]}).encode() + b"\\nend\\n"
    for n in (1, 2)
)
bolt = TwiceBolt(input_stream=BytesIO(frames), output_stream=BytesIO(), rdb_signal=None)
bolt._run()
bolt._run()
sys.exit(3)
"""


def ackdoctor(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ackdoctor", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.slow
def test_a_command_that_is_run_traces_its_components_and_keeps_its_exit_code(shell):
    Path("bolts.py").write_text(BOLTS, encoding="utf-8")
    Path("drive.py").write_text(DRIVER, encoding="utf-8")
    ended = ackdoctor("trace", "run", "--", sys.executable, "drive.py")
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr.splitlines()[-1] == (
        "ackdoctor: the trace is in ackdoctor-trace; ackdoctor trace report ackdoctor-trace"
    )
    outcome = shell("trace", "report", "ackdoctor-trace", "--output-format", "concise")
    assert (outcome.code, outcome.out) == (
        1,
        "bolts.py:9:9: ACK103 double-ack the tuple is acked a second time: ShellBolt answers "
        '"Acked a non-existent or already acked/failed id" and the worker exits\n'
        "BROKEN: TwiceBolt: the tuple is acked a second time, bolts.py:9 (ACK103, 2 times)\n",
    )


BATCHES = """import json, sys
from io import BytesIO
from pystorm import {base}


class Batches({base}):
    secs_between_batches = 60

    def process_batch(self, key, tups):
        pass


def frame(number, comp, stream):
    message = {{"id": str(number), "comp": comp, "stream": stream, "task": 1, "tuple": [number]}}
    return json.dumps(message).encode() + b"\\nend\\n"


conf = {{"conf": {{}}, "pidDir": ".", "context": {{"taskid": 3, "task->component": {{"3": "batches"}}}}}}
data, tick = ("spout", "default"), ("__system", "__tick")
frames = [frame(number, *what) for number, what in enumerate((data, tick, data))]
Batches(BytesIO(json.dumps(conf).encode() + b"\\nend\\n" + b"".join(frames)), BytesIO()).run()
"""


@pytest.mark.slow
@pytest.mark.parametrize("base", ["BatchingBolt", "TicklessBatchingBolt"])
def test_a_tuple_in_an_unfinished_batch_is_no_missing_ack(shell, base):
    Path("drive.py").write_text(BATCHES.format(base=base), encoding="utf-8")
    assert (
        ackdoctor("trace", "run", "--", sys.executable, "drive.py").returncode == 2
    )  # the exit code of pystorm
    outcome = shell("trace", "report", "ackdoctor-trace")
    assert (outcome.code, outcome.out.splitlines()[0]) == (0, "OK: 2 deliveries, nothing is wrong")
    assert "  Batches: 2 waited for a batch when the run ended\n" in outcome.out
    shown = shell("explain", "0", "--trace", "ackdoctor-trace").out
    assert "kept it for a batch that had not come when the run ended" in shown


@pytest.mark.slow
def test_the_trace_names_what_replaced_a_component_s_transport(shell):
    Path("bolts.py").write_text(
        BOLTS.replace("        self.ack(tup)\n", "        pass\n", 1), encoding="utf-8"
    )
    hides = DRIVER.replace("bolt._run()\nbolt._run()", "bolt.send_message = print\nbolt._run()\nbolt._run()")
    Path("drive.py").write_text(hides, encoding="utf-8")
    assert ackdoctor("trace", "run", "--", sys.executable, "drive.py").returncode == 3
    outcome = shell("trace", "report", "ackdoctor-trace")
    assert (outcome.code, outcome.out.splitlines()[0]) == (
        0,
        "INCOMPLETE: nothing is wrong in what could be judged (2 deliveries)",
    )
    assert "  not observed: TwiceBolt: send_message is replaced\n" in outcome.out
    document = json.loads(shell("trace", "report", "ackdoctor-trace", "--output-format", "json").out)
    assert document["run"]["unobserved"] == ["TwiceBolt: send_message is replaced"]


@pytest.mark.slow
def test_a_command_without_components_leaves_no_trace(shell):
    ended = ackdoctor("trace", "run", "--", sys.executable, "-c", "print('hello')")
    assert (ended.returncode, ended.stdout) == (0, "hello\n")
    assert ended.stderr == ("ackdoctor: no component was traced: no Python process of the command ran one\n")


@pytest.mark.slow
def test_a_full_disk_is_reported(shell):
    Path("bolts.py").write_text(BOLTS, encoding="utf-8")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"  # no file may grow
    Path("drive.py").write_text(
        limit + "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n" + DRIVER
    )
    ended = ackdoctor("trace", "run", "--", sys.executable, "drive.py")
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (
        3,
        "ackdoctor: no trace could be written to ackdoctor-trace",
    )
    assert [path for path in Path("ackdoctor-trace").rglob("*") if path.is_file()] == []


@pytest.mark.slow
def test_the_trace_of_an_earlier_run_does_not_count(shell):
    write_trace(HEALTHY, "ackdoctor-trace")
    ended = ackdoctor("trace", "run", "--", "no-such-program")
    assert ended.returncode == 127
    assert ended.stderr.splitlines()[-1] == (
        "ackdoctor: no component was traced: no Python process of the command ran one"
    )


def test_a_trace_that_would_be_a_file_runs_nothing(shell):
    Path("taken").touch()
    assert shell("trace", "run", "--trace", "taken", "--", "touch", "ran") == (
        2,
        "",
        "ackdoctor: --trace: taken is not a directory\n",
    )
    assert not Path("ran").exists()


def test_a_trace_below_a_file_runs_nothing(shell):
    Path("taken").touch()
    assert shell("trace", "run", "--trace", "taken/trace", "--", "touch", "ran") == (
        2,
        "",
        f"ackdoctor: --trace: {Path('taken').absolute()} is not a directory\n",
    )
    assert not Path("ran").exists()


def test_an_unwritable_trace_runs_nothing_unless_tracing_is_off(shell, monkeypatch):
    monkeypatch.setattr(os, "access", lambda place, _: Path(place) != Path.cwd())  # root may do anything
    run = ("trace", "run", "--trace", "new/trace")
    assert shell(*run, "--", "touch", "ran") == (
        2,
        "",
        "ackdoctor: --trace: new/trace cannot be written to: Permission denied\n",
    )
    assert not Path("ran").exists()
    assert shell(*run, "--level", "sites", "--", "touch", "ran")[0] == 0
    assert Path("ran").exists()


def test_an_unknown_level_exits_2(shell):
    assert shell("trace", "run", "--level", "loud", "--", "true") == (
        2,
        "",
        "ackdoctor: --level: unknown level 'loud'; the levels are off, sites, trace\n",
    )


@pytest.mark.slow
def test_the_proxy_forwards_messages_and_writes_a_trace(shell):
    echo = "import sys; data = sys.stdin.readline(); sys.stdin.readline(); print(data, end=''); print('end')"
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "ackdoctor",
            "trace",
            "proxy",
            "--trace",
            "t",
            "--",
            sys.executable,
            "-c",
            echo,
        ],
        input='{"command": "sync"}\nend\n',
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, '{"command": "sync"}\nend\n', "")
    assert shell("trace", "cat", "t").code == 0


@pytest.mark.slow
def test_the_proxy_runs_the_component_without_a_trace(shell):
    Path("taken").touch()
    ended = ackdoctor(
        "trace", "proxy", "--trace", "taken", "--", sys.executable, "-c", "print('end'); raise SystemExit(3)"
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (
        3,
        "end\n",
        "ackdoctor: no trace could be written to taken\n",
    )


@pytest.mark.slow
def test_pytest_runs_unchanged_and_each_test_is_judged(shell):
    Path("bolts.py").write_text(BOLTS, encoding="utf-8")
    Path("test_bolts.py").write_text(
        "from io import BytesIO\n"
        "from pystorm.component import Tuple\n"
        "from bolts import TwiceBolt\n"
        "def test_acks():\n"
        "    bolt = TwiceBolt(input_stream=BytesIO(), output_stream=BytesIO(), rdb_signal=None)\n"
        "    bolt.process(Tuple('7', 'spout', 'default', 1, ['a']))\n",
        encoding="utf-8",
    )
    strict = ("-W", "error::pytest.PytestWarning", "-p", "no:asyncio", "-p", "no:pytest-lsp")
    ended = ackdoctor("trace", "run", "--", sys.executable, "-m", "pytest", *strict, "-p", "no:cacheprovider")
    assert (ended.returncode, "1 passed" in ended.stdout) == (0, True), ended.stdout
    outcome = shell("trace", "report", "ackdoctor-trace")
    assert "seen: delivery 7 in test_bolts.py::test_acks" in outcome.out

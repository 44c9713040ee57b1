"""`ackdoctor trace run --heap`: each process takes snapshots, and the report follows at the end."""

import subprocess
import sys

from tests.cli.conftest import shell  # noqa: F401

BOLTS = """from pystorm import Bolt
from pystorm.spout import Spout


class KeepsBolt(Bolt):
    auto_ack = False

    def initialize(self, conf, context):
        self.kept = {}

    def process(self, tup):
        self.kept.setdefault(tup.values[0] % 3, []).append(tup)


class KeepsSpout(Spout):
    def initialize(self, conf, context):
        self.buffer = {}

    def next_tuple(self):
        self.buffer[len(self.buffer)] = ["word"]
        self.emit(["word"], tup_id=len(self.buffer), need_task_ids=False)
"""
BOLT_DRIVER = """import json, os, sys
from io import BytesIO
from bolts import KeepsBolt

frames = b"".join(
    json.dumps({"id": str(n), "comp": "spout", "stream": "default", "task": 1, "tuple": [n]}).encode() + b"\\nend\\n"
    for n in range(30)
)
bolt = KeepsBolt(input_stream=BytesIO(frames), output_stream=BytesIO(), rdb_signal=None)
bolt.initialize({}, {})
for _ in range(30):
    bolt._run()
sys.exit(3)
"""
SPOUT_DRIVER = """from io import BytesIO
from bolts import KeepsSpout

spout = KeepsSpout(input_stream=BytesIO(), output_stream=BytesIO(), rdb_signal=None)
spout.initialize({}, {})
for _ in range(1_000):
    spout.next_tuple()
"""


def traced(shell, tmp_path, driver, *options):  # noqa: F811
    (tmp_path / "bolts.py").write_text(BOLTS)
    (tmp_path / "driver.py").write_text(driver)
    return shell("trace", "run", "--heap", *options, "--", sys.executable, "driver.py")


def test_a_bolt_field_is_reported_and_the_exit_code_is_that_of_the_command(shell, tmp_path):  # noqa: F811
    outcome = traced(shell, tmp_path, BOLT_DRIVER)
    assert (outcome.code, outcome.out) == (3, "")
    lines = outcome.err.splitlines()
    assert lines[0] == "ackdoctor: the trace is in ackdoctor-trace; ackdoctor trace report ackdoctor-trace"
    file = next((tmp_path / "ackdoctor-trace").rglob("_heap-*.json"))
    pid = file.stem.removeprefix("_heap-")
    assert lines[2].startswith(f"heap of process {pid}: 2 snapshots (start; end): ")
    found = lines.index(
        "bolts.py:5:1  warning ACK401 undrained-buffer (may)  a field of the bolt holds tuples that it has neither acked "
        "nor failed"
    )
    assert lines[found + 1].startswith("      = held: KeepsBolt.kept[")
    assert lines[found + 3] == "      = left: 30 open tuples in this field"


def test_a_spout_buffer_with_more_than_half_of_the_emitted_tuples_is_reported(shell, tmp_path):  # noqa: F811
    outcome = traced(shell, tmp_path, SPOUT_DRIVER)
    assert outcome.code == 0
    lines = outcome.err.splitlines()
    found = lines.index(
        "bolts.py:15:1  warning ACK303 spout-buffer-leak (may)  the spout keeps the messages it emitted, and acks do not "
        "remove them"
    )
    assert lines[found + 1].startswith("      = held: KeepsSpout.buffer: 1,000 entries, about ")
    assert lines[found + 3] == "      = left: 1,000 emitted"


def test_a_killed_process_leaves_its_snapshots(shell, tmp_path):  # noqa: F811
    outcome = traced(shell, tmp_path, BOLT_DRIVER.replace("sys.exit(3)", "os.kill(os.getpid(), 9)"))
    assert outcome.code == 137
    [head] = [line for line in outcome.err.splitlines() if line.startswith("heap of process ")]
    assert (
        head.partition(", ")[2]
        .partition(" bytes")[0]
        .startswith("killed before its last snapshot; what it held later is unknown: 1 snapshot (start): ")
    )


def test_a_level_without_rows_shows_the_heap_only(shell, tmp_path):  # noqa: F811
    outcome = traced(shell, tmp_path, BOLT_DRIVER, "--level", "sites")
    assert outcome.code == 3
    assert outcome.err.splitlines()[0] == ("ackdoctor: level sites writes no trace; --level trace writes one")
    assert "KeepsBolt.kept[1]" in outcome.err


def test_a_command_without_components_has_no_heap_to_show(shell, tmp_path):  # noqa: F811
    outcome = traced(shell, tmp_path, "print('nothing of ours')")
    assert outcome.code == 0
    assert outcome.err.splitlines() == [
        "ackdoctor: no component was traced: no Python process of the command ran one",
        "ackdoctor: no heap snapshots: no process ran a component",
    ]


def test_heap_files_do_not_change_the_trace(shell, tmp_path):  # noqa: F811
    traced(shell, tmp_path, BOLT_DRIVER)
    outcome = shell("trace", "report", "ackdoctor-trace")
    assert (outcome.code, outcome.err) == (1, "")


def test_nothing_runs_without_guppy3(shell, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setitem(sys.modules, "guppy", None)
    outcome = traced(shell, tmp_path, "open('was_run', 'w')")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "ackdoctor: --heap: heap snapshots need guppy3, which is not installed: pip install 'ackdoctor[heap]'\n"
    )
    assert not (tmp_path / "was_run").exists()


def test_an_interpreter_without_guppy3_is_traced_and_says_so(tmp_path):
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "guppy.py").write_text("raise ModuleNotFoundError('gone', name='guppy')")
    (tmp_path / "bolts.py").write_text(BOLTS)
    (tmp_path / "driver.py").write_text(BOLT_DRIVER)
    command = f'PYTHONPATH="$PYTHONPATH:{tmp_path}/without" "{sys.executable}" driver.py'
    ran = subprocess.run(
        [sys.executable, "-m", "ackdoctor", "trace", "run", "--heap", "--", "sh", "-c", command],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 3
    why, *rest = ran.stderr.splitlines()
    assert why.startswith(f"ackdoctor: {sys.executable} (pid ")
    assert why.endswith(
        "): heap snapshots need guppy3, which is not installed: pip install 'ackdoctor[heap]'"
    )
    assert rest == [
        "ackdoctor: the trace is in ackdoctor-trace; ackdoctor trace report ackdoctor-trace",
        "ackdoctor: no heap snapshots: no process that ran a component could take or write one",
    ]

import json
import os
import signal
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from ackdoctor.acker.versions import NEWEST
from ackdoctor.model.trace import EventKind
from ackdoctor.tracer.ledger import Level
from ackdoctor.tracer.replay import judge_trace
from ackdoctor.tracer.run import VARIABLE, environment
from tests.tracer.traces import rows

K = EventKind
ROOT = Path(__file__).parents[2]
RUN = """
import sys
from pathlib import Path
from ackdoctor.tracer.run import run
from ackdoctor.tracer.ledger import Level
sys.exit(run(sys.argv[2:], Path(sys.argv[1]), Level.TRACE, name="r"))
"""
BOLT = """
from pystorm import Bolt
class Count(Bolt):
    def process(self, tup):
        END
Count().run()
"""
TUPLE = {"id": "77", "comp": "spout", "stream": "default", "task": 1, "tuple": ["x"]}


def ran(directory: Path, *argv: str, **how: Any) -> "subprocess.CompletedProcess[bytes]":
    how.setdefault("env", {**os.environ, "PYTHONPATH": str(ROOT)})
    argv = (sys.executable, "-c", RUN, str(directory), *argv)
    return subprocess.run(argv, check=False, capture_output=True, timeout=60, **how)


def python(script: str) -> list[str]:
    return [sys.executable, "-c", script]


def fed(tmp_path: Path, *more: object) -> bytes:
    context = {"taskid": 4, "task->component": {"4": "count"}}
    messages = [{"conf": {}, "pidDir": str(tmp_path), "context": context}, TUPLE, *more]
    return b"".join(json.dumps(each).encode() + b"\nend\n" for each in messages)


@pytest.mark.parametrize(
    "end",
    [
        "pass",
        "import os; os._exit(3)",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    ],
)
def test_a_bolt_is_traced_with_any_end(tmp_path, end):
    trace = tmp_path / "trace"
    done = ran(trace, *python(BOLT.replace("END", end)), input=fed(tmp_path))
    received = [(row.kind, row.component, row.delivery) for row in rows(trace) if row.kind is K.RECEIVED]
    assert received == [(K.RECEIVED, "Count", "77")]
    assert list(trace.rglob(".live-*")) == []
    bare = subprocess.run(
        python(BOLT.replace("END", end)), check=False, input=fed(tmp_path), capture_output=True
    )
    assert done.returncode == (bare.returncode if bare.returncode >= 0 else 128 - bare.returncode)


@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(os.getpid(), 9)"])
def test_the_tuple_in_hand_of_a_killed_bolt_is_no_finding(tmp_path, end):
    trace = tmp_path / "trace"
    bolt = f"self.auto_ack = False; import os, time; time.sleep(0.01); tup.id == '78' and {end}"
    ran(trace, *python(BOLT.replace("END", bolt)), input=fed(tmp_path, TUPLE | {"id": "78"}))
    found = judge_trace(lambda: iter(rows(trace)), NEWEST)
    assert [(finding.code, finding.evidence.delivery) for finding in found.findings] == [("ACK101", "77")]
    assert found.notes == (
        "Count[4] ended: without closing its trace: killed, or by os._exit, tuples under way: 1",
    )


def test_a_bolt_that_leaves_by_os_exit_at_the_end_of_its_input_was_not_killed(tmp_path):
    """The exit of pystorm while one of its threads runs (component.py:488@v3.1.4)."""
    trace = tmp_path / "trace"
    bolt = """
from pystorm import TicklessBatchingBolt
class Timed(TicklessBatchingBolt):
    secs_between_batches = 60
    def process_batch(self, key, tups): pass
Timed().run()
"""
    done = ran(trace, *python(bolt), input=fed(tmp_path))
    assert done.returncode == 2
    assert [row.kind for row in rows(trace)] == [K.NAMED, K.RECEIVED, K.WAITS]


def test_children_of_children_are_traced(tmp_path):
    trace = tmp_path / "trace"
    outer = f"import subprocess, sys; sys.exit(subprocess.call({python(BOLT.replace('END', 'pass'))!r}))"
    ran(trace, *python(outer), input=fed(tmp_path))
    assert [row.kind for row in rows(trace) if row.kind in (K.RECEIVED, K.ACKED)] == [K.RECEIVED, K.ACKED]


def test_a_command_without_python_runs_unchanged(tmp_path):
    done = ran(tmp_path / "trace", "sh", "-c", "echo out; echo err >&2; exit 9")
    assert (done.stdout, done.stderr, done.returncode) == (b"out\n", b"err\n", 9)
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_was_killed_says_so(tmp_path, number):
    done = ran(tmp_path, "sh", "-c", f"kill -{int(number)} $$")
    assert done.returncode == 128 + number


def test_a_missing_command_is_reported(tmp_path):
    done = ran(tmp_path, "/no/such/command")
    assert done.returncode == 127
    assert done.stderr == b"ackdoctor trace run: /no/such/command: No such file or directory\n"


def test_a_signal_reaches_the_command(tmp_path):
    script = "trap 'echo heard; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    argv = [sys.executable, "-c", RUN, str(tmp_path), "sh", "-c", script]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == b"heard\n"
        assert process.wait(60) == 5


def test_an_existing_sitecustomize_runs_too(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import builtins; builtins.theirs = __file__")
    script = "import sys, sitecustomize; print(theirs == sitecustomize.__file__, 'ackdoctor.tracer' in sys.modules)"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)])}
    done = ran(tmp_path / "trace", *python(script), env=env)
    assert (done.stdout, done.stderr) == (b"True True\n", b"")


def test_a_failing_sitecustomize_fails_as_before(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("raise RuntimeError('theirs')")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = ran(tmp_path / "trace", *python("print('out')"), env=env)
    assert done.stdout == b"out\n"
    assert b"RuntimeError: theirs" in done.stderr


def test_the_path_of_a_process_is_restored(tmp_path):
    script = "import sys; print([path for path in sys.path if 'launched' in path])"
    assert ran(tmp_path, *python(script)).stdout == b"[]\n"


@pytest.mark.slow
def test_a_python_without_ackdoctor_says_so_and_runs(tmp_path):
    venv.create(tmp_path / "bare", with_pip=False)
    bare = tmp_path / "bare" / "bin" / "python"
    script = "import sys; print('out'); sys.exit(3)"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    variables = environment(env, tmp_path, Level.TRACE, "r")
    done = subprocess.run([bare, "-c", script], check=False, env=variables, capture_output=True, cwd="/")
    assert (done.stdout, done.returncode) == (b"out\n", 3)
    assert done.stderr.startswith(f"ackdoctor: {bare} (pid ".encode())
    assert done.stderr.endswith(b") is not traced: ackdoctor is not installed for it\n")


def test_an_invalid_setting_does_not_stop_the_command():
    env = {**environment(os.environ, ROOT, Level.TRACE, "r"), VARIABLE: "no JSON"}
    env["PYTHONPATH"] += os.pathsep + str(ROOT)
    done = subprocess.run(python("print('out')"), check=False, env=env, capture_output=True)
    assert done.stdout == b"out\n"
    assert b"is not traced: JSONDecodeError: Expecting value: line 1 column 1 (char 0)\n" in done.stderr


# ---- Ctrl-C ----

CTRL_C = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"


def beside(folder: Path, name: str, text: str) -> dict[str, str]:
    """Return an environment in which Python finds this module first."""
    folder.mkdir()
    (folder / f"{name}.py").write_text(text)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


@pytest.fixture
def interruptible():
    """Restore Ctrl-C, which the background processes of a shell and their children ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_second_ctrl_c_while_the_trace_is_written_is_ignored(tmp_path):
    again = f"import os\nif {VARIABLE!r} in os.environ:\n    {CTRL_C}\nraise ImportError"
    env = beside(tmp_path / "path", "pyarrow", again)
    done = ran(tmp_path / "trace", *python(BOLT.replace("END", CTRL_C)), input=fed(tmp_path), env=env)
    errors = done.stderr.decode()
    assert (done.returncode, errors.count("Traceback"), errors.splitlines()[-1]) == (
        130,
        1,
        "KeyboardInterrupt",
    )
    assert "atexit" not in errors
    assert [row.delivery for row in rows(tmp_path / "trace") if row.kind is K.RECEIVED] == ["77"]


@pytest.mark.usefixtures("interruptible")
def test_a_ctrl_c_before_the_program_begins_ends_it_silently(tmp_path):
    base = beside(tmp_path / "path", "stops", CTRL_C)
    env = environment(base, tmp_path / "trace", Level.TRACE, "r", observers=["stops"])
    done = subprocess.run(python("print('begun')"), check=False, env=env, capture_output=True)
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", -signal.SIGINT)

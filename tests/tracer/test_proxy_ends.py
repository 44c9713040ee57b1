"""How the component, its parent and the proxy end, in any order."""

import contextlib
import os
import signal
import subprocess
import time

import pytest

from ackdoctor.model.trace import EventKind
from tests.tracer.piped import ECHO, command, frame, python, ran, row_summaries

K = EventKind


def test_standard_error_is_that_of_the_component(tmp_path):
    script = "import sys; sys.stderr.buffer.write(b'\\xff warning'); print('out')"
    done = ran(command(tmp_path, *python(script)))
    assert (done.stdout, done.stderr) == (b"out\n", b"\xff warning")


@pytest.mark.parametrize(
    ("script", "code", "note"),
    [
        ("raise SystemExit(0)", 0, "exit code 0"),
        ("raise SystemExit(42)", 42, "exit code 42"),
        ("import os; os.kill(os.getpid(), 9)", 137, "killed by SIGKILL"),
        ("import os; os.abort()", 134, "killed by SIGABRT"),
    ],
)
def test_the_exit_status_of_the_component_is_passed_on(tmp_path, script, code, note):
    """The parent keeps stdin open and sees the end nevertheless."""
    with subprocess.Popen(
        command(tmp_path, *python(script)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b""
        assert process.wait(60) == code
    assert row_summaries(tmp_path) == [(K.DIED, "", note)]


def test_a_missing_command_is_reported(tmp_path):
    done = ran(command(tmp_path, "/no/such/python"))
    assert done.returncode == 127
    assert done.stderr == b"ackdoctor trace proxy: /no/such/python: No such file or directory\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP])
def test_signals_reach_the_component(tmp_path, number):
    script = f"""
import os, signal, sys, time
def heard(number, frame):
    os.write(1, b"heard %d\\n" % number)  # print might be at work below us
    sys.exit(5)
signal.signal({int(number)}, heard)
print("ready", flush=True)
while True: time.sleep(0.05)
"""
    with subprocess.Popen(
        command(tmp_path, *python(script)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509 - nohup ignores SIGHUP, so would we
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(number)
        assert (process.stdout.read(), process.wait(60)) == (f"heard {int(number)}\n".encode(), 5)


def test_a_component_that_closes_its_input_breaks_the_pipe_of_its_parent(tmp_path):
    script = "import os, time; os.close(0); os.write(1, b'closed'); time.sleep(60)"
    with subprocess.Popen(
        command(tmp_path, *python(script)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.read(6) == b"closed"
        with pytest.raises(BrokenPipeError):  # noqa: PT012 - the break may need a moment to come through
            for _ in range(2000):
                os.write(process.stdin.fileno(), b"x")
                time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()


def test_a_parent_that_closes_its_pipe_breaks_the_pipe_of_the_component(tmp_path):
    script = """
import os, time
try:
    for _ in range(2000):
        os.write(1, b"x"); time.sleep(0.01)
except BrokenPipeError:
    os._exit(9)
"""
    with subprocess.Popen(
        command(tmp_path, *python(script)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.wait(60) == 9


def test_a_parent_that_is_killed_ends_the_component_as_without_the_proxy(tmp_path):
    parent = f"""
import subprocess, sys, time
subprocess.Popen({command(tmp_path / "trace", *python(ECHO, "3"))!r}, stdin=subprocess.PIPE)
print("ready", flush=True)
time.sleep(30)
"""
    with subprocess.Popen(python(parent), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.5)
        process.kill()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(AssertionError):  # a part that is being written cannot be read
            if (tmp_path / "trace").exists() and row_summaries(tmp_path / "trace") == [
                (K.DIED, "", "exit code 3")
            ]:
                return
        time.sleep(0.1)
    pytest.fail("the component did not end")


def test_a_trace_that_cannot_be_written_changes_nothing(tmp_path):
    (tmp_path / "v1").write_text("a file where the folder should be")
    data = frame({"command": "ack", "id": "1"})
    done = ran(command(tmp_path, *python(ECHO, "4")), input=data)
    assert (done.stdout, done.stderr, done.returncode) == (data, b"", 4)


def test_a_child_that_outlives_the_component_does_not_block_the_proxy(tmp_path):
    script = (
        "import os, time\nif os.fork() == 0: time.sleep(30); os._exit(0)\nos.write(1, b'out'); os._exit(6)"
    )
    start = time.monotonic()
    with subprocess.Popen(
        command(tmp_path, *python(script)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b"out"
        assert process.wait(60) == 6
    assert time.monotonic() - start < 25

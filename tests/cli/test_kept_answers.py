"""What is kept of an answer, and what is none: torn, foreign, too long, of a moment ago, with nobody who listens."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ackdoctor.cli.again import Answer
from tests.cli.asking import LINT, environment, run, settle
from tests.engine.project import CLEAN, write

pytestmark = pytest.mark.skipif(os.name != "posix", reason="nothing is repeated there")


@pytest.mark.parametrize("size", [0, 1, 100, -1])
def test_a_torn_answer_is_none(project, size):
    first = run(project, *LINT)
    kept = project / ".ackdoctor_cache/answer"
    kept.write_bytes(kept.read_bytes()[:size])
    assert run(project, *LINT) == first
    assert run(project, *LINT) == first._replace(repeated=True)


@pytest.mark.parametrize("content", [b"", b"\0\0\0\0", b"\0\0\0\x000", b"\0" * 1000, b"\xff" * 100])
def test_what_is_no_answer_at_all_is_none(project, content):
    first = run(project, *LINT)
    (project / ".ackdoctor_cache/answer").write_bytes(content)
    assert run(project, *LINT) == first


@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root can give a file away")
def test_an_answer_that_somebody_else_wrote_is_none(project):
    first = run(project, *LINT)
    os.chown(project / ".ackdoctor_cache/answer", 1, -1)
    assert run(project, *LINT) == first


def test_where_nothing_can_be_kept_nothing_is_repeated(project):
    (project / ".ackdoctor_cache").write_text("")
    settle()
    first = run(project, *LINT)
    assert (first.code, first.repeated) == (1, False)
    assert run(project, *LINT) == first


def test_two_runs_at_once_leave_one_whole_answer(project):
    argv = [sys.executable, "-m", "ackdoctor", *LINT]
    pipe = subprocess.PIPE
    both = [
        subprocess.Popen(argv, cwd=project, env=environment({}), stdout=pipe, stderr=pipe) for _ in range(2)
    ]
    said = {process.communicate() for process in both}
    again = run(project, *LINT)
    assert again.repeated
    assert said == {(again.out.encode(), again.err.encode())}


def test_what_was_written_a_moment_ago_is_not_trusted(project):
    """It may be written again without a new time."""
    answer = Answer()
    write(project, {"bolts/a.py": CLEAN})
    answer.around.status(str(project / "bolts/a.py"))
    answer.keep(0, project / ".ackdoctor_cache")
    assert not (project / ".ackdoctor_cache").exists()


@pytest.mark.parametrize(("length", "kept"), [(1_000_000, True), (1_000_001, False)])
def test_a_long_answer_is_not_kept(project, length, kept):
    answer = Answer()
    answer.out = "x" * length
    answer.keep(0, project / ".ackdoctor_cache")
    assert (project / ".ackdoctor_cache/answer").exists() == kept


def test_nobody_listening_to_a_repeated_answer_is_no_error(project):
    first = run(project, *LINT)
    command = f"{{ {sys.executable} -m ackdoctor {' '.join(LINT)}; echo $? >&2; }} | :"
    done = subprocess.run(
        ["sh", "-c", command], cwd=project, env=environment({}), capture_output=True, check=True
    )
    assert done.stderr.decode() == f"{first.err}{first.code}\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full disk at hand")
def test_a_full_disk_is_told_as_ever(project):
    run(project, *LINT)
    argv = [sys.executable, "-m", "ackdoctor", *LINT]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            argv, cwd=project, env=environment({}), stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert done.stderr.decode().endswith(
        "ackdoctor: standard output cannot be written: No space left on device\n"
    )

"""Traces of tests on disk."""

from collections import Counter

import pytest

from ackdoctor.model.trace import EventKind
from ackdoctor.tracer.trace_reader import read
from tests.pytest_plugin.inner import section, write

pytest_plugins = ["pytester"]

SOURCE = """
    def test_healthy(): drive(Healthy)
    def test_twice(): drive(Twice)
    def test_own_failure():
        drive(Healthy)
        assert 1 == 2
    def test_skips():
        drive(Healthy)
        pytest.skip("enough")
    @pytest.mark.ackdoctor(level="off")
    def test_untraced(): drive(Healthy)
"""


def kept_rows(pytester) -> dict[str, list[str]]:
    """Return the events of the tuples by test."""
    found: dict[str, list[str]] = {}
    for event in read([pytester.path / "traces"]).events():
        if event.kind is not EventKind.NAMED:
            found.setdefault(event.test, []).append(event.kind.name)
    return found


def test_the_traces_of_failing_tests_are_kept(pytester):
    write(pytester, SOURCE)
    pytester.runpytest_inprocess("--ackdoctor-trace-dir=traces")
    assert kept_rows(pytester) == {
        "test_bolts.py::test_twice": ["RECEIVED", "ACKED", "ACKED"],
        "test_bolts.py::test_own_failure": ["RECEIVED", "EMITTED", "ACKED"],
    }


def test_the_traces_of_all_traced_tests_are_kept_on_request(pytester):
    write(pytester, SOURCE)
    pytester.runpytest_inprocess("--ackdoctor-trace-dir=traces", "--ackdoctor-trace-keep=all")
    tests = [test.rpartition("_")[2] for test in kept_rows(pytester) if test]
    assert tests == ["healthy", "twice", "failure", "skips"]


def test_an_unwritable_trace_folder_ends_the_run(pytester):
    write(pytester, SOURCE)
    (pytester.path / "taken").write_text("")
    result = pytester.runpytest_inprocess("--ackdoctor-trace-dir=taken")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert result.errlines[0].endswith("taken: no traces can be written there: File exists")


def test_the_traces_of_children_that_a_test_forked_are_kept_as_its_own(pytester):
    write(
        pytester,
        """
        import os
        def fork():
            if (child := os.fork()) == 0:
                drive(Keeps)
                os._exit(0)
            os.waitpid(child, 0)
        def test_healthy(): fork()
        def test_twice():
            fork()
            drive(Twice)
        def test_healthy_again(): fork()
        """,
    )
    pytester.runpytest_inprocess("--ackdoctor-trace-dir=traces")
    assert {test.rpartition("::")[2]: sorted(names) for test, names in kept_rows(pytester).items()} == {
        "test_twice": ["ACKED", "ACKED", "DIED", "RECEIVED", "RECEIVED"]
    }
    left = [path.name for path in pytester.path.glob("traces/v1/*/*/*")]
    assert len(left) == 3
    assert {name.partition("-")[0] for name in left} == {"_meta.json", "part"}


def test_rows_lost_to_a_full_disk_are_noted_at_their_test(pytester, monkeypatch):
    write(pytester, SOURCE)

    def no_room(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ackdoctor.tracer.recorder.create", no_room)
    result = pytester.runpytest_inprocess("--ackdoctor-trace-dir=traces")
    lacks = "its trace lacks 4 rows, which could not be written"
    lines = [line for line in section(result) if lacks in line]
    assert [line.split()[0].split("::")[1] for line in lines] == ["test_own_failure", "test_twice"]


def test_a_mark_keeps_the_trace_of_one_test(pytester):
    pytester.makeini("[pytest]\nackdoctor_trace_dir = traces\n")
    write(
        pytester,
        """
        def test_untraced(): drive(Twice)
        @pytest.mark.ackdoctor
        def test_sites(): drive(Twice)
        @pytest.mark.ackdoctor(level="trace")
        def test_trace(): drive(Twice)
        """,
    )
    pytester.runpytest_inprocess()
    assert Counter(map(len, kept_rows(pytester).values())) == {3: 1}
    assert list(kept_rows(pytester)) == ["test_bolts.py::test_trace"]


def test_without_a_folder_nothing_is_written(pytester):
    write(pytester, SOURCE)
    before = {path.name for path in pytester.path.iterdir()}
    pytester.runpytest_inprocess("--ackdoctor=trace")
    after = {path.name for path in pytester.path.iterdir()}
    assert after - before <= {"__pycache__"}

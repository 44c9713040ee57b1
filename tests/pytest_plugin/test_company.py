"""Together with other plugins: xdist, JUnit, reruns, threads, async tests, mocks."""

import json
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from ackdoctor.tracer.install import install
from ackdoctor.tracer.ledger import Ledger
from tests.pytest_plugin.inner import letters, section, write

pytest_plugins = ["pytester"]

TWO = """
    def test_twice(): drive(Twice)
    def test_healthy(): drive(Healthy)
    def test_forgets(): drive(Forgets, 2)
"""


def rows(file) -> dict[str, dict[str, Any]]:
    """The property of each testcase, by the test's name."""
    found = {}
    for case in ET.parse(file).iter("testcase"):
        (prop,) = case.iter("property")
        assert prop.get("name") == "ackdoctor"
        found[case.attrib["name"]] = json.loads(prop.attrib["value"])
    return found


# ---- xdist ----


def test_rows_and_findings_come_back_from_workers(pytester):
    write(pytester, TWO)
    result = pytester.runpytest_subprocess(
        "-n2", "--ackdoctor", "--junit-xml=out.xml", "--ackdoctor-trace-dir=t"
    )
    result.assert_outcomes(passed=1, failed=2)
    assert section(result) == [
        "test                         delivered  emitted    ack   fail  pending  findings",
        "test_bolts.py::test_forgets          2        2      0      0        2  ACK101 x2",
        "test_bolts.py::test_twice            1        0      2      0        0  ACK103",
        "3 tests                              4        3      3      0        2",
        "2 of 3 tests broke the protocol: ACK101 x2, ACK103 · ackdoctor explain ACK101",
    ]
    assert {line.split()[0] for line in result.outlines if "test_bolts.py::test_" in line} >= {"ACK"}
    assert any("  error ACK103 double-ack" in line for line in result.outlines)
    reported = rows(pytester.path / "out.xml")
    assert reported["test_twice"]["findings"] == {"ACK103": 1}
    assert reported["test_healthy"]["components"]["Healthy"]["acked"] == 1
    (run,) = (pytester.path / "t" / "v1").iterdir()
    assert {worker.name.partition("=")[2] for worker in run.iterdir()} <= {"gw0", "gw1"}


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--ackdoctor-trace-dir=test_bolts.py", "no traces can be written there: File exists"),
        ("--ackdoctor-baseline=no.json", "no such file; --ackdoctor-write-baseline creates it"),
    ],
)
def test_each_test_of_a_worker_reports_unsupported_hooks(pytester, option, reason):
    write(pytester, TWO)
    result = pytester.runpytest_subprocess("-n1", "--ackdoctor", option)
    result.assert_outcomes(errors=3)
    messages = [line for line in result.outlines if line.startswith("ackdoctor: ")]
    assert {line.endswith(reason) for line in messages} == {True}
    assert len(messages) == 3


def test_a_mark_is_enough_under_xdist(pytester):
    write(pytester, "@pytest.mark.ackdoctor\ndef test_twice(): drive(Twice)")
    result = pytester.runpytest_subprocess("-n1")
    result.assert_outcomes(failed=1)
    assert section(result)[-1] == "1 of 1 test broke the protocol: ACK103 · ackdoctor explain ACK103"


# ---- JUnit ----


def test_junit_has_a_property_for_each_traced_test_and_the_reason_of_a_failure(pytester):
    write(pytester, TWO)
    pytester.runpytest_inprocess("--ackdoctor", "--junit-xml=out.xml")
    twice, healthy, _ = ET.parse(pytester.path / "out.xml").iter("testcase")
    (failure,) = twice.iter("failure")
    assert failure.attrib["message"].startswith(
        "ACK103 double-ack bolts.py:26 the tuple is acked a second time"
    )
    assert not list(healthy.iter("failure"))
    verdicts = {name: row.get("verdict") for name, row in rows(pytester.path / "out.xml").items()}
    assert verdicts == {"test_twice": "failed", "test_healthy": None, "test_forgets": "failed"}


# ---- others who run tests ----

RERUN = """
    from _pytest.runner import runtestprotocol

    def pytest_runtest_protocol(item, nextitem):
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for attempt in range(3):
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
            last = attempt == 2 or not any(report.failed for report in reports)
            for report in reports:
                if not last and report.failed:
                    report.outcome = "rerun"
                item.ihook.pytest_runtest_logreport(report=report)
            if last:
                break
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_report_teststatus(report):
        if report.outcome == "rerun":
            return "rerun", "R", "RERUN"
"""


def test_a_plugin_that_reruns_tests_sees_the_changed_report(pytester):
    pytester.makeconftest(RERUN)
    write(
        pytester,
        """
        bolts = [Twice, Healthy]
        def test_heals(): drive(bolts.pop(0))
        def test_stays(): drive(Twice)
        """,
    )
    result = pytester.runpytest_inprocess("--ackdoctor")
    assert letters(result) == "R.RRA"
    assert section(result)[1:3] == [
        "test_bolts.py::test_stays          1        0      2      0        0  ACK103",
        "2 tests                            2        1      3      0        0",
    ]


def test_a_plugin_that_shows_reports_at_once_gets_an_error_instead_of_silence(pytester):
    pytester.makeconftest("""
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            runtestprotocol(item, nextitem=nextitem, log=True)
            return True
    """)
    write(pytester, "def test_twice(): drive(Twice)")
    result = pytester.runpytest_inprocess("--ackdoctor")
    result.assert_outcomes(passed=1, errors=1)
    assert any("  error ACK103" in line for line in result.outlines)


def test_exitfirst_ends_the_run_at_the_first_violation(pytester):
    write(pytester, TWO)
    result = pytester.runpytest_inprocess("--ackdoctor", "-x")
    result.assert_outcomes(failed=1)
    assert letters(result) == "A"


# ---- threads ----


def test_a_thread_has_a_moment_to_complete_open_tuples(pytester):
    write(
        pytester,
        """
        import threading

        now = threading.Event()

        def later(bolt, wait):
            def work():
                wait()
                bolt.flush()
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            return thread

        @pytest.mark.ackdoctor(complete_within=20)
        def test_waits(): later(drive(Keeps, 2), lambda: now.wait(0.1))

        @pytest.mark.ackdoctor(complete_within=0)
        def test_does_not_wait():
            global thread
            thread = later(drive(Keeps, 2), now.wait)

        @pytest.mark.ackdoctor
        def test_next():
            drive(Healthy)
            now.set()
            thread.join()
        """,
    )
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=3)
    assert [line.split("::")[1].split()[0] for line in section(result) if "2 tuples wait" in line] == [
        "test_does_not_wait"
    ]


def test_a_framework_that_acks_from_its_own_thread_is_waited_for(pytester):
    write(
        pytester,
        """
        from pystorm.bolt import TicklessBatchingBolt

        class Batches(TicklessBatchingBolt):
            secs_between_batches = 0.05

            def process_batch(self, key, tups):
                pass

        @pytest.mark.ackdoctor(complete_within=10)
        def test_batches(): drive(Batches, 3)
        """,
    )
    result = pytester.runpytest_subprocess("-v")  # its thread never ends
    result.assert_outcomes(passed=1)
    assert section(result)[1].split()[1:] == ["3", "0", "3", "0", "0"]


def test_a_frozen_clock_does_not_delay_a_test(pytester):
    write(
        pytester,
        """
        import threading, time
        from unittest import mock

        @pytest.fixture(scope="module")
        def frozen():
            with mock.patch("time.monotonic", return_value=7.0):
                yield

        @pytest.mark.ackdoctor(complete_within=0.1)
        def test_forgets(frozen):
            threading.Thread(target=time.sleep, args=[2], daemon=True).start()
            drive(Forgets)

        def test_next(frozen): pass
        """,
    )
    result = pytester.runpytest_subprocess(timeout=60)
    result.assert_outcomes(failed=1, passed=1)


def test_a_test_without_threads_waits_for_nothing(pytester):
    write(pytester, "@pytest.mark.ackdoctor(complete_within=60)\ndef test_forgets(): drive(Forgets)")
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    assert result.duration < 60


def test_an_async_test_is_judged_at_its_end(pytester):
    pytester.makeconftest("""
        import asyncio, inspect, pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_pyfunc_call(pyfuncitem):
            if inspect.iscoroutinefunction(pyfuncitem.obj):
                asyncio.run(pyfuncitem.obj())
                return True
    """)
    write(
        pytester,
        """
        import asyncio
        async def test_flushes_later():
            bolt = drive(Keeps)
            await asyncio.sleep(0)
            bolt.flush()
        async def test_twice(): drive(Twice)
        """,
    )
    assert letters(pytester.runpytest_inprocess("--ackdoctor")) == ".A"


# ---- tests that drive nothing themselves ----


def test_a_direct_handler_call_is_traced(pytester):
    write(
        pytester,
        """
        from pystorm.component import Tuple
        from unittest import mock

        def tup(): return Tuple("7", "words", "default", 1, ["the"])

        def test_twice(): make(Twice, 0).process(tup())
        def test_auto_ack_counts(): make(Healthy, 0).process(tup())
        def test_forgets(): make(Forgets, 0).process(tup())
        def test_a_mocked_ack_is_read():
            bolt = make(Twice, 0)
            with mock.patch.object(bolt, "ack") as ack:
                bolt.process(tup())
            assert ack.call_count == 2
        """,
    )
    assert letters(pytester.runpytest_inprocess("--ackdoctor")) == "A.AA"


def test_a_replaced_wire_is_not_called_clean(pytester):
    write(
        pytester,
        """
        from unittest import mock
        def test_replaced():
            with mock.patch.object(Bolt, "send_message", lambda self, message: None):
                drive(Healthy)
        """,
    )
    result = pytester.runpytest_inprocess("--ackdoctor")
    assert "not observed: " in section(result)[1]
    assert section(result)[3:] == [
        "1 test not observed: a mock or an unknown transport hides the component's calls"
    ]


def test_a_test_without_components_is_counted_apart(pytester):
    write(pytester, "def test_plain(): pass\ndef test_healthy(): drive(Healthy)")
    result = pytester.runpytest_inprocess("--ackdoctor")
    assert section(result) == [
        "1 test: every tuple completed exactly once",
        "1 test observed 0 events: the tracer saw no component run",
    ]


def test_a_marked_test_without_components_is_named(pytester):
    write(pytester, "@pytest.mark.ackdoctor\ndef test_plain(): pass")
    result = pytester.runpytest_inprocess()
    assert (
        section(result)[1]
        == "test_bolts.py::test_plain          0        0      0      0        0  observed 0 events"
    )


def test_an_already_traced_process_says_so(pytester):
    write(pytester, "def test_twice(): drive(Twice)")
    outer = install(Ledger())
    try:
        result = pytester.runpytest_inprocess("--ackdoctor")
    finally:
        outer.undo()
    result.assert_outcomes(errors=1)
    (line,) = (line for line in result.outlines if line.startswith("ackdoctor: "))
    assert line.startswith("ackdoctor: another tracer runs in this process: ")


def test_an_internal_error_is_reported_and_does_not_end_the_session(pytester):
    write(
        pytester,
        """
        class Strange(Forgets):
            def __getattribute__(self, name):
                if name == "__dict__" and strange:
                    raise KeyError("what is this?")
                return super().__getattribute__(name)
        strange = False

        def test_strange():
            global strange
            drive(Strange)
            strange = True
        def test_healthy(): drive(Healthy)
        """,
    )
    result = pytester.runpytest_inprocess("--ackdoctor")
    result.assert_outcomes(passed=2)
    internal_error = "ackdoctor failed with an internal error: KeyError: 'what is this?'"
    assert section(result)[1].endswith(internal_error)
    assert section(result)[-1] == f"{internal_error} · some events were not traced"

"""Fixtures, components and patches of every scope in each phase of a test; the plugin leaves no changes behind."""

import pytest

from tests.pytest_plugin.inner import letters, section, shorts, write

pytest_plugins = ["pytester"]


def test_a_fixture_flushes_before_the_verdict(run):
    result = run("""
        @pytest.fixture
        def bolt():
            bolt = make(Keeps)
            yield bolt
            bolt.flush()
        def test_keeps(bolt): bolt._run()
    """)
    result.assert_outcomes(passed=1)


def test_a_violation_in_the_teardown_fails_the_test(run):
    result = run("""
        @pytest.fixture
        def bolt():
            bolt = make(Keeps)
            yield bolt
            bolt.kept = bolt.kept * 2
            bolt.flush()
        def test_keeps(bolt): bolt._run()
    """)
    result.assert_outcomes(failed=1)


def test_a_violation_of_a_shared_component_fails_the_test_that_fed_it(run):
    result = run("""
        @pytest.fixture(scope="module")
        def bolt(): return make(Keeps, 3)

        def test_keeps(bolt): bolt._run()
        def test_flushes(bolt):
            bolt._run()
            bolt.flush()
        def test_again(bolt):
            bolt._run()
            bolt.ack(bolt.kept.pop())
    """)
    result.assert_outcomes(passed=3)
    lines = {line.split()[0].partition("::")[2]: line for line in section(result) if "::" in line}
    assert (
        "Keeps: 1 tuple waits in self.kept, and the test ends before the code flushes it"
        in lines["test_keeps"]
    )
    assert "Keeps: 1 completion of tuples that no input was seen to bring" in lines["test_flushes"]
    assert "test_again" not in lines


def test_a_failing_teardown_is_an_error_beside_the_failed_test(run):
    result = run("""
        @pytest.fixture
        def broken():
            yield
            raise OSError("cannot clean up")
        def test_twice(broken): drive(Twice)
    """)
    assert shorts(result) == ["ERROR test_bolts.py::test_twice"]
    assert any("error ACK103" in line for line in result.outlines)


def test_untraced_tests_leave_nothing_behind(pytester):
    write(
        pytester,
        """
        def test_untraced(): drive(Forgets)
        @pytest.mark.ackdoctor
        def test_traced(): drive(Healthy)
        def test_untraced_again(): drive(Twice)
        """,
    )
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=3)
    assert section(result) == ["1 test: every tuple completed exactly once"]


def test_the_frameworks_are_restored_after_the_run(pytester):
    from pystorm.bolt import Bolt
    from pystorm.component import Component

    before = (Component.send_message, Bolt.read_tuple, Bolt.process)
    write(pytester, "def test_twice(): drive(Twice)")
    pytester.runpytest_inprocess("--ackdoctor").assert_outcomes(failed=1)
    assert (Component.send_message, Bolt.read_tuple, Bolt.process) == before


PATCHED = """
    from unittest import mock

    @pytest.fixture(scope="class")
    def patched():
        with {patch}: yield

    @pytest.mark.usefixtures("patched")
    class TestPatched:
        def test_one(self): drive(Keeps).flush()
        {mark}
        def test_two(self): drive(Keeps).flush()
        def test_three(self): drive(Keeps).flush()

    def test_flushes(): drive(Keeps).flush()
    {mark}
    def test_twice(): drive(Twice)
    def test_forgets(): drive(Forgets)
"""


@pytest.mark.parametrize(
    "mark", ["", '@pytest.mark.ackdoctor(level="trace")'], ids=["one level", "two levels"]
)
@pytest.mark.parametrize(
    "patch",
    [
        'mock.patch("pystorm.component.Component.send_message")',
        'mock.patch("pystorm.component.Component.send_message", lambda self, message: None)',
        'mock.patch.object(Keeps, "process", autospec=True)',
    ],
)
def test_a_patch_of_a_wider_scope_leaves_the_tests_after_it_traced(patch, mark, run, pytester):
    pytester.makeconftest("""
        def pytest_unconfigure():
            from pystorm.component import Component
            assert not hasattr(Component.send_message, "__ackdoctor__")
    """)
    result = run(PATCHED.format(patch=patch, mark=mark))
    result.assert_outcomes(passed=4, failed=2)
    assert letters(result) == "....AA"
    assert shorts(result) == ["ACK test_bolts.py::test_twice", "ACK test_bolts.py::test_forgets"]

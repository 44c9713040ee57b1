"""`pytest --ackdoctor-heap`, `heap=True` of the mark, and `ackdoctor.heap()`."""

import sys

import pytest

from tests.pytest_plugin.inner import finding, section, write

pytest_plugins = ["pytester"]

PLAIN = ("-p", "no:xdist", "-p", "no:hypothesispytest", "-p", "no:asyncio", "-p", "no:pytest-lsp")

SPOUT = """
    from pystorm.spout import Spout

    class Words(Spout):
        def initialize(self, storm_conf, context):
            self.buffer = {}

        def next_tuple(self):
            number = len(self.buffer)
            self.buffer[number] = ["word"]
            self.emit(["word"], tup_id=number)

        def fail(self, tup_id):
            self.emit(self.buffer[tup_id], tup_id=tup_id)
"""


@pytest.fixture
def run(pytester):
    """In a process of its own: a look costs by all that its process holds."""

    def run(source, *arguments):
        write(pytester, source)
        return pytester.runpytest_subprocess(*PLAIN, *arguments)

    return run


@pytest.fixture
def run_here(pytester):
    """In this process, for what is patched here; nothing is looked into."""

    def run(source, *arguments):
        write(pytester, source)
        return pytester.runpytest_inprocess(*PLAIN, *arguments)

    return run


def heap_section(result, test):
    lines = result.outlines
    start = next(n for n, line in enumerate(lines) if line.strip("_ ") == test)
    start = next(n for n in range(start, len(lines)) if lines[n].strip("- ") == "ackdoctor heap")
    end = next(n for n in range(start + 1, len(lines)) if lines[n][:3] in {"===", "___", "---"})
    return lines[start + 1 : end]


def test_a_spout_buffer_that_acks_do_not_empty_fails_its_test(run):
    result = run(
        SPOUT
        + """
    def test_words(ackdoctor):
        bench = ackdoctor.bench(Words)
        for _ in range(50):
            bench.next_tuple()
            bench.ack(bench.emitted[-1].msg_id)
    """,
        "--ackdoctor-heap",
    )
    result.assert_outcomes(failed=1)
    lines = finding(result, "test_words")
    place, left = (
        lines[0].split("  ")[0],
        [line.strip() for line in lines if "= left" in line or "= held" in line],
    )
    assert lines[0].removeprefix(place) == (
        "  warning ACK303 spout-buffer-leak (may)  the spout keeps the messages it emitted, and acks do not remove them"
    )
    assert place == "test_bolts.py:6:1"  # class Words
    assert left[0].startswith("= held: Words.buffer: 50 entries, about ")
    assert left[1].endswith(" bytes an entry (int: list), 1,000 more per 1,000 tuples")
    assert left[2] == "= left: 50 emitted, and it waits for 0 messages"


def test_no_heap_is_read_without_the_flag(run):
    result = run(
        SPOUT
        + """
    def test_words(ackdoctor):
        bench = ackdoctor.bench(Words)
        for _ in range(50):
            bench.next_tuple()
            bench.ack(bench.emitted[-1].msg_id)
    """
    )
    result.assert_outcomes(passed=1)
    assert "ackdoctor heap" not in str(result.outlines)


def test_a_bolt_field_and_the_acker_are_shown_beside_the_finding_of_the_run(run):
    result = run(
        """
        def test_keeps(ackdoctor):
            bench = ackdoctor.bench(Hoards)
            for _ in range(20):
                bench.feed("the")
        """,
        "--ackdoctor-heap",
    )
    result.assert_outcomes(failed=1)
    lines = finding(result, "test_keeps")
    assert [line.split("  ")[1] for line in lines if line.startswith("bolts.py:")] == [
        "error ACK401 undrained-buffer"
    ]
    held = [line.strip() for line in lines if "= left: heap: " in line]
    assert [line.partition(" entries, ")[0] for line in held] == [
        "= left: heap: Hoards.kept: 20",
        "= left: heap: acker._pending._buckets[0]: 20",
    ]
    shown = heap_section(result, "test_keeps")
    assert shown[0].startswith("2 snapshots (start; end): ")
    assert shown[1:4] == ["acker: 20 entries after 20 roots: 20 tracked, 0 orphans", "", "who holds what"]
    rows = [line.split("   ")[0].strip() for line in shown[6:8]]
    assert rows == ["Hoards.kept", "acker._pending._buckets[0]"]
    assert "types that grew most" in shown
    row = next(line for line in section(result) if "test_keeps" in line)
    assert row.endswith("most in Hoards.kept (20)")


@pytest.mark.minutes
def test_a_mark_of_the_pending_map_takes_a_snapshot(run):
    result = run(
        """
        @pytest.mark.ackdoctor(heap=True)
        def test_keeps(ackdoctor):
            bench = ackdoctor.bench(Hoards)
            for _ in range(2_100):
                bench.feed("the")
            print(ackdoctor.heap("by now"))
        """,
    )
    result.assert_outcomes(failed=1)
    assert heap_section(result, "test_keeps")[0].startswith(
        "5 snapshots (start; 1,000 pending; 2,000 pending; by now; end): "
    )
    codes = [
        line.split()[2]
        for line in finding(result, "test_keeps")
        if line.startswith(("bolts.py:", "<acker>:"))
    ]
    assert codes == ["ACK401"]


def test_tuples_that_a_mark_allows_open_are_no_heap_finding(run):
    result = run(
        """
        @pytest.mark.ackdoctor(heap=True, max_pending=20)
        def test_keeps(ackdoctor):
            bench = ackdoctor.bench(Hoards)
            for _ in range(20):
                bench.feed("the")
        """,
    )
    result.assert_outcomes(passed=1)


def test_a_snapshot_shows_what_is_held_now(run):
    result = run(
        """
        def test_keeps(ackdoctor):
            bench = ackdoctor.bench(Keeps)
            before = ackdoctor.heap()
            for _ in range(20):
                bench.feed("the")
            during = ackdoctor.heap()
            bench.component.flush()
            after = ackdoctor.heap()
            path = "Keeps.kept"
            assert [look.entries(path) for look in (before, during, after)] == [0, 20, 0]
            assert [holding.path for holding in during.holdings if holding.entries == 20] == [
                "acker._pending._buckets[0]", path
            ]
            assert [found.code for found in during.findings] == ["ACK401", "ACK601"]
            assert after.findings == ()
            assert str(after).startswith("3 snapshots (look 1; look 2; look 3): ")
        """
    )
    result.assert_outcomes(passed=1)


COUNTS = """
import guppy

hpy = guppy.hpy

def counted():
    with open("counts", "a") as file:
        file.write(".")
    return hpy()

guppy.hpy = counted
"""


@pytest.mark.parametrize(
    ("bolt", "counts"), [("Healthy", 1), pytest.param("Hoards", 4, marks=pytest.mark.minutes)]
)
def test_the_whole_heap_is_counted_only_a_few_times_in_a_session(pytester, bolt, counts):
    (pytester.path / "conftest.py").write_text(COUNTS)
    write(
        pytester,
        f"""
        @pytest.mark.parametrize("number", range(6))
        def test_six(number):
            drive({bolt}, 3)
        """,
    )
    result = pytester.runpytest_subprocess(*PLAIN, "--ackdoctor-heap")
    result.assert_outcomes(**{"passed" if bolt == "Healthy" else "failed": 6})
    assert (pytester.path / "counts").read_text() == "." * counts


@pytest.mark.minutes
def test_tuples_that_wait_for_a_flush_are_no_heap_finding(run):
    result = run(
        """
        def test_keeps(ackdoctor):
            bench = ackdoctor.bench(Keeps)
            for _ in range(20):
                bench.feed("the")
        """,
        "--ackdoctor-heap",
    )
    result.assert_outcomes(passed=1)
    row = next(line for line in section(result) if "test_keeps" in line)
    assert "Keeps: 20 tuples wait in self.kept" in row
    assert row.endswith("heap: most in Keeps.kept (20)")


def test_the_flag_without_guppy3_is_an_error_with_install_help(run_here, monkeypatch):
    monkeypatch.setitem(sys.modules, "guppy", None)
    result = run_here("def test(): pass", "--ackdoctor-heap")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert result.errlines == [
        "ERROR: --ackdoctor-heap: heap snapshots need guppy3, which is not installed: pip install 'ackdoctor[heap]'",
        "",
    ]


def test_a_snapshot_without_guppy3_fails_its_test_only(run_here, monkeypatch):
    monkeypatch.setitem(sys.modules, "guppy", None)
    result = run_here(
        """
        def test_looks(ackdoctor):
            ackdoctor.heap()

        def test_other(ackdoctor):
            ackdoctor.bench(Healthy).feed("the")
        """
    )
    result.assert_outcomes(passed=1, failed=1)
    assert (
        "ackdoctor: heap snapshots need guppy3, which is not installed: pip install 'ackdoctor[heap]'"
        in result.outlines
    )


def test_a_tuple_in_the_next_batch_is_no_leak(run):
    result = run(
        """
        class Batches(BatchingBolt):
            ticks_between_batches = 1

            def process_batch(self, key, tups):
                pass

        def test_batches(ackdoctor):
            bench = ackdoctor.bench(Batches)
            for _ in range(50):
                bench.feed("the")
            assert len(bench.pending) == 50
        """,
        "--ackdoctor-heap",
    )
    result.assert_outcomes(passed=1)


def test_heap_findings_can_be_allowed(run):
    result = run(
        SPOUT
        + """
    @pytest.mark.ackdoctor(allow=["ACK303"])
    def test_words(ackdoctor):
        bench = ackdoctor.bench(Words)
        for _ in range(50):
            bench.next_tuple()
            bench.ack(bench.emitted[-1].msg_id)
    """,
        "--ackdoctor-heap",
    )
    result.assert_outcomes(passed=1)
    row = next(line for line in section(result) if "test_words" in line)
    assert "(ACK303 accepted)" in row


def test_a_spout_that_stores_pending_tuples_is_clean(run):
    result = run(
        SPOUT
        + """
    def test_words(ackdoctor):
        bench = ackdoctor.bench(Words)
        for _ in range(50):
            bench.next_tuple()
    """,
        "--ackdoctor-heap",
    )
    result.assert_outcomes(passed=1)

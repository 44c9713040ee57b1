"""Never clean by accident: dead workers, open roots, and tuples that a test leaves before their flush."""

import json
from xml.etree import ElementTree as ET

import pytest

from tests.pytest_plugin.inner import section

pytest_plugins = ["pytester"]

DOUBT = "in doubt: some tuples may not have completed exactly once"

DIES = """
    class Dies(Bolt):
        def process(self, tup):
            raise ValueError("bad record")
"""

BATCH = """
    class Batch(Bolt):
        auto_ack = False

        def initialize(self, conf, context):
            self.batch, self.ids, self.counts = [], [], {}

        def process(self, tup):
            self.ids.append(tup.id)
            self.counts[tup.id] = 1
            self.batch.append(tup)
            if len(self.batch) == 3:
                self.flush()

        def flush(self):
            for tup in self.batch:
                self.ack(tup)
            self.batch = []
"""


# ---- benches ----


@pytest.mark.parametrize(
    "body",
    [
        'ackdoctor.bench(Dies).feed("the")',
        'ackdoctor.bench(ByHand).feed("the")',
        "ackdoctor.bench(Unborn)",
        'bench = ackdoctor.bench(Dies)\n        bench.feed("the")\n        bench.restart()',
        'bench = ackdoctor.bench(Late)\n        bench.feed("the")\n        bench.tick()',
    ],
)
def test_an_unnoticed_worker_death_fails_the_test(run, body):
    result = run(f"""
    from pystorm.spout import Spout
    {DIES}
    class ByHand(Dies):
        auto_ack = auto_fail = False

    class Unborn(Healthy):
        def initialize(self, conf, context):
            raise ValueError("bad record")

    class Late(Healthy):
        def process_tick(self, tup):
            raise ValueError("bad record")

    def test_dies(ackdoctor):
        {body}
    """)
    result.assert_outcomes(failed=1)
    assert any("died: ValueError: bad record: assert `bench.died`" in line for line in result.outlines)
    assert f"1 test {DOUBT}" in section(result)


def test_a_test_that_checks_the_death_passes_and_is_named(run):
    source = f"""
    {DIES}
    def test_dies(ackdoctor):
        bench = ackdoctor.bench(Dies)
        bench.feed("the")
        assert bench.died
    """
    for flags in ((), ("-q",)):
        result = run(source, *flags)
        result.assert_outcomes(passed=1)
        assert f"1 test {DOUBT}" in result.outlines
        assert any("the worker of Dies died: ValueError: bad record" in line for line in result.outlines)
        assert not any("every tuple completed" in line for line in result.outlines)


def test_feeding_a_dead_worker_raises_in_the_test(run):
    result = run(f"""
    from ackdoctor.lab.child import ShellError
    {DIES}
    def test_dies(ackdoctor):
        bench = ackdoctor.bench(Dies)
        bench.feed("the")
        with pytest.raises(ShellError):
            bench.feed("cow")
    """)
    result.assert_outcomes(passed=1)
    assert f"1 test {DOUBT}" in section(result)


def test_a_spout_whose_process_ended_after_its_answer_is_named(run):
    result = run("""
    from pystorm.spout import Spout

    class Source(Spout):
        def next_tuple(self):
            raise ValueError("bad record")

    def test_dies(ackdoctor):
        ackdoctor.bench(Source).next_tuple()
    """)
    result.assert_outcomes(passed=1)
    assert any("the worker of Source died: ValueError: bad record" in line for line in section(result))
    assert f"1 test {DOUBT}" in section(result)


def test_with_warn_a_death_is_reported_and_fails_nothing(run):
    result = run(
        f"""
    {DIES}
    def test_dies(ackdoctor):
        ackdoctor.bench(Dies).feed("the")
    """,
        "--ackdoctor-warn",
    )
    result.assert_outcomes(passed=1)
    assert "the worker of Dies died: ValueError: bad record" in result.outlines


def test_assert_complete_reports_a_death_and_an_open_root(run):
    result = run(f"""
    {DIES}
    class Batches(BatchingBolt):
        def process_batch(self, key, tups):
            pass

    def test_dead(ackdoctor):
        bench = ackdoctor.bench(Dies)
        bench.feed("the")
        with pytest.raises(AssertionError, match="the worker of Dies died: ValueError: bad record"):
            ackdoctor.assert_complete()
        assert bench.died
        ackdoctor.assert_complete()

    def test_open(ackdoctor):
        ackdoctor.bench(Batches).feed("the")
        with pytest.raises(AssertionError, match="Batches: 1 root open"):
            ackdoctor.assert_complete()
    """)
    result.assert_outcomes(passed=2)


def test_roots_that_are_open_or_have_timed_out_are_named(run):
    result = run("""
    class Batches(BatchingBolt):
        ticks_between_batches = 1

        def process_batch(self, key, tups):
            pass

    def test_open(ackdoctor):
        ackdoctor.bench(Batches).feed("the")

    def test_late(ackdoctor):
        bench = ackdoctor.bench(Batches, message_timeout_secs=5)
        bench.feed("the")
        bench.advance(60)
        bench.tick()
    """)
    result.assert_outcomes(passed=2)
    lines = {line.split()[0].partition("::")[2]: line for line in section(result) if "::" in line}
    assert lines["test_open"].endswith("Batches: 1 root open")
    assert lines["test_late"].endswith("Batches: 1 root timed out")
    assert section(result)[-1] == f"2 tests {DOUBT}"


def test_a_spout_alone_is_not_called_complete(run):
    result = run("""
    from pystorm.spout import Spout

    class Words(Spout):
        def next_tuple(self):
            self.emit(["the"], tup_id="1")

    def test_emits(ackdoctor):
        ackdoctor.bench(Words).next_tuple()
    """)
    result.assert_outcomes(passed=1)
    assert section(result) == ["1 test: no bolt received a tuple"]


# ---- tests that stop early ----


def test_a_test_that_ends_before_the_flush_is_doubtful_and_does_not_fail(run):
    result = run(f"""
    {BATCH}
    class Inherits(Batch):
        pass

    def test_one(): drive(Batch)
    def test_two(): drive(Inherits, 2)
    def test_all(): drive(Batch, 3)
    def test_bench(ackdoctor): ackdoctor.bench(Batch).feed("the")
    """)
    result.assert_outcomes(passed=4)
    lines = {line.split()[0].partition("::")[2]: line for line in section(result) if "::" in line}
    assert lines.keys() == {"test_one", "test_two", "test_bench"}
    note = "1 tuple waits in self.batch, and the test ends before the code flushes it: feed more, tick, or mark max_pending=1"
    assert f"Batch: {note}" in lines["test_one"]
    assert "Inherits: 2 tuples wait in self.batch" in lines["test_two"]
    assert lines["test_two"].endswith("max_pending=2")
    assert "Batch: 1 root open; Batch: 1 tuple waits" in lines["test_bench"]


def test_the_fixture_lists_waiting_tuples(run):
    result = run(f"""
    {BATCH}
    def test_asks(ackdoctor):
        ackdoctor.bench(Batch).feed("the")
        assert [found.code for found in ackdoctor.findings()] == ["ACK401"]
    """)
    result.assert_outcomes(passed=1)


def test_a_buffer_without_a_flush_fails_the_test(run):
    result = run("""
    class Leaks(Bolt):
        auto_ack = False

        def initialize(self, conf, context):
            self.batch = []

        def process(self, tup):
            self.batch.append(tup)

    class Drops(Leaks):
        def process(self, tup):
            self.batch.append(tup)
            if len(self.batch) == 3:
                self.batch.clear()

    def test_leaks(): drive(Leaks)
    def test_drops(): drive(Drops)
    """)
    result.assert_outcomes(failed=2)
    assert section(result)[-1] == "2 of 2 tests broke the protocol: ACK401 x2 · ackdoctor explain ACK401"


@pytest.mark.parametrize(
    "keep", ["self.seen.append(tup.id)", "self.known.add(tup.id)", "self.counts[tup.id] = 1"]
)
def test_a_collection_of_ids_holds_no_tuples(run, keep):
    result = run(f"""
    class Ids(Bolt):
        auto_ack = False

        def initialize(self, conf, context):
            self.seen, self.known, self.counts = [], set(), {{}}

        def process(self, tup):
            {keep}

    def test_ids(): drive(Ids)
    """)
    result.assert_outcomes(failed=1)
    assert section(result)[-1].startswith("1 of 1 test broke the protocol: ACK101")


def test_a_value_that_looks_like_an_id_holds_no_tuple(run):
    result = run("""
    class Values(Bolt):
        auto_ack = False
        rows = ["1", "2"]

        def initialize(self, conf, context):
            self.rows = ["1", "2"]

        def process(self, tup):
            if tup.values[0] == "stop":
                self.ack(tup)

    def test_values(): drive(Values)
    """)
    result.assert_outcomes(failed=1)
    assert section(result)[-1].startswith("1 of 1 test broke the protocol: ACK101")


def test_ids_that_a_flush_acks_wait_for_it(run):
    result = run("""
    class Ids(Bolt):
        auto_ack = False

        def initialize(self, conf, context):
            self.ids = []

        def process(self, tup):
            self.ids.append(tup.id)
            if len(self.ids) == 3:
                for each in self.ids:
                    self.ack(each)
                self.ids = []

    def test_one(): drive(Ids)
    """)
    result.assert_outcomes(passed=1)
    assert "Ids: 1 tuple waits in self.ids" in str(result.stdout)


# ---- exceptions ----


def test_an_expected_exception_is_noted_and_is_no_violation(run):
    result = run(f"""
    {BATCH}
    class Fails(Batch):
        def flush(self):
            raise OSError("no database")

    class ByHand(Fails):
        auto_fail = False

    def raises(bolt_class, error, count=3):
        bolt = make(bolt_class, count)
        with pytest.raises(error):
            for _ in range(count):
                bolt._run()

    def test_fails(): raises(Fails, OSError)
    def test_by_hand(): raises(ByHand, OSError)
    """)
    result.assert_outcomes(passed=2)
    lines = {line.split()[0].partition("::")[2]: line for line in section(result) if "::" in line}
    assert "Fails: 2 kept tuples were open when an exception left a handler" in lines["test_fails"]
    assert "OSError left Fails.process: pystorm fails the tuple" in lines["test_fails"]
    assert "OSError left ByHand.process: the tuple stays open until it times out" in lines["test_by_hand"]


def test_a_tuple_forgotten_before_an_exception_is_a_finding(run):
    result = run("""
    class Forgets2(Forgets):
        def process(self, tup):
            if tup.id == "2":
                raise ValueError("no")

    def test_raises():
        bolt = make(Forgets2, 2)
        bolt._run()
        with pytest.raises(ValueError):
            bolt._run()
    """)
    result.assert_outcomes(failed=1)
    assert section(result)[-2].startswith("1 of 1 test broke the protocol: ACK101")


def test_the_doubts_are_in_the_junit_property_too(run, pytester):
    run(
        f"""
    {DIES}
    def test_dies(ackdoctor):
        bench = ackdoctor.bench(Dies)
        bench.feed("the")
        assert bench.died
    """,
        "--junit-xml=tests.xml",
    )
    (row,) = ET.parse(pytester.path / "tests.xml").getroot().iter("property")
    assert json.loads(row.attrib["value"])["doubts"] == [
        "the worker of Dies died: ValueError: bad record",
        "ValueError left Dies.process: pystorm fails the tuple, and ends the process unless it is set to go on",
    ]


def test_a_bench_without_the_fixture_is_not_called_complete_when_its_worker_dies(run):
    result = run(f"""
    from ackdoctor.lab.bench import Bench
    {DIES}
    def test_dies():
        with Bench(Dies) as bench:
            bench.feed("the")
    """)
    result.assert_outcomes(passed=1)
    assert section(result)[-1] == f"1 test {DOUBT}"

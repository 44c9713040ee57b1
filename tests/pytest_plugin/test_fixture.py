"""The fixture `ackdoctor`: a bench, open tuples, and the pending map of the acker."""

import pytest

from tests.pytest_plugin.inner import finding, section, write

pytest_plugins = ["pytester"]


@pytest.fixture
def run(pytester):
    def run(source, *arguments):
        write(pytester, source)
        return pytester.runpytest_inprocess(*arguments)

    return run


def test_a_bolt_is_fed_and_its_tuple_completes(run):
    result = run("""
        def test_healthy(ackdoctor):
            bench = ackdoctor.bench(Healthy)
            bench.feed("the")
            assert [emitted.values for emitted in bench.emitted] == [["the"]]
            assert ackdoctor.open == ()
            assert ackdoctor.pending == ()
            ackdoctor.assert_complete()
    """)
    result.assert_outcomes(passed=1)
    assert section(result) == ["1 test: every tuple completed exactly once"]


def test_time_is_virtual_and_ticks_trigger_a_flush(run):
    result = run("""
        class Ticks(Keeps):
            def process_tick(self, tup):
                self.flush()
                self.ack(tup)

        def test_ticks(ackdoctor):
            bench = ackdoctor.bench(Ticks, tick_secs=25)
            bench.feed("the")
            assert ackdoctor.open == ("Ticks 1",)
            (entry,) = ackdoctor.pending
            assert entry.task is not None
            bench.advance(25)
            assert ackdoctor.open == ackdoctor.pending == ()
    """)
    result.assert_outcomes(passed=1)
    assert result.duration < 25


def test_a_forgotten_tuple_shows_its_entry_in_the_ackers_map(run):
    result = run("""
        def test_forgets(ackdoctor):
            bench = ackdoctor.bench(Forgets)
            bench.feed("the")
            bench.feed("cow")
    """)
    result.assert_outcomes(failed=1)
    lines = finding(result, "test_forgets")
    assert "error ACK101 missing-ack" in lines[0]
    left = [line.strip() for line in lines if "= left: acker: root " in line]
    assert len(left) == 2
    assert all(line.endswith("; the spout still waits") for line in left)


def test_the_mark_chooses_the_acker_of_the_bench(run):
    result = run("""
        @pytest.mark.ackdoctor(profile="storm-1.1.0", max_pending=1)
        def test_old(ackdoctor):
            bench = ackdoctor.bench(Forgets)
            bench.feed("the")
            bench.advance(3600)
            assert len(ackdoctor.pending) == 1  # 1.1.0 never drops one
            assert bench.profile.name.startswith("storm-1.1.0")

        @pytest.mark.ackdoctor(max_pending=1)
        def test_new(ackdoctor):
            bench = ackdoctor.bench(Forgets)
            bench.feed("the")
            bench.advance(3600)
            assert ackdoctor.pending == ()
    """)
    result.assert_outcomes(passed=2)


def test_a_spout_gets_its_own_bench(run):
    result = run("""
        from pystorm.spout import Spout

        class Words(Spout):
            def next_tuple(self): self.emit(["the"], tup_id="1")
            def fail(self, tup_id): self.emit(["the"], tup_id=tup_id)

        def test_words(ackdoctor):
            bench = ackdoctor.bench(Words)
            assert type(bench).__name__ == "SpoutBench"
    """)
    result.assert_outcomes(passed=1)


def test_assert_complete_names_the_fault_and_its_line(run):
    result = run("""
        def test_forgets(ackdoctor):
            ackdoctor.bench(Forgets).feed("the")
            ackdoctor.assert_complete()

        def test_in_between(ackdoctor):
            bench = ackdoctor.bench(Keeps)
            bench.feed("the")
            assert [found.code for found in ackdoctor.findings()] == ["ACK401"]
            bench.component.flush()
            ackdoctor.assert_complete()
    """)
    result.assert_outcomes(passed=1, failed=1)
    assert any(
        line.startswith("E       AssertionError: ACK101 missing-ack bolts.py:17 ") for line in result.outlines
    )
    assert not any("fixture.py" in line for line in result.outlines)


def test_inspection_does_not_change_the_verdict(run):
    result = run("""
        def test_looks(ackdoctor):
            bench = ackdoctor.bench(Twice)
            bench.feed("the")
            assert [found.code for found in ackdoctor.findings()] == ["ACK103"]
            assert [found.code for found in ackdoctor.findings()] == ["ACK103"]
            assert "already acked/failed id: 1" in str(bench.died)
    """)
    result.assert_outcomes(failed=1)
    assert any(line.split()[-1] == "ACK103" for line in section(result))


def test_components_without_a_bench_are_inspected_too(run):
    result = run("""
        @pytest.mark.ackdoctor(max_pending=2)
        def test_drives(ackdoctor):
            drive(Forgets, 2)
            assert ackdoctor.open == ("Forgets 1", "Forgets 2")
    """)
    result.assert_outcomes(passed=1)


def test_an_untraced_test_cannot_use_the_fixture(run):
    result = run("""
        @pytest.mark.ackdoctor(level="off")
        def test_off(ackdoctor): pass
        def test_late(request): request.getfixturevalue("ackdoctor")
    """)
    result.assert_outcomes(errors=1, failed=1)
    needs = "the fixture `ackdoctor` needs a traced test, which names it among its arguments"
    assert sum(line.endswith(needs) for line in result.outlines) >= 2


def test_another_fixture_can_use_the_fixture(run):
    result = run("""
        @pytest.fixture
        def bench(ackdoctor): return ackdoctor.bench(Forgets)
        def test_forgets(bench): bench.feed("the")
    """)
    result.assert_outcomes(failed=1)


def test_an_object_that_is_no_component_is_refused(run):
    result = run("""
        def test_dict(ackdoctor):
            with pytest.raises(TypeError, match="dict is not a bolt or spout of .*Petrel"):
                ackdoctor.bench(dict)
    """)
    result.assert_outcomes(passed=1)


def test_a_tuple_in_the_next_batch_is_no_finding_of_the_pending_map(run):
    result = run("""
        class Batches(BatchingBolt):
            def process_batch(self, key, tups):
                pass

        def test_waits(ackdoctor):
            ackdoctor.bench(Batches).feed("the")
            assert len(ackdoctor.pending) == 1
    """)
    result.assert_outcomes(passed=1)


def test_a_tuple_forgotten_before_the_death_is_still_a_finding(run):
    result = run("""
        class Dies(Forgets):
            auto_fail = False

            def process(self, tup):
                if tup.values[0] == "die":
                    raise ValueError("no")

        def test_dies(ackdoctor):
            bench = ackdoctor.bench(Dies)
            roots = []
            for word in ("the", "cow", "die"):
                bench.feed(word)
                roots += [entry.root for entry in ackdoctor.pending if entry.root not in roots]
            assert bench.died
            (found,) = ackdoctor.findings()
            waiting = [line.split()[2] for line in found.evidence.left if line.endswith("the spout still waits")]
            assert waiting == [str(root) for root in roots[:2]]
    """)
    result.assert_outcomes(failed=1)
    assert "ACK601" not in str(result.stdout)
    assert ["ACK101 x2" in line for line in section(result) if "test_dies" in line] == [True]


def test_a_double_ack_that_kills_the_worker_is_a_finding(run):
    result = run("""
        class Again(Bolt):
            auto_ack = False

            def process(self, tup):
                if tup.values[0] == "first":
                    self.held = tup
                    return
                self.ack(tup)
                self.ack(tup)

        def test_dies(ackdoctor):
            bench = ackdoctor.bench(Again)
            bench.feed("first")
            bench.feed("the")
            assert bench.died
            assert sorted(found.code for found in ackdoctor.findings()) == ["ACK103", "ACK401"]
    """)
    result.assert_outcomes(failed=1)
    assert "ACK601" not in str(result.stdout)


def test_open_tuples_of_a_dead_worker_are_no_second_finding(run):
    result = run("""
        class Batches(BatchingBolt):
            ticks_between_batches = 0

            def process_batch(self, key, tups):
                self.ack(tups[0])

        def test_dies(ackdoctor):
            bench = ackdoctor.bench(Batches)
            bench.feed("the")
            bench.feed("cow")
            bench.tick()
            assert bench.died
            assert [finding.code for finding in ackdoctor.findings()] == ["ACK105"]
    """)
    result.assert_outcomes(failed=1)
    assert "ACK601" not in str(result.stdout)


def test_feeding_a_dead_worker_fails_at_that_line(run):
    result = run("""
        def test_twice(ackdoctor):
            bench = ackdoctor.bench(Twice)
            bench.feed("the")
            bench.feed("cow")
    """)
    result.assert_outcomes(failed=1)
    lines = result.outlines
    (place,) = [number for number, line in enumerate(lines) if line.startswith(">")]
    assert lines[place].split() == [">", 'bench.feed("cow")']
    assert lines[place + 1].startswith("E ")
    assert "Acked a non-existent or already acked/failed id: 1" in lines[place + 1]
    assert not [line for line in lines if "lab/bench.py" in line]

"""The time that components see."""

import random
import threading
import time
from queue import Empty, Queue

import pytest

from ackdoctor.lab.child import ComponentClock, real_time

NAMES = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "sleep")


def test_the_clocks_follow_the_simulation_and_are_restored():
    before = {name: getattr(time, name) for name in NAMES}
    clock = ComponentClock()
    with clock.replacing():
        start, kept = time.time(), time.time
        clock.now_ms = lambda: 90_000
        assert time.time() - start == 90
        assert time.monotonic_ns() == time.time_ns() == round(time.perf_counter() * 1e9)
    assert {name: getattr(time, name) for name in NAMES} == before
    assert kept() > start + 1e6  # a module that keeps the function sees the real time again


def test_a_sleep_takes_no_time_but_the_clock_shows_it():
    clock = ComponentClock()
    with clock.replacing():
        start = time.time()
        time.sleep(3600)
        assert time.time() - start == 3600
    assert (clock.take(), clock.take()) == (3600, 0)


def test_a_component_that_waits_for_a_time_gets_there():
    clock = ComponentClock()
    with clock.replacing():
        start = time.time()
        while time.time() - start < 5:
            pass
    assert clock.take() == pytest.approx(5)


def test_other_threads_and_the_standard_library_see_the_real_time():
    seen = []
    with ComponentClock().replacing():
        simulated = time.time()
        thread = threading.Thread(target=lambda: seen.append(time.time()))
        thread.start()
        thread.join()
        with pytest.raises(Empty):
            Queue().get(timeout=0.01)
        random.seed()
    assert seen[0] > simulated + 1e6


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("seen = datetime.now()", 2),
        ("seen = datetime.datetime.utcnow()", 2),
        ("seen = date.today()", 2),
        ("seen = datetime.fromtimestamp(view)", 0),
        ("seen = time.time()", 0),
    ],
)
def test_clocks_that_cannot_be_replaced_are_found(tmp_path, line, number):
    file = tmp_path / "bolt.py"
    file.write_text(f"import datetime\n{line}\n")
    assert real_time(file) == number

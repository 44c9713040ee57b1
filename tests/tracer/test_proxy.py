import os
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackdoctor.acker.versions import NEWEST
from ackdoctor.model.trace import IN_HAND, RELIABLE, EventKind
from ackdoctor.tracer.proxy import Chunk, Direction, Lane, Tap, chunks, pump
from ackdoctor.tracer.replay import judge_trace
from tests.tracer.piped import ECHO, command, frame, python, ran, row_summaries, rows

K = EventKind


def through(data: bytes, *, back: bytes, tapped: bool = True) -> tuple[bytes, bytes, list[Chunk]]:
    """Return the output at both ends of a pump over pipes, and the chunks of the tap."""
    given_in, give = os.pipe()
    to_component, component_in = os.pipe()
    component_out, answer = os.pipe()
    taken, out = os.pipe()
    seen, show = os.pipe()
    wake, alarm = os.pipe()

    def feed(descriptor: int, words: bytes) -> None:
        with os.fdopen(descriptor, "wb") as pipe:
            pipe.write(words)

    def drain(descriptor: int) -> bytes:
        with os.fdopen(descriptor, "rb") as pipe:
            return pipe.read()

    os.set_blocking(component_in, False)
    lanes = (
        Lane(Direction.TO_COMPONENT, given_in, component_in, step=sys.maxsize),
        Lane(Direction.FROM_COMPONENT, component_out, out),
    )
    tap = Tap(show)
    with ThreadPoolExecutor(6) as threads:
        threads.submit(feed, give, data)
        threads.submit(feed, answer, back)
        forth_end, back_end = threads.submit(drain, to_component), threads.submit(drain, taken)
        if not tapped:
            os.close(seen)
        watched = threads.submit(lambda: list(chunks(seen)) if tapped else [])
        pump(lanes, tap, ended=lambda: not any(lane.open for lane in lanes), wake=wake)
        tap.close("over")
        for descriptor in (wake, alarm):
            os.close(descriptor)
        return forth_end.result(), back_end.result(), watched.result()


_BYTES = st.binary(max_size=300) | st.builds(
    lambda piece, times: piece * times, st.binary(min_size=1, max_size=40), st.integers(1, 20_000)
)


@settings(max_examples=60)
@given(_BYTES, _BYTES)
def test_bytes_are_forwarded_unchanged(data, back):
    forth, returned, observed = through(data, back=back)
    assert forth == data
    assert returned == back
    if not any(chunk.missed for chunk in observed):
        for direction, words in ((Direction.TO_COMPONENT, data), (Direction.FROM_COMPONENT, back)):
            assert b"".join(chunk.data for chunk in observed if chunk.direction is direction) == words


@settings(max_examples=15)
@given(_BYTES, _BYTES)
def test_bytes_are_forwarded_without_an_observer(data, back):
    assert through(data, back=back, tapped=False) == (data, back, [])


def test_a_full_tap_counts_what_it_drops():
    seen, show = os.pipe()
    tap = Tap(show)
    data = frame(["x" * 60_000])
    for _ in range(100):
        tap.offer(Direction.TO_COMPONENT, data)
    missed = tap.missed[Direction.TO_COMPONENT]
    assert 0 < missed < 100
    with ThreadPoolExecutor(1) as threads:
        observed = threads.submit(lambda: list(chunks(seen)))
        tap.close("over")
    assert sum(chunk.data == data for chunk in observed.result()) == 100 - missed
    assert sum(chunk.missed for chunk in observed.result()) == missed


@pytest.mark.parametrize("watch", ["observe", "crash", "killed", "die", "stall"])
def test_the_component_never_notices_the_tracer(tmp_path, watch):
    data = random.Random(1).randbytes(5_000_000) + frame({"command": "ack", "id": "1"})
    done = ran(command(tmp_path, *python(ECHO, "7"), watch=watch), input=data)
    assert done.stdout == data
    assert done.stderr == b""
    assert done.returncode == 7


@pytest.mark.parametrize("watch", ["crash", "killed", "die"])
def test_bytes_that_a_dead_tracer_missed_are_counted(tmp_path, watch):
    sent = frame(*[{"command": "ack", "id": "1"}] * 10)
    ran(command(tmp_path, *python(ECHO), watch=watch), input=sent)
    assert row_summaries(tmp_path) == [(K.DROPPED, "", "the tracer ended before the component did")]


def test_a_bolt_under_the_proxy_leaves_its_rows(tmp_path):
    bolt = """
from pystorm import Bolt
class Twice(Bolt):
    auto_ack = False
    def process(self, tup):
        self.emit([1]); self.ack(tup); self.ack(tup)
        if tup.values[0] == "bad": raise ValueError("no")
Twice().run()
"""
    shake = {"conf": {}, "pidDir": str(tmp_path), "context": {"taskid": 4, "task->component": {"4": "twice"}}}
    tuples = [
        {"id": "-77", "comp": "spout", "stream": "default", "task": 1, "tuple": ["good"]},
        {"id": "78", "comp": "spout", "stream": "default", "task": 1, "tuple": ["bad"]},
    ]
    trace = tmp_path / "trace"
    done = ran(command(trace, *python(bolt)), input=frame(shake, *tuples))
    bare = ran(python(bolt), input=frame(shake, *tuples))

    def steady(words: bytes) -> bytes:
        return re.sub(rb'"pid": \d+|[\d-]+ [\d:,]+ - ', b"", words)

    assert steady(done.stdout) == steady(bare.stdout)
    assert (done.returncode, done.stderr) == (bare.returncode, bare.stderr) == (1, bare.stderr)
    found = rows(trace)
    assert {(row.component, row.task) for row in found} == {("twice", 4)}
    assert [(row.kind, row.delivery, row.flags, row.note) for row in found] == [
        (K.RECEIVED, "-77", 0, ""),
        (K.RECEIVED, "78", 0, ""),
        (K.EMITTED, "-77", RELIABLE, ""),
        (K.ACKED, "-77", 0, ""),
        (K.ACKED, "-77", 0, ""),
        (K.EMITTED, "78", RELIABLE, ""),
        (K.ACKED, "78", 0, ""),
        (K.ACKED, "78", 0, ""),
        (K.FAILED, "78", 0, ""),
        (K.DIED, "", 0, "exit code 1: ValueError: no"),
    ]


@pytest.mark.parametrize("end", ["os._exit(9)", "1 / 0"])
def test_a_component_that_dies_before_its_input_ends_had_its_last_tuple_in_hand(tmp_path, end):
    bolt = f"""
import os, sys
for line in sys.stdin:
    if "78" in line: {end}
    if "77" in line: os.write(1, b'{{"command":"ack","id":"77"}}\\nend\\n')
"""
    sent = frame(*({"id": delivery, "stream": "s", "tuple": []} for delivery in ("76", "77", "78")))
    trace = tmp_path / "trace"
    with subprocess.Popen(
        command(trace, *python(bolt)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(sent)
        process.stdin.flush()
        code = process.wait(60)
    assert [(row.flags, row.note) for row in rows(trace) if row.kind is K.DIED] == [
        (IN_HAND, f"exit code {code}")
    ]
    (finding,) = judge_trace(lambda: iter(rows(trace)), NEWEST).findings
    assert (finding.code, finding.evidence.delivery, finding.evidence.seen) == ("ACK101", "76", 1)


def test_a_component_that_reads_all_its_input_had_no_tuple_in_hand(tmp_path):
    ran(
        command(tmp_path, *python("import sys; sys.stdin.read(); sys.exit(2)")),
        input=frame({"id": "1", "tuple": []}),
    )
    assert [(row.flags, row.note) for row in rows(tmp_path) if row.kind is K.DIED] == [(0, "exit code 2")]


def test_a_tuple_comes_before_its_ack(tmp_path):
    bolt = """
import sys
for line in sys.stdin:
    if line.startswith("{"):
        print('{"command":"ack","id":"%s"}\\nend' % line.split('"')[3], flush=True)
"""
    with subprocess.Popen(
        command(tmp_path, *python(bolt)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(300):
            process.stdin.write(frame({"id": str(number), "stream": "s", "tuple": []}))
            process.stdin.flush()
            process.stdout.readline()
            process.stdout.readline()
        process.stdin.close()
    assert [(kind, delivery) for kind, delivery, _ in row_summaries(tmp_path)] == [
        *[(kind, str(number)) for number in range(300) for kind in (K.RECEIVED, K.ACKED)],
        (K.DIED, ""),
    ]


def test_binary_messages_are_forwarded_and_distinguished(tmp_path):
    junk = b"\x82\xa7command\xa3ack\xa2id\xa11" * 500
    done = ran(command(tmp_path, *python(ECHO)), input=junk)
    assert done.stdout == junk
    assert row_summaries(tmp_path) == [
        (K.DROPPED, "", "nothing on this pipe is multilang JSON: another serializer?"),
        (K.DIED, "", "exit code 0"),
    ]

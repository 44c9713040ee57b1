"""The model against the real ackers: equal answers and maps after each random message, equal ids and routing."""

import random
import zlib
from collections.abc import Iterator

import pytest

from ackdoctor.acker.acker import StormAcker
from ackdoctor.acker.runtime import JavaRandom, VirtualClock, acker_index
from ackdoctor.acker.versions import profile
from ackdoctor.model.acker import AckAck, AckFail, AckInit, Answer, Engine, Message, ResetTimeout, Tick
from ackdoctor.model.trace import PendingEntry
from tests.sampled import sampled

pytestmark = [pytest.mark.java, pytest.mark.slow]

SEED = 20_251_121
MESSAGES = 102_000  # per version, split over the mixes
REAL = {"1.1.0": "storm-core", "1.2.4": "storm-core", "2.8.3": "storm-client"}
MIXES = {  # weights of init, ack, fail, reset, tick; number of roots; number of values
    "everything collides": ((30, 50, 8, 6, 6), 9, 4),
    "trees complete": ((25, 70, 2, 2, 1), 12, 2),
    "long ids": ((30, 50, 8, 6, 6), 6, 1 << 64),
}


@pytest.mark.parametrize(
    "mix",
    sampled(MIXES, ["everything collides"]),
)
@pytest.mark.parametrize(
    "version",
    sampled(REAL, ["2.8.3"]),
)
def test_the_model_agrees_with_the_real_acker_after_every_message(version, mix, ask):
    seed = zlib.crc32(f"{version} {mix}".encode())
    stream = list(_stream(random.Random(seed), mix, MESSAGES // len(MIXES)))
    theirs = ask(REAL[version], version, "AckerDriver", [_line(at, message) for at, message in stream])
    ours = _model(version, stream)
    assert len(theirs) == len(stream)
    for number, (their, our) in enumerate(zip(theirs, ours, strict=True)):
        if profile(version).engine is not Engine.JAVA:
            their = _without_ages(their)  # noqa: PLW2901 - acker.clj reads the wall clock
            our = _without_ages(our)  # noqa: PLW2901
        assert our == their, f"seed {seed}, message {number}: {stream[number]}"


def _stream(rng: random.Random, mix: str, count: int) -> Iterator[tuple[int, Message]]:
    weights, roots, values = MIXES[mix]
    root_ids = [rng.randrange(-(1 << 63), 1 << 63) for _ in range(roots)]
    some_values = [rng.randrange(-(1 << 63), 1 << 63) for _ in range(3)]
    now = 0
    for _ in range(count):
        now += rng.choice((0, 0, 1, 7, 1000))
        root = rng.choice(root_ids)
        value = rng.choice((0, *some_values)) if values > 1 << 32 else rng.randrange(values)
        kind = rng.choices(("init", "ack", "fail", "reset", "tick"), weights)[0]
        match kind:
            case "init":
                yield now, AckInit(root, value, rng.randrange(300))
            case "ack":
                yield now, AckAck(root, value)
            case "fail":
                yield now, AckFail(root)
            case "reset":
                yield now, ResetTimeout(root)
            case _:
                yield now, Tick()


def _line(at: int, message: Message) -> str:
    words = {AckInit: "init", AckAck: "ack", AckFail: "fail", ResetTimeout: "reset", Tick: "tick"}
    return " ".join([str(at), words[type(message)], *map(str, message)])


def _model(version: str, stream: list[tuple[int, Message]]) -> Iterator[str]:
    chosen = profile(version)
    clock = VirtualClock()
    acker = StormAcker(chosen, clock)
    for at, message in stream:
        clock.advance((at - clock.now_ms()) / 1000)
        answer = acker.receive(message)
        buckets: list[list[PendingEntry]] = [[] for _ in range(chosen.acker_buckets)]
        for entry in acker.pending():
            buckets[entry.bucket].append(entry)
        yield "|".join([_answer(answer), *(_bucket(bucket, chosen.engine) for bucket in buckets)])


def _answer(answer: Answer | None) -> str:
    return "" if answer is None else f"{answer.kind.value},{answer.root},{answer.task},{answer.age_ms}"


def _bucket(entries: list[PendingEntry], engine: Engine) -> str:
    return " ".join(_entry(entry, engine) for entry in sorted(entries, key=lambda entry: entry.root))


def _entry(entry: PendingEntry, engine: Engine) -> str:
    value = "-" if entry.value is None else entry.value
    task = "-" if entry.task is None else entry.task
    if engine is Engine.CLOJURE and (value, task, entry.failed) == ("-", "-", False):
        return f"{entry.root},nil"
    return f"{entry.root},{value},{task},{str(entry.failed).lower()}"


def _without_ages(line: str) -> str:
    answer, _, rest = line.partition("|")
    return f"{answer.rpartition(',')[0]}|{rest}"


# ---- ids and routing ----


def _longs(count: int) -> list[int]:
    rng = random.Random(SEED)
    edges = [0, 1, -1, 66, -5, 1 << 62, -(1 << 63), (1 << 63) - 1, 0xFFFFFFFF, -(1 << 32)]
    return edges + [rng.randrange(-(1 << 63), 1 << 63) for _ in range(count)]


def test_a_root_goes_to_the_acker_of_storm(ask):
    routes = [(root, ackers) for root in _longs(2000) for ackers in (1, 2, 3, 7, 64)]
    theirs = ask("storm-client", "2.8.3", "IdDriver", [f"route {root} {ackers}" for root, ackers in routes])
    assert [acker_index(root, ackers) for root, ackers in routes] == list(map(int, theirs))


def test_seeded_ids_equal_those_of_java_util_random(ask):
    theirs = ask("storm-client", "2.8.3", "IdDriver", [f"random {seed} 50" for seed in _longs(100)])
    for seed, line in zip(_longs(100), theirs, strict=True):
        source = JavaRandom(seed)
        assert [source.next_long() for _ in range(50)] == list(map(int, line.split()))

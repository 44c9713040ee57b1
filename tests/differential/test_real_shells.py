"""Our ShellBolt and ShellSpout against Storm's own: the same frames have the same effects."""

import json
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pystorm import Bolt, Spout

from ackdoctor.lab.child import ShellError
from ackdoctor.lab.component import TaskHook, Tup
from ackdoctor.lab.messages import Setup, java_text, json_of
from ackdoctor.lab.multilang import ShellBolt, ShellSpout
from tests.sampled import sampled

pytestmark = [pytest.mark.java, pytest.mark.slow]

PARROT = Path(__file__).with_name("parrot.py")
REAL = {"1.2.4": "storm-core", "2.8.3": "storm-client"}
RANDOM_CASES = 150
SEED = 7


class RepeatsFrames:
    """parrot.py as a component."""

    def _repeat(self: Any, frames: str) -> None:
        for frame in json.loads(frames):
            if frame == "$EXIT":
                raise SystemExit(0)
            if frame == "$READ":
                self._write(json.dumps({"command": "error", "msg": f"task ids {self.read_task_ids()}"}))
            else:
                self._write(frame)

    def _write(self: Any, text: str) -> None:
        self.serializer.output_stream.write(f"{text}\nend\n")
        self.serializer.output_stream.flush()


class Parrot(RepeatsFrames, Bolt):
    auto_ack = auto_fail = False

    def process(self, tup: Any) -> None:
        self._repeat(tup.values[0])


class SpoutParrot(RepeatsFrames, Spout):
    def ack(self, tup_id: str) -> None:
        self._repeat(tup_id)


class Collector:
    """Records the calls of our ShellBolt in the format of ShellDriver.java."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def emit(
        self,
        values: Sequence[object],
        *,
        anchors: Sequence[Tup] = (),
        stream: str = "default",
        task: int | None = None,
    ) -> Sequence[int]:
        output = json.dumps(values, separators=(",", ":"))
        to = "" if task is None else f" to {task}"
        self.events.append(f"emit {stream} {[anchor.delivery for anchor in anchors]} {output}{to}")
        return [7, 8]

    def ack(self, tup: Tup) -> None:
        self.events.append(f"ack {tup.delivery}")

    def fail(self, tup: Tup) -> None:
        self.events.append(f"fail {tup.delivery}")

    def reset_timeout(self, tup: Tup) -> None:
        raise NotImplementedError


class Place:
    component = "bolt"
    task = 2
    task_index = 0

    def now_ms(self) -> int:
        return 0

    def tasks_of(self, component: str) -> Sequence[int]:
        return [1]

    def add_task_hook(self, hook: TaskHook) -> None:
        raise NotImplementedError


def ours(case: list[list[str]], version: str) -> list[str]:
    bolt, collector = ShellBolt(Parrot, setup=Setup(json=json_of(f"storm-{version}"))), Collector()
    try:
        bolt.prepare(Place(), collector)
        for number, frames in enumerate(case, start=1):
            payload = Tup(
                {},
                values=(json.dumps(frames),),
                fields=("a",),
                component="spout",
                task=1,
                stream="default",
                delivery=number,
            )
            bolt.execute(payload)
    except ShellError as error:
        collector.events.append(f"died {error}".replace("\n", "\\n"))
    errors = [f"error {text}" for text in bolt.transcript.errors]
    bolt.cleanup()
    return [*collector.events, *errors]


def theirs(line: str) -> list[str]:
    """Parse a line of the driver: messages of newer Javas as in Java 8, errors last."""
    events = []
    for event in line.removeprefix("case\t").split("\t"):
        plain = re.sub(
            r"class (\S+) cannot be cast to class (\S+) \(.*\)$", r"\1 cannot be cast to \2", event
        )
        events.append(re.sub(r"(NullPointerException): .*", r"\1", plain))
    return sorted(filter(None, events), key=lambda event: event.startswith("error "))


def say(**message: object) -> str:
    return json.dumps(message)


FIXED: list[list[list[str]]] = [
    [[say(command="ack", id="1")], [say(command="fail", id="2")]],
    *([[say(command=first, id="1"), say(command=second, id="1")]] for first in ("ack", "fail") for second in ("ack", "fail")),
    *([[say(command=command, id=message_id)]] for command in ("ack", "fail") for message_id in ("9", 5, 1.5, True, ["1"], {"a": "b"}, None)),
    [[say(command="ack")]],
    [[say(command="emit", tuple=["a"], anchors=["1"]), "$READ"]],
    [[say(command="emit", tuple=["a"]), say(command="emit", tuple=["b"], need_task_ids=False), "$READ"]],
    [[say(command="emit", tuple=["a"], anchors="1"), "$READ", say(command="ack", id="1")]],
    [[say(command="emit", tuple=["a"], anchors=["1"], stream="other"), say(command="emit", tuple=["b"], task=4)]],
    [[say(command="fail", id="1"), say(command="emit", tuple=["a"], anchors=["1"])]],
    *([[say(command="emit", tuple=["a"], anchors=anchors)]] for anchors in ([1], [["1"]], 1, {"a": 1}, [None], None, [], True)),
    [[say(command="emit", tuple="a")]],
    [[say(command="emit", tuple=["a"], task="4")]],
    [[say(command="emit", tuple=["a"], task=4.0)]],
    [[say(command="emit", tuple=["a"], task=1 << 40)]],
    [[say(command="emit", tuple=["a"], stream=4)]],
    [[say(command="emit", tuple=["a"], need_task_ids=1)]],
    [[say(command="emit", tuple=["a"], need_task_ids="no")]],
    [[say(command=5)]],
    [[say(command="error", msg=5)]],
    [[say(id="1")]],
    [[say(command="dance", id="1"), say(command="sync"), say(command="ack", id="1")]],
    [[say(command="error", msg="oh")]],
    [[say(command="metrics", name="lag", params=3)]],
    [[say(command="metrics", name="", params=3)]],
    [[say(command="metrics", name=5, params=3)]],
    [["hello"]],
    [["hello\n" + say(command="ack", id="1")]],
    [["5"]],
    [["[1]"]],
    [["null"]],
    [["true"]],
    [['"text"']],
    [["total: 5\n" + say(command="ack", id="1")]],
    [["E_BOLTFAILED__x"]],
    [["\n\n" + say(command="ack", id="1")]],
    [["['a', 'b']"]],
    [["['a', 'b'] \n\n" + say(command="ack", id="1")]],
    [["{'a': 1}"]],
    [["{'command': 'ack', 'id': '1'}"]],
    [["$EXIT"]],
    [[say(command="ack", id="1"), "$EXIT"]],
]  # fmt: skip


def random_case(rng: random.Random) -> list[list[str]]:
    """Return random tuples whose messages are mostly correct."""
    case = []
    for number in range(1, rng.randint(2, 8)):
        frames = []
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            some = str(rng.randint(1, number))
            frames.append(
                rng.choice((
                    say(command="ack", id=some),
                    say(command="fail", id=some),
                    say(command="emit", tuple=["a"], anchors=[some], need_task_ids=False),
                    say(command="emit", tuple=["b"], anchors=[some, str(number)], need_task_ids=False),
                    say(command="emit", tuple=["c"], need_task_ids=False),
                    say(command="sync"),
                ))
            )  # fmt: skip
        case.append(frames)
    return case


@pytest.mark.parametrize(
    "version",
    sampled(REAL, ["2.8.3"]),
)
def test_our_shellbolt_agrees_with_storm_s(version, ask):
    rng = random.Random(SEED)
    cases = [*FIXED, *(random_case(rng) for _ in range(RANDOM_CASES))]
    lines = ["\t".join(json.dumps(frames) for frames in case) for case in cases]
    output = ask(
        REAL[version], version, "ShellDriver", ["bolt", "\t".join((sys.executable, str(PARROT))), *lines]
    )
    real = [line for line in output if line.startswith("case\t")]
    assert len(real) == len(cases)
    for case, line in zip(cases, real, strict=True):
        assert ours(case, version) == theirs(line), f"seed {SEED}: {case}"


class SpoutCollector:
    """Records the calls of our ShellSpout."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def emit(
        self,
        values: Sequence[object],
        *,
        msg_id: object = None,
        stream: str = "default",
        task: int | None = None,
    ) -> Sequence[int]:
        output = json.dumps(values, separators=(",", ":"))
        to = "" if task is None else f" to {task}"
        self.events.append(f"emit {stream} {java_text(msg_id)} {output}{to}")
        return [7, 8]


def our_spout(case: list[list[str]], version: str) -> list[str]:
    spout, collector = (
        ShellSpout(SpoutParrot, setup=Setup(json=json_of(f"storm-{version}"))),
        SpoutCollector(),
    )
    try:
        spout.open(Place(), collector)
        for frames in case:
            spout.ack(json.dumps(frames))
            collector.events.append("synced")
    except ShellError as error:
        collector.events.append(f"died {error}".replace("\n", "\\n"))
    errors = [f"error {text}" for text in spout.transcript.errors]
    spout.close()
    return [*collector.events, *errors]


SPOUT: list[list[list[str]]] = [
    [[]],
    [[say(command="emit", tuple=["a"], need_task_ids=False)], [say(command="emit", tuple=["a"], id="m"), "$READ"]],
    *([[say(command="emit", tuple=["a"], id=message_id, need_task_ids=False)]] for message_id in ("m", 5, 1.5, ["m", 1], {"a": 1})),
    [[say(command="emit", tuple=["a"], task=4, id="m"), say(command="emit", tuple=["b"], stream="s", need_task_ids=False)]],
    [[say(command="ack", id="m")]],
    [[say(command="dance")]],
    [[say(command="sync")], [], []],
    [[say(command="error", msg="oh"), say(command="log", msg="oh", level=2)]],
    [[say(command="metrics", name="lag", params=3)]],
    [[say(id="m")]],
    [["hello"]],
    [["null"]],
    [["[1]"]],
    [["$EXIT"], []],
    [[say(command="emit", tuple="a")]],
    [[say(command="emit", tuple=["a"], id="m", need_task_ids=0)]],
]  # fmt: skip


@pytest.mark.parametrize("version", sampled(REAL, ["2.8.3"]))
def test_our_shellspout_agrees_with_storm_s(version, ask):
    lines = ["\t".join(json.dumps(frames) for frames in case) for case in SPOUT]
    output = ask(
        REAL[version], version, "ShellDriver", ["spout", "\t".join((sys.executable, str(PARROT))), *lines]
    )
    real = [line for line in output if line.startswith("case\t")]
    assert len(real) == len(SPOUT)
    for case, line in zip(SPOUT, real, strict=True):
        assert our_spout(case, version) == theirs(line), case

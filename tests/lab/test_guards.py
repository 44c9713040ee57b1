"""ShellBolt's rules and their texts (ShellBolt.java, JsonSerializer.java @ v2.8.8)."""

from collections.abc import Callable
from typing import Any

import pytest
from pystorm import Bolt

from ackdoctor.lab.bench import Bench, Emitted
from ackdoctor.lab.child import ShellError
from tests.lab.wire import NO_JSON, OLD, raw, wire


class Scripted(Bolt):
    """Runs a script with each tuple, and nothing by itself."""

    auto_ack = auto_fail = auto_anchor = False
    script: Callable[[Any, Any], None]

    def process(self, tup: Any) -> None:
        type(self).script(self, tup)

    process_tick = process


def scripted(script: Callable[[Any, Any], None]) -> type:
    return type("Scripted", (Scripted,), {"script": staticmethod(script)})


def answers_with(**message: object) -> type:
    """Return a bolt that answers each tuple with one message; "ID" is the tuple's id."""

    def script(bolt: Any, tup: Any) -> None:
        bolt.send_message({key: tup.id if value == "ID" else value for key, value in message.items()})

    return scripted(script)


def dies_of(component: type, profile: str = OLD) -> str:
    with Bench(component, outputs={"default": ("a",)}, profile=profile) as bench:
        bench.feed("a")
        assert bench.died is not None
        assert bench.died.exit_code == 11
        return str(bench.died)


RUNTIME = "java.lang.RuntimeException: "
NULL = "java.lang.NullPointerException"
CAST = "java.lang.ClassCastException: "


def test_a_tuple_stays_in_inputs_until_its_completion():
    with Bench(scripted(lambda bolt, tup: bolt.ack(tup) if tup.values[0] == "ack" else None)) as bench:
        bench.feed("keep")
        bench.feed("ack")
        assert bench.inputs == ("1",)


def test_ticks_and_untracked_tuples_stay_in_inputs_too():
    with Bench(scripted(lambda bolt, tup: None)) as bench:
        bench.tick()
        bench.feed("untracked", msg_id=None)
        bench.advance(600)
        assert (bench.inputs, bench.pending) == (("1", "2"), ())


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ("ack", "ack", "Acked a non-existent or already acked/failed id: 1"),
        ("fail", "ack", "Acked a non-existent or already acked/failed id: 1"),
        ("ack", "fail", "Failed a non-existent or already acked/failed id: 1"),
        ("fail", "fail", "Failed a non-existent or already acked/failed id: 1"),
    ],
)
def test_a_second_completion_kills_the_worker(first, second, text):
    def script(bolt: Any, tup: Any) -> None:
        getattr(bolt, first)(tup)
        getattr(bolt, second)(tup)

    assert dies_of(scripted(script)) == RUNTIME + text


@pytest.mark.parametrize(("command", "done"), [("ack", "Acked"), ("fail", "Failed")])
@pytest.mark.parametrize(
    ("wrong_id", "text"),
    [
        ("unknown", "unknown"),
        (1, "1"),
        (1.5, "1.5"),
        (True, "true"),
        (["1"], '["1"]'),
        ({"id": "1"}, '{"id":"1"}'),
    ],
)
def test_an_unknown_id_kills_the_worker(command, done, wrong_id, text):
    message = f"{done} a non-existent or already acked/failed id: {text}"
    assert dies_of(answers_with(command=command, id=wrong_id)) == RUNTIME + message


@pytest.mark.parametrize("command", ["ack", "fail"])
def test_a_null_id_is_a_null_pointer_exception(command):
    assert dies_of(answers_with(command=command, id=None)) == NULL
    assert dies_of(answers_with(command=command)) == NULL


def test_a_completed_anchor_kills_the_worker():
    def script(bolt: Any, tup: Any) -> None:
        bolt.fail(tup)
        bolt.emit(["a"], anchors=[tup])

    assert dies_of(scripted(script)) == RUNTIME + "Anchored onto 1 after ack/fail"


def test_a_bare_string_is_one_anchor():
    with Bench(answers_with(command="emit", tuple=["a"], anchors="ID")) as bench:
        bench.feed("a")
        assert bench.emitted == [Emitted(["a"], anchors=("1",))]


@pytest.mark.parametrize(
    ("anchors", "text"),
    [
        ([1], CAST + "java.lang.Long cannot be cast to java.lang.String"),
        (
            [["1"]],
            CAST + "org.apache.storm.shade.org.json.simple.JSONArray cannot be cast to java.lang.String",
        ),
        (1, CAST + "java.lang.Long cannot be cast to java.util.List"),
        (
            {"a": 1},
            CAST + "org.apache.storm.shade.org.json.simple.JSONObject cannot be cast to java.util.List",
        ),
        ([None], NULL),
    ],
)
def test_an_anchor_that_is_not_a_string_kills_the_worker(anchors, text):
    assert dies_of(answers_with(command="emit", tuple=["a"], anchors=anchors)) == text


def test_an_emit_without_a_tuple_is_a_null_pointer_exception():
    assert dies_of(answers_with(command="emit", anchors=[])) == NULL


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"command": 5}, "java.lang.Long cannot be cast to java.lang.String"),
        ({"command": "emit", "tuple": "a"}, "java.lang.String cannot be cast to java.util.List"),
        (
            {"command": "emit", "tuple": ["a"], "task": "4"},
            "java.lang.String cannot be cast to java.lang.Long",
        ),
        (
            {"command": "emit", "tuple": ["a"], "task": 4.0},
            "java.lang.Double cannot be cast to java.lang.Long",
        ),
        (
            {"command": "emit", "tuple": ["a"], "stream": 4},
            "java.lang.Long cannot be cast to java.lang.String",
        ),
        (
            {"command": "emit", "tuple": ["a"], "need_task_ids": 1},
            "java.lang.Long cannot be cast to java.lang.Boolean",
        ),
        ({"command": "log", "msg": 5}, "java.lang.Long cannot be cast to java.lang.String"),
    ],
)
def test_a_field_of_the_wrong_type_kills_the_worker(message, text):
    assert dies_of(answers_with(**message)) == CAST + text


def test_a_message_without_a_command_is_a_null_pointer_exception():
    assert dies_of(answers_with(id="1")) == NULL


def test_unknown_commands_and_syncs_are_ignored():
    with Bench(answers_with(command="dance", id="ID")) as bench:
        bench.feed("a")
        assert (wire(bench), bench.died) == (["dance 1"], None)


def test_an_error_message_does_not_kill_the_worker():
    with Bench(answers_with(command="error", msg="oh")) as bench:
        bench.feed("a")
        assert (bench.bolt.transcript.errors, bench.died) == (["oh"], None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hello", "Unexpected character (h) at position 0."),
        ("", "Unexpected token END OF FILE at position 0."),
        ('{"command": "ack", "id": NaN}', "Unexpected character (N) at position 25."),
        ('{"a": 1} {', "Unexpected token LEFT BRACE({) at position 9."),
    ],
)
def test_a_frame_that_is_not_json_kills_the_worker(text, words):
    assert dies_of(scripted(lambda bolt, tup: raw(bolt, text))) == "java.io.IOException: " + words


def test_a_frame_that_is_not_an_object_kills_the_worker():
    text = (
        CAST
        + "org.apache.storm.shade.org.json.simple.JSONArray cannot be cast to org.apache.storm.shade.org.json.simple.JSONObject"
    )
    assert dies_of(scripted(lambda bolt, tup: raw(bolt, "[1]"))) == text
    assert dies_of(scripted(lambda bolt, tup: raw(bolt, "null"))) == NULL


def test_since_storm_2_6_a_text_is_read_as_a_string():
    assert dies_of(scripted(lambda bolt, tup: raw(bolt, "hello")), "storm-2.5.0").startswith("java.io.IOExc")
    assert dies_of(scripted(lambda bolt, tup: raw(bolt, "hello")), "storm-2.6.0") == NO_JSON
    assert dies_of(scripted(lambda bolt, tup: raw(bolt, "")), "storm-2.6.0") == NO_JSON


def test_since_storm_2_6_a_direct_emit_kills_the_worker():
    direct = answers_with(command="emit", tuple=["a"], task=4)
    with Bench(direct, profile="storm-2.5.0") as bench:
        bench.feed("a")
        assert bench.emitted == [Emitted(["a"], task=4)]
    assert dies_of(direct, "storm-2.6.0") == CAST + "java.lang.Integer cannot be cast to java.lang.Long"


def test_printed_text_precedes_the_next_message():
    def script(bolt: Any, tup: Any) -> None:
        print("hello")  # noqa: T201
        bolt.ack(tup)

    with Bench(scripted(script), profile=OLD) as bench:
        bench.feed("a")
        assert str(bench.died) == "java.io.IOException: Unexpected character (h) at position 0."
        assert bench.bolt.transcript.texts[-1] == 'hello\n{"command": "ack", "id": "1"}'


def test_declared_outputs_are_checked():
    illegal = "java.lang.IllegalArgumentException: "
    assert (
        dies_of(answers_with(command="emit", tuple=["a"], stream="no")) == illegal + "Unknown stream ID: no"
    )
    assert dies_of(answers_with(command="emit", tuple=["a", "b"])) == (
        illegal + "Tuple created with wrong number of fields. Expected 1 fields but got 2 fields"
    )


def test_task_ids_are_sent_except_for_direct_emits_or_on_request():
    def script(bolt: Any, tup: Any) -> None:
        bolt.send_message({"command": "emit", "tuple": ["asked"], "anchors": []})
        bolt.send_message({"command": "emit", "tuple": ["declined"], "need_task_ids": False})
        bolt.send_message({"command": "emit", "tuple": ["direct"], "task": 5})
        bolt.emit(["last"])

    with Bench(scripted(script), profile=OLD) as bench:
        bench.feed("a")
        bench.feed("b")
        assert list(bench.component._pending_task_ids) == [[3]]


def test_waiting_for_task_ids_that_never_arrive_stops_the_heartbeats():
    def script(bolt: Any, tup: Any) -> None:
        bolt.read_task_ids()

    assert dies_of(scripted(script)) == RUNTIME + "subprocess heartbeat timeout"


def test_a_sync_answers_a_heartbeat():
    with Bench(scripted(lambda bolt, tup: bolt.ack(tup))) as bench:
        bench.heartbeat()
        bench.advance(31)
        bench.heartbeat()
        assert (wire(bench), bench.inputs, bench.died) == (["sync", "sync"], (), None)


def test_unanswered_heartbeats_kill_the_worker_after_the_subprocess_timeout():
    class Deaf(Scripted):
        def is_heartbeat(self, tup: Any) -> bool:
            return False

        script = staticmethod(lambda bolt, tup: None)

    with Bench(Deaf, conf={"topology.subprocess.timeout.secs": 10}) as bench:
        bench.heartbeat()
        bench.advance(10)
        bench.heartbeat()
        assert bench.died is None
        bench.advance(1)
        bench.heartbeat()
        assert str(bench.died) == RUNTIME + "subprocess heartbeat timeout"


def test_registered_metrics_are_accepted():
    with Bench(answers_with(command="metrics", name="lag", params=3), metrics=["lag"]) as bench:
        bench.feed("a")
        assert bench.bolt.transcript.metrics == [("lag", 3)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lag", RUNTIME + "Could not find metric by name[lag] "),
        ("", RUNTIME + "Receive Metrics name is empty"),
        (5, NULL),
    ],
)
def test_other_metrics_kill_the_worker(name, text):
    assert dies_of(answers_with(command="metrics", name=name, params=3)) == text


def test_a_dead_worker_neither_receives_nor_sends():
    def script(bolt: Any, tup: Any) -> None:
        bolt.ack(tup)
        bolt.ack(tup)
        bolt.emit(["unheard"])

    with Bench(scripted(script)) as bench:
        bench.feed("a")
        assert wire(bench) == ["ack 1", "ack 1", "emit ['unheard']"]
        assert bench.emitted == []
        with pytest.raises(ShellError, match="Acked a non-existent or already acked/failed id: 1"):
            bench.feed("b")


def test_a_new_worker_does_not_know_the_tuples_of_the_old_one():
    with Bench(scripted(lambda bolt, tup: bolt.ack("1"))) as bench:
        bench.feed("a")
        bench.feed("b")
        assert bench.bolt.died is not None
        bench.restart()
        assert bench.died is None
        assert bench.inputs == ()

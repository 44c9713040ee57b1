import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackdoctor.model.trace import RELIABLE, TICK, EventKind
from ackdoctor.tracer.proxy import Conversation, Frames, Row, parse

K = EventKind
HANDSHAKE = {"conf": {}, "pidDir": "/tmp", "context": {"taskid": 4, "task->component": {"4": "count"}}}


def frame(*messages: object) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\nend\n" for each in messages)


@settings(max_examples=30)
@given(
    st.lists(st.recursive(st.none() | st.text() | st.integers(), st.lists), max_size=6),
    st.lists(st.integers(0, 400), max_size=8),
)
def test_messages_do_not_depend_on_how_the_bytes_arrive(messages, cuts):
    data = frame(*messages)
    frames = Frames()
    decoded = []
    start = 0
    for end in [*sorted(cut for cut in cuts if cut < len(data)), len(data)]:
        decoded += [parse(each) for each in frames.feed(data[start:end])]
        start = end
    assert decoded == messages
    assert frames.lost == 0


def test_the_word_end_inside_a_message_is_data():
    messages = {"command": "log", "msg": "the\nend\nof it, end"}
    assert [parse(each) for each in Frames().feed(frame(messages, {"command": "sync"}))] == [
        messages,
        {"command": "sync"},
    ]


def test_the_next_complete_message_after_a_gap_is_decoded():
    frames = Frames()
    assert list(frames.feed(b'{"command":"a')) == []
    frames.skip()
    decoded = [parse(each) for each in frames.feed(b'ck","id":"1"}\nend\n' + frame(["2"], ["3"]))]
    assert decoded == [["2"], ["3"]]
    assert frames.lost == 1


def test_a_message_that_is_too_long_is_skipped_without_memory():
    frames = Frames(longest=100)
    for _ in range(50):
        assert list(frames.feed(b"x" * 60)) == []
        assert len(frames._open) < 170
    assert [parse(each) for each in frames.feed(b"\nend\n" + frame([1]))] == [[1]]
    assert frames.lost == 1


@given(st.binary(max_size=300))
def test_any_bytes_are_accepted(data):
    talk = Conversation()
    for each in Frames().feed(data + b"\nend\n"):
        messages = parse(each)
        list(talk.receive(messages))
        list(talk.say(messages))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
_WORDS = st.sampled_from(["command", "id", "tuple", "anchors", "context", "stream", "comp", "taskid", "msg"])


@given(st.dictionaries(_WORDS, _JSON | st.sampled_from(["ack", "fail", "emit", "error"])))
def test_any_message_is_accepted(message):
    talk = Conversation()
    for row in [*talk.receive(message), *talk.say(message)]:
        assert type(row.delivery) is str
        assert type(row.stream) is str


@pytest.mark.parametrize(
    ("message", "rows"),
    [
        (
            {"id": "-77", "comp": "spout", "stream": "words", "task": 1, "tuple": ["x"]},
            [Row(K.RECEIVED, "-77", "words")],
        ),
        (
            {"id": "5", "comp": "__system", "stream": "__tick", "task": -1, "tuple": [1]},
            [Row(K.RECEIVED, "5", "__tick", TICK)],
        ),
        ({"id": "6", "comp": "__system", "stream": "__heartbeat", "task": -1, "tuple": []}, []),
        ([1, 2], []),
        ({"command": "next"}, []),
        ({"command": "ack", "id": "m1"}, [Row(K.COMPLETED, "m1")]),
        ({"command": "fail", "id": 17}, [Row(K.GAVE_UP, "17")]),
    ],
)
def test_messages_of_storm_are_decoded(message, rows):
    assert list(Conversation().receive(message)) == rows


@pytest.mark.parametrize(
    ("message", "rows"),
    [
        ({"command": "ack", "id": "-77"}, [Row(K.ACKED, "-77")]),
        ({"command": "fail", "id": "-77"}, [Row(K.FAILED, "-77")]),
        ({"command": "emit", "tuple": ["x"]}, [Row(K.EMITTED, "", "default")]),
        ({"command": "emit", "tuple": ["x"], "anchors": []}, [Row(K.EMITTED, "", "default")]),
        (
            {"command": "emit", "tuple": ["x"], "anchors": ["1", "2"], "stream": "s"},
            [Row(K.EMITTED, "1", "s", RELIABLE), Row(K.ANCHORED, "2", "s", RELIABLE)],
        ),
        ({"command": "emit", "tuple": ["x"], "anchors": "12"}, [Row(K.EMITTED, "12", "default", RELIABLE)]),
        ({"command": "emit", "tuple": ["x"], "id": 0}, [Row(K.EMITTED, "0", "default", RELIABLE)]),
        (
            {"command": "emit", "tuple": ["x"], "id": {"b": 1, "a": [2]}},
            [Row(K.EMITTED, '{"a": [2], "b": 1}', "default", RELIABLE)],
        ),
        ({"command": "sync"}, []),
        ({"command": "log", "msg": "hello"}, []),
        ({"pid": 3}, []),
    ],
)
def test_messages_of_a_component_are_decoded(message, rows):
    assert list(Conversation().say(message)) == rows


def test_the_handshake_names_the_component():
    talk = Conversation()
    assert list(talk.receive(HANDSHAKE)) == []
    assert (talk.component, talk.task) == ("count", 4)


def test_the_last_error_is_remembered():
    talk = Conversation()
    assert list(talk.say({"command": "error", "msg": "Traceback\nValueError: no\n"})) == []
    assert talk.last_error == "Traceback\nValueError: no"

"""JSON logs yield the same diagnosis as their plain lines."""

import json

import pytest

from ackdoctor.diagnose.diagnosis import diagnose
from ackdoctor.diagnose.log_lines import unpacked

THREAD = "Thread-8-count-executor[3, 3]"
LOOP = "Async loop died!"
STACK = (
    "java.lang.RuntimeException: pid:17, name:count exitCode:-1\n\tat org.apache.storm.task.ShellBolt.execute(ShellBolt.java:189)\n"
    "Caused by: java.lang.RuntimeException: Anchored onto 7 after ack/fail\n\tat org.apache.storm.task.ShellBolt.handleEmit(ShellBolt.java:250)\n"
)
CAUSE = "java.lang.RuntimeException: Anchored onto 7 after ack/fail"
FRAMES = [
    {"class": "org.apache.storm.task.ShellBolt", "method": "execute", "file": "ShellBolt.java", "line": 1}
]
AS_LISTS = {
    "name": "java.lang.RuntimeException",
    "message": "pid:17",
    "extendedStackTrace": FRAMES,
    "cause": {
        "name": "java.lang.RuntimeException",
        "message": "Anchored onto 7 after ack/fail",
        "extendedStackTrace": FRAMES,
    },
}
AS_TEXT = {**AS_LISTS, "extendedStackTrace": STACK}
LAYOUTS = {
    "logstash": {"level": "ERROR", "thread_name": THREAD, "message": LOOP, "stack_trace": STACK},
    "logstash V1": {"level": "ERROR", "thread_name": THREAD, "message": LOOP, "exception": {"stacktrace": STACK}},
    "log4j": {"thread": THREAD, "level": "ERROR", "message": LOOP, "thrown": AS_LISTS},
    "log4j, stacks as text": {"thread": THREAD, "level": "ERROR", "message": LOOP, "thrown": AS_TEXT},
    "ECS": {"log.level": "ERROR", "process.thread.name": THREAD, "message": LOOP, "error.stack_trace": STACK},
    "ECS, nested": {"log": {"level": "ERROR"}, "process": {"thread": {"name": THREAD}}, "message": LOOP, "error": {"stack_trace": STACK.splitlines()}},
    "GELF": {"level": 3, "_thread": THREAD, "short_message": LOOP, "full_message": STACK},
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_stack_in_a_field_has_its_innermost_cause_and_its_component(layout):
    found = diagnose(['{"message": "ready", "thread": "main"}', json.dumps(LAYOUTS[layout])])
    [sign] = found.signs
    assert (sign.symptom.name, sign.first.line, sign.count) == ("anchored too late", 2, 1)
    assert (found.innermost, found.first.line, sign.components) == (CAUSE, 2, ["count"])


@pytest.mark.parametrize("before", [["ready"], ["ready", "{"], ["{", '"a": 1', "}", "}"]])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_entry_may_span_several_lines(layout, before):
    entry = json.dumps(LAYOUTS[layout], indent=2)
    lines = [*before, *entry.splitlines(), *entry.replace("\n}", "\n},").splitlines()]
    if before[-1] == "{":
        lines.insert(2, "}")  # of another program
    found = diagnose(lines)
    [sign] = found.signs
    assert (sign.symptom.name, sign.count, sign.components) == ("anchored too late", 2, ["count"])
    assert (found.innermost, found.first.line) == (CAUSE, sign.first.line)


def test_an_invalid_entry_is_read_line_by_line():
    died = f"2026-01-01 12:00:00.000 o.a.s.u.Utils {THREAD} [ERROR] {LOOP}"
    found = diagnose(["{", died, *STACK.splitlines(), "}", "x"])
    assert (found.first.line, found.lines) == (5, 8)
    assert diagnose(["{", died, *STACK.splitlines()]).first.line == 5


DIED = f"2026-01-01 12:00:00.000 o.a.s.u.Utils {THREAD} [ERROR] {LOOP}"


@pytest.mark.parametrize(
    "carried",
    [
        lambda line: {"log": f"{line}\n", "stream": "stdout", "time": "2026-01-01T12:00:00.1Z"},
        lambda line: {"@timestamp": "2026-01-01", "message": line, "log": {"offset": 1}, "host": {"name": "h"}},
        lambda line: {"textPayload": line, "severity": "ERROR", "resource": {"type": "k8s_container"}},
        lambda line: {"log": json.dumps({"message": line}), "stream": "stdout"},
    ],
    ids=["docker", "Filebeat", "GKE", "JSON in docker's"],
)  # fmt: skip
def test_a_log_line_in_a_json_field_is_read(carried):
    found = diagnose(json.dumps(carried(line)) for line in [DIED, *STACK.splitlines(), DIED])
    assert (found.innermost, found.first.line, found.signs[0].components) == (CAUSE, 4, ["count"])


@pytest.mark.parametrize(
    "line",
    [
        json.dumps(LAYOUTS["logstash"])[:-1],
        '    "stack_trace" : ' + json.dumps(STACK) + ",",
        f"level=ERROR thread={THREAD} stack={json.dumps(STACK)}",
    ],
    ids=["cut off", "a line of many", "no JSON"],
)
def test_a_stack_with_escaped_ends_of_lines_is_a_stack(line):
    assert diagnose([line]).innermost == CAUSE


@pytest.mark.parametrize(
    "line",
    ["{}", '{"a": 1}', "{broken}", "[1]", "{" * 90_000 + "}", '{"schema":1,"kind":7,"thread":""}', r"a\nb"],
)
def test_other_lines_are_unchanged(line):
    assert list(unpacked(line)) == [line]


def test_an_error_without_a_stack_is_read_too():
    entry = {"level": "ERROR", "thread": "x", "message": LOOP, "error": {"message": "Anchored onto 7 after ack/fail"}}  # fmt: skip
    assert diagnose([json.dumps(entry)]).signs[0].symptom.name == "anchored too late"


def test_a_very_long_entry_is_read_to_its_end():
    entry = {"level": "ERROR", "thread": THREAD, "message": "x" * 50_000, "stack_trace": STACK}
    assert diagnose([json.dumps(entry)]).innermost == CAUSE

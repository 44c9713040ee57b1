"""The prefixes of log collectors, and lines that only resemble them."""

import re

import pytest

from ackdoctor.tracer.worker_log import bare

TIME = "2026-11-21T20:50:07"
COLLECTORS = {
    "kubectl logs --timestamps": f"{TIME}.123456789Z ",
    "kubectl logs --timestamps, elsewhere": f"{TIME}.123456789+01:00 ",
    "kubectl logs --prefix": "[pod/storm-worker-0/worker] ",
    "kubectl logs --prefix --timestamps": f"[pod/storm-worker-0/worker] {TIME}.123456789Z ",
    "a file of CRI-O": f"{TIME}.123456789+01:00 stdout F ",
    "a file of containerd": f"{TIME}.12345Z stderr P ",
    "docker compose logs": "storm-worker-1  | ",
    "docker compose logs -t": f"storm-worker-1  | {TIME}.123456789Z ",
    "journalctl": "Nov  1 20:50:07 node-7 storm-worker[4711]: ",
    "journalctl -o short-precise": "Nov 21 20:50:07.123456 node-7 storm-worker[4711]: ",
    "journalctl -o short-iso": f"{TIME}+0100 node-7 storm-worker[4711]: ",
    "rsyslog": f"{TIME}.123456+01:00 node-7 storm-worker[4711]: ",
    "syslog, as it is sent": "<14>Nov 21 20:50:07 node-7 storm-worker: ",
    "syslog of RFC 5424": f"<14>1 {TIME}.123Z node-7 storm 4711 - - ",
    "a file system, when the machine had gone down": "\0" * 4096,
    "the same before kubectl logs --timestamps": "\0" * 7 + f"{TIME}.123456789Z ",
}
LAYOUTS = {  # from the worker.xml of users
    "level, thread, logger": "{stamp} {level} {thread} {logger} - {said}",
    "level, thread in brackets, logger": "{stamp} {level:<5} [{thread}] {logger} - {said}",
    "level, logger, thread": "{stamp} {level:<5} {logger} [{thread}]: {said}",
    "as in log4j's manual": "{stamp} [{thread}] {level:<5} {logger} - {said}",
    "all in brackets": "[{stamp}] [{level}] [{thread}] {logger}: {said}",
}
_THREADLESS = "{stamp} {level:<5} {logger} - {said}"
_STORMS = re.compile(
    r"(?s)(?P<stamp>\d{4}-\d\d-\d\d[ T]\S+) (?P<logger>\S+) (?:(?P<thread>[^\[]\S*(?: [^\[]\S*)*) )?\[(?P<level>[A-Z]+)\] (?P<said>.*)"
)
STORMS = (
    "2026-11-21 20:22:17.710 o.a.s.d.Task Thread-41-source-executor[4, 4] [INFO] Emitting Tuple: taskId=4",
    "2014-03-21T12:00:00.123+0000 b.s.d.task [INFO] Emitting: s __ack_init [1 2 4]",
    "2026-11-21T20:22:17.710Z o.a.s.d.Task main [INFO] as a user's worker.xml has it",
    "2026-11-21T20:22:17.710+01:00 o.a.s.d.Task Thread-4[4 4] [INFO] source: a:4, stream: default",
    "27147 [Thread-17] INFO  o.a.s.d.executor - Loading executor __acker:[2 2]",
)
REST = ("\tat x.Y.z(Y.java:1)", "Caused by: java.io.IOException: no", "two", "")


@pytest.mark.parametrize("put", COLLECTORS.values(), ids=list(COLLECTORS))
def test_the_prefix_of_a_log_collector_is_removed(put):
    assert [bare(put + line) for line in (*STORMS, *REST)] == [*STORMS, *REST]


def test_the_time_of_a_collector_before_that_of_storm_is_removed():
    assert [bare(f"{TIME}Z {line}") for line in STORMS] == list(STORMS)
    assert [bare(f"{TIME}Z {line}") for line in REST] == [f"{TIME}Z {line}" for line in REST]


@pytest.mark.parametrize("line", [*STORMS, *REST, "1 | 2026", "May 12 was late", "[pod] x"])
def test_lines_of_a_worker_are_unchanged(line):
    assert bare(line) == line


def laid_out(layout: str, line: str) -> str:
    """Return a line of Storm in another layout; other lines are unchanged."""
    parts = _STORMS.fullmatch(line)
    if parts is None:
        return line
    return (layout if parts["thread"] else _THREADLESS).format(**parts.groupdict())


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=list(LAYOUTS))
def test_a_custom_layout_is_converted_to_that_of_storm(layout):
    dated = STORMS[:4]
    lines = [laid_out(layout, line) for line in dated]
    assert not set(lines) & set(dated)
    assert [re.sub(" +", " ", bare(line)) for line in lines] == list(dated)
    assert [bare(COLLECTORS["kubectl logs --timestamps"] + line) for line in lines] == [
        bare(line) for line in lines
    ]


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-21 20:22:17.710 INFO is no log line",
        "2026-11-21 20:22:17.710 STDERR Thread-1 [INFO] as: Storm writes it",
        "2026-11-21 20:22:17.710 [late] and no level - here",
        "2026-11-21 [INFO] x - y",
    ],
)
def test_a_line_that_only_resembles_another_layout_is_unchanged(line):
    assert bare(line) == line

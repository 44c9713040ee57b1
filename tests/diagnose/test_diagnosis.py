"""Symptoms of logs and pasted errors."""

import pytest

from ackdoctor.diagnose.diagnosis import diagnose
from ackdoctor.diagnose.symptoms import table
from tests.rule_pages import load_rules

STACK = """2026-01-01 12:00:00.000 o.a.s.u.Utils Thread-8 [ERROR] Async loop died!
java.lang.RuntimeException: java.lang.RuntimeException: pid:17, name:count exitCode:-1, errorString:
\tat org.apache.storm.task.ShellBolt.execute(ShellBolt.java:189) ~[storm-client-2.8.3.jar:2.8.3]
Caused by: java.lang.RuntimeException: ShellBolt died
\tat org.apache.storm.task.ShellBolt.die(ShellBolt.java:310)
Caused by: java.lang.RuntimeException: Acked a non-existent or already acked/failed id: -5153209817
\tat org.apache.storm.task.ShellBolt.handleAck(ShellBolt.java:219)
\t... 3 more
2026-01-01 12:00:00.001 o.a.s.u.Utils Thread-8 [ERROR] Halting process
java.lang.RuntimeException: Worker died
"""


def named(text):
    return [sign.symptom.name for sign in diagnose(text.splitlines()).signs]


def test_the_innermost_cause_is_below_the_last_caused_by():
    found = diagnose(STACK.splitlines())
    assert (
        found.innermost
        == "java.lang.RuntimeException: Acked a non-existent or already acked/failed id: -5153209817"
    )
    assert found.first.line == 6
    assert [(sign.symptom.name, sign.first.line, sign.first.subject) for sign in found.signs] == [
        ("acked twice", 6, "-5153209817")
    ]


QUEUE = "\tat backtype.storm.utils.DisruptorQueue.consumeBatchToCursor(DisruptorQueue.java:128)\n"
HICCUP = """2026-01-01 10:00:00.000 o.a.z.ClientCnxn main [WARN] Session 0x0, unexpected error
java.net.ConnectException: Connection refused
\tat sun.nio.ch.SocketChannelImpl.checkConnect(Native Method)
2026-01-01 10:00:01.000 o.a.s.d.worker main [INFO] Worker has been launched
"""
LOOP = "2026-01-01 12:00:00.000 o.a.s.util Thread-8 [ERROR] Async loop died!\n"
NULL = "java.lang.NullPointerException: null\n\tat com.acme.Orders.execute(Orders.java:9)\n"
TRACEBACK = 'Traceback (most recent call last):\n  File "a.py", line 3, in process\n    f()\n\nKeyError: 1\n'
LATER = "\nDuring handling of the above exception, another exception occurred:\n\n" + TRACEBACK.replace(
    "Key", "Value"
)


@pytest.mark.parametrize(
    ("text", "innermost"),
    [
        (STACK, "java.lang.RuntimeException: Acked a non-existent or already acked/failed id: -5153209817"),
        (LOOP + NULL, "java.lang.NullPointerException: null"),
        (LOOP + TRACEBACK, "KeyError: 1"),
        (LOOP + TRACEBACK + LATER, "KeyError: 1"),
        ("x [ERROR] java.lang.IllegalStateException: a\njava.lang.IllegalStateException: a\n\tat a.B.c(B.java:1)\nCaused by: java.io.IOException: Broken pipe\n", "java.io.IOException: Broken pipe"),
        ("java.lang.RuntimeException: Anchored onto 7 after ack/fail\n\tat org.apache.storm.task.ShellBolt.handleEmit(ShellBolt.java:242)\n\tSuppressed: java.io.IOException: b\n\t\tat a.B.c(B.java:1)\nCaused by: java.lang.RuntimeException: c\n", "java.lang.RuntimeException: c"),
        ("java.lang.RuntimeException: pid:1\nCaused by: java.lang.RuntimeException: pid:1, errorString: " + TRACEBACK, "KeyError: 1"),
    ],
)  # fmt: skip
def test_the_innermost_cause_is_that_of_the_death(text, innermost):
    alone, later = diagnose(text.splitlines()), diagnose((HICCUP + text).splitlines())
    assert (alone.innermost, later.innermost) == (innermost, innermost)
    assert later.first.line == alone.first.line + 4


@pytest.mark.parametrize(
    ("text", "name", "innermost"),
    [
        ("java.lang.NullPointerException\n\tat org.apache.storm.task.ShellBolt.handleEmit(ShellBolt.java:239)\n", "a null id", "java.lang.NullPointerException"),
        (LOOP + TRACEBACK, "an exception of the component's own", "KeyError: 1"),
        (STACK, "acked twice", "java.lang.RuntimeException: Acked a non-existent or already acked/failed id: -5153209817"),
    ],
)  # fmt: skip
def test_the_prefix_of_a_container_log_is_removed(text, name, innermost):
    found = diagnose(f"2026-01-01T12:00:00.123456789Z {line}" for line in text.splitlines())
    assert (found.signs[0].symptom.name, found.innermost) == (name, innermost)


def test_lines_that_a_container_runtime_has_split_are_joined():
    at = "2026-01-01T12:00:00.1Z stdout"
    lines = ["F x", "P java.lang.RuntimeException: Acked a non-exis", "P tent or already acked/fai", "F led id: 7", "F \tat org.apache.storm.task.ShellBolt.die(ShellBolt.java:3)"]  # fmt: skip
    [sign] = diagnose(f"{at} {line}\n" for line in lines).signs
    assert (sign.symptom.name, sign.first.line, sign.first.subject) == ("acked twice", 4, "7")
    assert named(f"{at} P 12:00:00 Acked a non-existent or already acked/fai") == []
    assert named(f"{at} P Acked a non-existent or already acked/failed id: 3") == ["acked twice"]
    assert named(f"{at} P Acked a non-existent or already acked/failed id: 3\nx") == ["acked twice"]


DIED = "2026-01-01 12:00:00.000 o.a.s.t.ShellBolt Thread-42 [ERROR] Halting process: ShellBolt died. Command: [python3, b.py], ProcessInfo pid:17, name:count exitCode:1, errorString: \n"
BROKEN = "java.lang.RuntimeException: org.apache.storm.multilang.NoOutputException: Pipe to subprocess seems to be broken! No output read.\nSerializer Exception:\n"
READ = "\tat org.apache.storm.multilang.JsonSerializer.readShellMsg(JsonSerializer.java:101)\n\tat org.apache.storm.utils.ShellProcess.readShellMsg(ShellProcess.java:121)\n"
REPORTED = "2026-01-01 11:59:59.000 o.a.s.e.e.ReportError Thread-42 [ERROR] Error\njava.lang.Exception: Shell Process Exception: Python KeyError raised while processing Tuple Tuple(id='-4')\n"
CAUSED = (
    TRACEBACK
    + "\nThe above exception was the direct cause of the following exception:\n\n"
    + TRACEBACK.replace("KeyError: 1", "store.StoreError: 2")
)


@pytest.mark.parametrize(
    "text",
    [
        DIED + BROKEN + TRACEBACK + "\n\n" + READ,
        REPORTED + TRACEBACK + "\n\tat org.apache.storm.task.ShellBolt.handleError(ShellBolt.java:232)\n" + DIED + BROKEN + "\n\n" + READ,
        DIED + TRACEBACK + BROKEN + "\n" + READ,
        "java.lang.RuntimeException: Error when launching multilang subprocess\n" + TRACEBACK + "\n" + READ + "Caused by: java.io.IOException: Broken pipe\n" + READ,
        DIED + BROKEN + CAUSED + "\n" + READ,
    ],
)  # fmt: skip
def test_a_pipe_that_broke_after_a_python_error_has_its_cause(text):
    assert diagnose(text.splitlines()).innermost == "KeyError: 1"


@pytest.mark.parametrize("launched", [False, True])
@pytest.mark.parametrize(
    ("before", "words"),
    [
        ('  File "a.py", line 3\n    def f(:\n          ^\n', "SyntaxError: invalid syntax"),
        ("", "/usr/bin/env: 'python': No such file or directory"),
        ("", "python3: can't open file 'count.py': [Errno 2]"),
    ],
)
def test_the_last_output_of_a_process_is_the_cause_if_it_names_one(before, words, launched):
    text = DIED + BROKEN + before + words + "\n\n" + READ
    if launched:
        text = (
            f"java.lang.RuntimeException: Error when launching multilang subprocess\n{before}{words}\n{READ}"
        )
        text += "Caused by: java.io.IOException: Broken pipe\n" + READ
    assert diagnose(text.splitlines()).innermost == words


def test_the_output_of_a_killed_process_is_no_cause():
    text = DIED + BROKEN + "reading the model, no Error so far\n\n" + READ
    assert diagnose(text.splitlines()).innermost.startswith("java.lang.RuntimeException: org.apache")


def test_a_pipe_that_broke_long_after_a_python_error_has_its_own_cause():
    text = TRACEBACK + "x\n" * 50 + DIED + BROKEN + READ
    assert diagnose(text.splitlines()).innermost.startswith("java.lang.RuntimeException: org.apache")


@pytest.mark.parametrize(
    "begin",
    ["2026-01-01 12:00:00.000 ", "01.01.2026 12:00 ", "12:00:00.000 ", "[INFO] ", "INFO  ", "1219 [main] "],
)
def test_the_next_line_is_no_part_of_an_exception_without_a_stack(begin):
    said = "java.lang.RuntimeException: Anchored onto 7 after ack/fail"
    text = f"{begin}{said}\n{begin}b.CountBolt ready\n{TRACEBACK}"
    assert diagnose(text.splitlines()).innermost == said


def test_a_logger_name_is_not_an_exception():
    text = "2026-01-01 12:00:00.000 o.a.s.e.e.ReportError Thread-42 [ERROR] Error\nAsync loop died!\n"
    assert diagnose(text.splitlines()).innermost == ""


@pytest.mark.parametrize(
    ("text", "components"),
    [
        (DIED + BROKEN + READ, ["count"]),
        (DIED + BROKEN + READ + DIED.replace("count", "total") + BROKEN + READ, ["count", "total"]),
        ("2026-01-01 12:00:00.000 o.a.s.u.Utils Thread-40-my-count-executor[2, 2] [ERROR] Async loop died!\n" + NULL, ["my-count"]),
        ("2026-01-01 12:00:00.000 o.a.s.util Thread-24-disruptor-executor[2 2]-send-queue [ERROR] Async loop died!\n" + NULL, []),
        ("2026-01-01 12:00:01.000 o.a.s.x main [ERROR] y\njava.lang.OutOfMemoryError: Java heap space\n" + DIED, []),
    ],
)  # fmt: skip
def test_the_component_of_an_exception_is_shown_if_the_log_names_it(text, components):
    assert min(diagnose(text.splitlines()).signs, key=lambda sign: sign.first.line).components == components


def test_colours_are_stripped():
    coloured = [f"\x1b[1;31m{line}\x1b[m" for line in (DIED + BROKEN + TRACEBACK + READ).splitlines()]
    found = diagnose(coloured)
    assert (found.innermost, found.signs[0].components) == ("KeyError: 1", ["count"])


def test_the_first_exception_is_shown_if_no_symptom_is_known():
    assert diagnose((HICCUP + NULL).splitlines()).innermost == "java.net.ConnectException: Connection refused"


def test_a_death_without_a_known_cause_is_reported_as_such():
    assert named("java.lang.RuntimeException: ShellBolt died\n\tat a.B.c(B.java:1)") == ["a dead executor"]


def test_a_python_traceback_is_the_cause():
    text = 'Traceback (most recent call last):\n  File "count.py", line 3, in process\n    1 / 0\nZeroDivisionError: division by zero'
    found = diagnose(text.splitlines())
    assert (found.innermost, found.first.line) == ("ZeroDivisionError: division by zero", 4)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Failed a non-existent or already acked/failed id: 7", "failed twice"),
        ("Failed a non-existent or already acked/failed id", "failed twice"),
        ("Acked a non-existent or already acked/failed id", "acked twice"),
        ("Acked (or Failed) a non-existent or already acked/failed id", "acked twice"),
        ("java.lang.RuntimeException: Anchored onto 7 after ack/fail", "anchored too late"),
        ("java.lang.RuntimeException: subprocess heartbeat timeout", "heartbeat timeout"),
        ("org.apache.storm.multilang.NoOutputException: Pipe to subprocess seems to be broken!", "the component's pipe is broken"),
        ("java.lang.ClassCastException: java.lang.Long cannot be cast to java.lang.String", "a cast of anchors or ids"),
        ("java.lang.IllegalArgumentException: Unknown command received: ack", "a command that a spout may not say"),
        ("Tuple created with wrong number of fields. Expected 2 fields but got 3 fields", "a wrong number of fields"),
        ("o.a.s.d.executor main [INFO] Timeouts disabled for executor __acker:[3 3]", "an acker without timeouts"),
        ("java.lang.OutOfMemoryError: Java heap space", "out of memory"),
        ("java.lang.OutOfMemoryError: GC overhead limit exceeded", "out of memory"),
        ('SPOUT Failing -7: {:stream "default"} REASON: TIMEOUT MSG-ID: 3', "timeouts at the spout"),
        ("Unexpected character (h) at position 0.", "foreign words on the pipe"),
        ("java.lang.NullPointerException\n\tat java.util.concurrent.ConcurrentHashMap.get(ConcurrentHashMap.java:936)\n\tat org.apache.storm.task.ShellBolt.handleEmit(ShellBolt.java:239)", "a null id"),
        ("java.lang.NullPointerException: null\n\tat org.apache.storm.utils.DisruptorQueue.consumeBatchToCursor(DisruptorQueue.java:1)", "the collector used by several threads"),
        (f"java.lang.RuntimeException: java.lang.NullPointerException\n{QUEUE}Caused by: java.lang.NullPointerException\n\tat backtype.storm.serialization.KryoTupleSerializer.serialize(KryoTupleSerializer.java:41)\n\tat backtype.storm.daemon.worker$mk_transfer_fn$fn__4217.invoke(worker.clj:123)", "the collector used by several threads"),
        ("NULL found in disruptor-executor[3 3]-send-queue:7", "nothing in a queue"),
        ("java.lang.ClassCastException: class java.lang.String cannot be cast to class org.apache.storm.shade.net.minidev.json.JSONObject\n" + READ, "foreign words on the pipe"),
        ("java.lang.ClassCastException: class java.lang.Integer cannot be cast to class org.apache.storm.shade.net.minidev.json.JSONObject\n" + READ, "foreign words on the pipe"),
        ("java.io.IOException: Unexpected character (g) at position 0.\n" + READ, "foreign words on the pipe"),
        ("java.io.IOException: org.apache.storm.shade.net.minidev.json.parser.ParseException: Unexpected End Of File position 14: null\n" + READ, "foreign words on the pipe"),
        ("java.lang.IllegalArgumentException: Command not found in bolt message: ShellMsg{command='null', stream='default'}", "foreign words on the pipe"),
        ('java.lang.NullPointerException: Cannot invoke "String.equals(Object)" because "command" is null\n' + READ, "a message without a command"),
        ("java.lang.ClassCastException: class java.lang.String cannot be cast to class java.util.List\n" + READ, "a cast of anchors or ids"),
        ("java.io.IOException: Broken pipe\n" + READ, "the component's pipe is broken"),
        ('java.io.IOException: Cannot run program "python3" (in directory "x/resources"): error=2, No such file or directory', "a component that cannot be started"),
        ("2026-01-01 pystorm ERROR Failed to send message: {'command': 'emit'}", "a payload that cannot be sent"),
        ("TypeError: Object of type datetime is not JSON serializable", "a payload that cannot be sent"),
        ("java.lang.IllegalArgumentException: Class is not registered: com.acme.Order", "a payload that cannot be sent"),
        ("#\n#  SIGSEGV (0xb) at pc=0x00007f861f2f3f14, pid=17, tid=17\n#", "the JVM has crashed"),
        ("2026-01-01 12:00:00.000 STDERR Thread-1 [INFO] #  guarantee(x != 0) failed: y", "the JVM has crashed"),
        ("#  Internal Error (debug.cpp:362), pid=17, tid=18\n#  fatal error: OutOfMemory encountered: Java heap space", "out of memory"),
        ("# There is insufficient memory for the Java Runtime Environment to continue.", "the machine is out of memory"),
        ("Window count (length + sliding interval) value 2000 is more than topology.max.spout.pending value 1000", "a window larger than what may be pending"),
        ("java.lang.IllegalArgumentException: Unknown stream ID: nowhere", "an undeclared stream"),
        ("java.io.IOException: unable to parse: hello\n\tat backtype.storm.utils.ShellProcess.readMessage(ShellProcess.java:69)", "foreign words on the pipe"),
        ("java.io.IOException: unable to parse: E_BOLTFAILED__count_py__host__pid__7__ValueError\n\tat backtype.storm.utils.ShellProcess.readMessage(ShellProcess.java:69)", "an exception that Petrel reports"),
    ],
)  # fmt: skip
def test_storm_s_messages_are_known(text, name):
    assert named(text) == [name]


OWN = "\tat com.acme.ParseBolt.execute(ParseBolt.java:40)\n\tat org.apache.storm.executor.bolt.BoltExecutor.tupleActionFn(BoltExecutor.java:212)\n"


@pytest.mark.parametrize(
    "text",
    [
        "org.apache.storm.thrift.transport.TTransportException: Connection refused",
        "java.lang.NullPointerException",
        f"java.lang.RuntimeException: java.lang.NullPointerException\n{QUEUE}Caused by: java.lang.NullPointerException\n{OWN}{QUEUE}\t... 6 more",
        f"java.lang.ClassCastException: class java.lang.Long cannot be cast to class java.lang.String\n{OWN}",
        f"java.lang.ClassCastException: class java.lang.String cannot be cast to class org.json.simple.JSONObject\n{OWN}",
        f"com.fasterxml.jackson.core.JsonParseException: Unexpected character ('h' (code 104)): expected a value\n at [Source: (String)x; line: 1]\n{OWN}",
        "java.io.IOException: Broken pipe\n\tat sun.nio.ch.FileDispatcherImpl.write0(Native Method)\n",
        "java.net.SocketException: Broken pipe (Write failed)",
        f"java.io.IOException: unable to parse: 31.02.2026\n{OWN}",
        "java.lang.Exception: Shell Process Exception: the store is slow today",
        "java.lang.IllegalArgumentException: the stream has already been closed",
        f"java.util.ConcurrentModificationException\n{OWN}",
        f"java.lang.IllegalStateException: host b: Acked a non-existent or already acked/failed id: 7\n{OWN}",
    ],
)  # fmt: skip
def test_errors_unrelated_to_acking_are_ignored(text):
    assert named(text) == []


def test_a_json_error_of_a_component_is_its_own_exception():
    text = TRACEBACK.replace("KeyError: 1", "json.decoder.JSONDecodeError: Expecting value: line 1")
    assert named(text) == ["an exception of the component's own"]


def test_the_end_of_a_very_long_line_is_not_searched():
    said = "Acked a non-existent or already acked/failed id: 7"
    assert named("x" * 9_000 + said) == ["acked twice"]
    assert named("x" * 20_000 + said) == []


def test_a_repeated_symptom_is_counted():
    [sign] = diagnose(["REASON", *["SPOUT Failing 1 : x REASON: TIMEOUT MSG-ID: 2"] * 5]).signs
    assert (sign.first.line, sign.count) == (2, 5)


@pytest.mark.parametrize("logged", ["Async loop died!", "died! java.lang.RuntimeException: Anchored onto 7 after ack/fail"])  # fmt: skip
def test_a_message_that_an_exception_shares_with_its_cause_is_shown_once(logged):
    twice = "java.lang.RuntimeException: java.lang.RuntimeException: Anchored onto 7 after ack/fail\n"
    died = LOOP.replace("Async loop died!", logged) + twice + QUEUE + f"Caused by: {twice[28:]}{READ}"
    for times in (1, 3):
        [sign] = diagnose((died * times).splitlines()).signs
        assert (sign.symptom.name, sign.count) == ("anchored too late", times)


REPORTED = "2026-01-01 12:00:00.010 o.a.s.e.e.ReportError Thread-27 [ERROR] Error\n"  # collector.reportError
SECOND = "java.lang.RuntimeException: Acked a non-existent or already acked/failed id: 7\n" + READ


@pytest.mark.parametrize("logged", [REPORTED, REPORTED.replace("Error\n", "\n")])
def test_a_death_that_is_logged_twice_counts_once(logged):
    for times in (1, 3):
        [sign] = diagnose(((DIED + SECOND + logged + SECOND) * times).splitlines()).signs
        assert (sign.count, sign.first.line, sign.components) == (times, 2, ["count"])
    [first, other] = diagnose((DIED + SECOND + logged + BEAT).splitlines()).signs
    assert (first.count, other.symptom.name) == (1, "heartbeat timeout")


def test_a_survived_error_counts_each_time():
    reported = REPORTED + "java.lang.OutOfMemoryError: Java heap space\n\tat a.B.c(B.java:1)\n"
    other = "2026-01-01 12:00:01.000 o.a.s.d.w.Worker main [INFO] going on\n"
    assert [sign.count for sign in diagnose(((reported + other) * 3).splitlines()).signs] == [3]


SPACE = "java.lang.OutOfMemoryError: Java heap space\n\tat java.util.HashMap.resize(HashMap.java:700)\n"
BEAT = "java.lang.RuntimeException: subprocess heartbeat timeout\n\tat org.apache.storm.task.ShellBolt.a(ShellBolt.java:3)\n"
TIMED_OUT = "SPOUT Failing 1 : x REASON: TIMEOUT MSG-ID: 2\n"


def test_deaths_are_listed_by_time_before_survived_errors():
    text = TIMED_OUT + LOOP + SPACE + DIED + BEAT + STACK
    assert named(text) == ["out of memory", "heartbeat timeout", "acked twice", "timeouts at the spout"]
    assert diagnose(text.splitlines()).innermost.startswith("java.lang.OutOfMemoryError")


def test_the_best_explanation_of_an_exception_is_shown():
    said = "java.lang.RuntimeException: Error when launching multilang subprocess\n" + READ
    text = LOOP + "java.io.IOException: Broken pipe\n" + READ + LOOP + said
    assert named(text) == ["the component's pipe is broken", "a component that cannot be started"]
    assert named(LOOP + said + "Caused by: java.io.IOException: Broken pipe\n" + READ) == [
        "a component that cannot be started"
    ]


def test_each_death_has_its_own_cause():
    other = DIED.replace("count", "total") + BROKEN + TRACEBACK.replace("Key", "Value") + "\n" + READ
    [sign] = diagnose((DIED + BROKEN + TRACEBACK + "\n" + READ + other * 30).splitlines()).signs
    assert [cause.text for cause in sign.causes] == ["KeyError: 1", "ValueError: 1"]
    assert (sign.count, sign.components) == (31, ["count", "total"])


SINK = "2026-01-01 12:00:09.000 o.a.s.u.Utils Thread-9-sink-executor[5, 5] [ERROR] Async loop died!\n"


def test_an_unexplained_death_is_listed_beside_known_ones():
    found = diagnose((DIED + BEAT + SINK + NULL + SINK + BEAT).splitlines())
    assert [(sign.symptom.name, sign.first.line, sign.components) for sign in found.signs] == [
        ("heartbeat timeout", 2, ["count", "sink"]),
        ("a dead executor", 5, ["sink"]),
    ]
    found = diagnose((DIED + BEAT + SINK + NULL).splitlines())
    assert [(sign.symptom.name, sign.first.line, sign.components) for sign in found.signs] == [
        ("heartbeat timeout", 2, ["count"]),
        ("a dead executor", 5, ["sink"]),
    ]


def test_a_survived_error_does_not_explain_a_death():
    heard = SINK.replace("[ERROR] Async loop died!", "[INFO] " + TIMED_OUT.strip())
    found = diagnose((heard + SINK + NULL).splitlines())
    assert [(sign.symptom.name, sign.components) for sign in found.signs] == [
        ("a dead executor", ["sink"]),
        ("timeouts at the spout", ["sink"]),
    ]


@pytest.mark.parametrize("worker", ['java.lang.RuntimeException: ("Worker died")', "java.lang.RuntimeException: Async loop died!"])  # fmt: skip
def test_a_halting_worker_is_no_separate_death(worker):
    assert named(DIED + BEAT + "2026-01-01 12:00:01.000 o.a.s.util x [ERROR] Halting process\n" + worker) == [
        "heartbeat timeout"
    ]


def test_a_halting_worker_is_no_cause_of_a_death():
    halts = "2026-01-01 12:00:01.000 o.a.s.util x [ERROR] Halting process\njava.lang.RuntimeException: Worker died\n\tat a.B.c(B.java:1)\n"
    [sign] = diagnose((LOOP + NULL + halts).splitlines()).signs
    assert [cause.text for cause in sign.causes] == ["java.lang.NullPointerException: null"]


def test_nul_bytes_in_a_line_are_ignored():
    assert named("\0" * 30_000 + "A\0c\0ked a non-existent or already acked/failed id: 3") == ["acked twice"]


def test_every_rule_that_a_symptom_names_has_its_page():
    codes = set(load_rules())
    assert {code for symptom in table().symptoms for cause in symptom.causes for code in cause.rules} <= codes


def test_symptom_names_are_well_formed():
    names = [symptom.name for symptom in table().symptoms]
    assert len(set(names)) == len(names)


def test_each_pattern_begins_with_its_search_words():
    assert [start for start in table().starts if len(start) < 2] == []  # each would be slow


def test_a_survivable_error_is_a_death_only_if_the_log_says_so():
    warned = LOOP.replace("[ERROR] Async loop died!", "[WARN] Unexpected exception in the selector loop.")
    for head, fatal in ((LOOP, True), (warned, False)):
        [sign] = diagnose((head + "java.lang.OutOfMemoryError: Direct buffer memory\n").splitlines()).signs
        assert (sign.symptom.name, sign.fatal) == ("direct memory is full", fatal)


def test_a_stack_on_one_line_is_a_stack():
    said = "2018-03-09 08:43:03,220 [Thread-36-inbound-executor[5 5]] ERROR x Async loop died! java.lang.RuntimeException: java.util.NoSuchElementException at org.apache.storm.utils.DisruptorQueue.consumeBatch(DisruptorQueue.java:485) ~[a.jar:1] at java.lang.Thread.run(Thread.java:1) Caused by: java.util.NoSuchElementException at java.util.TreeSet.first(Unknown Source) at org.apache.storm.jms.spout.JmsSpout.ack(JmsSpout.java:251)"
    found = diagnose([said])
    [sign] = found.signs
    assert (sign.symptom.name, sign.components, sign.first.line) == (
        "an acked message that the JMS spout does not know",
        ["inbound"],
        1,
    )
    assert [frame.text for frame in sign.causes[0].evidence] == [
        "at java.util.TreeSet.first(Unknown Source)",
        "at org.apache.storm.jms.spout.JmsSpout.ack(JmsSpout.java:251)",
    ]
    assert found.innermost == "java.util.NoSuchElementException"


def test_a_consumer_of_a_bolt_is_no_spout():
    lost = "{0}: Commit cannot be completed\n\tat org.apache.kafka.clients.consumer.KafkaConsumer.commitSync(K.java:1)\n\tat {1}(A.java:7)\n"
    name = "org.apache.kafka.clients.consumer.CommitFailedException"
    for frame, signs in (
        ("com.acme.EnrichBolt.execute", []),
        (
            "org.apache.storm.kafka.spout.KafkaSpout.commitOffsetsForAckedTuples",
            ["the consumer group has rebalanced"],
        ),
    ):
        found = diagnose(lost.format(name, frame).splitlines())
        assert [sign.symptom.name for sign in found.signs] == signs

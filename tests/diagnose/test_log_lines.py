"""Component and kind of a log line, and user frames versus library frames."""

import pytest

from ackdoctor.diagnose.diagnosis import diagnose
from ackdoctor.diagnose.log_lines import component_of, instance_of, kind_of_line, kind_of_name, moment_of
from ackdoctor.diagnose.stacks import is_own, relevant_frames
from ackdoctor.diagnose.symptoms import table


@pytest.mark.parametrize(
    ("line", "component"),
    [
        ("2026-01-01 12:00:00.000 o.a.s.u.Utils Thread-8-my-count-executor[3, 3] [ERROR] x", "my-count"),
        ("2016-01-01 12:00:00.000 o.a.s.util Thread-24-disruptor-executor[2 2]-send-queue [ERROR] x", ""),
        (
            "1219 [Thread-9-aimir-line-reader] ERROR backtype.storm.util - Async loop died!",
            "aimir-line-reader",
        ),
        ("[ERROR 2016-11-28 15:55:26 c.a.j.t.e.BoltExecutors:142 parse:7-BoltExecutors] x", "parse"),
        ("[ERROR 2016-11-28 15:55:26 c.a.j.t.e.s.S:1 kafka:2-MultipleThreadSpoutExecutors] x", "kafka"),
        (
            "2026-02-15 13:31:19,845 ERROR (BoltExecutors.java:142) - RouteBolt:1 bolt exeutor  error",
            "RouteBolt",
        ),
        ("x [INFO] ShellLog pid:64304, name:processBolt I'm doing something", "processBolt"),
        ("2026-01-01 12:00:00.000 o.a.s.d.w.Worker main [INFO] error", ""),
    ],
)
def test_a_line_names_its_component_in_each_layout(line, component):
    assert component_of(line) == component


def test_heron_s_files_have_one_component():
    assert instance_of("log-files/container_2_store-it_9.log.0") == "store-it"
    assert instance_of("worker.log") == ""


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("logs/workers-artifacts/t-1/6700/worker.log.1.gz", "worker"),
        ("worker-6703.log", "worker"),
        ("T/T-worker-6801.log", "worker"),
        ("container_2_store_9.log.0", "worker"),
        ("nimbus.log.2", "nimbus"),
        ("supervisor.log", "supervisor"),
        ("drpc.log", "drpc"),
        ("ui.log", "ui"),
        ("logviewer.log", "ui"),
        ("build.log", ""),
    ],
)
def test_a_file_name_shows_its_kind(name, kind):
    assert kind_of_name(name) == kind


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("2026-01-01 12:00:00.000 o.a.s.d.n.Nimbus timer [INFO] x", "nimbus"),
        ("2015-01-01T12:00:00.000+0200 b.s.d.nimbus [INFO] x", "nimbus"),
        ("2026-01-01 12:00:00.000 o.a.s.d.s.Slot SLOT_6700 [WARN] x", "supervisor"),
        ("2015-01-01T12:00:00.000+0200 b.s.d.supervisor [INFO] x", "supervisor"),
        ("2026-01-01 12:00:00.000 o.a.s.d.w.Worker main [INFO] x", "worker"),
        ("2015-01-01T12:00:00.000+0200 b.s.d.executor [INFO] x", "worker"),
        ("2015-01-01 12:00:00 b.s.d.drpc [WARN] x", "drpc"),
        ("[INFO 2016-11-28 15:55:26 c.a.j.d.s.SyncProcessEvent:756 Event] x", "supervisor"),
        ("2026-01-01 12:00:00.000 c.a.Parse main [INFO] x", ""),
    ],
)
def test_a_logger_shows_the_kind_of_process(line, kind):
    assert kind_of_line(line) == kind


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("2026-01-01 12:00:00.250 x", "2026-01-01 12:00:00"),
        ("2015-08-03T14:51:22.028+0200 x", "2015-08-03 14:51:22"),
        ("[ERROR 2016-11-28 15:55:26 c.a.j:1 x] y", "2016-11-28 15:55:26"),
        ("[2018-11-09 00:13:28 +0900] [SEVERE] x", "2018-11-09 00:13:28"),
    ],
)
def test_the_time_of_a_line_is_parsed(line, text):
    assert moment_of(line).text == text


@pytest.mark.parametrize(
    "frame",
    [
        "\tat com.acme.ParseBolt.execute(ParseBolt.java:40) ~[stormjar.jar:?]",
        "at MyTopology$Bolt.execute(MyTopology.java:9)",
        "\tat app//com.acme.ParseBolt.execute(ParseBolt.java:40)",
        "\tat storm.starter.WordCount$Split.execute(WordCount.java:9)",
        '  File "/srv/topology/count.py", line 9, in process',
        '  File "bolts\\count.py", line 9, in process',
    ],
)
def test_a_frame_of_the_user_s_code_is_own(frame):
    assert is_own(frame)


@pytest.mark.parametrize(
    "frame",
    [
        "\tat java.base/java.lang.Thread.run(Thread.java:840)",
        "\tat org.apache.storm.executor.bolt.BoltExecutor.tupleActionFn(BoltExecutor.java:212)",
        "\tat backtype.storm.daemon.executor$fn__5708.invoke(executor.clj:693)",
        "\tat clojure.lang.AFn.run(AFn.java:22)",
        "\tat kafka.network.BlockingChannel.send(BlockingChannel.scala:100)",
        "\tat com.mysql.jdbc.MysqlIO.readPacket(MysqlIO.java:1)",
        '  File "/opt/venv/lib/python3.9/site-packages/pystorm/component.py", line 489, in run',
        '  File "/usr/lib/python3.9/json/__init__.py", line 1, in loads',
        '  File "<frozen importlib._bootstrap>", line 1, in _find',
        '  File "/storm/resources/storm.py", line 9, in run',
        "\t... 6 more",
    ],
)
def test_a_library_frame_is_not_own(frame):
    assert not is_own(frame)


def test_the_user_s_frame_nearest_to_the_exception_is_first():
    stack = ["\tat java.util.A.b(A.java:1)", "\tat com.acme.C.d(C.java:2) ~[x.jar:?]", "\tat com.acme.E.f(E.java:3)", "\t... 3 more"]  # fmt: skip
    assert [(each.text, each.own) for each in relevant_frames(stack)] == [
        ("at com.acme.C.d(C.java:2)", True),
        ("at java.util.A.b(A.java:1)", False),
        ("at com.acme.E.f(E.java:3)", True),
    ]
    assert [each.text for each in relevant_frames(["\tat a.B.c(B.java:1)"] * 90)] == ["at a.B.c(B.java:1)"]
    assert relevant_frames([]) == ()


def test_a_cause_without_a_user_frame_has_that_of_its_wrapper():
    text = "java.lang.RuntimeException: java.sql.SQLException: x\n\tat com.acme.C.execute(C.java:9)\nCaused by: java.sql.SQLException: x\n\tat com.mysql.M.read(M.java:1)\n\t... 1 more\n"
    frames = diagnose(text.splitlines()).first.evidence
    assert [each.text for each in frames] == [
        "at com.acme.C.execute(C.java:9)",
        "at com.mysql.M.read(M.java:1)",
    ]


def test_each_row_has_a_next_step_and_a_source():
    rows = table().symptoms
    assert [row.name for row in rows if not (row.meaning and row.causes and row.next and row.source)] == []
    kinds = {"worker", "nimbus", "supervisor", "drpc", "ui", "client", "dump"}
    assert [row.name for row in rows if not row.logs <= kinds] == []
    assert [row.name for row in rows if row.counted == bool(row.words)] == []


OF_APP = "2026-03-02 10:00:01.301 c.a.StoreBolt Thread-24-store-executor[6, 6] [{0}] indexed: {1}"
SYMPTOMS = ["Acked a non-existent or already acked/failed id: 1", "java.lang.OutOfMemoryError: Java heap space", "subprocess heartbeat timeout"]  # fmt: skip


@pytest.mark.parametrize("symptom", SYMPTOMS)
@pytest.mark.parametrize(
    "line",
    [
        OF_APP.format("INFO", "{0}"),
        OF_APP.format("DEBUG", '"{0}"'),
        OF_APP.format("ERROR", "java.lang.RuntimeException: {0}"),  # another process's
        OF_APP.format("WARN", "see below") + "\n  > java.lang.RuntimeException: {0}",
        OF_APP.format("WARN", "see below")
        + "\n    java.lang.RuntimeException: {0}\n\tat org.apache.storm.task.ShellBolt.die(ShellBolt.java:3)",
        OF_APP.format("WARN", "see below")
        + '\nTraceback (most recent call last):\n  File "a.py", line 3, in f\nValueError: {0}',
        "1219 [Thread-9-store] INFO  com.acme.StoreBolt - indexed {0}",
        "2026-03-02 10:00:01 o.a.s.t.ShellBolt Thread-9 [INFO] ShellLog pid:7, name:store indexed {0}",
        "2026-03-02 10:00:01,301 INFO com.acme.StoreBolt: comment {0}",
        "2026-03-02 10:00:01,301 ERROR store: comment {0}",
        "2026-03-02 10:00:01,301 ERROR [com.acme.StoreBolt] comment {0}",
        "2026-03-02 10:00:01,301 - store - ERROR - comment {0}",
        "2015-03-02T10:00:01.301+0000 c.a.StoreBolt [ERROR] comment {0}",
        "ERROR:store:comment {0}",
        "[ERROR 2016-11-28 15:55:26 c.a.StoreBolt:142 store:7-BoltExecutors] comment {0}",
        "[2018-11-09 00:13:28 +0900] [ERROR] com.acme.StoreBolt: comment {0}",
        '{{"level":"ERROR","logger_name":"com.acme.StoreBolt","message":"comment {0}"}}',
        '{{"levelname":"ERROR","name":"store","message":"comment {0}"}}',
        '{{"thread":"Thread-9","level":"ERROR","loggerName":"com.acme.StoreBolt","message":"comment {0}"}}',
    ],
)
def test_the_words_of_an_application_s_message_are_data(line, symptom):
    found = diagnose(line.format(symptom).splitlines())
    assert {sign.symptom.name for sign in found.signs} <= {"an exception of the component's own"}


@pytest.mark.parametrize("symptom", SYMPTOMS)
@pytest.mark.parametrize(
    "line",
    [
        OF_APP.replace("indexed: ", "").format("ERROR", "java.lang.RuntimeException: {0}"),
        OF_APP.format("WARN", "see below") + "\njava.lang.RuntimeException: {0}",
        "[ERROR 2016-11-28 15:55:26 c.a.StoreBolt:142 store:7-BoltExecutors] java.lang.RuntimeException: {0}",
        '{{"level":"ERROR","logger_name":"com.acme.StoreBolt","message":"java.lang.RuntimeException: {0}"}}',
        '{{"level":"ERROR","logger_name":"org.apache.storm.utils.Utils","message":"it ended: {0}"}}',
        "2026-03-02 10:00:01 STDERR Thread-9 [INFO] {0}",
        "2026-03-02 10:00:01 o.a.s.t.ShellBolt Thread-9 [INFO] {0}",
        "[INFO] java.lang.RuntimeException: {0}",
        "{0}",
    ],
)
def test_a_symptom_in_an_error_or_of_storm_itself_is_found(line, symptom):
    assert len(diagnose(line.format(symptom).splitlines()).signs) == 1


@pytest.mark.parametrize("level", ["INFO", "WARN", "ERROR"])
@pytest.mark.parametrize(
    "words",
    [
        "dropping 3 messages of customer 9",
        "Fetch failed for http://a.example/",
        "connection to billing is unavailable",
    ],
)
def test_an_application_s_own_errors_are_not_storm_s(level, words):
    assert not diagnose(
        [OF_APP.format(level, words), OF_APP.replace("indexed: ", "").format(level, words)]
    ).signs

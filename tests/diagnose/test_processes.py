"""Each death counts once; the report shows how often a worker died, and in which logs."""

import gzip
import json
from pathlib import Path

import pytest

from ackdoctor.diagnose.diagnosis import Places, deaths, diagnose

CAUSE = "java.lang.RuntimeException: Acked a non-existent or already acked/failed id: {0}\n\tat org.apache.storm.task.ShellBolt.handleAck(ShellBolt.java:218)\n"
LAUNCH = "2026-11-25 14:{0}:23.339 o.a.s.d.w.Worker main [INFO] Launching worker for t-1 on host:6700 with id w{0} and conf {{}}\n"
STOP = "2026-11-25 14:{0}:37.852 o.a.s.d.w.Worker ShutdownHook-shutdownFunc [INFO] Shutting down worker t-1 host 6700\n"
PIPE = "2026-11-25 14:{0}:37.900 o.a.s.t.ShellBolt Thread-19 [ERROR] Halting process: ShellBolt died. Command: [python3, b.py], ProcessInfo pid:9, name:other exitCode:-1, errorString:\njava.lang.RuntimeException: org.apache.storm.multilang.NoOutputException: Pipe to subprocess seems to be broken! No output read.\nSerializer Exception:\n\n\tat org.apache.storm.utils.ShellProcess.readShellMsg(ShellProcess.java:121)\n"


def process(minute, number):
    """One process of a worker of Storm 2.8.3, as it logs its death: five times in 0.4 s."""
    cause = CAUSE.format(number)
    at = f"2026-11-25 14:{minute}:37"
    return (
        LAUNCH.format(minute)
        + f"{at}.503 o.a.s.t.ShellBolt Thread-19 [ERROR] Halting process: ShellBolt died. Command: [python3, b.py], ProcessInfo pid:17, name:words exitCode:-1, errorString:\n{cause}"
        + f"{at}.504 o.a.s.e.e.ReportError Thread-19 [ERROR] Error\n{cause}"
        + f"{at}.513 o.a.s.u.Utils Thread-15-words-executor[6, 6] [ERROR] Async loop died!\njava.lang.RuntimeException: java.lang.RuntimeException: pid:17, name:words exitCode:-1, errorString:\n\tat org.apache.storm.executor.Executor.accept(Executor.java:292)\nCaused by: {cause}"
        + f"{at}.514 o.a.s.e.e.ReportError Thread-15-words-executor[6, 6] [ERROR] Error\njava.lang.RuntimeException: java.lang.RuntimeException: pid:17, name:words exitCode:-1, errorString:\n\tat org.apache.storm.utils.Utils$1.run(Utils.java:413)\nCaused by: {cause}"
        + STOP.format(minute)
        + f"{at}.865 o.a.s.u.Utils Thread-15-words-executor[6, 6] [ERROR] Halting process: Worker died\njava.lang.RuntimeException: Halting process: Worker died\n\tat org.apache.storm.utils.Utils.exitProcess(Utils.java:519)\n"
        + PIPE.format(minute)
    )


SUPERVISOR = """2026-11-25 14:{0}:23.000 o.a.s.d.s.BasicContainer SLOT_{1} [INFO] Launching worker with assignment x for this supervisor s on port {1} with id w{0}
2026-11-25 14:{0}:40.200 o.a.s.d.s.BasicContainer Thread-1 [INFO] Worker Process w{0} exited with code: {2}
2026-11-25 14:{0}:40.700 o.a.s.d.s.Slot SLOT_{1} [WARN] SLOT {1}: main process has exited for topology: t-1
"""


@pytest.fixture(autouse=True)
def _here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def test_three_processes_are_three_deaths():
    processes = [process(minute, minute * 7) for minute in (10, 12, 14)]
    [sign] = diagnose("".join(processes).splitlines()).signs
    assert (sign.symptom.name, sign.count, sign.components) == ("acked twice", 3, ["words"])
    assert [moment.text for moment in sign.moments] == [f"2026-11-25 14:{at}:37" for at in (10, 12, 14)]


def test_the_number_and_times_of_deaths_are_shown(shell):
    Path("worker.log").write_text("".join(process(minute, minute) for minute in (10, 12, 14)))
    lines = shell("diagnose", "worker.log").out.splitlines()
    assert lines[lines.index("") + 1 :][:3] == [
        "acked twice  line 3, 3 times, in words",
        "  2026-11-25 14:10:37 to 14:14:37, about every 120 s",
        "  command: python3 b.py",
    ]


@pytest.mark.parametrize(
    ("seconds", "every"),
    [
        ([0, 0, 1, 60, 61, 120, 121, 122], ", about every 60 s"),  # bursts, as of timeouts
        ([0, 60, 3000, 3060], ""),
        ([0, 60, 120, 3540], ""),
        ([0, 60], ""),
    ],
)
def test_only_what_comes_regularly_has_a_period(shell, seconds, every):
    line = "2026-03-02 10:{0:02}:{1:02}.000 o.a.s.e.s.SpoutExecutor Thread-9-v-executor[9, 9] [INFO] SPOUT Failing {2} : TupleInfo[x] REASON: TIMEOUT\n"
    Path("worker.log").write_text("".join(line.format(*divmod(at, 60), n) for n, at in enumerate(seconds)))
    shown = next(line for line in shell("diagnose", "worker.log").out.splitlines() if " to " in line)
    assert shown.partition(", about")[2] == every.partition(", about")[2]


def test_deaths_are_listed_with_their_cause_place_and_tuple():
    Path("6700").mkdir()
    Path("6700/worker.log.1").write_text(process(10, 70))
    Path("6700/worker.log").write_text(process(12, 84))
    found = deaths([Path("6700/worker.log.1"), Path("6700/worker.log")])
    assert [(each.time, each.file, each.line, each.tuple_id) for each in found] == [
        ("2026-11-25 14:10:37", "6700/worker.log.1", 3, "70"),
        ("2026-11-25 14:12:37", "6700/worker.log", 3, "84"),
    ]
    first = found[0]
    assert (first.symptom, first.component, first.worker) == ("acked twice", "words", "6700/worker.log")
    assert first.cause.endswith("id: 70")
    assert first.frames == ("at org.apache.storm.task.ShellBolt.handleAck(ShellBolt.java:218)",)


def test_a_copied_rotated_file_counts_once():
    Path("worker.log.1").write_text(process(10, 70))
    Path("worker.log.1.gz").write_bytes(gzip.compress(process(10, 70).encode()))
    assert len(deaths([Path("worker.log.1"), Path("worker.log.1.gz")])) == 1


def test_the_same_death_in_two_workers_counts_twice():
    for slot in ("6700", "6701"):
        Path(slot).mkdir()
        Path(f"{slot}/worker.log").write_text(process(10, 70))
    assert len(deaths([Path("6700/worker.log"), Path("6701/worker.log")])) == 2


def test_an_unreadable_log_has_no_deaths():
    assert deaths([Path("not.log")]) == ()


def test_a_regular_shutdown_is_no_death():
    found = diagnose((LAUNCH.format(10) + STOP.format(10) + PIPE.format(10)).splitlines())
    assert found.signs == ()
    found = diagnose((LAUNCH.format(10) + STOP.format(10) + LAUNCH.format(12) + PIPE.format(12)).splitlines())
    assert [sign.symptom.name for sign in found.signs] == ["the component's pipe is broken"]


@pytest.mark.parametrize(
    ("slot", "minute", "names"),
    [
        (6700, 10, ["acked twice"]),  # of this death
        (6701, 10, ["acked twice", "a worker ended by ShellBolt"]),  # of another slot's
        (6700, 30, ["acked twice", "a worker ended by ShellBolt"]),  # of a later one
    ],
)
def test_the_supervisor_s_record_of_a_death_is_no_second_one(shell, slot, minute, names):
    Path("6700").mkdir()
    Path("6700/worker.log").write_text(process(10, 70))
    Path("supervisor.log").write_text(SUPERVISOR.format(minute, slot, 11))
    document = json.loads(
        shell("diagnose", "6700/worker.log", "supervisor.log", "--output-format", "json").out
    )
    assert [each["name"] for each in document["symptoms"]] == names
    assert len(document["deaths"]) == len(names)


def test_a_supervisor_s_lines_of_one_worker_are_one_death():
    [sign] = diagnose(SUPERVISOR.format(10, 6700, 137).splitlines(), Places(("supervisor.log",), [0])).signs
    assert (sign.symptom.name, sign.count) == ("a worker killed by SIGKILL", 1)


def test_only_the_supervisor_log_shows_a_killed_worker(shell):
    Path("6700").mkdir()
    Path("6700/worker.log").write_text(LAUNCH.format(10))
    Path("supervisor.log").write_text(SUPERVISOR.format(10, 6700, 137))
    outcome = shell("diagnose", "6700/worker.log", "supervisor.log")
    assert outcome.code == 1
    assert "a worker killed by SIGKILL  supervisor.log, line 2\n" in outcome.out


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("137", "a component's process that was killed"),
        ("-11", "a component's process that crashed"),
        ("127", "a component whose command is missing"),
        ("-1", "the component's pipe is broken"),
        ("1", "the component's pipe is broken"),
    ],
)
def test_the_exit_code_shows_how_a_component_ended(code, name):
    text = PIPE.format(10).replace("exitCode:-1,", f"exitCode:{code},")
    [sign] = diagnose(text.splitlines()).signs
    assert (sign.symptom.name, sign.components, sign.count) == (name, ["other"], 1)


@pytest.mark.parametrize(
    ("command", "lints"),
    [
        ("[php, activate_bolt.php]", False),
        ("[node, /srv/route.js]", False),
        ("[ruby, split_bolt.rb]", False),
        ("[python3, b.py]", True),
        ("[streamparse_run, bolts.count.Count]", True),
        ("[/opt/venv/bin/pypy3, -m, count]", True),
    ],
)
def test_the_next_step_fits_the_language_of_the_component(shell, command, lints):
    died = f"2026-01-01 12:00:00.000 o.a.s.t.ShellBolt Thread-42 [ERROR] Halting process: ShellBolt died. Command: {command}, ProcessInfo pid:17, name:split exitCode:-1, errorString:\n"
    Path("worker.log").write_text(died + CAUSE.format(7))
    [sign] = json.loads(shell("diagnose", "worker.log", "--output-format", "json").out)["symptoms"]
    assert sign["components"] == ["split"]
    assert sign["command"] == command.strip("[]").replace(",", "")
    assert any(step.startswith("ackdoctor lint --select") for step in sign["next"]) == lints
    assert any("ackdoctor trace proxy -- " + sign["command"] in step for step in sign["next"]) != lints


def test_tuple_values_are_no_symptoms():
    line = "2026-01-01 12:00:00.000 o.a.s.d.task Thread-8-a-executor[1 1] [INFO] Emitting: a default [Anchored onto 7 after ack/fail java.lang.OutOfMemoryError: Java heap space]\n"
    local = "1219 [Thread-8-a] INFO  b.s.d.task - Emitting: a default [subprocess heartbeat timeout]\n"
    assert diagnose((line + local).splitlines()).signs == ()


def test_the_end_of_a_daemon_is_no_worker_death():
    Path("nimbus.log").write_text(
        "2026-01-01 12:00:00.000 o.a.s.d.n.Nimbus main [ERROR] Halting process: Error when processing an event\njava.lang.IllegalStateException: x\n\tat a.B.c(B.java:1)\n"
    )
    Path("supervisor.log").write_text(SUPERVISOR.format(10, 6700, 137))
    Path("supervisor.log.1").write_text(
        "2026-01-01 12:00:00.000 o.a.s.d.s.Slot x [ERROR] Halting due to Out Of Memory Error\njava.lang.OutOfMemoryError: Java heap space\n"
    )
    found = deaths([Path("nimbus.log"), Path("supervisor.log.1"), Path("supervisor.log")])
    assert [each.symptom for each in found] == ["a worker killed by SIGKILL"]


def test_a_local_cluster_log_is_a_worker_log():
    local = "1000 [main] INFO  b.s.d.nimbus - Starting Nimbus\n1001 [main] INFO  b.s.d.supervisor - x\n1100 [main] INFO  b.s.d.worker - Launching worker for t\n"
    died = "1219 [Thread-9-line] ERROR b.s.util - Async loop died!\njava.lang.OutOfMemoryError: Java heap space\n"
    [sign] = diagnose((local + died).splitlines()).signs
    assert (sign.symptom.name, sign.components, sign.fatal) == ("out of memory", ["line"], True)

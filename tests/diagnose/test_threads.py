"""Thread dumps: the component that hangs, and its frame."""

import io
import json
from pathlib import Path

import pytest

from ackdoctor.diagnose.diagnosis import Places, diagnose
from ackdoctor.reporters import Context, Sources
from ackdoctor.reporters.diagnosis import screen

BEGIN = "2026-02-20 10:00:00\nFull thread dump OpenJDK 64-Bit Server VM (17.0.9+9 mixed mode):\n\n"


def thread(name, state, *frames):
    head = f'"{name}" #52 prio=5 os_prio=0 cpu=9.1ms tid=0x00007f8 nid=0x2a waiting on condition [0x7f6]\n'
    lines = [f"\t{each}" if each.startswith("- ") else f"\tat {each}" for each in frames]
    return f"{head}   java.lang.Thread.State: {state}\n" + "\n".join(lines) + "\n\n"


PARK = ("jdk.internal.misc.Unsafe.park(java.base@17.0.9/Native Method)", "java.util.concurrent.locks.LockSupport.park(java.base@17.0.9/LockSupport.java:341)")  # fmt: skip
QUEUE = thread(
    "Thread-24-activate-executor[5, 5]",
    "WAITING (parking)",
    *PARK,
    "- parking to wait for  <0x00000007004> (a java.util.concurrent.locks.Condition)",
    "java.util.concurrent.LinkedBlockingQueue.put(java.base@17.0.9/LinkedBlockingQueue.java:343)",
    "org.apache.storm.utils.ShellBoltMessageQueue.putBoltMsg(ShellBoltMessageQueue.java:55)",
    "org.apache.storm.task.ShellBolt.execute(ShellBolt.java:184)",
    "org.apache.storm.executor.bolt.BoltExecutor.tupleActionFn(BoltExecutor.java:212)",
)
OLD_QUEUE = thread(
    "Thread-9-split",
    "WAITING (parking)",
    "sun.misc.Unsafe.park(Native Method)",
    "java.util.concurrent.LinkedBlockingQueue.put(LinkedBlockingQueue.java:349)",
    "backtype.storm.task.ShellBolt.execute(ShellBolt.java:127)",
)
READER = thread(
    "Thread-31",
    "RUNNABLE",
    "java.io.FileInputStream.readBytes(Native Method)",
    "java.io.BufferedReader.readLine(BufferedReader.java:396)",
    "org.apache.storm.multilang.JsonSerializer.readShellMsg(JsonSerializer.java:100)",
    "org.apache.storm.task.ShellBolt$BoltReaderRunnable.run(ShellBolt.java:336)",
)
WRITER = thread(
    "Thread-32",
    "RUNNABLE",
    "java.io.FileOutputStream.writeBytes(Native Method)",
    "java.io.BufferedOutputStream.flush(BufferedOutputStream.java:140)",
    "org.apache.storm.multilang.JsonSerializer.writeString(JsonSerializer.java:205)",
    "org.apache.storm.utils.ShellProcess.writeBoltMsg(ShellProcess.java:130)",
)
SPOUT = thread(
    "Thread-28-words-executor[4, 4]",
    "RUNNABLE",
    "java.io.BufferedReader.readLine(BufferedReader.java:396)",
    "org.apache.storm.utils.ShellProcess.readShellMsg(ShellProcess.java:112)",
    "org.apache.storm.spout.ShellSpout.querySubprocess(ShellSpout.java:186)",
    "org.apache.storm.spout.ShellSpout.nextTuple(ShellSpout.java:121)",
)
DYING = thread(
    "Thread-40",
    "RUNNABLE",
    "java.io.FileInputStream.readBytes(Native Method)",
    "org.apache.commons.io.IOUtils.toString(IOUtils.java:600)",
    "backtype.storm.utils.ShellProcess.getErrorsString(ShellProcess.java:148)",
    "backtype.storm.task.ShellBolt.die(ShellBolt.java:280)",
)
LOCKED = thread(
    "Thread-20-sink-executor[9, 9]",
    "BLOCKED (on object monitor)",
    "com.acme.Pool.take(Pool.java:30)",
    "- waiting to lock <0x00000006c0> (a com.acme.Pool)",
    "com.acme.SinkBolt.execute(SinkBolt.java:12)",
)
HOLDER = thread(
    "pool-3-thread-1",
    "RUNNABLE",
    "java.net.SocketInputStream.socketRead0(Native Method)",
    "com.acme.Pool.refresh(Pool.java:50)",
    "- locked <0x00000006c0> (a com.acme.Pool)",
)
OWN = thread(
    "Thread-22-geo-executor[7, 7]",
    "RUNNABLE",
    "java.net.SocketInputStream.socketRead0(Native Method)",
    "com.mysql.jdbc.MysqlIO.readPacket(MysqlIO.java:1)",
    "com.acme.GeoBolt.execute(GeoBolt.java:44)",
)
FULL = thread(
    "calc:37-BoltExecutors",
    "RUNNABLE",
    "com.lmax.disruptor.MultiProducerSequencer.next(MultiProducerSequencer.java:128)",
    "backtype.storm.utils.DisruptorQueueImpl.publishDirect(DisruptorQueueImpl.java:200)",
    "com.alibaba.jstorm.task.execute.BoltExecutors.run(BoltExecutors.java:137)",
)
IDLE = thread(
    "Thread-26-idle-executor[8, 8]",
    "TIMED_WAITING (parking)",
    *PARK,
    "org.apache.storm.policy.WaitStrategyProgressive.idle(WaitStrategyProgressive.java:60)",
    "org.apache.storm.executor.bolt.BoltExecutor$1.call(BoltExecutor.java:170)",
)
ACKER = thread("Thread-2-__acker-executor[1, 1]", "RUNNABLE", "com.acme.Hook.boltAck(Hook.java:3)")
ACKS = "backtype.storm.task.OutputCollector.ack(OutputCollector.java:213)"
OTHER_THREAD = thread("pool-3-thread-1", "RUNNABLE", "com.lmax.disruptor.MultiProducerSequencer.next(MultiProducerSequencer.java:136)", ACKS, "com.acme.StoreBolt$1.run(StoreBolt.java:55)", "java.lang.Thread.run(Thread.java:748)")  # fmt: skip
DEADLOCK = 'Found one Java-level deadlock:\n=============================\n"client-worker-1":\n  waiting to lock monitor 0x7f (object 0x6, a java.lang.Object),\n  which is held by "Thread-10"\n'
DUMP = BEGIN + QUEUE + READER + WRITER + LOCKED + HOLDER + OWN + IDLE + DEADLOCK


@pytest.mark.parametrize(
    ("threads", "name", "components"),
    [
        (QUEUE, "a child's queue that is full", ["activate"]),
        (OLD_QUEUE, "a child's queue that is full", ["split"]),
        (WRITER, "a child that does not read", []),
        (SPOUT, "a spout's child that does not answer", ["words"]),
        (DYING, "a dying ShellBolt that waits for its child", []),
        (LOCKED, "a component that waits for a lock", ["sink"]),
        (OWN, "a component in its own code", ["geo"]),
        (FULL, "a queue that is full", ["calc"]),
        (DEADLOCK, "threads that wait for each other", []),
        (OTHER_THREAD, "a collector used by another thread", []),
    ],
)
def test_a_hanging_thread_is_reported_with_its_component(threads, name, components):
    [sign] = diagnose((BEGIN + READER + IDLE + ACKER + threads).splitlines()).signs
    assert (sign.symptom.name, sign.components) == (name, components)
    assert sign.fatal == (threads is DEADLOCK)
    assert sign.symptom.next


@pytest.mark.parametrize("threads", [READER, IDLE, ACKER, HOLDER, ""])
def test_an_idle_thread_is_not_reported(threads):
    found = diagnose((BEGIN + threads).splitlines())
    assert (found.signs, found.innermost) == ((), "")


def test_the_thread_that_holds_the_lock_is_named():
    [sign] = diagnose((BEGIN + LOCKED + HOLDER).splitlines()).signs
    assert sign.causes[0].text.endswith('BLOCKED, waits for a lock that "pool-3-thread-1" holds')
    assert [frame.own for frame in sign.causes[0].evidence] == [True, True]


@pytest.mark.parametrize(
    "below",
    [
        "backtype.storm.daemon.executor$fn__3441$tuple_action_fn__3443.invoke(executor.clj:633)",
        "backtype.storm.task.ShellBolt$1.run(ShellBolt.java:127)",
        "com.alibaba.jstorm.task.execute.BoltExecutors.processTupleEvent(BoltExecutors.java:245)",
    ],
)
def test_an_executor_uses_its_own_collector(below):
    threads = thread("Thread-9", "RUNNABLE", ACKS, below)
    assert diagnose((BEGIN + threads).splitlines()).signs == ()


def test_a_deadlock_comes_before_the_threads_that_wait_and_counts_once():
    found = diagnose((BEGIN + LOCKED + HOLDER + DEADLOCK + "\nFound 1 deadlock.\n").splitlines())
    assert [(sign.symptom.name, sign.count) for sign in found.signs] == [
        ("threads that wait for each other", 1),
        ("a component that waits for a lock", 1),
    ]


def test_three_dumps_with_the_same_frames_need_no_other():
    def shown(text):
        found, stream = diagnose(text.splitlines()), io.StringIO()
        screen(found, stream, Context(sources=Sources(root=Path())), {}, Places())
        return stream.getvalue()

    more, none = "take three dumps", "none, if another dump"
    one = shown(BEGIN + OWN)
    assert more in one
    assert none in one
    assert " dumps\n" not in one
    three = shown((BEGIN + OWN) * 3)
    assert "a thread with the same frames in 3 dumps\n" in three
    assert more not in three
    assert none not in three
    moved = OWN.replace("Geo", "Other")
    assert more in shown(BEGIN + OWN + BEGIN + moved + BEGIN + moved.replace("Other", "Third"))


def test_the_same_thread_in_three_dumps_counts_three_times():
    [sign] = diagnose(
        (DUMP.replace(DEADLOCK, "").replace(WRITER + LOCKED + HOLDER + OWN, "") * 3).splitlines()
    ).signs
    assert sign.count == 3


def test_a_thread_dump_in_a_log_does_not_change_the_log():
    died = "2026-01-01 12:00:00.000 o.a.s.u.Utils Thread-8 [ERROR] Async loop died!\njava.lang.RuntimeException: Anchored onto 7 after ack/fail\n"
    found = diagnose((died + DUMP + died).splitlines())
    assert [(sign.symptom.name, sign.count) for sign in found.signs[:1]] == [("anchored too late", 2)]


def test_a_dump_without_a_hanging_thread_lists_what_was_examined():
    found = diagnose((BEGIN + READER + IDLE + ACKER).splitlines())
    assert found.note == (
        "3 threads: none waits for a lock, a full queue or a child that does not read; "
        "1 read the next message of a child: py-spy dump --pid CHILD_PID shows whether it hangs"
    )
    assert diagnose(["all is well"]).note == ""


def spy(state, *frames):
    head = (
        "Process 41: python -m streamparse.run bolts.fetch.FetchBolt\nPython v3.11.4 (/usr/bin/python3)\n\n"
    )
    return f'{head}Thread 41 ({state}): "MainThread"\n' + "".join(f"    {each}\n" for each in frames)


RUN = ("_run (pystorm/bolt.py:219)", "run (pystorm/component.py:505)", "<module> (bolts/fetch.py:52)")
REQUEST = (
    "recv_into (ssl.py:1166)",
    "urlopen (urllib3/connectionpool.py:715)",
    "process (bolts/fetch.py:41)",
)
FAULT = """{head} 0x00007f2c1c5b9740 (most recent call first):
  File "/usr/lib/python3.11/ssl.py", line 1166 in recv_into
  File "/app/bolts/fetch.py", line 41 in process
  File "/usr/lib/python3/site-packages/pystorm/bolt.py", line 219 in _run
  File "/app/bolts/fetch.py", line 52 in <module>
"""


@pytest.mark.parametrize(
    ("text", "frame"),
    [
        (spy("idle", *REQUEST, *RUN), 'File "bolts/fetch.py", line 41, in process'),
        (spy("active+gil", "match (bolts/fetch.py:12)", "process (bolts/fetch.py:41)", *RUN), 'File "bolts/fetch.py", line 12, in match'),
        (FAULT.format(head="Timeout (0:00:30)!\nThread"), 'File "/app/bolts/fetch.py", line 41, in process'),
    ],
)  # fmt: skip
def test_a_python_thread_in_a_handler_is_reported(text, frame):
    [sign] = diagnose(text.splitlines()).signs
    [first, *others] = sign.causes[0].evidence
    assert (sign.symptom.name, first.text, first.own) == ("a Python component in its own code", frame, True)
    assert not any(each.own for each in others if "fetch" not in each.text)
    assert not any("pystorm" in each.text for each in others)


@pytest.mark.parametrize(
    "text",
    [
        spy("idle", "read_message (pystorm/serializers/json_serializer.py:58)", *RUN),
        spy("idle", "unpack (msgpack/fallback.py:9)", "read_message (pystorm/component.py:253)", *RUN),
        spy("idle", "read_task_ids (pystorm/component.py:290)", "process (bolts/fetch.py:41)", *RUN),
        spy("idle", "wait (threading.py:324)", "run (app/timer.py:9)"),
    ],
)
def test_a_python_thread_outside_of_its_code_is_not_reported(text):
    found = diagnose(text.splitlines())
    assert found.signs == ()
    assert found.note == "1 thread: none is in a component's own code, called by its framework"


ENDED = "2026-02-20 10:00:00 o.a.s.t.ShellBolt [ERROR] Halting process: ShellBolt died. Command: [python3, fetch.py], ProcessInfo pid:41, name:fetch exitCode:139, errorString:"


@pytest.mark.parametrize(
    "text",
    [
        FAULT.format(head="Fatal Python error: Segmentation fault\n\nCurrent thread"),
        FAULT.format(head=ENDED + "Fatal Python error: Segmentation fault\n\nCurrent thread"),
        FAULT.format(head="Fatal Python error: Segmentation fault\n\nCurrent thread") + ENDED + "\n",
    ],
)
def test_a_crash_of_python_is_one_symptom_with_its_frames(text):
    [sign] = diagnose(text.splitlines()).signs
    assert (sign.symptom.name, sign.count) == ("a component's process that crashed", 1)
    [cause] = sign.causes
    assert cause.text == "Fatal Python error: Segmentation fault"
    assert (cause.evidence[0].text, cause.evidence[0].own) == ('File "/app/bolts/fetch.py", line 41, in process', True)  # fmt: skip


def test_the_other_threads_of_a_crash_do_not_hang():
    head = "Fatal Python error: Bus error\n\nCurrent thread 0x00007f2c0b7fe700 (most recent call first):\n  <no Python frame>\n\nThread"
    [sign] = diagnose(FAULT.format(head=head).splitlines()).signs
    assert (sign.symptom.name, sign.causes[0].evidence) == ("a component's process that crashed", ())


def test_python_that_does_not_start_is_no_crash():
    [sign] = diagnose(["Fatal Python error: init_fs_encoding: failed to get the Python codec"]).signs
    assert sign.symptom.name == "a component that cannot be started"


FRAMES = [line.removeprefix("\tat ") for line in OWN.splitlines() if line.startswith("\tat ")]


@pytest.mark.parametrize("state", ["", "RUNNABLE"])
def test_the_json_and_text_of_thread_dump_to_file_are_read(state):
    executor = {"tid": "44", "name": "Thread-22-geo-executor[7, 7]", "stack": FRAMES}
    if state:
        executor["state"] = state
    pool = {"tid": "5", "name": "pool-1", "stack": ["java.base/java.lang.VirtualThread.park(VirtualThread.java:596)"]}  # fmt: skip
    whole = {"threadDump": {"processId": "7", "threadContainers": [{"container": "<root>", "threads": [pool, executor]}]}}  # fmt: skip
    text = f'7\n21.0.2+13\n\n#5 "pool-1" virtual\n      {pool["stack"][0]}\n\n#44 "{executor["name"]}" {state}\n' + "".join(f"      {each}\n" for each in FRAMES)  # fmt: skip
    for lines in (text.splitlines(), json.dumps(whole, indent=2).splitlines()):
        [sign] = diagnose(lines).signs
        assert (sign.symptom.name, sign.components) == ("a component in its own code", ["geo"])
        assert sign.causes[0].text.endswith(state or "RUNNABLE (or blocked)")
        assert sign.causes[0].evidence[0].text == "at com.acme.GeoBolt.execute(GeoBolt.java:44)"

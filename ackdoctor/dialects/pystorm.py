"""pystorm 1.0 and later: the multilang library under streamparse 3.

Read: pystorm/pystorm pystorm/bolt.py, spout.py, component.py, serializers/serializer.py @ v3.1.4.
"""

from ackdoctor.dialects.storm_py import (
    ACKED_ALL_THE_SAME,
    COMPLETIONS,
    HIDES_ACK,
    INIT,
    LOOP,
    SHELL_BOLT,
    SHELL_SPOUT,
    SPOUT_ENTRIES,
    emit,
    log,
)
from ackdoctor.model.dialect import (
    Anchoring,
    Dialect,
    Discipline,
    Entry,
    EntryKind,
    Kind,
    Misuse,
    Price,
    Role,
    Switch,
    TickDuty,
    Verb,
    VerbKind,
    Wire,
    WireForm,
    cost,
)

_REPORTS = (
    Verb("raise_exception", VerbKind.REPORT, params=("exception", "tup"), subject=None),
    log("message level"),
    Verb("report_metric", VerbKind.OTHER, params=("name", "value"), subject=None),
)
_TESTS = (Verb("is_tick", VerbKind.TICK_TEST), Verb("is_heartbeat", VerbKind.HEARTBEAT_TEST))
_EMIT = emit("tup stream anchors direct_task need_task_ids")
KEYWORDS = ("stream", "anchors", "direct_task", "need_task_ids")
_LOOP = {**LOOP, "_run": LOOP["run"]}
_BY_HAND = "set `auto_ack = False` on the class and complete each tuple by hand, once on every path"
_SHAPE = cost("emit raises TypeError: all Tuples must be either lists or tuples", Price.ERROR)
_OPAQUE = "the serializer logs the error and sends nothing"

BOLT = Role(
    name="Bolt",
    kind=Kind.BOLT,
    classes=("pystorm.Bolt", "pystorm.bolt.Bolt"),
    entries=(Entry("process", EntryKind.DATA), Entry("process_tick", EntryKind.TICK), INIT),
    verbs=(*COMPLETIONS, _EMIT, *_REPORTS, *_TESTS),
    discipline=Discipline(
        auto_ack=Switch(default=True, attribute="auto_ack"),
        auto_fail=Switch(default=True, attribute="auto_fail"),
        auto_anchor=Switch(default=True, attribute="auto_anchor"),
        exits=Switch(default=True, attribute="exit_on_exception"),  # component.py:176 @ v3.1.4
        anchoring=Anchoring.CURRENT,
        tick=TickDuty.AUTO,
        thread_safe=True,
        stdout_is_pipe=True,
        stdout_waits=True,  # serializers/json_serializer.py:33: the messages have a TextIOWrapper of their own
        accepts_id=True,
        payload_types=("list", "tuple"),
        serializer="simplejson",
        costs={
            **SHELL_BOLT,
            Misuse.OFF_THREAD: cost(
                "an emit without anchors is anchored to the main thread's current tuple, or to none",
                Price.LOSS,
            ),
            Misuse.NEVER_RUNS: ACKED_ALL_THE_SAME,
            Misuse.ANCHOR_SHAPE: cost(
                "the tuple's five fields are sent as five anchors and the worker exits", Price.KILL
            ),
            Misuse.ANCHOR_ELEMENT: cost(  # JsonSerializer.readShellMsg, ShellBolt.handleEmit @ v2.8
                "ShellBolt knows no tuple by this anchor and the worker exits", Price.KILL
            ),
            Misuse.ANCHOR_ID: cost(
                "every character of the id is sent as an anchor and the worker exits", Price.KILL
            ),
            Misuse.PAYLOAD_SHAPE: _SHAPE,
            Misuse.PAYLOAD_TUPLE: cost(
                "the five fields of the tuple are emitted instead of its values", Price.LOSS
            ),
            Misuse.PAYLOAD_OPAQUE: cost(f"{_OPAQUE}, and the input is acked", Price.LOSS),
        },
    ),
    owned={**_LOOP, "ack": HIDES_ACK},
    by_hand=f"{_BY_HAND}, ticks too",
)
BATCHING = BOLT.derive(
    name="BatchingBolt",
    classes=("pystorm.BatchingBolt", "pystorm.bolt.BatchingBolt"),
    entries=(Entry("process_batch", EntryKind.BATCH, subject=1), INIT),
    verbs=(
        *COMPLETIONS,
        _EMIT.derive(keyword_only=KEYWORDS, task_ids=None),
        *_REPORTS,
        *_TESTS,
        Verb("process_batches", VerbKind.OTHER, params=(), subject=None),
    ),
    discipline=BOLT.discipline.derive(
        tick=TickDuty.FRAMEWORK,
        costs={
            Misuse.EMIT_POSITIONAL: cost(
                "emit takes keywords only after the payload and raises TypeError, which fails the batch",
                Price.ERROR,
            )
        },
    ),
    owned={
        "process": "tuples are neither batched nor acked",
        "process_tick": "ticks are not acked and no batch is ever processed",
        "process_batches": "batches are not acked",
    },
    by_hand=_BY_HAND,
    batch_ticks=2,  # ticks_between_batches = 1, and the tick after that (bolt.py:273, 328 @ pystorm 3.1.4)
)
TICKLESS = BATCHING.derive(
    name="TicklessBatchingBolt",
    classes=("pystorm.TicklessBatchingBolt", "pystorm.bolt.TicklessBatchingBolt"),
    entries=(Entry("process_batch", EntryKind.BATCH, subject=1, off_thread=True), INIT),
    owned={"process_tick": "ticks are not acked"},
    batch_ticks=0,
)
SPOUT = Role(
    name="Spout",
    kind=Kind.SPOUT,
    classes=("pystorm.Spout", "pystorm.spout.Spout"),
    entries=SPOUT_ENTRIES,
    verbs=(emit("tup tup_id stream direct_task need_task_ids"), *_REPORTS),
    discipline=Discipline(
        thread_safe=True,
        stdout_is_pipe=True,
        stdout_waits=True,  # serializers/json_serializer.py:33: the messages have a TextIOWrapper of their own
        payload_types=("list", "tuple"),
        serializer="simplejson",
        costs={**SHELL_SPOUT, Misuse.PAYLOAD_SHAPE: _SHAPE, Misuse.PAYLOAD_OPAQUE: cost(_OPAQUE, Price.LOSS)},
    ),
    owned=_LOOP,
)
RELIABLE = SPOUT.derive(
    name="ReliableSpout",
    classes=("pystorm.ReliableSpout", "pystorm.spout.ReliableSpout"),
    discipline=SPOUT.discipline.derive(
        replays="unacked_tuples",
        costs={
            Misuse.NO_MESSAGE_ID: cost(
                "emit raises ValueError: a ReliableSpout tracks by tuple id", Price.ERROR
            ),
            Misuse.PAYLOAD_OPAQUE: cost(
                "nothing is sent, but the payload stays in unacked_tuples forever", Price.LOSS
            ),
        },
    ),
    owned={
        "ack": "unacked_tuples is never emptied",
        "fail": "failed tuples are not replayed",
        "emit": "nothing is tracked, so nothing is replayed",
    },
)

WIRE = Wire(  # bolt.py:89, 183-214, 315-350, 380-402, 481; component.py:319; serializers/serializer.py:28-38
    form=WireForm.MESSAGE,
    send=("pystorm.component.Component.send_message",),
    receive=("pystorm.bolt.Bolt.read_tuple",),
    modules=("pystorm",),
    completes=(
        "pystorm.bolt.Bolt._run",
        "pystorm.bolt.BatchingBolt.process_batches",
        "pystorm.bolt.BatchingBolt.process_tick",
        "pystorm.bolt.TicklessBatchingBolt.process_tick",
    ),
    fails=("pystorm.bolt.Bolt._handle_run_exception", "pystorm.bolt.BatchingBolt._handle_run_exception"),
    drops=("pystorm.serializers.serializer.log.exception",),
    buffers=("_batches", "_current_tups"),
    hands=("_current_tups",),
)
PYSTORM = Dialect(
    name="pystorm",
    language="python",
    title="pystorm",
    since=(1,),
    until=(3,),
    words=(b"pystorm",),
    python2_logs_stdout=True,  # component.py replaces sys.stdout by a LogStream
    roles=(BOLT, BATCHING, TICKLESS, SPOUT, RELIABLE),
    wire=WIRE,
)

DIALECTS = (PYSTORM,)

"""pyleus 0.3.0, and 0.1 and 0.2 by the same names.

Read: Yelp/pyleus pyleus/storm/__init__.py, bolt.py, spout.py, component.py, pyleus/json_fields_bolt.py @ v0.3.0;
pyleus/storm.py @ v0.1.10.  The docstring of SimpleBolt says that it fails tuples; its code never does.
"""

from ackdoctor.dialects import storm_py
from ackdoctor.dialects.storm_java import UNDECLARED_1
from ackdoctor.dialects.storm_py import ACKED_ALL_THE_SAME, COMPLETIONS, LOOP, SPOUT_ENTRIES, emit, log
from ackdoctor.model.dialect import (
    ON,
    Dialect,
    Entry,
    EntryKind,
    Misuse,
    Price,
    TickDuty,
    TupleShape,
    Verb,
    VerbKind,
    Wire,
    WireForm,
    cost,
)

_SHAPE = cost("emit asserts a list or a tuple: AssertionError", Price.ERROR)
_OPAQUE = cost("the serializer raises TypeError", Price.ERROR)
_REPORTS = (
    Verb("error", VerbKind.REPORT, params=("msg",), subject=None),
    log("msg level"),
    *(log(name=name) for name in ("log_trace", "log_debug", "log_info", "log_warn", "log_error")),
)
_TICK = Entry("process_tick", EntryKind.TICK, subject=None)
_INIT = Entry("initialize", EntryKind.INIT, subject=None)
_LOOP = {**LOOP, "run_component": LOOP["run"]}

_BOLT = storm_py.BOLT.derive(
    classes=("pyleus.storm.Bolt", "pyleus.storm.bolt.Bolt"),
    entries=(Entry("process_tuple", EntryKind.DATA), _INIT),
    verbs=(
        *COMPLETIONS,
        emit("values stream anchors direct_task need_task_ids", waits=True),
        Verb("sync", VerbKind.SYNC, params=(), subject=None),
        *_REPORTS,
    ),
    discipline=storm_py.BOLT.discipline.derive(
        payload_types=("list", "tuple"),
        serializer="msgpack",
        costs={
            **UNDECLARED_1,
            Misuse.ANCHOR_SHAPE: cost(
                "the fields of the tuple have no attribute id: AttributeError", Price.ERROR
            ),
            Misuse.ANCHOR_NONE: None,
            Misuse.PAYLOAD_SHAPE: _SHAPE,
            Misuse.PAYLOAD_TUPLE: cost(
                "the five fields of the tuple are emitted instead of its values", Price.LOSS
            ),
            Misuse.PAYLOAD_OPAQUE: _OPAQUE,
        },
    ),
    owned={**_LOOP, "_process_tuple": "heartbeats are not answered"},
)
_SIMPLE = _BOLT.derive(
    name="SimpleBolt",
    classes=("pyleus.storm.SimpleBolt", "pyleus.storm.bolt.SimpleBolt"),
    entries=(Entry("process_tuple", EntryKind.DATA), _TICK, _INIT),
    discipline=_BOLT.discipline.derive(
        auto_ack=ON, tick=TickDuty.AUTO, ticks_in_data=False, costs={Misuse.NEVER_RUNS: ACKED_ALL_THE_SAME}
    ),
    by_hand="derive from `Bolt` and complete each tuple by hand, once on every path, ticks too",
    owned={"_process_tuple": "heartbeats are not answered and nothing is acked", "ack": storm_py.HIDES_ACK},
)

DIALECTS = (
    Dialect(
        name="pyleus",
        language="python",
        title="pyleus",
        until=(0, 3),
        words=(b"pyleus",),
        outputs="OUTPUT_FIELDS",
        runners=("pyleus",),
        python2=True,  # setup.py:85 @ v0.3.0
        roles=(
            _BOLT,
            _SIMPLE,
            _SIMPLE.derive(
                name="JSONFieldsBolt",
                classes=("pyleus.json_fields_bolt.JSONFieldsBolt",),
                entries=(Entry("extract_fields", EntryKind.DATA, subject=None), _TICK, _INIT),
                owned={"process_tuple": "extract_fields is never called"},
            ),
            storm_py.SPOUT.derive(
                classes=("pyleus.storm.Spout", "pyleus.storm.spout.Spout"),
                entries=(
                    *(
                        entry
                        for entry in SPOUT_ENTRIES
                        if entry.kind not in (EntryKind.LIFECYCLE, EntryKind.INIT)
                    ),
                    _INIT,
                ),
                verbs=(emit("values stream tup_id direct_task need_task_ids", waits=True), *_REPORTS),
                discipline=storm_py.SPOUT.discipline.derive(
                    payload_types=("list", "tuple"),
                    serializer="msgpack",
                    costs={**UNDECLARED_1, Misuse.PAYLOAD_SHAPE: _SHAPE, Misuse.PAYLOAD_OPAQUE: _OPAQUE},
                ),
                owned=_LOOP,
            ),
        ),
        verbs=(
            Verb("is_tick", VerbKind.TICK_TEST, on="pyleus.storm"),
            Verb("is_heartbeat", VerbKind.HEARTBEAT_TEST, on="pyleus.storm"),
        ),
        shape=TupleShape(component="comp", ticks=(("comp", "__system"), ("stream", "__tick"), ("task", -1))),
        tick_settings=("tick_freq_secs", "topology.tick.tuple.freq.secs"),
        wire=Wire(
            form=WireForm.COMMAND,
            send=("pyleus.storm.component.Component.send_command",),
            receive=("pyleus.storm.component.Component.read_tuple",),
            modules=("pyleus",),
            completes=("pyleus.storm.bolt.SimpleBolt._process_tuple",),
        ),
    ),
)

"""The facts of each framework, stated independently as rows."""

import pytest

from ackdoctor.dialects import known
from ackdoctor.model.dialect import (
    Anchoring,
    Dialect,
    EntryKind,
    Misuse,
    Moment,
    Price,
    Role,
    TickDuty,
    Verb,
    VerbKind,
)

PYSTORM_LIKE = ("pystorm", "streamparse")
LISTS = ("list", "tuple")


def dialect_named(name: str) -> Dialect:
    return next(dialect for dialect in known() if dialect.name == name)


def role_named(name: str) -> Role:
    dialect, role = name.split("/")
    return next(r for r in dialect_named(dialect).roles if r.name == role)


def emit_of(name: str) -> Verb:
    dialect = dialect_named(name.split("/", maxsplit=1)[0])
    verbs = (*role_named(name).verbs, *dialect.verbs)
    return next(verb for verb in verbs if verb.name == "emit")


def names(*roles: str) -> list[str]:
    return [f"{dialect}/{role}" for dialect in PYSTORM_LIKE for role in roles]


ENTRIES = [
    *((name, "process", EntryKind.DATA, 0) for name in names("Bolt")),
    *((name, "process_tick", EntryKind.TICK, 0) for name in names("Bolt")),
    *((name, "process_batch", EntryKind.BATCH, 1) for name in names("BatchingBolt", "TicklessBatchingBolt")),
    *((name, "next_tuple", EntryKind.NEXT, None) for name in names("Spout", "ReliableSpout")),
    *((name, "ack", EntryKind.ACKED, 0) for name in names("Spout", "ReliableSpout")),
    *((name, "fail", EntryKind.FAILED, 0) for name in names("Spout", "ReliableSpout")),
    ("storm_py/Bolt", "process", EntryKind.DATA, 0),
    ("storm_py/BasicBolt", "process", EntryKind.DATA, 0),
    ("storm_py/Spout", "nextTuple", EntryKind.NEXT, None),
    ("storm_py/Spout", "ack", EntryKind.ACKED, 0),
    ("pyleus/Bolt", "process_tuple", EntryKind.DATA, 0),
    ("pyleus/SimpleBolt", "process_tuple", EntryKind.DATA, 0),
    ("pyleus/SimpleBolt", "process_tick", EntryKind.TICK, None),
    ("pyleus/Spout", "next_tuple", EntryKind.NEXT, None),
    ("petrel/Bolt", "process", EntryKind.DATA, 0),
    ("petrel/BasicBolt", "process", EntryKind.DATA, 0),
    ("petrel/Spout", "nextTuple", EntryKind.NEXT, None),
    ("heronpy/Bolt", "process", EntryKind.DATA, 0),
    ("heronpy/Bolt", "process_tick", EntryKind.TICK, 0),
    ("heronpy/SlidingWindowBolt", "processWindow", EntryKind.BATCH, 1),
    ("heronpy/TumblingWindowBolt", "processWindow", EntryKind.BATCH, 1),
    ("heronpy/Spout", "next_tuple", EntryKind.NEXT, None),
    ("streamparse_legacy/Bolt", "process", EntryKind.DATA, 0),
    ("streamparse_0/BatchingBolt", "process_batch", EntryKind.BATCH, 1),
]


@pytest.mark.parametrize(("name", "method", "kind", "subject"), ENTRIES)
def test_the_entries_of_a_role_match_this_table(
    name: str, method: str, kind: EntryKind, subject: int | None
) -> None:
    entries = [entry for entry in role_named(name).entries if entry.method == method]
    assert [(entry.kind, entry.subject) for entry in entries] == [(kind, subject)]


JAVA = {
    dialect.name: {role.name for role in dialect.roles}
    for dialect in known()
    if dialect.language == "java" and not dialect.replaces
}

AUTOMATISMS = [
    # role, auto_ack, auto_fail, anchoring, tick duty, ticks through the data entry
    *((name, True, True, Anchoring.CURRENT, TickDuty.AUTO, False) for name in names("Bolt")),
    *(
        (name, True, True, Anchoring.CURRENT, TickDuty.FRAMEWORK, False)
        for name in names("BatchingBolt", "TicklessBatchingBolt")
    ),
    ("streamparse/BasicBolt", True, False, Anchoring.CURRENT, TickDuty.AUTO, False),
    ("storm_py/Bolt", False, False, Anchoring.NONE, TickDuty.REQUIRED, True),
    ("storm_py/BasicBolt", True, True, Anchoring.FORCED, TickDuty.AUTO, True),
    ("pyleus/Bolt", False, False, Anchoring.NONE, TickDuty.REQUIRED, True),
    ("pyleus/SimpleBolt", True, False, Anchoring.NONE, TickDuty.AUTO, False),
    ("pyleus/JSONFieldsBolt", True, False, Anchoring.NONE, TickDuty.AUTO, False),
    ("petrel/Bolt", False, False, Anchoring.NONE, TickDuty.REQUIRED, True),
    ("petrel/BasicBolt", True, False, Anchoring.FORCED, TickDuty.AUTO, True),
    ("heronpy/Bolt", False, False, Anchoring.NONE, TickDuty.FORBIDDEN, False),
    ("heronpy/SlidingWindowBolt", True, False, Anchoring.NONE, TickDuty.FRAMEWORK, False),
    ("heronpy/TumblingWindowBolt", True, False, Anchoring.NONE, TickDuty.FRAMEWORK, False),
    ("streamparse_2/Bolt", True, True, Anchoring.CURRENT, TickDuty.AUTO, False),
    ("streamparse_legacy/Bolt", True, True, Anchoring.CURRENT, TickDuty.AUTO, True),
    ("streamparse_legacy/BatchingBolt", True, True, Anchoring.CURRENT, TickDuty.AUTO, True),
    ("streamparse_0/Bolt", False, False, Anchoring.NONE, TickDuty.REQUIRED, True),
    ("streamparse_0/BasicBolt", True, False, Anchoring.CURRENT, TickDuty.AUTO, True),
    ("streamparse_0/BatchingBolt", True, False, Anchoring.NONE, TickDuty.AUTO, True),
    *(
        (f"{dialect}/{role}", *row)
        for dialect, roles in JAVA.items()
        for role, row in (
            ("Bolt", (False, False, Anchoring.NONE, TickDuty.OPTIONAL, True)),
            ("BasicBolt", (True, False, Anchoring.FORCED, TickDuty.AUTO, True)),
            ("TickAwareBolt", (False, False, Anchoring.NONE, TickDuty.OPTIONAL, False)),
            ("ClientBolt", (False, False, Anchoring.NONE, TickDuty.OPTIONAL, False)),
            ("WriterBolt", (False, False, Anchoring.NONE, TickDuty.OPTIONAL, True)),
            ("WindowedBolt", (True, False, Anchoring.CURRENT, TickDuty.FRAMEWORK, False)),
            ("StatefulBolt", (False, False, Anchoring.NONE, TickDuty.OPTIONAL, True)),
            ("StatefulWindowedBolt", (True, False, Anchoring.CURRENT, TickDuty.FRAMEWORK, False)),
        )
        if role in roles
    ),
]


@pytest.mark.parametrize("row", AUTOMATISMS, ids=lambda row: row[0])
def test_the_automatic_behaviour_of_a_bolt_matches_this_table(row: tuple[object, ...]) -> None:
    name = str(row[0])
    d = role_named(name).discipline
    assert row == (name, d.auto_ack.default, d.auto_fail.default, d.anchoring, d.tick, d.ticks_in_data)


def test_every_bolt_is_in_the_table_of_automatisms() -> None:
    bolts = {
        f"{d.name}/{r.name}" for d in known() for r in d.roles if r.kind.value == "bolt" and not d.replaces
    }
    assert bolts - {row[0] for row in AUTOMATISMS} == set()


def test_only_bolts_of_pystorm_and_streamparse_have_switches() -> None:
    three = ["auto_ack", "auto_fail", "auto_anchor"]
    turned = {
        f"{d.name}/{r.name}": [getattr(r.discipline, name).attribute for name in three]
        for d in known()
        for r in d.roles
        if not d.replaces
    }
    bolts = names("Bolt", "BatchingBolt", "TicklessBatchingBolt")
    older = {
        "streamparse/BasicBolt": ["auto_ack", None, "auto_anchor"]
    }  # deprecated before there was auto_fail
    assert turned == dict.fromkeys(turned, [None] * 3) | dict.fromkeys(bolts, three) | older


def test_heronpy_ignores_auto_ack() -> None:
    switches = [role.discipline.auto_ack.attribute for role in dialect_named("heronpy").roles]
    assert switches == [None, None, None, None]


EMITS = [
    # role, stream, anchors, message id: positions after self, None where emit has no such thing
    *((name, 1, 2, None) for name in names("Bolt")),
    *((name, 2, None, 1) for name in names("Spout", "ReliableSpout")),
    ("storm_py/Bolt", 1, 2, None),
    ("storm_py/BasicBolt", 1, 2, None),
    ("storm_py/Spout", 1, None, 2),
    ("pyleus/Bolt", 1, 2, None),
    ("pyleus/SimpleBolt", 1, 2, None),
    ("pyleus/Spout", 1, None, 2),
    ("petrel/Bolt", 1, 2, None),
    ("petrel/BasicBolt", 1, 2, None),
    ("petrel/Spout", 1, None, 2),
    ("heronpy/Bolt", 1, 2, None),
    ("heronpy/SlidingWindowBolt", 1, 2, None),
    ("heronpy/TumblingWindowBolt", 1, 2, None),
    ("heronpy/Spout", 2, None, 1),
]


@pytest.mark.parametrize(("name", "stream", "anchors", "message_id"), EMITS)
def test_the_arguments_of_emit_match_this_table(
    name: str, stream: int, anchors: int | None, message_id: int | None
) -> None:
    emit = emit_of(name)
    assert emit.params.index("stream") == stream
    assert (emit.params.index(emit.anchors) if emit.anchors else None) == anchors
    assert (emit.params.index(emit.message_id) if emit.message_id else None) == message_id
    assert emit.params[0] == emit.subject
    assert emit.keyword_only == ()


@pytest.mark.parametrize("name", names("BatchingBolt", "TicklessBatchingBolt"))
def test_a_batching_bolt_emits_with_keywords_only(name: str) -> None:
    emit = emit_of(name)
    assert emit.keyword_only == emit.params[1:]
    assert role_named(name).discipline.prices[Misuse.EMIT_POSITIONAL] == (Price.ERROR,)


ACCEPTS = [
    # role, ack and fail take an id, types that emit insists on
    *((name, True, LISTS) for name in names("Bolt", "BatchingBolt", "TicklessBatchingBolt")),
    *((name, False, LISTS) for name in names("Spout", "ReliableSpout")),
    ("streamparse_legacy/Bolt", True, ("list",)),
    ("storm_py/Bolt", False, ()),
    ("storm_py/BasicBolt", False, ()),
    ("storm_py/Spout", False, ()),
    ("pyleus/Bolt", False, LISTS),
    ("pyleus/SimpleBolt", False, LISTS),
    ("pyleus/Spout", False, LISTS),
    ("petrel/Bolt", False, ()),
    ("petrel/BasicBolt", False, ()),
    ("heronpy/Bolt", False, ()),
]


@pytest.mark.parametrize("row", ACCEPTS, ids=lambda row: row[0])
def test_the_checks_of_ack_and_emit_match_this_table(row: tuple[object, ...]) -> None:
    name = str(row[0])
    d = role_named(name).discipline
    assert row == (name, d.accepts_id, d.payload_types)


WAITING = ["storm_py/Bolt", "storm_py/Spout", "pyleus/Bolt", "pyleus/SimpleBolt", "pyleus/Spout"]


@pytest.mark.parametrize("name", sorted({row[0] for row in EMITS}))
def test_emit_waits_for_task_ids_only_in_storm_py_and_pyleus(name: str) -> None:
    assert emit_of(name).waits == (name in [*WAITING, "storm_py/BasicBolt"])


def test_an_old_streamparse_waits_for_task_ids_too() -> None:
    assert [emit_of(f"streamparse_{v}/Bolt").waits for v in ("2", "legacy", "0")] == [True, True, False]


MULTILANG = [
    *names("Bolt", "BatchingBolt", "TicklessBatchingBolt"),
    "storm_py/Bolt",
    "storm_py/BasicBolt",
    "pyleus/Bolt",
    "pyleus/SimpleBolt",
    "petrel/Bolt",
    "petrel/BasicBolt",
    "streamparse_0/Bolt",
]


@pytest.mark.parametrize("name", MULTILANG)
def test_a_double_completion_kills_every_multilang_worker(name: str) -> None:
    d = role_named(name).discipline
    worker_dies = (Misuse.TWICE, Misuse.MIXED, Misuse.LATE_EMIT, Misuse.TICK_TWICE)
    assert [d.prices[misuse] for misuse in worker_dies] == [(Price.KILL,)] * 4
    assert d.prices[Misuse.NEVER] == (Price.LEAK, Price.TIMEOUT)
    assert d.prices[Misuse.TICK_NEVER] == (Price.LEAK,)
    assert d.prices[Misuse.UNANCHORED] == (Price.LOSS,)
    assert (
        d.notes[Misuse.TWICE]
        == 'ShellBolt answers "Acked a non-existent or already acked/failed id" and the worker exits'
    )


PRICES = [
    *((name, Misuse.PAYLOAD_OPAQUE, (Price.LOSS,)) for name in names("Bolt", "BatchingBolt", "Spout")),
    *((name, Misuse.PAYLOAD_SHAPE, (Price.ERROR,)) for name in names("Bolt", "Spout")),
    *((name, Misuse.ANCHOR_SHAPE, (Price.KILL,)) for name in names("Bolt")),
    *((name, Misuse.ANCHOR_ID, (Price.KILL,)) for name in names("Bolt")),
    *((name, Misuse.STDOUT, (Price.KILL,)) for name in names("Bolt", "Spout")),
    *((name, Misuse.NO_MESSAGE_ID, (Price.ERROR,)) for name in names("ReliableSpout")),
    ("storm_py/Bolt", Misuse.ANCHOR_NONE, (Price.ERROR,)),
    ("storm_py/Bolt", Misuse.PAYLOAD_SHAPE, (Price.KILL,)),
    ("storm_py/Bolt", Misuse.PAYLOAD_TUPLE, (Price.ERROR,)),
    ("storm_py/Bolt", Misuse.PAYLOAD_OPAQUE, (Price.ERROR,)),
    ("storm_py/Bolt", Misuse.SUBJECT_ID, (Price.ERROR,)),
    ("storm_py/BasicBolt", Misuse.ANCHOR_IGNORED, (Price.NOTHING,)),
    ("storm_py/BasicBolt", Misuse.ANCHOR_SHAPE, None),
    ("pyleus/Bolt", Misuse.PAYLOAD_SHAPE, (Price.ERROR,)),
    ("pyleus/Bolt", Misuse.ANCHOR_NONE, None),
    ("pyleus/SimpleBolt", Misuse.STDOUT, (Price.KILL,)),
    ("petrel/Bolt", Misuse.STDOUT, None),
    ("heronpy/Bolt", Misuse.TWICE, (Price.TIMEOUT,)),
    ("heronpy/Bolt", Misuse.MIXED, (Price.NOTHING,)),
    ("heronpy/Bolt", Misuse.NEVER, (Price.TIMEOUT,)),
    ("heronpy/Bolt", Misuse.UNANCHORED, (Price.LOSS,)),
    ("heronpy/Bolt", Misuse.TICK_TWICE, (Price.EXIT,)),
    ("heronpy/Bolt", Misuse.TICK_NEVER, None),
    ("heronpy/Bolt", Misuse.STDOUT, None),
    ("streamparse_2/Bolt", Misuse.PAYLOAD_OPAQUE, (Price.ERROR,)),
    ("streamparse_0/Bolt", Misuse.ANCHOR_ID, (Price.ERROR,)),
]


@pytest.mark.parametrize(("name", "misuse", "price"), PRICES)
def test_the_cost_of_a_misuse_matches_this_table(
    name: str, misuse: Misuse, price: tuple[Price, ...] | None
) -> None:
    assert role_named(name).discipline.prices.get(misuse) == price


def test_stdout_is_the_pipe_only_where_print_reaches_it() -> None:
    piped = {d.name for d in known() if any(role.discipline.stdout_is_pipe for role in d.roles)}
    assert piped == {"pystorm", "streamparse", "storm_py", "pyleus"}


def test_a_sliding_window_acks_on_expiry() -> None:
    late = [
        f"{d.name}/{r.name}" for d in known() for r in d.roles if r.discipline.completion is Moment.EXPIRY
    ]
    assert [name for name in late if "_java" not in name] == ["heronpy/SlidingWindowBolt"]
    assert [name for name in late if name.startswith(("storm_java/", "heron_java/"))] == [
        "heron_java/WindowedBolt",
        "heron_java/StatefulWindowedBolt",
        "storm_java/WindowedBolt",
        "storm_java/StatefulWindowedBolt",
    ]


def test_completions_are_advisory_only_in_heron() -> None:
    advisory = {d.name for d in known() if any(role.discipline.advisory for role in d.roles)}
    assert advisory == {"heronpy", "heron_java"}


def test_only_a_batching_bolt_needs_ticks() -> None:
    needing = {role.name for dialect in known() for role in dialect.roles if role.batch_ticks}
    assert needing == {"BatchingBolt"}


TICK_TESTS = [
    *((f"{dialect}/Bolt", "is_tick", "self") for dialect in (*PYSTORM_LIKE, "heronpy")),
    ("pyleus/Bolt", "is_tick", "pyleus.storm"),
    ("petrel/Bolt", "is_tick_tuple", "tuple"),
]


@pytest.mark.parametrize(("name", "verb", "on"), TICK_TESTS)
def test_code_can_ask_whether_a_tuple_is_a_tick(name: str, verb: str, on: str) -> None:
    verbs = (*role_named(name).verbs, *dialect_named(name.split("/", maxsplit=1)[0]).verbs)
    assert [(v.name, v.on) for v in verbs if v.kind is VerbKind.TICK_TEST] == [(verb, on)]


def test_the_component_of_a_pyleus_tuple_is_named_comp() -> None:
    assert dialect_named("pyleus").shape.component == "comp"
    assert dict(dialect_named("pyleus").shape.ticks)["comp"] == "__system"

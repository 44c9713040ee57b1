"""One line of a worker log with `topology.debug`: its layout, and what it tells (reference acker 6a).

Everything is anchored from the left, since a user's values stand at the right and may hold anything: commas,
braces, `id: {1=2}`, line feeds.  What comes after a line feed has no stamp and is the continuation of its line.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind

__all__ = [
    "CONTINUED",
    "FOREIGN",
    "QUARANTINED",
    "STAMPED",
    "USED",
    "claims",
    "line_kind",
    "message_id",
    "parsed",
]

USED, CONTINUED, FOREIGN, QUARANTINED = "used", "continued", "foreign", "quarantined"

# worker.xml since 1.0.3 has the thread, 0.10 to 1.0.2 has none, 0.9 stamps with a T and a zone, or whole seconds only
_STAMP = r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^ ]*) [^ ]+ "
_THREAD = r"(?:([^\[]{1,200}(?:\[(?!INFO\])[^\[]{0,80}){0,3}) )?\[INFO\] "
# a LocalCluster's default: milliseconds since its start
_LOCAL = r"(\d+) +\[([^\[]{1,200}?(?:\[[^\[]{0,80}?){0,3}?)\] INFO +[^ ]+ - "
_PREFIX = rf"(?s)^(?:{_STAMP}{_THREAD}|{_LOCAL})"
# any line that Storm has stamped, of whatever level and logger; RE2, Java and Python agree on it
STAMPED = r"^(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^ ]* [^ ]+ .*\[(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\]|\d+ +\[.*\] (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) +[^ ]+ - )"

_VERB = r"(Processing received|BOLT ack|BOLT fail|TRANSFER)[A-Z]* ?(?:tuple|message)? ?"
_TASK = r"(?:\[dest: (-?\d+) tuple: |(?:FOR|TASK:) (-?\d*) ?)?(?:TIME: [^ ]* ?)?(?:TUPLE: )?"
_TUPLE = r"source: (.*?):(-?\d+), stream: ([^ ,]+), id: \{([^}]*)\}, "
_LONGS = r"(?:\[(-?\d+)(?:,? (-?\d+)(?:,? (-?\d+))?)?\])?"
_SPOUT = r"SPOUT (Acking message|Failing) (-?\d+) ?:? ?(.*)$"
_TELLS = rf"{_PREFIX}(?:{_VERB}{_TASK}{_TUPLE}{_LONGS}.*|{_SPOUT})"
_FIELDS = (
    "stamp", "thread", "ms", "local", "verb", "dest", "for_task", "source", "source_task", "stream", "ids",
    "first", "second", "third", "spout", "root", "tail",
)  # fmt: skip
_CLAIMS = rf"{_PREFIX}(?:Processing received |BOLT (?:ack|fail) TASK: |TRANSFER+ING tuple |SPOUT (?:Acking|Failing) )"
_PHRASES = ("Processing received ", "BOLT ", "TRANSFER", "SPOUT ")
_BETWEEN = "\u0001"

_EXECUTOR = r"-(?:executor)?\[(-?\d+),? (-?\d+)\]$"
_NAMED = r"^Thread-\d+-(.*?)(?:-executor\[[^\]]*\])?$"
_REASON = r"REASON: (TIMEOUT|FAIL-STREAM)(?: MSG-ID: .*)?\s*$"
_MESSAGE_ID = r"(?s)^TupleInfo\[taskId=-?\d+,messageId=(.*?),stream=|MSG-ID: (.*)$"
_TUPLE_INFO = r"^TupleInfo\[taskId=(-?\d+),"
_AT_END = r" for TASK: (-?\d+) ?$"

_MESSAGES = {
    "__ack_init": EventKind.INIT,
    "__ack_ack": EventKind.ACK,
    "__ack_fail": EventKind.FAIL,
    "__ack_reset_timeout": EventKind.RESET,
}
_OTHERS = {"BOLT ack": EventKind.ACKED, "BOLT fail": EventKind.FAILED, "TRANSFER": EventKind.EMITTED}


def parsed(lines: DataFrame, *carried: str) -> DataFrame:
    """TOLD: lines taken to pieces; `kind` is null where one tells nothing, or nothing new.

    `fault` says why a line cannot be used.  `carried` columns of LINES are handed on as they are.
    """
    replaced = _BETWEEN.join(f"${n + 1}" for n in range(len(_FIELDS)))
    pieces = F.split(F.regexp_replace("text", _TELLS, replaced), _BETWEEN, len(_FIELDS))
    split = lines.select(*carried, "text", F.when(claims(), pieces).alias("p"))
    whole = F.coalesce(F.size("p") == len(_FIELDS), F.lit(False))
    fields = split.select(
        *carried,
        "text",
        whole.alias("whole"),
        *(F.when(whole, F.col("p")[n]).otherwise("").alias(name) for n, name in enumerate(_FIELDS)),
    )
    named = fields.select(
        *carried,
        *("text", "whole", "stamp", "ms", "verb", "source", "source_task", "stream", "ids"),
        *("first", "second", "third", "spout", "root", "tail"),
        F.concat("thread", "local").alias("thread"),
        F.concat("dest", "for_task").alias("for_task"),
        F.regexp_extract(F.concat("thread", "local"), _EXECUTOR, 1).alias("low"),
        F.regexp_extract(F.concat("thread", "local"), _EXECUTOR, 2).alias("high"),
        F.regexp_extract(F.concat("thread", "local"), _NAMED, 1).alias("component"),
    )
    return _judged(named, carried)


def _judged(named: DataFrame, carried: tuple[str, ...]) -> DataFrame:
    typed = named.select(
        *carried,
        *("text", "whole", "thread", "component", "source", "stream", "ids", "tail", "spout"),
        _kind().alias("kind"),
        _time_ns().alias("time_ns"),
        F.expr("try_cast(nullif(source_task, '') as int)").alias("source_task"),
        F.expr("try_cast(nullif(low, '') as int)").alias("low"),
        F.expr("try_cast(nullif(high, '') as int)").alias("high"),
        _task().alias("task"),
        F.expr(
            "try_cast(nullif(if(spout != '', root, if(startswith(stream, '__ack_'), first, '')), '') as bigint)"
        ).alias("root"),
        F.expr("try_cast(nullif(if(startswith(stream, '__ack_'), second, ''), '') as bigint)").alias("value"),
        F.expr("try_cast(nullif(third, '') as int)").alias("spout_task"),
    )
    return typed.select(*typed.columns, _fault().alias("fault"))


def _kind() -> Column:
    """A number of EventKind, or null."""
    stream = F.col("stream")
    received = F.col("verb") == "Processing received"
    to_acker = received & stream.startswith("__ack_") & (F.col("source") != "__acker")
    kind = F.when(stream.startswith("__"), F.lit(None)).when(received, int(EventKind.RECEIVED))
    for verb, each in _OTHERS.items():
        kind = kind.when(F.col("verb") == verb, int(each))
    message = F.lit(None)
    for name, each in _MESSAGES.items():
        message = F.when(stream == name, int(each)).otherwise(message)
    tick = received & (stream == "__tick") & F.col("component").eqNullSafe("__acker")
    reason = F.regexp_extract("tail", _REASON, 1)
    return (
        F.when(F.col("spout") == "Acking message", int(EventKind.COMPLETED))
        .when(
            F.col("spout") == "Failing",
            F.when(reason == "FAIL-STREAM", int(EventKind.GAVE_UP)).otherwise(int(EventKind.TIMED_OUT)),
        )
        .when(to_acker, message)
        .when(tick, int(EventKind.ROTATED))
        .otherwise(kind)
        .cast("tinyint")
    )


def _time_ns() -> Column:
    """Of the line's stamp, taken as UTC where it names no zone; null if that is no time."""
    stamp = F.expr(
        "unix_micros(try_cast(regexp_replace(nullif(stamp, ''), '[+]0000$', 'Z') as timestamp)) * 1000"
    )
    return F.coalesce(stamp, F.expr("try_cast(nullif(ms, '') as bigint) * 1000000"))


def _task() -> Column:
    """Whose line it is: told before the tuple, by the thread, or since 2.3 at the very end."""
    one = F.expr("try_cast(nullif(if(low = high, low, ''), '') as int)")
    last = F.when(
        F.col("verb") == "Processing received", F.regexp_extract("text", _AT_END, 1).try_cast("int")
    )
    told = F.expr("try_cast(nullif(for_task, '') as int)")
    spout = F.regexp_extract("tail", _TUPLE_INFO, 1).try_cast("int")
    return F.coalesce(told, one, F.when(F.col("spout") == "", last).otherwise(spout))


def _fault() -> Column:
    """Why the line cannot be used: it was cut off, or holds what no Storm writes."""
    kind = F.col("kind")
    message = kind.isin(*map(int, _MESSAGES.values()))
    valued = kind.isin(int(EventKind.INIT), int(EventKind.ACK))
    links = F.split(F.when(F.col("ids") == "", None).otherwise(F.col("ids")), ", ")
    wrong = F.exists(links, lambda link: ~link.rlike(r"^-?\d{1,19}=-?\d{1,19}$"))
    lost = (F.col("spout") == "Failing") & (F.regexp_extract("tail", _REASON, 1) == "")
    unknown = ~F.col("whole") & F.col("text").rlike(_CLAIMS)
    return (
        F.when(unknown, "the line is cut off, or no version of Storm writes it so")
        .when(kind.isNull(), F.lit(None))
        .when(F.col("time_ns").isNull(), "its stamp is no time")
        .when(
            (message | (F.col("spout") != "")) & F.col("root").isNull()
            | valued & F.col("value").isNull()
            | F.coalesce(wrong, F.lit(False)),
            "a root or value is no 64-bit integer",
        )
        .when(lost, "a spout's fail without its reason, which stands on another line")
    )


def claims() -> Column:
    """Whether a line may tell of a tuple: a cheap question before the dear one."""
    return _or(*(F.col("text").contains(phrase) for phrase in _PHRASES))


def message_id() -> Column:
    """The spout's own message id, of a line about a root."""
    return F.when(F.col("spout") == "Acking message", F.col("tail")).otherwise(
        F.concat(F.regexp_extract("tail", _MESSAGE_ID, 1), F.regexp_extract("tail", _MESSAGE_ID, 2))
    )


def line_kind(kind: Column, fault: Column, text: Column) -> Column:
    """USED, CONTINUED, FOREIGN or QUARANTINED."""
    return (
        F.when(fault.isNotNull(), QUARANTINED)
        .when(kind.isNotNull(), USED)
        .when(text.rlike(STAMPED), FOREIGN)
        .otherwise(CONTINUED)
    )


def _or(first: Column, *others: Column) -> Column:
    for other in others:
        first = first | other
    return first

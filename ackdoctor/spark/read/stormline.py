r"""One line of a worker log with `topology.debug`: its layout, and what it tells (reference acker 6a).

Everything is anchored from the left, since a user's values stand at the right and may hold anything: commas,
braces, `id: {1=2}`, line feeds.  What comes after a line feed has no stamp and is the continuation of its line.

Java's regular expressions go back and try again, so nothing in here may be tried twice: what is read is not
given back, `(?>...)` (`*+` says so too, but takes its characters one by one).  Two questions are cheap and come
first: does the line tell of a tuple (`_TELLING`),
and is it stamped.  Only what passes the first, a third of a log, is taken to pieces (`_TELLS`).
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import RELIABLE, EventKind

__all__ = ["CONTINUED", "FOREIGN", "LOADS", "LOG_LINE", "QUARANTINED", "TIMELESS", "USED", "told"]

USED, CONTINUED, FOREIGN, QUARANTINED = "used", "continued", "foreign", "quarantined"

LOADS = r"Loading executor (?:tasks )?(.+):\[(-?\d+),? (-?\d+)\]"
TIMELESS = r"Timeouts disabled for executor (__acker):\[(-?\d+),? (-?\d+)\]"

_LEVELS = "TRACE|DEBUG|INFO|WARN|ERROR|FATAL"
# a line that begins with a stamp; and one that shows that the file is a log of Storm's
_STAMPED = r"^(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|\d+ +\[)"
LOG_LINE = rf"^(?:\d{{4}}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^ ]* [^ ]+ .*\[(?:{_LEVELS})\]|\d+ +\[.*\] (?:{_LEVELS}) +[^ ]+ - )"

# worker.xml since 1.0.3 has the thread, 0.10 to 1.0.2 has none, 0.9 stamps with a T and a zone, or whole seconds only;
# a LocalCluster's default is milliseconds since its start
_STAMP = r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^ ]*) [^ ]+ |(\d+) +\["
_EXECUTOR = r"Thread-\d+-(?:([^\[\]]*?)-(?:executor)?\[(-?\d+),? (-?\d+)\]|([^\[\]]*?))"
_OTHER = rf"((?:(?!\[(?:{_LEVELS})\]).){{0,300}}?)"
_PREFIX = rf"^(?>(?:{_STAMP})(?:{_EXECUTOR}|{_OTHER})(?: ?\[INFO\] |\] INFO +[^ ]+ - ))"

_VERB = r"(Processing received|BOLT ack|BOLT fail|TRANSFER)[A-Z]* ?(?:tuple|message)? ?"
_TASK = r"(?:\[dest: (-?\d+) tuple: |(?:FOR|TASK:) (-?\d*) ?)?(?:TIME: [^ ]* ?)?(?:TUPLE: )?"
_TUPLE = r"source: (.*?):(-?\d+), stream: ([^ ,]+), id: \{([^}]*)\}, "
_LONGS = r"(?:\[(-?\d+)(?:,? (-?\d+)(?:,? (-?\d+))?)?\])?"
_SPOUT = r"SPOUT (Acking message|Failing) (-?\d+) ?:? ?(.*)$"
_TELLS = rf"(?s){_PREFIX}(?:{_VERB}{_TASK}{_TUPLE}{_LONGS}.*|{_SPOUT})"
_FIELDS = {  # the groups of each, of which one is empty
    "stamp": (1,), "ms": (2,), "component": (3, 6), "low": (4,), "high": (5,), "thread": (7,),
    "verb": (8,), "for_task": (9, 10), "source": (11,), "source_task": (12,), "stream": (13,), "ids": (14,),
    "first": (15, 19), "second": (16,), "third": (17,), "spout": (18,), "tail": (20,),
}  # fmt: skip
_BETWEEN = "\u0001"

# A tuple handed on to an acker is told by the acker that takes it; so is what a bolt does with system streams.
_STREAM = r"(?>[^,]*(?:,(?! stream: )[^,]*)*), stream: "
_TO_SPOUT = r"\S* ?(?:FOR \S+ TUPLE: )?source: __acker:"
_TELLING = (
    rf"(?s)^(?>(?:\d{{4}}-\d\d-\d\d[^\[]*(?:\[(?!(?:{_LEVELS})\])[^\[]*)*\[INFO\] "
    rf"|\d+ +\[[^\]]*(?:\](?! (?:{_LEVELS}) )[^\]]*)*\] INFO +[^ ]+ - ))"
    rf"(?:Processing received (?!{_STREAM}__(?!ack_|tick))(?!{_TO_SPOUT})"
    rf"|(?:BOLT (?:ack|fail) TASK: |TRANSFER+ING tuple )(?!{_STREAM}__)"
    r"|SPOUT (?:Acking|Failing) |Loading executor |Timeouts disabled for executor __acker)"
)
_STARTS = r"^[^\n]*?\[?INFO[^\n]*? (?:Loading executor |Timeouts disabled for )"

_REASON = r"REASON: (TIMEOUT|FAIL-STREAM)(?: MSG-ID: .*)?\s*$"
_MESSAGE_ID = r"(?s)^TupleInfo\[taskId=-?\d+,messageId=(.*?),stream=|MSG-ID: (.*)$"
_TUPLE_INFO = r"^TupleInfo\[taskId=(-?\d+),"
_AT_END = r" for TASK: (-?\d+) ?$"
_MOST = str((1 << 63) - 1)
_LONG = "-?(?:" + "|".join(
    (r"\d{1,18}(?!\d)", *(f"{_MOST[:at]}[0-{int(digit) - 1}]\\d{{{18 - at}}}" for at, digit in enumerate(_MOST) if digit != "0"),
     f"{_MOST[:-1]}[78]")
) + ")"  # fmt: skip
_LINKS = rf"^{_LONG}={_LONG}(?:, {_LONG}={_LONG})*$"
_LONGEST = 500  # characters of a line that is kept to be looked at

_RECEIVED, _EMITTED, _LINKED = int(EventKind.RECEIVED), int(EventKind.EMITTED), int(EventKind.LINKED)
_INIT, _ROTATED = int(EventKind.INIT), int(EventKind.ROTATED)
_MESSAGES = {
    "__ack_init": EventKind.INIT,
    "__ack_ack": EventKind.ACK,
    "__ack_fail": EventKind.FAIL,
    "__ack_reset_timeout": EventKind.RESET,
}
_OTHERS = {
    "Processing received": EventKind.RECEIVED,
    "BOLT ack": EventKind.ACKED,
    "BOLT fail": EventKind.FAILED,
    "TRANSFER": EventKind.EMITTED,
}
_ANSWERS = (int(EventKind.COMPLETED), int(EventKind.GAVE_UP), int(EventKind.TIMED_OUT))
_OF_ROOT = tuple(map(int, _MESSAGES.values()))
_TO_ACKER = (*_OF_ROOT, _ROTATED)
_FROM_SENDER = (*_OF_ROOT, _EMITTED)


def told(lines: DataFrame) -> DataFrame:
    """TOLD: a row for every line, more for a tuple with several roots; `first` is the first row of its line.

    `is` says what became of the line; only a USED one has the other columns, which are those of EVENTS, and
    `text` stands where somebody must look at it: in quarantine, or at an executor's start.
    """
    return _rows(_judged(_typed(_pieces(lines))))


def _pieces(lines: DataFrame) -> DataFrame:
    """`p` is null where a line tells nothing, and has one piece where it claims to and cannot be read."""
    joined = _BETWEEN.join("".join(f"${group}" for group in groups) for groups in _FIELDS.values())
    pieces = F.split(F.regexp_replace("text", _TELLS, joined), _BETWEEN, len(_FIELDS))
    return lines.select(
        "file",
        _once("row"),
        "text",
        F.when(F.col("text").rlike(_TELLING), pieces).alias("p"),
    )


def _once(name: str) -> Column:
    """The column, said to be random.

    Else Spark moves a condition on what stands beside it below, and works that out for each time the condition names it.
    """
    return F.col(name).bitwiseOR(F.spark_partition_id().bitwiseAND(F.lit(0)).cast("long")).alias(name)


def _typed(pieces: DataFrame) -> DataFrame:
    def text(name: str) -> Column:
        return F.get("p", F.lit(list(_FIELDS).index(name)))

    def number(name: str, kind: str = "int") -> Column:
        return _number(text(name), kind)

    return pieces.select(
        *("file", "row", "text"),
        F.col("p").isNotNull().alias("claims"),
        (F.size("p") == len(_FIELDS)).alias("whole"),
        F.coalesce(
            F.expr("unix_micros(try_cast(nullif(p[0], '') as timestamp)) * 1000"),
            number("ms", "long") * 1_000_000,
        ).alias("time_ns"),
        *(
            text(name).alias(name)
            for name in ("component", "thread", "verb", "source", "stream", "ids", "spout", "tail")
        ),
        *(number(name).alias(name) for name in ("low", "high", "for_task", "source_task")),
        number("first", "long").alias("first_value"),
        number("second", "long").alias("second"),
        number("third").alias("third"),
    )


def _number(text: Column, kind: str) -> Column:
    """Null where it is none; what is empty is not tried, since Spark makes an exception of each that fails, stack and all."""
    return F.nullif(text, F.lit("")).try_cast(kind)


def _judged(typed: DataFrame) -> DataFrame:
    known = typed.select("*", _kind().alias("kind"))
    plain = [name for name in known.columns if name != "row"]
    return known.select(_once("row"), *plain, _task().alias("task"), _fault().alias("fault"))


def _kind() -> Column:
    """A number of EventKind, or null."""
    stream, verb, spout = F.col("stream"), F.col("verb"), F.col("spout")
    others = F.when(stream.startswith("__"), F.lit(None))
    for name, each in _OTHERS.items():
        others = others.when(verb == name, int(each))
    messages = F.lit(None)
    for name, each in _MESSAGES.items():
        messages = F.when(stream == name, int(each)).otherwise(messages)
    received = verb == "Processing received"
    gave_up = F.regexp_extract("tail", _REASON, 1) == "FAIL-STREAM"
    kind = (
        F.when(spout == "Acking message", int(EventKind.COMPLETED))
        .when(spout == "Failing", F.when(gave_up, int(EventKind.GAVE_UP)).otherwise(int(EventKind.TIMED_OUT)))
        .when(received & stream.startswith("__ack_") & (F.col("source") != "__acker"), messages)
        .when(received & (stream == "__tick") & (F.col("component") == "__acker"), _ROTATED)
        .otherwise(others)
    )
    return F.when(F.col("whole"), kind).cast("tinyint")


def _task() -> Column:
    """Whose line it is: told before the tuple, by the thread, or since 2.3 at the very end."""
    one = F.when(F.col("low") == F.col("high"), F.col("low"))
    last = F.when(F.col("kind") == _RECEIVED, _number(F.regexp_extract("text", _AT_END, 1), "int"))
    spout = F.when(F.col("kind").isin(*_ANSWERS), _number(F.regexp_extract("tail", _TUPLE_INFO, 1), "int"))
    return F.coalesce("for_task", one, last, spout)


def _fault() -> Column:
    """Why the line cannot be used: it was cut off, or holds what no Storm writes."""
    kind, claims = F.col("kind"), F.col("claims")
    start = F.col("text").rlike(_STARTS)
    rooted = kind.isin(*_OF_ROOT, *_ANSWERS)
    valued = kind.isin(_INIT, int(EventKind.ACK))
    linked = kind.isin(_RECEIVED, _EMITTED, int(EventKind.ACKED), int(EventKind.FAILED))
    wrong = linked & (F.col("ids") != "") & ~F.col("ids").rlike(_LINKS)
    lost = (F.col("spout") == "Failing") & (F.regexp_extract("tail", _REASON, 1) == "")
    return (
        F.when(~claims, F.lit(None))
        .when(
            ~F.col("whole"),
            F.when(~start, "the line is cut off, or no version of Storm writes it so"),
        )
        .when(kind.isNull(), F.lit(None))
        .when(F.col("time_ns").isNull(), "its stamp is no time")
        .when(
            rooted & F.col("first_value").isNull() | valued & F.col("second").isNull() | wrong,
            "a root or value is no 64-bit integer",
        )
        .when(lost, "a spout's fail without its reason, which stands on another line")
    )


def _rows(judged: DataFrame) -> DataFrame:
    """A row for the line, or one for each link of a tuple, for each task of a tick; RECEIVED has one more of its own.

    `part` says of what: "root=edge", a task, or nothing.  Lambdas would be shorter, and Spark compiles none of them.
    """
    kind, links, whole = F.col("kind"), F.split("ids", ", "), F.array(F.lit(""))
    anchored = F.col("fault").isNull() & (F.col("ids") != "")
    tasks = F.sequence("low", "high").cast("array<string>")
    parts = (
        F.when(anchored & (kind == _RECEIVED), F.concat(whole, links))
        .when(anchored & (kind == _EMITTED), links)
        .when((kind == _ROTATED) & (F.col("low") < F.col("high")), tasks)
        .otherwise(whole)
    )
    return _columns(judged.select("*", F.posexplode(parts).alias("nth", "part")))


def _columns(rows: DataFrame) -> DataFrame:
    kind, part = F.col("kind"), F.col("part")
    linked = part.contains("=")
    of_root = kind.isin(*_OF_ROOT)
    root = F.when(linked, F.substring_index(part, "=", 1).try_cast("long")).when(
        of_root | kind.isin(*_ANSWERS), F.col("first_value")
    )
    value = F.when(linked, F.substring_index(part, "=", -1).try_cast("long")).when(of_root, F.col("second"))
    ticked = F.when(kind == _ROTATED, _number(part, "int"))
    used = F.col("fault").isNull() & kind.isNotNull()
    of_sender, answer, to_acker = kind.isin(*_FROM_SENDER), kind.isin(*_ANSWERS), kind.isin(*_TO_ACKER)
    acker = F.when(to_acker, F.coalesce(ticked, F.when(F.col("task") >= 0, F.col("task")), F.col("low")))
    sender = F.when(kind == _INIT, F.col("third")).when(of_sender, F.col("source_task"))
    columns = {
        "kind": F.when(linked & (kind == _RECEIVED), _LINKED).otherwise(kind).cast("tinyint"),
        "time_ns": F.col("time_ns"),
        "component": F.when(of_sender, F.col("source")).otherwise(F.col("component")),
        "task": F.coalesce(sender, acker, F.col("task"), F.lit(0)),
        "stream": F.when(to_acker | answer, F.lit("")).otherwise(F.col("stream")),
        "delivery": F.when(answer, _message_id()).when(of_sender, F.lit("")).otherwise(F.col("ids")),
        "root": F.coalesce(root, F.lit(0).cast("long")),
        "value": F.coalesce(value, F.lit(0).cast("long")),
        "thread": F.col("thread"),
        "flags": F.when((kind == _EMITTED) & linked, RELIABLE).otherwise(0).cast("tinyint"),
        "acker": acker,
    }
    looked_at = F.col("fault").isNotNull() | (F.col("claims") & ~F.col("whole"))
    is_ = (
        F.when(F.col("fault").isNotNull(), QUARANTINED)
        .when(used, USED)
        .when(F.col("claims") | F.col("text").rlike(_STAMPED), FOREIGN)
        .otherwise(CONTINUED)
    )
    return rows.select(
        *("file", "row"),
        (F.col("nth") == 0).alias("first"),
        is_.alias("is"),
        "fault",
        F.when(looked_at, F.substring("text", 1, _LONGEST)).alias("text"),
        *(F.when(used, column).alias(name) for name, column in columns.items()),
    )


def _message_id() -> Column:
    """The spout's own message id, of a line about a root."""
    return F.when(F.col("spout") == "Acking message", F.col("tail")).otherwise(
        F.concat(F.regexp_extract("tail", _MESSAGE_ID, 1), F.regexp_extract("tail", _MESSAGE_ID, 2))
    )

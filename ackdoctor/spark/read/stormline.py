r"""One line of a worker log with `topology.debug`: its layout, and what it tells (reference acker 6a).

Everything is anchored from the left, since a user's values stand at the right and may hold anything: commas,
braces, `id: {1=2}`, line feeds.  What comes after a line feed has no stamp and is the continuation of its line.

Java's regular expressions go back and try again, so what is tried often is a class of characters, `[^:]*`, before it
is the shortest of anything, `.*?`, and what is read is not given back, `(?>...)`.  A literal at the very start of a
pattern is sought by leaps: so a line is first asked for `INFO` and what comes after it (`_HINT`), and only a third of
a log is then taken to pieces (`_TELLS`).  What is no whole line of Storm's then claims to be one or not (`_TELLING`).

Everything is kept small that Spark makes Java of: past some thousand bytes the JVM's compiler gives a method up, after
many seconds.  So a text is cast where its kind needs it, and a name is looked up in a table.
"""

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import RELIABLE, EventKind
from ackdoctor.tracer.disk.workerlog import LEVELS, LOADS, LOG_LINE

__all__ = ["CONTINUED", "FOREIGN", "LOADS", "LOG_LINE", "QUARANTINED", "TIMELESS", "USED", "told"]

USED, CONTINUED, FOREIGN, QUARANTINED = "used", "continued", "foreign", "quarantined"

TIMELESS = r"Timeouts disabled for executor (__acker):\[(-?\d+),? (-?\d+)\]"

# a line that begins with a stamp
_STAMPED = r"^(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|\d+ +\[)"

# worker.xml since 1.0.3 has the thread, 0.10 to 1.0.2 has none, 0.9 stamps with a T and a zone, or whole seconds only;
# a LocalCluster's default is milliseconds since its start
_STAMP = r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^ ]*) [^ ]+ |(\d+) +\["
_EXECUTOR = r"Thread-\d+-(?:([^\[\]]*)-(?:executor)?\[(?:(-?\d+),? \4|(-?\d+),? (-?\d+))\]|([^\[\]]*?))"
_OTHER = rf"((?:(?!\[(?:{LEVELS})\]).){{0,300}}?)"
_PREFIX = rf"^(?>(?:{_STAMP})(?:{_EXECUTOR}|{_OTHER})(?: ?\[INFO\] |\] INFO +[^ ]+ - ))"

_TO_SPOUT = r"\S* ?(?:FOR \S+ TUPLE: )?source: __acker:"  # an answer
_VERB = rf"(Processing received(?! {_TO_SPOUT})|BOLT ack|BOLT fail|TRANSFER)[A-Z]* ?(?:tuple|message)? ?"
_TASK = r"(?:\[dest: -?\d+ tuple: |(?:FOR|TASK:) (?:(\d+)|-\d*)? ?)?(?:TIME: [^ ]* ?)?(?:TUPLE: )?"
_TUPLE = r"source: ([^:]*|.*?):(-?\d+), stream: (?:(__[^ ,]+)|([^ ,]+)), id: \{([^}]*)\}, "
_LONGS = r"(?:\[(-?\d+)(?:,? (-?\d+)(?:,? (-?\d+))?)?\])?"
_SPOUT = r"SPOUT (Acking message|Failing) (-?\d+) ?:? ?(.*)$"
_TELLS = rf"(?s){_PREFIX}(?:{_VERB}{_TASK}{_TUPLE}{_LONGS}.*|{_SPOUT})"
_FIELDS = {  # the groups of each, of which one is empty; but `told` is a verb and the system's stream
    "stamp": (1,), "ms": (2,), "component": (3, 7), "one": (4,), "low": (5,), "high": (6,), "thread": (8,),
    "told": (9, 13, 19), "for_task": (10,), "source": (11,), "source_task": (12,), "stream": (14,), "ids": (15,),
    "first": (16, 20), "second": (17,), "third": (18,), "tail": (21,),
}  # fmt: skip
_BETWEEN = "\u0001"

# A tuple handed on to an acker is told by the acker that takes it; so is what a bolt does with system streams.
_STREAM = r"(?>[^,]*, stream: |[^,]*(?:,(?! stream: )[^,]*)*, stream: )"
_CLAIM = (
    rf"(?:Processing received (?!{_STREAM}__(?!ack_|tick))(?!{_TO_SPOUT})"
    rf"|(?:BOLT (?:ack|fail) TASK: |TRANSFER+ING tuple )(?!{_STREAM}__)"
    r"|SPOUT (?:Acking|Failing) |Loading executor |Timeouts disabled for executor __acker)"
)
_HINT = rf"INFO(?:\] | +[^ ]+ - ){_CLAIM}"
_TELLING = (
    rf"(?s)^(?>(?:\d{{4}}-\d\d-\d\d[^\[]*(?:\[(?!(?:{LEVELS})\])[^\[]*)*\[INFO\] "
    rf"|\d+ +\[[^\]]*(?:\](?! (?:{LEVELS}) )[^\]]*)*\] INFO +[^ ]+ - )){_CLAIM}"
)
_STARTS = r"^[^\n]*?\[?INFO[^\n]*? (?:Loading executor |Timeouts disabled for )"

_REASON = r"REASON: (TIMEOUT|FAIL-STREAM)(?: MSG-ID: .*)?\s*$"
_MESSAGE_ID = r"(?s)^TupleInfo\[taskId=-?\d+,messageId=(.*?),stream=|MSG-ID: (.*)$"
_TUPLE_INFO = r"^TupleInfo\[taskId=(-?\d+),"
_AT_END = r" for TASK: (-?\d+) ?$"
_MOST = str((1 << 63) - 1)
_LONG = "-?(?:" + "|".join(  # most have 19 digits, and begin below nine
    (r"[0-8]\d{18}", r"\d{1,18}(?!\d)", *(f"{_MOST[:at]}[0-{int(digit) - 1}]\\d{{{18 - at}}}" for at, digit in enumerate(_MOST) if at and digit != "0"),
     f"{_MOST[:-1]}[78]")
) + ")"  # fmt: skip
_LINKS = rf"^{_LONG}={_LONG}(?:, {_LONG}={_LONG})*$"
_LONGEST = 500  # characters of a line that is kept to be looked at

_RECEIVED, _EMITTED, _LINKED = int(EventKind.RECEIVED), int(EventKind.EMITTED), int(EventKind.LINKED)
_INIT, _ROTATED = int(EventKind.INIT), int(EventKind.ROTATED)
_UNREASONED = 24  # of no EventKind: a spout's fail, and not why
_KINDS = {  # by what `told` and the reason of a spout's fail say
    "Processing received__ack_init": EventKind.INIT,
    "Processing received__ack_ack": EventKind.ACK,
    "Processing received__ack_fail": EventKind.FAIL,
    "Processing received__ack_reset_timeout": EventKind.RESET,
    "Processing received__tick": EventKind.ROTATED,
    "Processing received": EventKind.RECEIVED,
    "BOLT ack": EventKind.ACKED,
    "BOLT fail": EventKind.FAILED,
    "TRANSFER": EventKind.EMITTED,
    "Acking message": EventKind.COMPLETED,
    "FailingFAIL-STREAM": EventKind.GAVE_UP,
    "FailingTIMEOUT": EventKind.TIMED_OUT,
    "Failing": _UNREASONED,
}
_OF_TUPLE = (_RECEIVED, _EMITTED, int(EventKind.ACKED), int(EventKind.FAILED))
_ANSWERS = (int(EventKind.COMPLETED), int(EventKind.GAVE_UP), int(EventKind.TIMED_OUT), _UNREASONED)
_VALUED = (_INIT, int(EventKind.ACK))
_OF_ROOT = (*_VALUED, int(EventKind.FAIL), int(EventKind.RESET))
_TO_ACKER = (*_OF_ROOT, _ROTATED)
_FROM_SENDER = (*_OF_ROOT, _EMITTED)


def told(lines: DataFrame) -> DataFrame:
    """TOLD: a row for every line, more for a tuple with several roots; `first` is the first row of its line.

    `is` says what became of the line; only a USED one has the other columns, which are those of EVENTS, and
    `text` stands where somebody must look at it: in quarantine, or at an executor's start.
    """
    return _rows(_judged(_understood(_pieces(lines))))


def _pieces(lines: DataFrame) -> DataFrame:
    """`p` is null where a line tells nothing, and has one piece where it cannot be read."""
    joined = _BETWEEN.join("".join(f"${group}" for group in groups) for groups in _FIELDS.values())
    pieces = F.split(F.regexp_replace("text", _TELLS, joined), _BETWEEN, len(_FIELDS))
    return lines.select(
        "file",
        _once("row"),
        "text",
        F.when(F.col("text").rlike(_HINT), pieces).alias("p"),
    )


def _once(name: str) -> Column:
    """The column, said to be random.

    Else Spark moves a condition on what stands beside it below, and works that out for each time the condition names it.
    """
    return F.col(name).bitwiseOR(F.spark_partition_id().bitwiseAND(F.lit(0)).cast("long")).alias(name)


def _piece(name: str) -> Column:
    return F.get("p", F.lit(list(_FIELDS).index(name)))


def _number(text: Column, kind: str = "int") -> Column:
    """Null where it is none.  To be asked of digits only: Spark makes an exception of each that fails, stack and all."""
    return text.try_cast(kind)


def _understood(pieces: DataFrame) -> DataFrame:
    """What kind of row a line is, 0 if none; and whether it claims to be one."""
    whole = F.coalesce(F.size("p"), F.lit(0)) == len(_FIELDS)
    reason = F.when(_piece("told") == "Failing", F.regexp_extract(_piece("tail"), _REASON, 1))
    reason = F.coalesce(reason, F.lit(""))
    return pieces.select(
        "file",
        _once("row"),
        *("text", "p"),
        whole.alias("whole"),
        (F.col("p").isNotNull() & (whole | F.col("text").rlike(_TELLING))).alias("claims"),
        F.when(whole, _kind(F.concat(_piece("told"), reason))).otherwise(0).alias("kind"),
    )


def _kind(name: Column) -> Column:
    """A number of EventKind, or 0; a tick is told to every bolt, and counts for an acker."""
    names = F.create_map(*(F.lit(each) for pair in _KINDS.items() for each in pair))
    idle = _piece("told").endswith("__tick") & (_piece("component") != "__acker")
    return F.when(~idle, F.coalesce(F.try_element_at(names, name), F.lit(0))).otherwise(0)


def _among(kinds: Iterable[int]) -> Column:
    """Whether the line is one of these: a bit for each kind, since a list is long code."""
    return F.expr(f"(shiftright({sum(1 << kind for kind in kinds)}, kind) & 1) = 1")


def _judged(understood: DataFrame) -> DataFrame:
    """The columns of EVENTS as far as the line as a whole tells them, and why it cannot be used, if so."""
    kind, own = F.col("kind"), _piece("for_task")
    of_root, of_sender, answer = _among(_OF_ROOT), _among(_FROM_SENDER), _among(_ANSWERS)
    own = F.when(own != "", own).otherwise(_piece("one"))
    sender = F.when((kind == _INIT) & (_piece("third") != ""), _piece("third")).otherwise(
        _piece("source_task")
    )
    known = understood.select(
        _once("row"),
        *("file", "text", "whole", "claims", "kind"),
        F.when(kind != 0, _time_ns()).alias("time_ns"),
        F.when(of_sender, _piece("source")).otherwise(_piece("component")).alias("component"),
        F.when(of_sender, sender).when(own != "", own).otherwise(_late_task()).alias("whose"),
        F.when(own != "", own).otherwise(_piece("low")).alias("acker"),
        *(_piece(name).alias(name) for name in ("low", "high", "stream", "thread")),
        F.coalesce(F.when(answer, _message_id()).otherwise(_piece("ids")), F.lit("")).alias("delivery"),
        F.when(of_root | answer, _number(_piece("first"), "long")).alias("root"),
        F.when(of_root & (_piece("second") != ""), _number(_piece("second"), "long")).alias("value"),
    )
    plain = [name for name in known.columns if name != "row"]
    return _sorted_out(known.select(_once("row"), *plain, _fault().alias("fault")))


def _sorted_out(known: DataFrame) -> DataFrame:
    """What becomes of the line; its text goes no further unless somebody must look at it."""
    kind, fault, claims = F.col("kind"), F.col("fault"), F.col("claims")
    is_ = (
        F.when(fault.isNotNull(), QUARANTINED)
        .when(kind != 0, USED)
        .when(claims | F.col("text").rlike(_STAMPED), FOREIGN)
        .otherwise(CONTINUED)
    )
    looked_at = fault.isNotNull() | (claims & ~F.col("whole"))
    columns = {
        "text": F.when(looked_at, F.substring("text", 1, _LONGEST)),
        "kind": F.when(fault.isNull(), kind).otherwise(0),
    }
    names = [name for name in known.columns if name not in {"whole", "claims"}]
    return known.select(
        *(columns[name].alias(name) if name in columns else name for name in names), is_.alias("is")
    )


def _time_ns() -> Column:
    stamped = F.unix_micros(_piece("stamp").try_cast("timestamp")) * 1000
    return F.when(_piece("stamp") != "", stamped).otherwise(_number(_piece("ms"), "long") * 1_000_000)


def _late_task() -> Column:
    """Whose line it is, where neither its beginning nor the thread tells: since 2.3 at the very end."""
    last = F.when(F.col("kind") == _RECEIVED, F.regexp_extract("text", _AT_END, 1))
    return last.when(_among(_ANSWERS), F.regexp_extract(_piece("tail"), _TUPLE_INFO, 1))


def _message_id() -> Column:
    """The spout's own message id, of a line about a root."""
    tail = _piece("tail")
    return F.when(_piece("told") == "Acking message", tail).otherwise(
        F.concat(F.regexp_extract(tail, _MESSAGE_ID, 1), F.regexp_extract(tail, _MESSAGE_ID, 2))
    )


def _fault() -> Column:
    """Why the line cannot be used: it was cut off, or holds what no Storm writes."""
    kind, ids = F.col("kind"), F.col("delivery")
    wrong = _among(_OF_TUPLE) & (ids != "") & ~ids.rlike(_LINKS)
    rootless = _among((*_OF_ROOT, *_ANSWERS)) & F.col("root").isNull()
    cut = F.col("claims") & ~F.col("whole") & ~F.col("text").rlike(_STARTS)
    return (
        F.when(cut, "the line is cut off, or no version of Storm writes it so")
        .when(kind == 0, F.lit(None))
        .when(F.col("time_ns").isNull(), "its stamp is no time")
        .when(
            rootless | _among(_VALUED) & F.col("value").isNull() | wrong,
            "a root or value is no 64-bit integer",
        )
        .when(kind == _UNREASONED, "a spout's fail without its reason, which stands on another line")
    )


def _rows(judged: DataFrame) -> DataFrame:
    """A row for the line, or one for each link of a tuple, for each task of a tick; RECEIVED has one more of its own.

    `part` says of what: "root=edge", a task, or nothing.  Lambdas would be shorter, and Spark compiles none of them.
    """
    kind, links, whole = F.col("kind"), F.split("delivery", ", "), F.array(F.lit(""))
    tasks = F.sequence(_number(F.col("low")), _number(F.col("high"))).cast("array<string>")
    parts = (
        F.when((kind == _RECEIVED) & (F.col("delivery") != ""), F.concat(whole, links))
        .when((kind == _EMITTED) & (F.col("delivery") != ""), links)
        .when((kind == _ROTATED) & (F.col("low") != ""), tasks)
        .otherwise(whole)
    )
    return _columns(judged.select("*", F.posexplode(parts).alias("nth", "part")))


def _columns(rows: DataFrame) -> DataFrame:
    kind, part = F.col("kind"), F.col("part")
    linked, ticked = part.contains("="), kind == _ROTATED
    acker = F.when(ticked & (part != ""), part).otherwise(F.col("acker"))
    task = F.when(ticked, acker).otherwise(F.col("whose"))
    root = F.when(linked, _number(F.substring_index(part, "=", 1), "long")).otherwise(F.col("root"))
    value = F.when(linked, _number(F.substring_index(part, "=", -1), "long")).otherwise(F.col("value"))
    columns = {
        "kind": F.when(linked & (kind == _RECEIVED), _LINKED).otherwise(kind).cast("tinyint"),
        "time_ns": F.col("time_ns"),
        "component": F.col("component"),
        "task": F.coalesce(F.when(task != "", _number(task)), F.lit(0)),
        "stream": F.col("stream"),
        "delivery": F.when(_among(_FROM_SENDER), F.lit("")).otherwise(F.col("delivery")),
        "root": F.coalesce(root, F.lit(0).cast("long")),
        "value": F.coalesce(value, F.lit(0).cast("long")),
        "thread": F.col("thread"),
        "flags": F.when((kind == _EMITTED) & linked, RELIABLE).otherwise(0).cast("tinyint"),
        "acker": F.when(_among(_TO_ACKER) & (acker != ""), _number(acker)),
    }
    return rows.select(
        *("file", "row", "is", "fault", "text"),
        (F.col("nth") == 0).alias("first"),
        *(F.when(kind != 0, column).alias(name) for name, column in columns.items()),
    )

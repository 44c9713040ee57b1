r"""One line of a worker log with `topology.debug`: its layout, and what it tells.

Everything is anchored from the left, since a user's values stand at the right and may hold anything: commas,
braces, `id: {1=2}`, line feeds.  What comes after a line feed has no stamp and is the continuation of its line.

Java's regular expressions go back and try again, so what is tried often is all but one character, `[^:]*`, before it
is the shortest of anything, `.*?`, and what is read is not given back, `(?>...)`.  A literal at the very start of a
pattern is sought by leaps: so a line is first asked for `[INFO] ` and what comes after it (`_HINT`), and only a third of
a log is then taken to pieces (`_TELLS`).  What is no whole line of Storm's then claims to be one or not (`_TELLING`).

Everything is kept small that Spark makes Java of, since the JVM compiles no method of more than 8,000 bytes (a test
holds it to that).  So a text is cast where its kind needs it, and a name is looked up in a table.  Where a place in a text is
known it is asked for in bytes: for characters Spark first goes over the whole text, a microsecond a line.
"""

from collections.abc import Iterable

from pyspark.sql import DataFrame

from ackdoctor.model.event import RELIABLE, EventKind
from ackdoctor.tracer.trace.worker_log import (
    LEVELS,
    LOADS,
    LOG_LINE,
    OTHER_BEGIN,
    OTHER_LAYOUT,
    PUT_BEFORE,
    REORDERED,
)

__all__ = [
    "CONFIGURED",
    "CONTINUED",
    "DROPPED",
    "DROPS",
    "FOREIGN",
    "LOADS",
    "LOG_LINE",
    "QUARANTINED",
    "TIMELESS",
    "TIMEOUT",
    "USED",
    "asked",
    "reason",
    "told",
]

USED, CONTINUED, FOREIGN, QUARANTINED = 0, 1, 2, 3  # what became of a line

# what a worker's connection to another says when it gives messages up, in Client.java of 0.9 to 2.8
DROPPED = "contains(text, ' message') and (contains(text, 'ropping ') or contains(text, 'ailed to send ') or contains(text, 'iscarding '))"
DROPS = r"(?:[Dd]ropping|[Ff]ailed to send|[Dd]iscarding) (\d+) message"
TIMELESS = r"Timeouts disabled for executor (__acker):\[(-?\d+),? (-?\d+)\]"
# the topology's own settings, which a worker dumps when it starts: a Clojure map, a Java map or JSON
CONFIGURED = "Worker has topology config "
TIMEOUT = r"topology\.message\.timeout\.secs[^\d,]{1,6}(\d+)"

# a line that begins with a stamp
_STAMP_FIRST = r"^(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|\d+ +\[)"

# worker.xml since 1.0.3 has the thread, 0.10 to 1.0.2 has none, 0.9 stamps with a T and a zone, or whole seconds only;
# a LocalCluster's default is milliseconds since its start
_STAMP = r"(\d{4}-.{5}[ T][^ ]*(?: [+-]\d\d:?\d\d)?) (?:[A-Z]{2,5} )?[^ ]+ |(\d+) +\["
_EXECUTOR = (
    r"Thread-[^-]*-([^\[]*(?:\[(?!-?\d+,? -?\d+\][ \]])[^\[]*)*)\[(-?\d+),? (-?\d+)\]|Thread-\d+-([^\[\]]*?)"
)
_OTHER = rf"((?:(?!\[(?:{LEVELS})\]).){{0,300}}?)"
_PREFIX = rf"^(?>(?:{_STAMP})(?:{_EXECUTOR}|{_OTHER})(?: ?\[INFO\] |\] INFO +[^ ]+ - ))"

_VERB = r"(Processing received|BOLT ack|BOLT fail|TRANSFER)[A-Z]* ?(?:tuple|message)? ?"
_TASK = r"(?:\[dest: (-?\d+) tuple: |(?:FOR|TASK:) (?:(\d+)|-\d*)? ?)?(?:TIME: [^ ]* ?)?(?:TUPLE: )?"
_SOURCE = (
    r"(?>source: ([^:]*|.*?):(-?\d+), stream: (?=[^,]+, id: \{))"  # and not a later one, in a user's values
)
_LONGS = r"(?:\[(-?\d+)(?:,? (-?\d+)(?:,? (-?\d+))?)?\])?"
_OF_SYSTEM = rf"(__[^,]+), id: \{{[^}}]*\}}, {_LONGS}"
_OF_USER = r"(?!__)([^,]+), id: \{(?:(-?\d+)=(-?\d+)(, [^}]*)?)?\}, "
_SENDING = r"Emitting: [^\[]+ __ack_(?:init|ack|fail) \["  # before 0.10 an ack leaves no other trace
_SPOUT = r"SPOUT (Acking message|Failing) (-?\d+) ?:? ?(.*)$"
_SENDS = rf"(Emitting): ([^\[]+) (__ack_[a-z]+) {_LONGS} *$"
_TELLS = rf"(?s){_PREFIX}(?:{_VERB}{_TASK}{_SOURCE}(?:{_OF_SYSTEM}|{_OF_USER})|{_SPOUT}|{_SENDS})"
_FIELDS = {  # the groups of each, of which one has something; but `told` is a verb and the system's stream
    "stamp": (1, 2), "component": (3, 6), "low": (4,), "high": (5,), "thread": (7,), "told": (8, 13, 21, 24, 26),
    "to_task": (9,), "for_task": (10,), "source": (11, 25), "source_task": (12,), "stream": (17, 26),
    "first": (14, 18, 22, 27), "second": (15, 19, 28), "rest": (16, 20, 23, 29),
}  # fmt: skip
_BETWEEN = "\u0001"

# A tuple handed on to an acker is told by the acker that takes it; so is what a bolt does with system streams.
_TO_SPOUT = r"\S* ?(?:FOR \S+ TUPLE: )?source: __acker:"  # an answer
_STREAM = r"(?>[^,]*, stream: |[^,]*(?:,(?! stream: )[^,]*)*, stream: )"
_CLAIM = (
    rf"(?:Processing received (?!{_STREAM}__(?!ack_|tick))(?!{_TO_SPOUT})"
    rf"|(?:BOLT (?:ack|fail) TASK: |TRANSFER+ING tuple )(?!{_STREAM}__)"
    rf"|SPOUT (?:Acking|Failing) |Loading executor |Timeouts disabled for executor __acker|{_SENDING}|{CONFIGURED})"
)
_LIKELY = (  # the same, but for some streams of the system that are rare
    rf"(?:Processing received (?!{_TO_SPOUT})|(?:BOLT (?:ack|fail) TASK: |TRANSFER+ING tuple )(?!{_STREAM}__)"
    f"|SPOUT |Loading|Timeouts|{CONFIGURED})"
)
_OLD_TASK = (
    r"(?:(?<= b\.s\.d\.task \[INFO\] )|(?<=\d task \[INFO\] ))"  # the logger of 0.9 and 0.10, and of 0.8
)
_OLD_LOCAL_TASK = r"(?<=backtype\.storm\.daemon\.task - )"
_HINT = rf"\[INFO\] (?:{_LIKELY}|{_OLD_TASK}{_SENDING})"
_LOCAL_HINT = rf"\] INFO +[^ ]+ - (?:{_LIKELY}|{_OLD_LOCAL_TASK}{_SENDING})"
_TELLING = (
    rf"(?s)^(?>(?:\d{{4}}-\d\d-\d\d[^\[]*(?:\[(?!(?:{LEVELS})\])[^\[]*)*\[INFO\] "
    rf"|\d+ +\[[^\]]*(?:\](?! (?:{LEVELS}) )[^\]]*)*\] INFO +[^ ]+ - )){_CLAIM}"
)
_STARTS = r"^[^\n]*?\[?INFO[^\n]*? (?:Loading executor |Timeouts disabled for |Worker has topology config )"

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
_INIT, _ROTATED, _SENT = int(EventKind.INIT), int(EventKind.ROTATED), int(EventKind.SENT)
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
    "Emitting__ack_init": EventKind.SENT,
    "Emitting__ack_ack": EventKind.SENT,
    "Emitting__ack_fail": EventKind.SENT,
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
_FROM_SENDER = (*_OF_ROOT, _EMITTED, _SENT)
_FAULTS = (
    "the line is cut off, or no version of Storm writes it so",
    "its stamp is no time",
    "a root or value is no 64-bit integer",
    "a spout's fail without its reason, which stands on another line",
)


def asked(lines: DataFrame) -> DataFrame:
    """ASKED of LINES: the bare text, whether a line is `likely` to tell something, and what it `is` if it tells nothing."""
    bare = f"if({_BARE}, text, regexp_replace(text, {_text(PUT_BEFORE)}, '')) as text"
    ordered = f"if({_REORDERS}, regexp_replace(text, {_text(OTHER_LAYOUT)}, '{REORDERED}'), text) as text"
    begun = (
        lines.selectExpr("file", _ONCE, bare)
        .selectExpr("file", _ONCE, ordered)
        .selectExpr("file", _ONCE, "text", "substring_index(text, ' ', 2) as begin")
    )
    likely = f"if({_DATED}, {_matches('text', _HINT)}, {_matches('text', _LOCAL_HINT)}) as likely"
    return begun.selectExpr(
        *("file", _ONCE, "text", likely),
        f"cast(if({_STAMPED}, {FOREIGN}, {CONTINUED}) as tinyint) as is",
    )


def told(asked: DataFrame) -> DataFrame:
    """TOLD: a row for every likely line of ASKED, more for a tuple with several roots; `first` is the first row of its line.

    `is` says what became of the line; only a USED one has the other columns, which are those of EVENTS, and
    `text` stands where somebody must look at it: in quarantine, with the number of its `fault`, or at an executor's start.
    """
    return _rows(_judged(_understood(_pieces(asked.where("likely")))))


def reason(fault: str) -> str:
    """Why a line is in quarantine, as SQL."""
    return f"element_at(split({_text('|'.join(_FAULTS))}, '[|]'), {fault} + 1)"


def _text(value: str) -> str:
    """A literal of SQL, with nothing in it escaped."""
    return f'r"{value}"'


def _matches(name: str, pattern: str) -> str:
    return f"{name} rlike {_text(pattern)}"


def _among(kinds: Iterable[int]) -> str:
    """Whether the line is one of these: a bit for each kind, since a list is long code."""
    return f"(shiftright({sum(1 << kind for kind in kinds)}, kind) & 1) = 1"


def _whole_number(name: str, kind: str = "int") -> str:
    """Null where there is none.  To be asked of digits only: Spark makes an exception of each that fails, stack and all."""
    return f"if({name} != '', try_cast({name} as {kind}), null)"


def _bytes(name: str, first: int, count: str) -> str:
    """Some bytes of a text: where characters begin, Spark would have to look for from the start."""
    return f"substring(cast({name} as binary), {first}, {count})"


_ONCE = "row | (spark_partition_id() & 0L) as row"  # said to be random; else Spark moves a condition on what stands beside it below, and works that out for each time the condition names it
_DATED = f"{_bytes('begin', 5, '1')} = X'2D'"  # only a dated line has its hyphen there
_TIMED = f"try_cast(cast({_bytes('begin', 1, '19')} as string) as timestamp) is not null"
_BARE = "text < ':' and octet_length(substring_index(text, ' ', 1)) = 10"  # a day, behind which nobody but a worker has a blank
_REORDERS = f"cast({_bytes('text', 1, '60')} as string) rlike {_text(OTHER_BEGIN)}"  # the sought is at the start, and Java seeks it everywhere
_STAMPED = f"text >= '0' and text < ':' and ({_DATED} and {_TIMED} or {_matches('text', _STAMP_FIRST)})"


def _pieces(asked: DataFrame) -> DataFrame:
    """`p` has one piece where a line cannot be read; its last is what comes after all that is looked for."""
    joined = _BETWEEN.join("".join(f"${group}" for group in groups) for groups in _FIELDS.values())
    pieces = f"split(regexp_replace(text, {_text(_TELLS)}, '{joined}{_BETWEEN}'), '{_BETWEEN}', {len(_FIELDS) + 1})"
    return asked.selectExpr("file", _ONCE, "text", "is", f"{pieces} as p")


def _understood(pieces: DataFrame) -> DataFrame:
    """What kind of row a line is, 0 if none; and whether it claims to be one."""
    said = [f"get(p, {place}) as {name}" for place, name in enumerate(_FIELDS)]
    apart = pieces.selectExpr(
        *(
            "file",
            _ONCE,
            "text",
            "is",
            f"size(p) > {len(_FIELDS)} as shaped",
        ),
        *said,
    )
    answer = "source = '__acker' and startswith(told, 'Processing')"
    whole = f"shaped and not ({answer})"
    return apart.selectExpr(
        *("file", _ONCE, "text", "is", *(name for name in _FIELDS if name != "for_task")),
        "if(for_task != '', for_task, if(low = high, low, '')) as own",
        f"{whole} as whole",
        f"{whole} or {_matches('text', _TELLING)} as claims",
        f"if({whole}, {_kind()}, 0) as kind",
    )


def _kind() -> str:
    """A number of EventKind, or 0; a tick is told to every bolt, and counts for an acker."""
    names = ", ".join(f"'{name}', {int(kind)}" for name, kind in _KINDS.items())
    name = f"if(told = 'Failing', concat(told, regexp_extract(rest, {_text(_REASON)}, 1)), told)"
    idle = "endswith(told, '__tick') and component not in ('__acker', '__acker-', '__acker-executor')"
    return f"if({idle}, 0, coalesce(try_element_at(map({names}), {name}), 0))"


def _judged(understood: DataFrame) -> DataFrame:
    """The columns of EVENTS as far as the line as a whole tells them, and why it cannot be used, if so."""
    sender = f"if({_among((_INIT, _SENT))} and rest != '', rest, source_task)"
    links = f"if({_among(_OF_TUPLE)} and first != '', concat(first, '=', second, rest), '')"
    number = f"if(kind = {_ROTATED}, first, second)"  # a tick carries its period in seconds
    columns = {
        "time_ns": f"if(kind != 0, {_time_ns()}, null)",
        "component": f"if({_among(_FROM_SENDER)}, source, {_component()})",
        "whose": f"case when {_among(_FROM_SENDER)} then {sender} when own != '' then own {_late_task()} end",
        "acker": "if(own != '', own, low)",
        "low": "low",
        "high": "high",
        "stream": "stream",
        "thread": "thread",
        "delivery": f"case when {_among(_ANSWERS)} then {_message_id()} when kind != 0 then {links} end",
        "more": f"if({_among((_RECEIVED, _EMITTED))} and first != '', rest, '')",
        "root": f"if(kind not in (0, {_ROTATED}), {_whole_number('first', 'bigint')}, null)",
        "value": f"if({_among((*_OF_ROOT, *_OF_TUPLE, _SENT, _ROTATED))}, {_whole_number(number, 'bigint')}, null)",
        "peer": f"case kind when {_EMITTED} then if(to_task != '', to_task, own) when {_RECEIVED} then source_task end",
        "peer_name": f"if(kind = {_RECEIVED}, source, '')",
    }
    known = understood.selectExpr(
        *("file", _ONCE, "text", "is", "whole", "claims", "kind", "first"),
        *(f"{column} as {name}" for name, column in columns.items()),
    )
    names = [name for name in known.columns if name != "row"]
    return _sorted_out(known.selectExpr(_ONCE, *names, f"{_fault()} as fault"))


def _sorted_out(known: DataFrame) -> DataFrame:
    """What becomes of the line; its text goes no further unless somebody must look at it."""
    looked_at = "fault is not null or claims and not whole"
    timeout = f"if(fault is null, concat(' ', regexp_extract(text, {_text(TIMEOUT)}, 0)), '')"
    columns = {
        "text": f"if({looked_at}, concat(substring(text, 1, {_LONGEST}), {timeout}), null)",
        "kind": "if(fault is null, kind, 0)",
        "is": f"cast(case when fault is not null then {QUARANTINED} when kind != 0 then {USED} "
        f"when claims then {FOREIGN} else is end as tinyint)",
    }
    names = [name for name in known.columns if name not in {"whole", "claims", *columns}]
    return known.selectExpr(*names, *(f"{column} as {name}" for name, column in columns.items()))


def _time_ns() -> str:
    """No time at all where nanoseconds since 1970 do not fit, as in the year 9999."""
    at = "coalesce(try_cast(stamp as timestamp), try_cast(replace(stamp, ',', '.') as timestamp))"  # log4j's own layouts have a comma
    stamped = f"try_multiply(unix_micros({at}), 1000)"
    return f"if(contains(stamp, '-'), {stamped}, try_multiply(try_cast(stamp as bigint), 1000000))"


def _component() -> str:
    """The name of the thread without what Storm adds to that of the component."""
    ended = "octet_length(component) - octet_length(substring_index(component, '-', -1)) - 1"  # `-executor`, or a hyphen
    return f"if(low = '', component, cast({_bytes('component', 1, ended)} as string))"


def _late_task() -> str:
    """Whose line it is, where neither its beginning nor the thread tells: since 2.3 at the very end."""
    return (
        f"when kind = {_RECEIVED} then regexp_extract(text, {_text(_AT_END)}, 1) "
        f"when {_among(_ANSWERS)} then regexp_extract(rest, {_text(_TUPLE_INFO)}, 1)"
    )


def _message_id() -> str:
    """The spout's own message id, of a line about a root."""
    failed = ", ".join(f"regexp_extract(rest, {_text(_MESSAGE_ID)}, {group})" for group in (1, 2))
    return f"if(told = 'Acking message', rest, concat({failed}))"


def _fault() -> str:
    """Why the line cannot be used, as a place in `_FAULTS`: it was cut off, or holds what no Storm writes."""
    rootless = (
        f"{_among((*_OF_ROOT, *_ANSWERS, _SENT))} and root is null or {_among(_VALUED)} and value is null"
    )
    linked = f"{_among(_OF_TUPLE)} and first != ''"
    wrong = f"root is null or value is null or contains(delivery, ',') and not {_matches('delivery', _LINKS)}"
    return (
        f"case when claims and not whole then if({_matches('text', _STARTS)}, null, 0) when kind = 0 then null "
        f"when time_ns is null then 1 when {rootless} or {linked} and ({wrong}) then 2 when kind = {_UNREASONED} then 3 end"
    )


def _rows(judged: DataFrame) -> DataFrame:
    """A row for the line, or one for each link of a tuple, for each task of a tick; RECEIVED has one more of its own.

    `part` says of what: '=' is the first link, others are "root=edge"; a task; or nothing.  Constants cost nothing,
    and lambdas, which would be shorter, are compiled by no Spark.
    """
    others = "split(substring(more, 3), ', ')"
    links = f"if(more = '', array('='), concat(array('='), {others}))"
    both = f"if(more = '', array('', '='), concat(array('', '='), {others}))"
    tasks = "sequence(try_cast(low as int), try_cast(high as int))"
    tasks = f"coalesce(cast({tasks} as array<string>), array(''))"
    parts = (
        f"case when kind = {_RECEIVED} and first != '' then {both} when kind = {_EMITTED} and first != '' then {links} "
        f"when kind = {_ROTATED} and low != high then {tasks} else array('') end"
    )
    return _columns(judged.selectExpr("*", f"posexplode({parts}) as (nth, part)"))


def _columns(rows: DataFrame) -> DataFrame:
    ticked = f"kind = {_ROTATED}"
    linked = f"(part != '' and not {ticked})"
    of_link = "if(part = '=', {}, try_cast(substring_index(part, '=', {}) as bigint))"
    own = f"((part = '' or {ticked}) and not {_among(_OF_TUPLE)})"  # the row is of a tuple, and not of one of its links
    acker = f"if({ticked} and part != '', part, acker)"
    columns = {
        "kind": f"cast(if({linked} and kind = {_RECEIVED}, {_LINKED}, kind) as tinyint)",
        "time_ns": "time_ns",
        "component": "component",
        "task": f"coalesce({_whole_number(f'if({ticked}, {acker}, whose)')}, 0)",
        "stream": "stream",
        "delivery": f"if({_among(_FROM_SENDER)}, '', delivery)",
        "root": f"coalesce(if({own}, root, if({linked}, {of_link.format('root', 1)}, 0)), 0)",
        "value": f"coalesce(if({own}, value, if({linked}, {of_link.format('value', -1)}, 0)), 0)",
        "thread": "thread",
        "flags": f"cast(if({linked} and kind = {_EMITTED}, {RELIABLE}, 0) as tinyint)",
        "acker": f"if({_among(_TO_ACKER)}, {_whole_number(acker)}, null)",
        "peer": f"if(nth = 0, {_whole_number('peer')}, null)",
        "peer_name": "peer_name",
    }
    return rows.selectExpr(
        *("file", "row", "is", "fault", "text", "nth = 0 as first"),
        *(f"if(kind != 0, {column}, null) as {name}" for name, column in columns.items()),
    )

r"""The grammar of a worker's log with `topology.debug`, line by line: LINES -> CLASSIFIED -> PARSED.

Everything is anchored from the left: a user's values are at the right and may hold anything: commas,
braces, `id: {1=2}`, line feeds.  What follows a line feed has no stamp and is the continuation of its line.

Java's regular expressions backtrack, so frequent parts match all but one character, `[^:]*`, before
the shortest of anything, `.*?`, and possessive groups, `(?>...)`, give nothing back.  Java searches fast for a literal at
the start of a pattern: so a line is first searched for `[INFO] ` and what follows it (`_HINT`), and only a third of
a log is then parsed (`_LINE`).  A line that is not parsed may still claim to be one of Storm's (`_CLAIMING`).

The code that Spark generates must stay small, since the JVM compiles no method of more than 8,000 bytes (a test
checks that).  So a text is cast only where its kind needs it, and a name is looked up in a table.  A known position is
taken in bytes: for characters Spark would first scan the whole text, a microsecond a line.
"""

from collections.abc import Iterable

from pyspark.sql import DataFrame

from ackdoctor.model.trace import RELIABLE, EventKind
from ackdoctor.tracer.worker_log import LEVELS, OTHER_BEGIN, OTHER_LAYOUT, PUT_BEFORE, REORDERED

USED, CONTINUED, FOREIGN, QUARANTINED = 0, 1, 2, 3  # the class of a line

# what a worker's connection logs when it drops messages, in Client.java of 0.9 to 2.8
DROPPED = "contains(text, ' message') and (contains(text, 'ropping ') or contains(text, 'ailed to send ') or contains(text, 'iscarding '))"
DROPS = r"(?:[Dd]ropping|[Ff]ailed to send|[Dd]iscarding) (\d+) message"
TIMELESS = r"Timeouts disabled for executor (__acker):\[(-?\d+),? (-?\d+)\]"
# the topology's settings, which a worker dumps when it starts: a Clojure map, a Java map or JSON
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
_SOURCE = r"(?>source: ([^:]*|.*?):(-?\d+), stream: (?=[^,]+, id: \{))"  # the first: a user's values may hold others
_LONGS = r"(?:\[(-?\d+)(?:,? (-?\d+)(?:,? (-?\d+))?)?\])?"
_OF_SYSTEM = rf"(__[^,]+), id: \{{[^}}]*\}}, {_LONGS}"
_OF_USER = r"(?!__)([^,]+), id: \{(?:(-?\d+)=(-?\d+)(, [^}]*)?)?\}, "
_SENDING = r"Emitting: [^\[]+ __ack_(?:init|ack|fail) \["  # the only trace of an ack before 0.10
_SPOUT = r"SPOUT (Acking message|Failing) (-?\d+) ?:? ?(.*)$"
_SENDS = rf"(Emitting): ([^\[]+) (__ack_[a-z]+) {_LONGS} *$"
_LINE = rf"(?s){_PREFIX}(?:{_VERB}{_TASK}{_SOURCE}(?:{_OF_SYSTEM}|{_OF_USER})|{_SPOUT}|{_SENDS})"
_FIELDS = {  # the groups of each, of which one matches; `verb` is a verb and the system's stream
    "stamp": (1, 2), "component": (3, 6), "low": (4,), "high": (5,), "thread": (7,), "verb": (8, 13, 21, 24, 26),
    "to_task": (9,), "for_task": (10,), "source": (11, 25), "source_task": (12,), "stream": (17, 26),
    "first": (14, 18, 22, 27), "second": (15, 19, 28), "rest": (16, 20, 23, 29),
}  # fmt: skip
_BETWEEN = "\u0001"

# The acker's own line covers a tuple sent to it; what a bolt does with system streams is of no use.
_TO_SPOUT = r"\S* ?(?:FOR \S+ TUPLE: )?source: __acker:"  # an answer
_STREAM = r"(?>[^,]*, stream: |[^,]*(?:,(?! stream: )[^,]*)*, stream: )"
_CLAIM = (
    rf"(?:Processing received (?!{_STREAM}__(?!ack_|tick))(?!{_TO_SPOUT})"
    rf"|(?:BOLT (?:ack|fail) TASK: |TRANSFER+ING tuple )(?!{_STREAM}__)"
    rf"|SPOUT (?:Acking|Failing) |Loading executor |Timeouts disabled for executor __acker|{_SENDING}|{CONFIGURED})"
)
_LIKELY = (  # the same without some rare streams of the system
    rf"(?:Processing received (?!{_TO_SPOUT})|(?:BOLT (?:ack|fail) TASK: |TRANSFER+ING tuple )(?!{_STREAM}__)"
    f"|SPOUT |Loading|Timeouts|{CONFIGURED})"
)
_OLD_TASK = (
    r"(?:(?<= b\.s\.d\.task \[INFO\] )|(?<=\d task \[INFO\] ))"  # the logger of 0.9 and 0.10, and of 0.8
)
_OLD_LOCAL_TASK = r"(?<=backtype\.storm\.daemon\.task - )"
_HINT = rf"\[INFO\] (?:{_LIKELY}|{_OLD_TASK}{_SENDING})"
_LOCAL_HINT = rf"\] INFO +[^ ]+ - (?:{_LIKELY}|{_OLD_LOCAL_TASK}{_SENDING})"
_CLAIMING = (
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
_LONGEST = 500  # characters of a line in quarantine

_RECEIVED, _EMITTED, _LINKED = int(EventKind.RECEIVED), int(EventKind.EMITTED), int(EventKind.LINKED)
_INIT, _ROTATED, _SENT = int(EventKind.INIT), int(EventKind.ROTATED), int(EventKind.SENT)
_UNREASONED = 24  # no EventKind: a spout's fail without its reason
_KINDS = {  # by `verb` and the reason of a spout's fail
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
    "its stamp is not a time",
    "a root or value is not a 64-bit integer",
    "a spout's fail without its reason, which is on another line",
)


def classified(lines: DataFrame) -> DataFrame:
    """Return LINES with the text without a collector's prefix, whether a line is `likely` useful, and its class `is` if not."""
    bare = f"if({_BARE}, text, regexp_replace(text, {_literal(PUT_BEFORE)}, '')) as text"
    ordered = f"if({_REORDERS}, regexp_replace(text, {_literal(OTHER_LAYOUT)}, '{REORDERED}'), text) as text"
    stamped = (
        lines.selectExpr("file", _ONCE, bare)
        .selectExpr("file", _ONCE, ordered)
        .selectExpr("file", _ONCE, "text", "substring_index(text, ' ', 2) as begin")
    )
    likely = f"if({_DATED}, {_matches('text', _HINT)}, {_matches('text', _LOCAL_HINT)}) as likely"
    return stamped.selectExpr(
        *("file", _ONCE, "text", likely),
        f"cast(if({_STAMPED}, {FOREIGN}, {CONTINUED}) as tinyint) as is",
    )


def parsed(classified: DataFrame) -> DataFrame:
    """Return a row for every likely line, more for a tuple with several roots; `first` marks the first row of its line.

    `is` is the class of the line.  Only a USED one has the other columns, which are those of EVENTS.  `text` is kept in
    quarantine, with the number of its `fault`, and for lines about executors and settings.
    """
    return _rows(_judged(_understood(classified.where("likely"))))


def reason(fault: str) -> str:
    """SQL: why a line is in quarantine."""
    return f"element_at(split({_literal('|'.join(_FAULTS))}, '[|]'), {fault} + 1)"


def _literal(value: str) -> str:
    """SQL: a raw literal."""
    return f'r"{value}"'


def _matches(name: str, pattern: str) -> str:
    return f"{name} rlike {_literal(pattern)}"


def _extracted(name: str, pattern: str, group: int) -> str:
    return f"regexp_extract({name}, {_literal(pattern)}, {group})"


def _among(kinds: Iterable[int]) -> str:
    """SQL: whether the line is of one of these kinds; a bit for each, since a list is long code."""
    return f"(shiftright({sum(1 << kind for kind in kinds)}, kind) & 1) = 1"


def _whole_number(name: str, kind: str = "int") -> str:
    """SQL: a number, null without one; for digits only, since Spark raises an exception for each that fails."""
    return f"if({name} != '', try_cast({name} as {kind}), null)"


def _bytes(name: str, first: int, count: str) -> str:
    """SQL: some bytes of a text; for characters Spark would scan from the start."""
    return f"substring(cast({name} as binary), {first}, {count})"


_ONCE = "row | (spark_partition_id() & 0L) as row"  # nondeterministic: else Spark pushes a condition below it, and computes what it names each time
_DATED = f"{_bytes('begin', 5, '1')} = X'2D'"  # only a date has its hyphen there
_TIMED = f"try_cast(cast({_bytes('begin', 1, '19')} as string) as timestamp) is not null"
_BARE = "text < ':' and octet_length(substring_index(text, ' ', 1)) = 10"  # a date followed by a blank: only a worker's own line
_REORDERS = f"cast({_bytes('text', 1, '60')} as string) rlike {_literal(OTHER_BEGIN)}"  # the beginning only: Java would search all of the line
_STAMPED = f"text >= '0' and text < ':' and ({_DATED} and {_TIMED} or {_matches('text', _STAMP_FIRST)})"


def _understood(classified: DataFrame) -> DataFrame:
    """Split each line into its fields, and add the kind of row that it is, 0 if none, and whether it claims to be one.

    `p` has one piece if the line does not match; the last piece is what follows the match.
    """
    fields = _BETWEEN.join("".join(f"${group}" for group in groups) for groups in _FIELDS.values())
    pieces = f"split(regexp_replace(text, {_literal(_LINE)}, '{fields}{_BETWEEN}'), '{_BETWEEN}', {len(_FIELDS) + 1})"
    named = classified.selectExpr("file", _ONCE, "text", "is", f"{pieces} as p").selectExpr(
        *("file", _ONCE, "text", "is", f"size(p) > {len(_FIELDS)} as matches"),
        *(f"get(p, {place}) as {name}" for place, name in enumerate(_FIELDS)),
    )
    answer = "source = '__acker' and startswith(verb, 'Processing')"
    whole = f"matches and not ({answer})"
    kinds = ", ".join(f"'{name}', {int(kind)}" for name, kind in _KINDS.items())
    name = f"if(verb = 'Failing', concat(verb, {_extracted('rest', _REASON, 1)}), verb)"
    # every bolt receives ticks, but only an acker's count
    idle = "endswith(verb, '__tick') and component not in ('__acker', '__acker-', '__acker-executor')"
    kind = f"if({idle}, 0, coalesce(try_element_at(map({kinds}), {name}), 0))"
    return named.selectExpr(
        *("file", _ONCE, "text", "is", *(name for name in _FIELDS if name != "for_task")),
        "if(for_task != '', for_task, if(low = high, low, '')) as own",
        f"{whole} as whole",
        f"{whole} or {_matches('text', _CLAIMING)} as claims",
        f"if({whole}, {kind}, 0) as kind",
    )


def _judged(understood: DataFrame) -> DataFrame:
    """Add the columns of EVENTS that the line as a whole gives, its class, and the fault of a line that cannot be used.

    The text is kept only for quarantine, starts and settings.
    """
    links = f"if({_among(_OF_TUPLE)} and first != '', concat(first, '=', second, rest), '')"
    number = f"if(kind = {_ROTATED}, first, second)"  # a tick carries its period in seconds
    columns = {
        "time_ns": f"if(kind != 0, {_TIME_NS}, null)",
        "component": f"if({_among(_FROM_SENDER)}, source, {_COMPONENT})",
        "whose": f"case when {_among(_FROM_SENDER)} then {_SENDER} when own != '' then own {_LATE_TASK} end",
        "acker": "if(own != '', own, low)",
        "low": "low",
        "high": "high",
        "stream": "stream",
        "thread": "thread",
        "delivery": f"case when {_among(_ANSWERS)} then {_MESSAGE} when kind != 0 then {links} end",
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
    faulty = known.selectExpr(_ONCE, *names, f"{_FAULT} as fault")
    kept = "fault is not null or claims and not whole"
    timeout = f"if(fault is null, concat(' ', {_extracted('text', TIMEOUT, 0)}), '')"
    late = {
        "text": f"if({kept}, concat(substring(text, 1, {_LONGEST}), {timeout}), null)",
        "kind": "if(fault is null, kind, 0)",
        "is": f"cast(case when fault is not null then {QUARANTINED} when kind != 0 then {USED} "
        f"when claims then {FOREIGN} else is end as tinyint)",
    }
    others = [name for name in faulty.columns if name not in {"whole", "claims", *late}]
    return faulty.selectExpr(*others, *(f"{column} as {name}" for name, column in late.items()))


# null if nanoseconds since 1970 do not fit a long, as in the year 9999; log4j's layouts have a comma
_AT = "coalesce(try_cast(stamp as timestamp), try_cast(replace(stamp, ',', '.') as timestamp))"
_TIME_NS = (
    f"if(contains(stamp, '-'), try_multiply(unix_micros({_AT}), 1000), "
    "try_multiply(try_cast(stamp as bigint), 1000000))"
)
# the name of the thread without the suffix that Storm adds to the component's: `-executor`, or a hyphen
_ENDED = "octet_length(component) - octet_length(substring_index(component, '-', -1)) - 1"
_COMPONENT = f"if(low = '', component, cast({_bytes('component', 1, _ENDED)} as string))"
_SENDER = f"if({_among((_INIT, _SENT))} and rest != '', rest, source_task)"
# the task of a line that names it neither at its beginning nor in its thread: since 2.3 at the very end
_LATE_TASK = (
    f"when kind = {_RECEIVED} then {_extracted('text', _AT_END, 1)} "
    f"when {_among(_ANSWERS)} then {_extracted('rest', _TUPLE_INFO, 1)}"
)
_MESSAGE = (  # the spout's own message id
    f"if(verb = 'Acking message', rest, concat({_extracted('rest', _MESSAGE_ID, 1)}, {_extracted('rest', _MESSAGE_ID, 2)}))"
)
# the index in `_FAULTS` of a line that was cut off, or that no Storm writes
_ROOTLESS = f"{_among((*_OF_ROOT, *_ANSWERS, _SENT))} and root is null or {_among(_VALUED)} and value is null"
_WRONG = f"root is null or value is null or contains(delivery, ',') and not {_matches('delivery', _LINKS)}"
_FAULT = (
    f"case when claims and not whole then if({_matches('text', _STARTS)}, null, 0) when kind = 0 then null "
    f"when time_ns is null then 1 when {_ROOTLESS} or {_among(_OF_TUPLE)} and first != '' and ({_WRONG}) then 2 "
    f"when kind = {_UNREASONED} then 3 end"
)


def _rows(judged: DataFrame) -> DataFrame:
    """Return a row for the line, or one for each link of a tuple, for each task of a tick; RECEIVED adds one of its own.

    `part` is '=' for the first link and "root=edge" for others; a task; or empty.  Spark compiles no lambda, which
    would be shorter.
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
    ticked = f"kind = {_ROTATED}"
    linked = f"(part != '' and not {ticked})"
    of_link = "if(part = '=', {}, try_cast(substring_index(part, '=', {}) as bigint))"
    own = f"((part = '' or {ticked}) and not {_among(_OF_TUPLE)})"  # of a tuple, not of one of its links
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
    return judged.selectExpr("*", f"posexplode({parts}) as (nth, part)").selectExpr(
        *("file", "row", "is", "fault", "text", "nth = 0 as first"),
        *(f"if(kind != 0, {column}, null) as {name}" for name, column in columns.items()),
    )

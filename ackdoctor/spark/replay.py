"""EVENTS -> MESSAGES, what the ackers received -> ENTRIES: the acker's pending map, replayed for every root at once.

Most roots are plain, and a cheap proof says how they went: aggregates that do not depend on order.  The messages of the
others are gathered and replayed one by one, in order, through the acker's rules: a fold over the messages of a root.

A tick that an acker's process recorded is ordered against messages of the same process by `pos`.  One that comes from a
schedule or from another process is ordered by time: it precedes the first message that is not older.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.acker import AckerVersion, Engine, ackers, ambiguous
from ackdoctor.model.trace import EventKind
from ackdoctor.spark.schema import ENTRIES, ESTIMATED, EXACT, MESSAGES, ROOT_KEY
from ackdoctor.spark.session import Persist, as_table, expressions, literal_table, uncached

ACKER = ("run", "acker", "incarnation")
_MS = 1_000_000
_INIT, _ACK = int(EventKind.INIT), int(EventKind.ACK)
_FAIL, _RESET = int(EventKind.FAIL), int(EventKind.RESET)
_ROTATED, _TIMED_OUT = int(EventKind.ROTATED), int(EventKind.TIMED_OUT)


# ---- versions ----


def acker_version(name: str) -> AckerVersion:
    """Return the version of that name; a series is one version if its ackers behave alike.  ConfigError otherwise."""
    found = ackers(name)
    if len({version.acker_rules for version in found}) > 1:
        raise ambiguous(name)
    return found[-1]


def schedule_ms(version: AckerVersion, timeout_s: int) -> tuple[int, int] | None:
    """When an acker rotates first after its start, and how often then; None if it never does."""
    match version.engine:
        case Engine.HERON:  # xor-manager.cpp: integers
            buckets = version.acker_buckets
            return timeout_s * 1000, (timeout_s // buckets + timeout_s % buckets) * 1000
        case Engine.JSTORM:
            return timeout_s * 500, timeout_s * 500
        case Engine.CLOJURE | Engine.JAVA:
            return (timeout_s * 1000, timeout_s * 1000) if version.acker_ticks else None


# ---- messages ----


def messages(events: DataFrame, *, ackers: int = 1) -> DataFrame:
    """Return the messages to ackers, ticks, and roots that a spout's own map dropped.

    If the reader does not know the acker's task, it is the root's index among `ackers` tasks; a rotation of an unknown
    acker counts for all of them.
    """
    columns = {
        "acker": "coalesce(acker, 0)" if ackers == 1 else _acker_task(ackers),
        "incarnation": "coalesce(incarnation, 0)",
        "spout_task": f"if(kind = {_INIT}, task, null)",
        "source": "xxhash64(worker) ^ pid",
        "pos": "seq",
    }
    kinds = (_INIT, _ACK, _FAIL, _RESET, _ROTATED, _TIMED_OUT)
    sent = events.where(F.col("kind").isin(*kinds))
    return as_table(sent, MESSAGES, columns)


def _acker_task(count: int) -> str:
    """SQL: the acker's task, or the hash of a Java list that holds the root, modulo the number of ackers."""
    low = 0xFFFFFFFF
    list_hash = f"((root ^ shiftrightunsigned(root, 32)) & {low}) + 31 & {low}"
    index = f"int(pmod(shiftright(shiftleft({list_hash}, 32), 32), {count}))"
    everyone = ", ".join(map(str, range(count)))
    unknown = f"if(kind = {_ROTATED}, array({everyone}), array({index}))"
    return f"explode(if(acker is null, {unknown}, array(acker)))"


# ---- rotations: when each acker dropped its oldest bucket ----

_AXES = ("pos", "ns")  # a tick follows a message by position in its process, or by time
_MOST_TICKS = 200_000  # of a schedule: 69 days of 30 s
_MAX_LONG = (1 << 63) - 1
_POWERS_OF_TWO = ", ".join(str(1 << bit) for bit in range(30, -1, -1))
_COUNT_TIMED_OUT = f"count_if(kind = {_TIMED_OUT})"
_TICKS = "array<struct<pos:bigint,ns:bigint,source:bigint>>"


def rotations(messages: DataFrame, version: AckerVersion, message_timeout_s: int | None) -> DataFrame:
    """Return a row for each acker with its `ticks`, by the schedule of a message timeout or as recorded.

    The other columns serve `_expiring_tick`, `_spans_ticks` and `may_be_dropped`: whether the ticks are `rising` on both
    axes, sorted `*_marks` on each, the powers of two up to their number, how many on one axis are `enough` to drop
    anything, the shortest `*_span` in which that many came.  `timed_out` counts the roots that spouts dropped.
    """
    if message_timeout_s is None:
        ticked = _recorded(messages)
    else:
        ticked = _scheduled(messages, schedule_ms(version, message_timeout_s))
    buckets = version.acker_buckets
    marks = "array_sort(filter(transform(ticks, tick -> tick.{0}), mark -> mark is not null)) as {0}_marks"
    # the shortest distance between the first and the last of `enough` ticks; null if there are too few
    spans = (
        "array_min(transform({0}_marks, (mark, at) -> if(at + 1 < enough, null, "
        "coalesce(try_subtract(mark, {0}_marks[at - enough + 1]), 0L)))) as {0}_span"
    )
    marked = ticked.selectExpr(
        "*",
        f"if(mixed, {(buckets + 1) // 2}, {buckets}) as enough",  # a root may see some by position, others by time
        *(marks.format(axis) for axis in _AXES),
    )
    return marked.selectExpr(
        *ACKER,
        *("timed_out", "ticks", "enough", "pos_marks", "ns_marks"),
        "not mixed and ns_marks = transform(ticks, tick -> tick.ns) as rising",
        f"filter(array({_POWERS_OF_TWO}), power -> power <= size(ticks)) as powers",
        *(spans.format(axis) for axis in _AXES),
    )


def _recorded(messages: DataFrame) -> DataFrame:
    tick = f"if(kind = {_ROTATED}, struct(pos, time_ns as ns, source), null)"
    source = f"if(kind = {_ROTATED}, source, null)"
    figures = {
        "found": f"collect_list({tick})",
        "mixed": f"coalesce(min({source}) != max({source}), false)",
        "timed_out": _COUNT_TIMED_OUT,
    }
    dropped = messages.where(f"kind in ({_ROTATED}, {_TIMED_OUT})")
    gathered = dropped.groupBy(*ACKER).agg(*expressions(figures))
    placed = "transform(found, tick -> struct(if(mixed, tick.ns, tick.pos) as place, tick))"
    return gathered.selectExpr(
        *ACKER, "timed_out", "mixed", f"transform(array_sort({placed}), placed -> placed.tick) as ticks"
    )


def _scheduled(messages: DataFrame, schedule: tuple[int, int] | None) -> DataFrame:
    """Return the same ticks for every acker of a run: the run has one clock."""
    seen = {
        "begin_ms": f"min(time_ns div {_MS})",
        "end_ms": f"max(time_ns div {_MS})",
        "timed_out": _COUNT_TIMED_OUT,
    }
    of_run = {
        "run_ms": "min(begin_ms)",
        "end_ms": "max(end_ms)",
        "ackers": "collect_list(struct(acker, incarnation, timed_out))",
    }
    runs = messages.groupBy(*ACKER).agg(*expressions(seen)).groupBy("run").agg(*expressions(of_run))
    ticks = f"cast(array() as {_TICKS})"
    if schedule is not None:
        first_ms, every_ms = schedule
        last = f"least((end_ms - run_ms - {first_ms}) div {every_ms}, {_MOST_TICKS}L)"
        ns = f"(run_ms + {first_ms} + step * {every_ms}) * {_MS}"
        null = "cast(null as bigint)"
        tick = f"step -> struct({null} as pos, {ns} as ns, {null} as source)"
        rotated = f"transform(sequence(0L, {last}), {tick})"
        ticks = f"if(end_ms >= run_ms + {first_ms}, {rotated}, {ticks})"
    return runs.selectExpr("run", f"{ticks} as ticks", "inline(ackers)", "false as mixed")


def _spans_ticks(axis: str) -> str:
    """SQL, never null: whether a root, from `first` to `last` on an axis, lasts long enough to see enough ticks anywhere."""
    distance = f"coalesce(try_subtract(last_{axis}, first_{axis}), {_MAX_LONG})"
    return f"coalesce({distance} > {axis}_span, false)"


def may_be_dropped(axis: str) -> str:
    """SQL, never null: whether enough ticks came after the `first` message of a root and not after its `last`."""
    ticks = f"{_ticks_until(axis, f'last_{axis}')} - {_ticks_until(axis, f'first_{axis}')}"
    return f"if({_spans_ticks(axis)}, coalesce({ticks} >= enough, false), false)"


def _ticks_until(axis: str, at: str) -> str:
    """SQL: how many marks are not greater, by binary search."""
    reached = f"coalesce(get({axis}_marks, seen + power - 1) <= {at}, false)"
    return f"aggregate(powers, 0, (seen, power) -> if({reached}, seen + power, seen))"


def _expiring_tick(buckets: int, source: str, pos: str, time_ns: str) -> str:
    """SQL: the tick that drops what was put with a message; null if it never came.

    If ticks rise on both axes, a binary search counts those before the message; otherwise a filter asks each.
    """
    reached = "get(ticks, seen + power - 1)"
    passed = f"{reached} is not null and not {_after(reached, source, pos, time_ns)}"
    seen = f"aggregate(powers, 0, (seen, power) -> if({passed}, seen + power, seen))"
    searched = f"get(ticks, {seen} + {buckets - 1})"
    filtered = f"get(filter(ticks, tick -> {_after('tick', source, pos, time_ns)}), {buckets - 1})"
    return f"if(rising, {searched}, {filtered})"


def _after(tick: str, source: str, pos: str, time_ns: str) -> str:
    """SQL: whether a tick came after a message."""
    same_process = f"coalesce({tick}.source = {source}, false)"
    return f"if({same_process}, {tick}.pos > {pos}, {tick}.ns > {time_ns})"


# ---- the replay ----

MOST_MESSAGES = 50_000  # of a root; a root with more is not replayed, since all are in memory at once
_MOST_BROADCAST = 1_000_000  # roots; a larger table is not sent to every task


@dataclass(slots=True, kw_only=True)
class Replay:
    """ENTRIES, and those of the MESSAGES that the verdicts need."""

    entries: DataFrame
    messages: DataFrame
    few: bool = True  # roots that are not plain, or that spouts dropped: they may be broadcast
    timed_out: bool = True  # whether a spout dropped any
    too_large: int = 0  # roots with more messages than are replayed

    def broadcast(self, roots: DataFrame) -> DataFrame:
        """Broadcast roots that are not plain, if they are few."""
        return F.broadcast(roots) if self.few else roots


def replay(
    messages: DataFrame,
    version: AckerVersion,
    *,
    message_timeout_s: int | None = None,
    constants: Mapping[str, str] | None = None,
    persist: Persist = uncached,
) -> Replay:
    """Replay every entry.

    With `message_timeout_s` the map rotates as the version's would have, from the first message on; without, where
    ticks are recorded.  `constants` are columns of the root's key that are the same in every row, as SQL: the
    aggregates of the proof are then not grouped by them.  This runs the proof, and counts what it leaves over.
    """
    constants = constants or {}
    key = [name for name in ROOT_KEY if name not in constants]
    summed = sums(_accepted(messages, version), key)
    known = persist(proved(summed, version, key)).selectExpr(
        *(f"{value} as {name}" for name, value in constants.items()), "*"
    )
    ticks = persist(rotations(messages, version, message_timeout_s))
    dropped = f"{may_be_dropped('pos')} or {may_be_dropped('ns')}"
    marked = known.join(F.broadcast(ticks), [*ACKER], "left").selectExpr(
        *known.columns, f"if(sure, not ({dropped}), false) as plain"
    )
    others, too_large = marked.selectExpr(
        "count_if(not plain)", f"count_if(not plain and n > {MOST_MESSAGES})"
    ).collect()[0]
    timed_out = ticks.selectExpr("coalesce(sum(timed_out), 0L)").collect()[0][0]
    few = others <= _MOST_BROADCAST
    asked = marked.where(f"not plain and n <= {MOST_MESSAGES}").select(*ROOT_KEY, F.lit(True).alias("asked"))
    joined = messages.join(F.broadcast(asked) if few else asked, [*ROOT_KEY], "left")
    left = persist(joined.where(f"asked or kind in ({_ROTATED}, {_TIMED_OUT})").select(*MESSAGES.names))
    replayed = persist(_fold(_accepted(left, version), ticks, version))
    return Replay(
        entries=_plain_entries(marked.where("plain")).union(replayed),
        messages=left,
        few=few and timed_out <= _MOST_BROADCAST,
        timed_out=timed_out > 0,
        too_large=too_large,
    )


def replay_all(
    messages: DataFrame, version: AckerVersion, *, message_timeout_s: int | None = None
) -> DataFrame:
    """Return the ENTRIES of all roots, each replayed message by message."""
    ticks = rotations(messages, version, message_timeout_s)
    return _fold(_accepted(messages, version), ticks, version)


def _accepted(messages: DataFrame, version: AckerVersion) -> DataFrame:
    """Return the messages that an acker of that version does not ignore."""
    kinds = (_INIT, _ACK, _FAIL, *((_RESET,) if version.resets else ()))
    return messages.where(F.col("kind").isin(*kinds))


# ---- the proof ----
#
# A root is plain if it had one INIT, no FAIL and no RESET, all values XOR to zero, the values of its ACKs are
# linearly independent over GF(2), and no tick could drop it before its last message.  Then the acker
# completed it with its last message and keeps nothing:
#
#     An acker completes a root at the first prefix with its INIT that XORs to zero.  The messages after that
#     prefix are ACKs, and XOR to zero as well, since all do.  Independent values do so only if there are none.
#
# In a correct tree each ACK has an edge that none before it has, so its values are independent.  An aggregate
# has no room for them all, but it has for the Gram matrix of 15 bits of each: the XOR of all outer products x (x) x,
# a row for each bit, four rows to a long.  Its rank is never greater than that of the values; where it equals
# their number they are independent.  With k random values it is smaller in one of 2**(15 - k) cases: these
# roots, and all with more than 15 ACKs, are replayed like those with a defect.  No assumption on ids is made.
#
# The JVM compiles no method of more than 8,000 bytes of code, and all that a row passes between two shuffles
# is one method: so each step of the elimination has few operations, and nothing in it can be null.

_WORDS = ("gram0", "gram1", "gram2", "gram3")
_LANE = 16  # bits from one row of a word to the next
_WIDTH = _LANE - 1  # bits of a row: a row times a lane of each word does not overflow a long
_ROWS = 4  # of a word
_LANES = 0x0001_0001_0001_0001
_SPREAD = 1 | 1 << 15 | 1 << 30 | 1 << 45  # times four bits: bit i comes to lane i


def sums(messages: DataFrame, key: Sequence[str] = ROOT_KEY) -> DataFrame:
    """Return a row for each root with the aggregates of the proof, and what the entry of a plain root needs."""
    narrow = messages.select(*key, "kind", "value", "spout_task", "source", "pos", "time_ns", _bits())
    words = [F.bit_xor(word).alias(name) for name, word in zip(_WORDS, _gram(F.col("bits")), strict=True)]
    figures = {
        "n": "count(1)",
        "n_init": f"count_if(kind = {_INIT})",
        "n_ack": f"count_if(kind = {_ACK})",
        "spout_task": "max(spout_task)",
        "value": "bit_xor(value)",
        "source": "min(source)",
        "last_source": "max(source)",
        "first_pos": "min(pos)",
        "last_pos": "max(pos)",
        "init_pos": f"max(if(kind = {_INIT}, pos, null))",
        "first_ns": "min(time_ns)",
        "last_ns": "max(time_ns)",
        "init_ns": f"max(if(kind = {_INIT}, time_ns, null))",
    }
    grouped = narrow.groupBy(*key)
    return grouped.agg(*expressions(figures), *words)


def proved(summed: DataFrame, version: AckerVersion, key: Sequence[str] = ROOT_KEY) -> DataFrame:
    """Return each root with `sure`, never null: whether it is plain unless a tick dropped it."""
    proof = "rank = n - 1 and n_init = 1 and n_init + n_ack = n and spout_task >= 0 and value = 0 and source = last_source"
    if version.engine is Engine.HERON:
        # it ignores an ack before the init, and an init of value 0 waits for one
        proof += " and init_pos = first_pos and n > 1"
    return rank(summed).selectExpr(
        *key,
        *("spout_task", "n", "first_pos", "last_pos", "first_ns", "init_ns", "last_ns"),
        f"coalesce({proof}, false) as sure",
    )


def _plain_entries(plain: DataFrame) -> DataFrame:
    """Return the ENTRIES of plain roots, which were `proved`."""
    columns = {
        "nth": "1",
        "sole": "true",
        "outcome": "'acked'",
        **dict.fromkeys(("value", "n_fail", "n_reset"), "0L"),
        "failed": "false",
        "n_init": "1L",
        "n_ack": "n - 1",
        "end_pos": "last_pos",
        "end_ns": "last_ns",
        "order": f"'{EXACT}'",
    }
    return as_table(plain, ENTRIES, columns)


def _bits() -> Column:
    """Return 15 bits of the value of an ACK, linear in it and dependent on all its bits; 0 for other messages."""
    value = F.col("value")
    parts = [F.shiftrightunsigned(value, at) if at else value for at in range(0, 64, 2 * _WIDTH)]
    two = reduce(Column.bitwiseXOR, parts)
    one = two.bitwiseXOR(F.shiftrightunsigned(two, _WIDTH)).bitwiseAND(F.lit((1 << _WIDTH) - 1))
    return F.coalesce(F.when(F.col("kind") == _ACK, one), F.lit(0).cast("long")).alias("bits")


def _gram(bits: Column) -> list[Column]:
    """Return the outer product of the bits with themselves: row i is `bits` if bit i is set, four rows to a long."""
    words = []
    for word in range(len(_WORDS)):
        four = F.shiftrightunsigned(bits, _ROWS * word).bitwiseAND(F.lit((1 << _ROWS) - 1))
        words.append((four * F.lit(_SPREAD)).bitwiseAND(F.lit(_LANES)) * bits)
    return words


def rank(summed: DataFrame) -> DataFrame:
    """Return the rows with the `rank` of their matrix instead of the matrix, by one step of elimination for each row.

    `spark_partition_id() & 0` is a zero that the optimizer cannot fold: it would otherwise push a test of the rank
    below the steps, where each names the one before several times.
    """
    others = ", ".join(name for name in summed.columns if name not in _WORDS)
    words = ", ".join(f"coalesce({word}, 0L) as {word}" for word in _WORDS)
    rows = f"(select {others}, 0L as used, {words} from {{frame}})"  # noqa: S608 - our own names
    for row in range(_WIDTH):
        rows = _elimination_step(row, others, rows)
    ranked = f"select {others}, bit_count(used) + (spark_partition_id() & 0) as rank from {rows}"  # noqa: S608
    return summed.sparkSession.sql(ranked, frame=summed)


def _elimination_step(row: int, others: str, rows: str) -> str:
    """Add a row to all below that have its lowest bit; `used` collects these bits.

    A lane of 0 or 1 for each row that has the bit, times the row, is the row in each of these lanes.
    """
    place, lane = divmod(row, _ROWS)
    shifted = f"shiftrightunsigned({_WORDS[place]}, {_LANE * lane})" if lane else _WORDS[place]
    pivot = f"({shifted} & {(1 << _WIDTH) - 1}L)"
    low = f"({pivot} & -{pivot})"
    bit = f"bit_count({low} - 1L)"
    left = [word for at, word in enumerate(_WORDS) if _ROWS * (at + 1) > row + 1]  # those with a row below
    added = [
        f"{word} ^ ((shiftrightunsigned({word}, {bit}) & {_LANES}L) * {pivot}) as {word}" for word in left
    ]
    used = f"used | {low} as used"
    return f"(select {', '.join([others, used, *added])} from {rows})"  # noqa: S608 - our own names


# ---- the fold ----
#
# The state of the fold is the entry, null if there is none, and the entries that are over.  It is one expression of SQL:
# as Python calls it took ten thousand of them.  A lambda of SQL has no local names: `_let` gives it one.  Spark compiles
# no lambda, so the fold creates few objects: it casts no struct and copies each message once.

_ENTRY = {  # the entry while it is in the map
    "value": "bigint",
    "spout_task": "int",
    "failed": "boolean",
    "put_pos": "bigint",  # of the message with which it was put last
    "put_ns": "bigint",
    "n_init": "bigint",
    "n_ack": "bigint",
    "n_fail": "bigint",
    "n_reset": "bigint",
    "first_pos": "bigint",
    "last_pos": "bigint",
    "first_ns": "bigint",
    "init_ns": "bigint",
    "last_ns": "bigint",
}
_COUNTS = {"n_init": _INIT, "n_ack": _ACK, "n_fail": _FAIL, "n_reset": _RESET}
_ROW = ("source", "pos", "kind", "value", "spout_task", "time_ns")
_PLACE = "if(mixed, row.time_ns, row.pos)"
_NO_LONG = "cast(null as bigint)"


def _type(fields: Mapping[str, str]) -> str:
    return "struct<" + ",".join(f"{name}:{kind}" for name, kind in fields.items()) + ">"


_ENDED = {"outcome": "string", "entry": _type(_ENTRY), "end_pos": "bigint", "end_ns": "bigint"}
_NO_ENTRY = f"cast(null as {_type(_ENTRY)})"


def _fold(messages: DataFrame, rotations: DataFrame, version: AckerVersion) -> DataFrame:
    """Return the ENTRIES of the roots whose accepted messages these are."""
    figures = {
        "rows": f"collect_list(struct({', '.join(_ROW)}))",
        "mixed": "min(source) != max(source)",
        "first_pos": "min(pos)",
        "last_pos": "max(pos)",
        "first_ns": "min(time_ns)",
        "last_ns": "max(time_ns)",
    }
    grouped = messages.groupBy(*ROOT_KEY).agg(*expressions(figures))
    roots = grouped.join(F.broadcast(rotations), [*ACKER], "left")
    by_time = "transform(sort_array(transform(rows, row -> struct(row.time_ns, row))), placed -> placed.row)"
    ordered = roots.selectExpr(
        *ROOT_KEY,
        "mixed",
        f"{_spans_ticks('ns')} or not mixed and {_spans_ticks('pos')} as long",
        "if(mixed, null, element_at(rows, 1).source) as clock",
        "coalesce(ticks, array()) as ticks",
        *("rising", "powers"),
        f"if(mixed, {by_time}, sort_array(rows)) as rows",
    )
    ended = ordered.selectExpr(*ROOT_KEY, "mixed", f"posexplode({_ended_entries(version)}) as (at, of)")
    columns = {
        "nth": "at + 1",
        "sole": "false",
        "n": " + ".join(f"of.entry.{name}" for name in _COUNTS),
        "order": f"if(mixed, '{ESTIMATED}', '{EXACT}')",
        **{name: f"of.{name}" for name in _ENDED},
        **{name: f"of.entry.{name}" for name in _ENTRY},
    }
    return as_table(ended, ENTRIES, columns)


def _ended_entries(version: AckerVersion) -> str:
    """SQL: all entries of the root whose messages are `rows`, in order.

    A step drops the entry if ticks did so before the message (`alive`), then lets the message change or create it (`entry`),
    and ends it if it is complete.  After the last message later ticks may drop the entry that is left.
    """
    tick = _expiring_tick(version.acker_buckets, "clock", "state.entry.put_pos", "state.entry.put_ns")
    expired = _ended("'expired'", "state.entry", "tick.pos", "tick.ns")
    dead = f"tick is not null and not {_after('tick', 'clock', 'row.pos', 'row.time_ns')}"
    dropped = f"if({dead}, {_state(_NO_ENTRY, f'array_append(state.over, {expired})')}, state)"
    alive = f"if(long and state.entry is not null, {_let('tick', tick, dropped)}, state)"
    step = _let("alive", alive, _let("entry", _received(version.engine), _answered(version.engine)))
    pending = _ended("'pending'", "state.entry", _NO_LONG, _NO_LONG)
    last = _let("tick", tick, f"if(tick is null, {pending}, {expired})")
    left = f"if(state.entry is null, state.over, array_append(state.over, {last}))"
    begin = _state(_NO_ENTRY, f"cast(array() as array<{_type(_ENDED)}>)")
    copied = f"transform(rows, row -> struct({', '.join(f'row.{name}' for name in _ROW)}))"
    return f"aggregate({copied}, {begin}, (state, row) -> {step}, state -> {left})"


def _received(engine: Engine) -> str:
    """SQL: the entry after a message; null if the message meets none and creates none."""
    created = {  # before its first message
        "value": _NO_LONG if engine is Engine.CLOJURE else "0L",
        "spout_task": "cast(null as int)",
        "failed": "false",
        "put_pos": "row.pos",
        "put_ns": "row.time_ns",
        **dict.fromkeys(_COUNTS, "0L"),
        "first_pos": _PLACE,
        "last_pos": _PLACE,
        "first_ns": "row.time_ns",
        "init_ns": _NO_LONG,
        "last_ns": "row.time_ns",
    }
    found = f"if(alive.entry is null, {_struct(_ENTRY, created)}, alive.entry)"
    changed = _let("known", found, _changed(engine))
    ignored = {Engine.JSTORM: f"row.kind = {_FAIL}", Engine.HERON: f"row.kind != {_INIT}"}.get(engine)
    return f"if(alive.entry is null and {ignored}, null, {changed})" if ignored else changed


def _changed(engine: Engine) -> str:
    init = f"row.kind = {_INIT}"
    summed = "coalesce(known.value, 0L) ^ row.value"
    if engine is Engine.HERON:  # create() does not look for an entry
        summed = f"if({init}, row.value, {summed})"
    put = {
        Engine.CLOJURE: "true",
        Engine.JAVA: f"row.kind >= {_FAIL}",
        Engine.JSTORM: "false",
        Engine.HERON: init,
    }[engine]
    fields = {
        "value": f"if(row.kind <= {_ACK}, {summed}, known.value)",
        "spout_task": f"if({init}, row.spout_task, known.spout_task)",
        "failed": f"known.failed or row.kind = {_FAIL}",
        "put_pos": f"if({put}, row.pos, known.put_pos)",
        "put_ns": f"if({put}, row.time_ns, known.put_ns)",
        **{name: f"if(row.kind = {kind}, known.{name} + 1L, known.{name})" for name, kind in _COUNTS.items()},
        "first_pos": "known.first_pos",
        "last_pos": _PLACE,
        "first_ns": "least(known.first_ns, row.time_ns)",
        "init_ns": f"if({init}, least(known.init_ns, row.time_ns), known.init_ns)",
        "last_ns": "greatest(known.last_ns, row.time_ns)",
    }
    return _struct(_ENTRY, fields)


def _answered(engine: Engine) -> str:
    """SQL: the state after the checks at the end of `execute`: 0 wins over failed."""
    zero = "entry.value = 0L"
    if engine is Engine.HERON:
        zero += f" and row.kind = {_ACK}"
    over = _ended(f"if({zero}, 'acked', 'failed')", "entry", _PLACE, "entry.last_ns")
    ended = _state(_NO_ENTRY, f"array_append(alive.over, {over})")
    return f"if(entry.n_init > 0L and ({zero} or entry.failed), {ended}, {_state('entry', 'alive.over')})"


def _let(name: str, value: str, body: str) -> str:
    """Name a value: a fold over an empty array begins with it, and copies nothing."""
    return f"aggregate(array(), {value}, ({name}, _) -> {name}, {name} -> {body})"


def _struct(types: Iterable[str], fields: Mapping[str, str]) -> str:
    """Build a struct of exactly these types: a cast would create it twice."""
    named = (f"'{name}', {fields[name]}" for name in types)
    return f"named_struct({', '.join(named)})"


def _state(entry: str, over: str) -> str:
    return f"named_struct('entry', {entry}, 'over', {over})"


def _ended(outcome: str, entry: str, end_pos: str, end_ns: str) -> str:
    return _struct(_ENDED, {"outcome": outcome, "entry": entry, "end_pos": end_pos, "end_ns": end_ns})


# ---- restarts ----

_RESTARTS = "run: string, acker: int, incarnation: int, restart_ns: bigint"


def expired_by_restarts(entries: DataFrame, restarts: Iterable[tuple[str, int, int, int]]) -> DataFrame:
    """Expire the entries that an acker had when its worker was restarted.

    `restarts` are run, acker, incarnation before the restart, and its time in ns.
    """
    names = ("run", "acker", "incarnation", "restart_ns")
    rows = [dict(zip(names, row, strict=True)) for row in restarts]
    if not rows:
        return entries
    ended = "outcome = 'pending' and restart_ns is not null"
    columns = {
        "outcome": f"if({ended}, 'expired', outcome)",
        "end_ns": f"if({ended}, greatest(restart_ns, last_ns), end_ns)",
    }
    known = entries.join(F.broadcast(literal_table(entries.sparkSession, _RESTARTS, rows)), [*ACKER], "left")
    return as_table(known, ENTRIES, columns)

"""Plain roots: those of which a sum, taken in any order, proves that they came, completed and were gone.

A root is plain if it had one INIT, no FAIL and no RESET, all values XOR to zero, the values of its ACKs are
linearly independent over GF(2), and no tick came that could drop it before its last message.  Then the acker
completed it with its last message and keeps nothing:

    An acker completes a root at the first prefix with its INIT that XORs to zero.  The messages after that
    prefix are ACKs, and XOR to zero as well, since all do.  Independent values do so only if there are none.

In a correct tree each ACK has an edge that none before it has, so its values are independent.  An aggregate
has no room for them all, but for the Gram matrix of 16 bits of each: the XOR of all outer products x (x) x,
a row for each bit, four rows to a long.  Its rank is never greater than that of the values; where it equals
their number they are independent.  With k random values it does not in one of 2**(16 - k) cases: these
roots, and all with more than 16 ACKs, are replayed like those with a defect.  No assumption on ids is made.

The JVM compiles no method of more than 8,000 bytes of code, and all that a row goes through between two shuffles
is one method: the elimination is written so that a step has few operations, and nothing in it can be null.
"""

from collections.abc import Iterable
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.model.message import Engine
from ackdoctor.spark.replay.rotations import ACKER, AXES, EVER, may_expire, may_have_expired
from ackdoctor.spark.replay.versions import Version
from ackdoctor.spark.schema import EXACT, ROOT_KEY

__all__ = ["WORDS", "entries", "late", "longest", "proved", "rank", "sums"]

WORDS = ("gram0", "gram1", "gram2", "gram3")
_LANE = 16  # bits from one row of a word to the next
_ROWS = 4  # of a word
_LANES = 0x0001_0001_0001_0001
_SPREAD = 1 | 1 << 15 | 1 << 30 | 1 << 45  # times four bits: bit i lands in lane i
_TOLD = ("n", "first_pos", "last_pos", "first_ns", "init_ns", "last_ns")  # of a plain root

_LAST_TASK = 2.0**31 - 1
_ONE_INIT, _OTHER = 2.0**36, 2.0**42  # of `begun`: above all tasks, and above sixteen INITs

_INIT, _ACK = int(EventKind.INIT), int(EventKind.ACK)


def sums(messages: DataFrame) -> DataFrame:
    """One row for each root: what the proof needs, and what the entry of a plain root says.

    A root is known by those columns of ROOT_KEY that the messages have.
    """
    init = F.col("kind") == _INIT
    key = _among(ROOT_KEY, messages)
    bits = _bits(_width(messages.sparkSession))
    narrow = messages.select(
        *key, "kind", "value", "spout_task", "source", "pos", "time_ns", bits.alias("bits")
    )
    words = [F.bit_xor(word).alias(name) for name, word in zip(WORDS, _gram(F.col("bits")), strict=True)]
    return narrow.groupBy(*key).agg(
        F.count(F.lit(1)).alias("n"),
        F.sum(_begun(init)).alias("begun"),
        F.bit_xor("value").alias("value"),
        F.min("source").alias("source"),
        F.max("source").alias("last_source"),
        F.min("pos").alias("first_pos"),
        F.max("pos").alias("last_pos"),
        F.max(F.when(init, F.col("pos"))).alias("init_pos"),
        F.min("time_ns").alias("first_ns"),
        F.max("time_ns").alias("last_ns"),
        F.max(F.when(init, F.col("time_ns"))).alias("init_ns"),
        *words,
    )


def proved(summed: DataFrame, version: Version) -> DataFrame:
    """Each root with `sure`, never null: whether it is plain unless a tick dropped it; and what the entry of a plain root says."""
    once = F.col("begun").between(_ONE_INIT, _ONE_INIT + _LAST_TASK)
    proof = [
        F.col("rank") == F.col("n") - 1,
        once,
        F.col("value") == 0,
        F.col("source") == F.col("last_source"),
        F.col("init_ns").isNotNull(),
    ]
    if version.engine is Engine.HERON:  # an ack before the init is nothing; an init of value 0 waits
        proof += [F.col("init_pos") == F.col("first_pos"), F.col("n") > 1]
    sure = F.coalesce(reduce(Column.__and__, proof), F.lit(False)).alias("sure")
    task = F.when(once, (F.col("begun") - _ONE_INIT).cast("int")).alias("spout_task")
    return rank(summed).select(*_among(ROOT_KEY, summed), task, *_TOLD, sure)


def late(known: DataFrame, rotations: DataFrame) -> DataFrame:
    """Of what was `proved`, with all of ROOT_KEY: the roots that are plain but for the ticks, which may have dropped them.

    Rulers say so of few roots, and of these the ticks are counted; with a condition that is said to be random in
    between, since Spark compiles no count of them, nor what stands in one step with it.  What was proved should be
    kept: in one method with the proof this is more than the JVM compiles well.
    """
    asked = known.where("sure").join(F.broadcast(rotations), [*ACKER], "left")
    doubted = asked.where(f"({' or '.join(map(may_expire, AXES))}) and spark_partition_id() >= 0")
    return doubted.where(" or ".join(map(may_have_expired, AXES))).select(*known.columns)


def longest(axis: str) -> str:
    """SQL: how far the plain root that lasted longest came on an axis; of what was `proved`."""
    way = f"coalesce(try_subtract(last_{axis}, first_{axis}), {EVER})"
    return f"coalesce(max(if(sure, {way}, null)), -1L)"


def _among(names: Iterable[str], table: DataFrame) -> tuple[str, ...]:
    return tuple(name for name in names if name in table.columns)


def entries(told: DataFrame) -> DataFrame:
    """ENTRIES of plain roots, of which this was `proved`."""
    nothing = F.lit(0).cast("long")
    return told.select(
        *ROOT_KEY,
        F.lit(1).alias("life"),
        F.lit(True).alias("sole"),
        F.lit("acked").alias("outcome"),
        nothing.alias("value"),
        "spout_task",
        F.lit(False).alias("failed"),
        "n",
        F.lit(1).cast("long").alias("n_init"),
        (F.col("n") - 1).alias("n_ack"),
        nothing.alias("n_fail"),
        nothing.alias("n_reset"),
        "first_pos",
        "last_pos",
        F.col("last_pos").alias("end_pos"),
        "first_ns",
        "init_ns",
        "last_ns",
        F.col("last_ns").alias("end_ns"),
        F.lit(EXACT).alias("order"),
    )


def _begun(init: Column) -> Column:
    """What adds up to `_ONE_INIT` and the task of its spout if a root had one INIT, and beside it nothing but ACKs.

    Of up to seventeen messages, as a plain root has: if there are more it may add up to anything, and as it is no
    whole number it does so without an error.
    """
    task = F.col("spout_task").cast("double")
    begun = F.when(task >= 0, task + _ONE_INIT).otherwise(_OTHER)  # a task that is null is no task
    return F.when(init, begun).when(F.col("kind") == _ACK, 0.0).otherwise(_OTHER)


def _width(session: SparkSession) -> int:
    """How many bits of a value: in ANSI mode, as others may have it, the product of a lane and a row of sixteen is refused."""
    return _LANE - 1 if session.conf.get("spark.sql.ansi.enabled") == "true" else _LANE


def _bits(width: int) -> Column:
    """So many bits of the value of an ACK, linear in it: no bit of the value is without one.  0 of all else."""
    value = F.col("value")
    parts = [F.shiftrightunsigned(value, at) if at else value for at in range(0, 64, 2 * width)]
    two = reduce(Column.bitwiseXOR, parts)
    one = two.bitwiseXOR(F.shiftrightunsigned(two, width)).bitwiseAND(F.lit((1 << width) - 1))
    return F.coalesce(F.when(F.col("kind") == _ACK, one), F.lit(0).cast("long"))


def _gram(bits: Column) -> list[Column]:
    """The outer product of up to sixteen bits with themselves: row i is `bits` if bit i is set, four rows to a long."""
    words = []
    for word in range(len(WORDS)):
        four = F.shiftrightunsigned(bits, _ROWS * word).bitwiseAND(F.lit((1 << _ROWS) - 1))
        words.append((four * F.lit(_SPREAD)).bitwiseAND(F.lit(_LANES)) * bits)
    return words


def rank(summed: DataFrame) -> DataFrame:
    """The same rows with the `rank` of their matrix instead of it: one step of elimination for each row.

    `spark_partition_id() & 0` is a zero of which the optimizer does not know that it is always the same: else
    it would move a test of the rank below the steps, where each names the one before several times.
    """
    others = ", ".join(name for name in summed.columns if name not in WORDS)
    known = ", ".join(f"coalesce({word}, 0L) as {word}" for word in WORDS)
    rows = f"(select {others}, 0L as used, {known} from {{frame}})"  # noqa: S608 - of our own names
    width = _width(summed.sparkSession)
    for row in range(width):
        rows = _step(row, width, others, rows)
    told = f"select {others}, bit_count(used) + (spark_partition_id() & 0) as rank from {rows}"  # noqa: S608
    return summed.sparkSession.sql(told, frame=summed)


def _step(row: int, width: int, others: str, rows: str) -> str:
    """A row is added to all below that have its lowest bit; `used` collects these bits.

    A lane of 0 or 1 for each row that has the bit, times the row, is the row in each of these lanes.
    """
    place, lane = divmod(row, _ROWS)
    shifted = f"shiftrightunsigned({WORDS[place]}, {_LANE * lane})" if lane else WORDS[place]
    pivot = f"({shifted} & {(1 << width) - 1}L)"
    low = f"({pivot} & -{pivot})"
    bit = f"bit_count({low} - 1L)"
    left = [word for at, word in enumerate(WORDS) if _ROWS * (at + 1) > row + 1]  # those with a row below
    added = [
        f"{word} ^ ((shiftrightunsigned({word}, {bit}) & {_LANES}L) * {pivot}) as {word}" for word in left
    ]
    used = f"used | {low} as used"
    return f"(select {', '.join([others, used, *added])} from {rows})"  # noqa: S608 - of our own names

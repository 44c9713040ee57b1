"""The cheap proof: aggregates that do not depend on order prove that a plain root came, completed and left nothing.

A root is plain if it had one INIT, no FAIL and no RESET, all values XOR to zero, the values of its ACKs are
linearly independent over GF(2), and no tick could drop it before its last message.  Then the acker
completed it with its last message and keeps nothing:

    An acker completes a root at the first prefix with its INIT that XORs to zero.  The messages after that
    prefix are ACKs, and XOR to zero as well, since all do.  Independent values do so only if there are none.

In a correct tree each ACK has an edge that none before it has, so its values are independent.  An aggregate
has no room for them all, but it has for the Gram matrix of 15 bits of each: the XOR of all outer products x (x) x,
a row for each bit, four rows to a long.  Its rank is never greater than that of the values; where it equals
their number they are independent.  With k random values it is smaller in one of 2**(15 - k) cases: these
roots, and all with more than 15 ACKs, are replayed like those with a defect.  No assumption on ids is made.

The JVM compiles no method of more than 8,000 bytes of code, and all that a row passes between two shuffles
is one method: so each step of the elimination has few operations, and nothing in it can be null.
"""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.model.acker import AckerVersion, Engine
from ackdoctor.model.trace import EventKind
from ackdoctor.spark.schema import EXACT, ROOT_KEY

__all__ = ["entries", "proved", "rank", "sums"]


_WORDS = ("gram0", "gram1", "gram2", "gram3")
_LANE = 16  # bits from one row of a word to the next
_WIDTH = _LANE - 1  # bits of a row: a row times a lane of each word does not overflow a long
_ROWS = 4  # of a word
_LANES = 0x0001_0001_0001_0001
_SPREAD = 1 | 1 << 15 | 1 << 30 | 1 << 45  # times four bits: bit i comes to lane i

_INIT, _ACK = int(EventKind.INIT), int(EventKind.ACK)


def sums(messages: DataFrame, key: Sequence[str] = ROOT_KEY) -> DataFrame:
    """Return a row for each root with the aggregates of the proof, and what the entry of a plain root needs."""
    init = F.col("kind") == _INIT
    narrow = messages.select(*key, "kind", "value", "spout_task", "source", "pos", "time_ns", _bits())
    words = [F.bit_xor(word).alias(name) for name, word in zip(_WORDS, _gram(F.col("bits")), strict=True)]
    return narrow.groupBy(*key).agg(
        F.count(F.lit(1)).alias("n"),
        F.count_if(init).alias("n_init"),
        F.count_if(F.col("kind") == _ACK).alias("n_ack"),
        F.max("spout_task").alias("spout_task"),
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


def proved(summed: DataFrame, version: AckerVersion, key: Sequence[str] = ROOT_KEY) -> DataFrame:
    """Return each root with `sure`, never null: whether it is plain unless a tick dropped it."""
    proof = [
        F.col("rank") == F.col("n") - 1,
        F.col("n_init") == 1,
        F.col("n_init") + F.col("n_ack") == F.col("n"),
        F.col("spout_task") >= 0,
        F.col("value") == 0,
        F.col("source") == F.col("last_source"),
    ]
    if (
        version.engine is Engine.HERON
    ):  # it ignores an ack before the init, and an init of value 0 waits for one
        proof += [F.col("init_pos") == F.col("first_pos"), F.col("n") > 1]
    sure = F.coalesce(reduce(Column.__and__, proof), F.lit(False)).alias("sure")
    return rank(summed).select(
        *key, *("spout_task", "n", "first_pos", "last_pos", "first_ns", "init_ns", "last_ns"), sure
    )


def entries(plain: DataFrame) -> DataFrame:
    """Return the ENTRIES of plain roots, which were `proved`."""
    zero = F.lit(0).cast("long")
    return plain.select(
        *ROOT_KEY,
        F.lit(1).alias("life"),
        F.lit(True).alias("sole"),
        F.lit("acked").alias("outcome"),
        zero.alias("value"),
        "spout_task",
        F.lit(False).alias("failed"),
        "n",
        F.lit(1).cast("long").alias("n_init"),
        (F.col("n") - 1).alias("n_ack"),
        zero.alias("n_fail"),
        zero.alias("n_reset"),
        "first_pos",
        "last_pos",
        F.col("last_pos").alias("end_pos"),
        "first_ns",
        "init_ns",
        "last_ns",
        F.col("last_ns").alias("end_ns"),
        F.lit(EXACT).alias("order"),
    )


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

"""Plain roots: those of which a sum, taken in any order, proves that they came, completed and were gone.

A root is plain if it had one INIT, no FAIL and no RESET, all values XOR to zero, the values of its ACKs are
linearly independent over GF(2), and it was shorter than a rotation takes to forget.  Then the acker
completed it with its last message and keeps nothing:

    An acker completes a root at the first prefix with its INIT that XORs to zero.  The messages after that
    prefix are ACKs, and XOR to zero as well, since all do.  Independent values do so only if there are none.

In a correct tree each ACK has an edge that none before it has, so its values are independent.  An aggregate
has no room for them all, but for the Gram matrix of 16 bits of each: the XOR of all outer products x (x) x,
a row for each bit, four rows to a long.  Its rank is never greater than that of the values; where it equals
their number they are independent.  With k random values it does not in one of 2**(16 - k) cases: these
roots, and all with more than 16 ACKs, are replayed like those with a defect.  No assumption on ids is made.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.event import EventKind
from ackdoctor.spark.rotations import ACKER
from ackdoctor.spark.schema import EXACT, ROOT_KEY
from ackdoctor.spark.versions import Engine, Version

__all__ = ["WORDS", "gram", "plain", "rank", "sums"]

WORDS = ("gram0", "gram1", "gram2", "gram3")
_BITS = 16
_WORDS = len(WORDS)
_LANES = 0x0001_0001_0001_0001
_ROW = 0xFFFF
_SPREAD = 1 | 1 << 15 | 1 << 30 | 1 << 45  # times four bits: bit i lands in lane i

_INIT, _ACK = int(EventKind.INIT), int(EventKind.ACK)


def sums(messages: DataFrame) -> DataFrame:
    """One row for each root: what the proof needs, and what the entry of a plain root says."""
    init = F.col("kind") == _INIT
    narrow = messages.select(
        *ROOT_KEY, "kind", "value", "spout_task", "source", "pos", "time_ns", _folded().alias("bits")
    )
    words = [
        F.bit_xor(F.when(F.col("kind") == _ACK, word).otherwise(0)).alias(name)
        for name, word in zip(WORDS, gram(F.col("bits")), strict=True)
    ]
    return narrow.groupBy(*ROOT_KEY).agg(
        F.count(F.lit(1)).alias("n"),
        F.count_if(init).alias("n_init"),
        F.max("kind").alias("last_kind"),
        F.bit_xor("value").alias("value"),
        F.max("spout_task").alias("spout_task"),
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


def plain(summed: DataFrame, rotations: DataFrame, version: Version) -> DataFrame:
    """The sums with `is_plain`, which is never null.

    It looks at every sum, so that both who ask for the plain roots and who ask for the others read the same
    columns, and Spark shuffles them once.
    """
    n_ack = F.col("n") - F.col("n_init")
    ticks = F.broadcast(rotations.select(*ACKER, "calm_pos", "calm_ns"))
    told = [F.col(name).isNotNull() for name in summed.columns if name not in ROOT_KEY]
    proof = [
        F.col("n_init") == 1,
        F.col("last_kind") <= _ACK,
        F.col("value") == 0,
        F.col("source") == F.col("last_source"),
        F.col("last_pos") - F.col("first_pos") <= F.coalesce("calm_pos", F.lit((1 << 63) - 1)),
        F.col("last_ns") - F.col("first_ns") <= F.coalesce("calm_ns", F.lit((1 << 63) - 1)),
        *told,
    ]
    if version.engine is Engine.HERON:  # an ack before the init is nothing; an init of value 0 waits
        proof += [F.col("init_pos") == F.col("first_pos"), n_ack > 0]
    likely = reduce(Column.__and__, proof)
    ranked = rank(summed.join(ticks, [*ACKER], "left").withColumn("likely", likely))
    return ranked.withColumn("is_plain", F.coalesce(F.col("likely") & (F.col("rank") == n_ack), F.lit(False)))


def entries(proved: DataFrame) -> DataFrame:
    """ENTRIES of the plain roots."""
    nothing = F.lit(0).cast("long")
    return proved.where("is_plain").select(
        *ROOT_KEY,
        F.lit(1).alias("life"),
        F.lit(True).alias("sole"),
        F.lit("acked").alias("outcome"),
        nothing.alias("value"),
        "spout_task",
        F.lit(False).alias("failed"),
        "n",
        "n_init",
        (F.col("n") - F.col("n_init")).alias("n_ack"),
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


def _folded() -> Column:
    """Sixteen bits of a value, linear in it: no bit of the value is without one."""
    value = F.col("value")
    half = value.bitwiseXOR(F.shiftrightunsigned(value, 32))
    return half.bitwiseXOR(F.shiftrightunsigned(half, 16)).bitwiseAND(F.lit(_ROW))


def gram(bits: Column) -> list[Column]:
    """The outer product of sixteen bits with themselves: row i is `bits` if bit i is set, four rows to a long."""
    words = []
    for word in range(_WORDS):
        four = F.shiftrightunsigned(bits, 4 * word).bitwiseAND(F.lit(0xF))
        lanes = (four * F.lit(_SPREAD)).bitwiseAND(F.lit(_LANES))
        words.append(_repeated(bits).bitwiseAND(_filled(lanes)))
    return words


def rank(summed: DataFrame) -> DataFrame:
    """The same rows with the `rank` of their matrix instead of it: one step of elimination for each bit."""
    others = [name for name in summed.columns if name not in WORDS]
    told = f"(select struct({', '.join(others)}) as told, 0 as rank, {', '.join(WORDS)} from {{frame}})"  # noqa: S608
    for bit in range(_BITS):
        told = _step(bit, told)
    return summed.sparkSession.sql(f"select told.*, rank from {told}", frame=summed)  # noqa: S608 - of our own names


def _step(bit: int, rows: str) -> str:
    """The first row that has the bit is added to all that have it, itself too, and so is gone.

    Each level becomes a method of its own, and as one text it is planned quickly.  `spark_partition_id() & 0`
    is a zero of which the optimizer does not know that it is always the same: else it would move the test
    of the rank below the steps, where each names the one before several times.
    """
    words, places = ", ".join(WORDS), list(enumerate(WORDS))
    hits = ", ".join(f"hit{at}" for at, _ in places)
    found = ", ".join(f"shiftrightunsigned({word}, {bit}) & {_LANES} as hit{at}" for at, word in places)
    first = " ".join(f"when hit{at} != 0 then {word}" for at, word in places)
    lane = " ".join(f"when hit{at} != 0 then hit{at}" for at, _ in places)
    lane = f"case {lane} else 0 end"
    row = "(" + " | ".join(f"shiftleft(pivot, {16 * at})" for at, _ in places) + ")"
    added = ", ".join(
        f"{word} ^ ({row} & (shiftleft(hit{at}, 16) - hit{at})) as {word}" for at, word in places
    )
    return f"""
        (select told, rank, {added} from (
        select told, {words}, {hits},
            rank + if({hits.replace(", ", " | ")} = 0, 0, 1) + (spark_partition_id() & 0) as rank,
            shiftrightunsigned(case {first} else 0 end, bit_count(({lane} & -{lane}) - 1)) & {_ROW} as pivot
        from (select told, rank, {words}, {found} from {rows})))
    """  # noqa: S608 - of our own names


def _repeated(row: Column) -> Column:
    """A row in every lane."""
    two = row.bitwiseOR(F.shiftleft(row, 16))
    return two.bitwiseOR(F.shiftleft(two, 32))


def _filled(lanes: Column) -> Column:
    """All bits of the lanes whose lowest bit is set."""
    return F.shiftleft(lanes, 16) - lanes

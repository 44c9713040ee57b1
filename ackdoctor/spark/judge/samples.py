"""VERDICTS -> the roots that did not end well, as many as are told one by one; and how many more there are like each.

Trees go the same way if the same components acked as often, at the same lines, with the same end.
"""

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.spark.schema import ROOT_KEY

__all__ = ["MOST_TREES", "bad", "kinds", "late", "sampled", "untold", "ways"]

MOST_TREES = 2_000  # of one verdict and residue, brought to the driver
_MOST_WAYS = 10_000  # that are counted
_BAD = "(verdict != 'COMPLETE' or tracked is not null)"


def bad(found: DataFrame, end_ns: int, patience_s: int, lost: str = "false") -> DataFrame:
    """Those that did not end well, each with its `way`; `end_ns` is when the evidence ends, `patience_s` what an open root has.

    `lost` says as SQL which nobody is to blame for (`Ends.sql`), and is a column, too.
    """
    charged = (
        "array_sort(array_distinct(transform(culprits, one -> struct(one.component, one.acks, one.sites))))"
    )
    young = _young(end_ns, patience_s, lost)
    return found.where(_BAD).selectExpr(
        "*",
        f"xxhash64(verdict, residue, tracked, {young}, {charged}) as way",
        f"coalesce({lost}, false) as lost",
    )


def late(found: DataFrame, end_ns: int, patience_s: int, lost: str = "false") -> DataFrame:
    """Those that timed out, or are open for longer than an open root has."""
    young = _young(end_ns, patience_s, lost)
    return found.where(f"verdict in ('EXPIRED', 'OPEN') and not coalesce({young}, false)")


def _young(end_ns: int, patience_s: int, lost: str) -> str:
    at_end = f"verdict = 'OPEN' and ({end_ns}L - first_ns) div 1000000 < {patience_s * 1000}"
    return f"({at_end} or {lost})"


def sampled(bad: DataFrame) -> DataFrame:
    """Of each verdict and residue so many: the first that went each way, then the second, and so on."""
    turn = F.row_number().over(Window.partitionBy("verdict", "residue", "way").orderBy("first_ns", *ROOT_KEY))
    place = F.row_number().over(
        Window.partitionBy("verdict", "residue").orderBy("turn", "first_ns", *ROOT_KEY)
    )
    return (
        bad.select("*", turn.alias("turn"))
        .where(F.col("turn") <= MOST_TREES)
        .select("*", place.alias("place"))
        .where(F.col("place") <= MOST_TREES)
        .orderBy("first_ns", *ROOT_KEY)
    )


def ways(bad: DataFrame) -> DataFrame:
    """How many roots went which way; of very many ways the most frequent."""
    counted = bad.groupBy("way").agg(F.count("*").alias("roots"))
    return counted.orderBy(F.desc("roots"), "way").limit(_MOST_WAYS)


def kinds(found: DataFrame) -> DataFrame:
    """How many roots ended how; `left` of them are in the map to the end."""
    return (
        found.groupBy("verdict", "residue")
        .agg(
            F.count("*").alias("roots"),
            F.count_if("kept").alias("left"),
            F.count_if(F.expr(_BAD)).alias("bad"),
        )
        .select("verdict", "residue", "roots", "left", "bad")
    )


def untold(kinds: Sequence[Row], told: int) -> Iterator[str]:
    """What is counted, or estimated, and not told one by one."""
    if (more := sum(row["bad"] for row in kinds) - told) > 0:
        yield (
            f"{more:,} more roots that did not end well are counted, and not told one by one: --output-dir writes each "
            "(verdicts)"
        )

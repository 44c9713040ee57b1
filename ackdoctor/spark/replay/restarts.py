"""ENTRIES of ackers that were started anew: what was pending then is no longer remembered by anybody."""

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.spark.inlined import inlined
from ackdoctor.spark.schema import ENTRIES

__all__ = ["remembered"]

_KEY = ("run", "acker", "incarnation")
_FORGOTTEN = "run: string, acker: int, incarnation: int, forgot_ns: bigint"


def remembered(entries: DataFrame, forgotten: Collection[tuple[str, int, int, int]]) -> DataFrame:
    """The entries; those that an acker had when its worker ended have expired.

    `forgotten` says of which acker, and when it was started anew, in ns.
    """
    if not forgotten:
        return entries
    rows = [dict(zip((*_KEY, "forgot_ns"), row, strict=True)) for row in forgotten]
    ends = inlined(entries.sparkSession, _FORGOTTEN, rows)
    ended = "outcome = 'pending' and forgot_ns is not null"
    columns = {
        "outcome": f"if({ended}, 'expired', outcome)",
        "end_ns": f"if({ended}, greatest(forgot_ns, last_ns), end_ns)",
    }
    known = entries.join(F.broadcast(ends), [*_KEY], "left")
    return known.selectExpr(*(f"{columns.get(name, name)} as {name}" for name in ENTRIES.names))

"""EVENTS -> MESSAGES: what the ackers were sent, in the order in which they took it."""

from pyspark.sql import DataFrame

from ackdoctor.model.event import EventKind
from ackdoctor.spark.schema import MESSAGES

__all__ = ["messages"]

_KINDS = (
    EventKind.INIT,
    EventKind.ACK,
    EventKind.FAIL,
    EventKind.RESET,
    EventKind.ROTATED,
    EventKind.TIMED_OUT,
)


def messages(events: DataFrame, *, ackers: int = 1) -> DataFrame:
    """The rows that concern an acker.

    Where the reader does not know the acker's task, the root's place among `ackers` tasks stands for it;
    a rotation of an unknown acker is one of all of them.
    """
    kinds = ", ".join(str(int(kind)) for kind in _KINDS)
    known = events.where(f"kind in ({kinds})")
    taken = known.selectExpr(
        "run",
        f"{_ackers(ackers)} as acker",
        "coalesce(incarnation, 0) as incarnation",
        *("root", "kind", "value"),
        f"if(kind = {int(EventKind.INIT)}, task, null) as spout_task",
        *("component", "task", "delivery"),
        "xxhash64(worker) ^ pid as source",
        "seq as pos",
        *("time_ns", "site"),
    )
    return taken.select(*MESSAGES.names)


def _ackers(count: int) -> str:
    if count == 1:
        return "coalesce(acker, 0)"
    everyone = ", ".join(map(str, range(count)))
    unknown = f"if(kind = {int(EventKind.ROTATED)}, array({everyone}), array({_acker(count)}))"
    return f"explode(if(acker is null, {unknown}, array(acker)))"


def _acker(count: int) -> str:
    """The modulo of a list's hash, as Java has it."""
    low = 0xFFFFFFFF
    list_hash = f"((root ^ shiftrightunsigned(root, 32)) & {low}) + 31 & {low}"
    return f"int(pmod(shiftright(shiftleft({list_hash}, 32), 32), {count}))"

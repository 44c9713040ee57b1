"""What is told of roots, deliveries and parts: one flat object each, with who did it as far as the trace says."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.dialects import known
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.event import AUTO, EventKind
from ackdoctor.rulebook.messages import NEVER_ZERO_ENTRY, ORPHAN_ENTRY
from ackdoctor.spark.live.deliveries import ACKED_TWICE
from ackdoctor.spark.live.journal import Line
from ackdoctor.spark.live.parts import Parts
from ackdoctor.spark.live.roots import NEVER_ZERO, OVER_ACKED
from ackdoctor.spark.read.paths import unescaped
from ackdoctor.spark.schema import ROOT_KEY
from ackdoctor.spark.tables import Quarantined
from ackdoctor.tracer.judge.messages import RULE_MESSAGES, Case, name_of
from ackdoctor.tracer.judge.places import Places, parsed

__all__ = ["delivery_lines", "part_lines", "root_lines"]

_UNREADABLE = "unreadable"  # a part
_REFUSED = "refused"  # rows of a part

_INIT, _ACK = int(EventKind.INIT), int(EventKind.ACK)
_COMPLETED = int(EventKind.COMPLETED)
_MOST_NAMED = 1_000  # roots of a batch whose culprits are looked up
_MOST_SENT = 500  # messages of one root that are looked at for that
_VERBS: Mapping[int, str] = {int(EventKind.ACKED): "ack", int(EventKind.FAILED): "fail"}
_RULES: Mapping[str, str] = {NEVER_ZERO: NEVER_ZERO_ENTRY, OVER_ACKED: ORPHAN_ENTRY}  # what its acker keeps
_FAILED = int(EventKind.FAILED)
_SENT = ("time_ns", "kind", "component", "task", "delivery", "value", "site")


def root_lines(rows: DataFrame, found: Sequence[Row]) -> list[Line]:
    """Lines of JUDGED rows; `rows` are the messages that they were judged by."""
    sent = _sent(rows, found[:_MOST_NAMED])
    return [_root_line(row, sent.get(tuple(row[name] for name in ROOT_KEY), ())) for row in found]


def _sent(rows: DataFrame, found: Sequence[Row]) -> dict[tuple[Any, ...], Sequence[Row]]:
    """The messages of those roots, in the order of time."""
    if not found:
        return {}
    of = rows.where(
        F.col("root").isin(*{row["root"] for row in found}) & F.col("kind").between(_INIT, _COMPLETED - 1)
    )
    told = of.groupBy(*ROOT_KEY).agg(
        F.slice(F.array_sort(F.collect_list(F.struct(*_SENT))), 1, _MOST_SENT).alias("sent")
    )
    return {tuple(row[name] for name in ROOT_KEY): row["sent"] for row in told.collect()}


def _root_line(row: Row, sent: Sequence[Row]) -> Line:
    inits = [each for each in sent if each["kind"] == _INIT]
    return {
        "what": row["what"],
        **_rule(_RULES[row["what"]]),
        **{name: row[name] for name in ROOT_KEY},
        "certain_ns": row["certain_ns"],
        "begin_ns": row["first_ns"],
        "value": row["value"],
        "messages": row["n"],
        "spout": inits[0]["component"] if inits else "",
        "spout_task": row["spout_task"],
        "timed_out": row["timed_ns"] is not None,
        "order": row["order"],
        "by": _culprits(row, sent),
    }


def _culprits(row: Row, sent: Sequence[Row]) -> list[dict[str, Any]]:
    """Whose ack carries what is left (law L1), or whose made the entry anew."""
    acks = [each for each in sent if each["kind"] == _ACK]
    if row["what"] == NEVER_ZERO:
        guilty = [each for each in acks if each["value"] == row["value"]]
    else:
        guilty = [each for each in acks if each["time_ns"] >= row["first_ns"]][:1]
    grouped: dict[tuple[Any, ...], list[Row]] = {}
    for ack in guilty:
        grouped.setdefault((ack["component"], ack["task"], ack["delivery"]), []).append(ack)
    return [
        {
            "component": component,
            "task": task,
            "delivery": delivery,
            "acks": len(rows),
            "site": max(each["site"] for each in rows),
        }
        for (component, task, delivery), rows in grouped.items()
    ]


def delivery_lines(found: Iterable[Row]) -> list[Line]:
    """Lines of DONE rows."""
    places = Places()
    return [
        {
            "what": ACKED_TWICE,
            **_rule(_broken(row["completions"], places)),
            **{
                name: row[name]
                for name in ("run", "worker", "pid", "component", "task", "stream", "delivery", "test")
            },
            "certain_ns": row["completions"][-1]["time_ns"],
            "roots": row["roots"],
            "completions": [
                {"verb": _VERBS[each["kind"]], "site": each["site"], "time_ns": each["time_ns"]}
                for each in row["completions"]
            ],
        }
        for row in found
    ]


def _broken(done: Sequence[Row], places: Places) -> str:
    """Which rule two completions of a delivery break: the same as the judge of a run would say, as far as they tell."""
    own = [each for each in done if (each["flags"] or 0) & AUTO]
    failed = any(each["kind"] == _FAILED for each in done)
    site = parsed(done[0]["site"]) if len({each["site"] for each in done}) == 1 else None
    again = site is not None and places.may_loop(site, *_handlers())
    turn = Case.FRAMEWORK if own else Case.ROUND if again else Case.PLAIN
    if any(each["kind"] == _FAILED for each in own):
        turn = Case.RESCUE
    return RULE_MESSAGES[Misuse.MIXED if failed else Misuse.TWICE, turn].code


@cache
def _handlers() -> frozenset[str]:
    """What frameworks call: whose handler a delivery was given to, its completions do not say."""
    return frozenset(entry.method for dialect in known() for role in dialect.roles for entry in role.entries)


def _rule(code: str) -> Line:
    return {"code": code, "name": name_of(code)}


def part_lines(parts: Parts, bad: Iterable[Quarantined]) -> list[Line]:
    """Lines of what could not be read."""
    return [
        *({"what": _UNREADABLE, "file": file, "reason": reason} for file, reason in parts.faults.items()),
        *(
            {
                "what": _REFUSED,
                "file": unescaped(row.file),
                "reason": row.reason,
                "rows": row.rows,
                "sample": row.sample,
            }
            for row in bad
        ),
    ]

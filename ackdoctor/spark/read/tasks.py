"""Tasks that logs name as senders or receivers of tuples, and of which no log has a line: the logs of their workers are missing."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, Row

from ackdoctor.model.event import EventKind
from ackdoctor.spark.read.logbook import Survey
from ackdoctor.spark.read.stormline import USED

__all__ = ["missing"]

_ACKER = "__acker"
_BEGIN = 400  # characters of a line, with its thread
_THREAD = r"r'Thread-[0-9]+-[^\[]*\[[0-9]+,? [0-9]+\]'"
_NUMBERS = re.compile(r"\d+")


def missing(lines: DataFrame, told: DataFrame, surveyed: Survey) -> tuple[str, ...]:
    """The tasks, as `bolt[3]`, in the order of their names; TOLD is read once, and LINES only if a task seems to be missing.

    Task ids are unique in a topology.  Storm 0.9 does not log which task receives or acks: there a component that sends
    messages to an acker counts as seen.
    """
    rotated, sent = int(EventKind.ROTATED), int(EventKind.SENT)
    taken = f"acker is not null and kind != {rotated}"
    own = f"coalesce(acker, task) as task, if(acker is not null, '{_ACKER}', component) as name"
    peer = f"if({taken}, task, peer) as task, if({taken}, component, peer_name) as name"
    run = surveyed.said("run", "''")
    pairs = (
        told.where(f"is = {USED} and first and {surveyed.fresh()}")
        .selectExpr(
            f"{run} as run",
            f"inline(array(struct({own}, true as seen, kind = {sent} as sends), struct({peer}, false as seen, false as sends)))",
        )
        .distinct()
    )
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in pairs.collect():
        found[row["run"]].append(row)
    absent = {task: name for run, rows in found.items() for task, name in _of_run(run, rows, surveyed)}
    if absent:  # an executor that is dead or stuck has lines that tell of no tuple
        spans = lines.selectExpr(f"regexp_extract_all(substring(text, 1, {_BEGIN}), {_THREAD}, 0) as said")
        for row in spans.where("size(said) > 0").selectExpr("said[0] as said").distinct().collect():
            low, high = map(int, _NUMBERS.findall(row["said"])[-2:])
            absent = {task: name for task, name in absent.items() if not low <= task <= high}
    return tuple(sorted(absent.values()))


def _of_run(run: str, rows: Sequence[Row], surveyed: Survey) -> Iterator[tuple[int, str]]:
    runs = {log.file: log.run for log in surveyed.logs}
    seen = {row["task"] for row in rows if row["seen"] and row["task"]}
    senders = {row["name"] for row in rows if row["sends"]}
    names = {row["task"]: row["name"] for row in rows if row["name"]}
    for start in surveyed.starts:
        if runs.get(start.file, "") == run:
            tasks = range(start.low, start.high + 1)
            seen.update(tasks)
            names.update(dict.fromkeys(tasks, start.component))
    named = {row["task"] for row in rows if not row["seen"] and (row["task"] or 0) > 0}
    for task in named - seen:
        name = names.get(task, "")
        if name not in senders:
            yield task, f"{name}[{task}]" if name else f"task {task}"

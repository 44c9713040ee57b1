"""How far each process of each run has been read: what is known in full, and what may be forgotten.

The clock of a watch is that of the trace.  The rows of one process come in their order, those of several
in any; so a run is known in full up to the process that was read least far, its frontier.  A process that has been
silent for longer than a part takes to be made is not waited for: rows of it that come later are late.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - as everybody writes it

from ackdoctor.model.acker_versions import AckerVersion
from ackdoctor.model.event import EventKind
from ackdoctor.spark.replay.messages import schedule_ms

__all__ = ["Clock", "Run", "read_so_far"]

_EVER = (1 << 63) - 1
_SECOND = 1_000_000_000
_MS = 1_000_000
_MESSAGES = (
    EventKind.INIT, EventKind.ACK, EventKind.FAIL, EventKind.RESET, EventKind.ROTATED, EventKind.TIMED_OUT,
)  # fmt: skip


def read_so_far(events: DataFrame) -> DataFrame:
    """By process: rows, their times, and the times of those that concern an acker."""
    message = F.col("kind").isin(*map(int, _MESSAGES))
    at = F.when(message, F.col("time_ns"))
    return events.groupBy("run", "worker", "pid").agg(
        F.count("*").alias("rows"),
        F.min("time_ns").alias("first_ns"),
        F.max("time_ns").alias("last_ns"),
        F.min(at).alias("begin_ns"),
        F.max(at).alias("end_ns"),
        F.sum(F.when(F.col("kind") == int(EventKind.DROPPED), F.col("value")).otherwise(0)).alias("missing"),
    )


@dataclass(slots=True, kw_only=True)
class Run:
    """One run: the latest row of each process; the first and the last message to an acker, and the oldest that is kept."""

    processes: dict[str, int] = field(default_factory=dict)
    begin_ns: int | None = None
    end_ns: int | None = None
    oldest_ns: int | None = None  # of the messages that are carried
    open: int = 0  # roots that are carried with their messages
    patience_ns: int = 0  # how far a process may be behind

    @property
    def needed_ns(self) -> int:
        """Rotations before that touch nothing any more."""
        return min(_known(self.oldest_ns, self.frontier_ns))

    @property
    def now_ns(self) -> int:
        """The latest row."""
        return max(self.processes.values())

    @property
    def frontier_ns(self) -> int:
        """Everything before that is known."""
        if len(self.processes) == 1:
            return _EVER
        return max(min(self.processes.values()), self.now_ns - self.patience_ns)


@dataclass(slots=True, kw_only=True)
class Clock:
    """All runs.  `late`: how often rows of a process came after their run's frontier had passed them."""

    runs: dict[str, Run] = field(default_factory=dict)
    rows: int = 0
    missing: int = 0
    late: int = 0

    def advance(self, rows: Iterable[Row], patience_s: int) -> None:
        """After the rows of a batch (`read_so_far`)."""
        read = list(rows)
        frontiers = {name: min(run.frontier_ns, run.now_ns) for name, run in self.runs.items()}
        for row in read:
            self.late += row["first_ns"] < frontiers.get(row["run"], 0) and not self._sole(row)
            self.rows += row["rows"]
            self.missing += row["missing"]
        for row in read:
            run = self.runs.setdefault(row["run"], Run(patience_ns=patience_s * _SECOND))
            name = _process(row)
            run.processes[name] = max(row["last_ns"], run.processes.get(name, row["last_ns"]))
            if row["begin_ns"] is not None:
                run.begin_ns = min(_known(run.begin_ns, row["begin_ns"]))
                run.end_ns = max(_known(run.end_ns, row["end_ns"]))
                run.oldest_ns = min(_known(run.oldest_ns, row["begin_ns"]))

    def _sole(self, row: Row) -> bool:
        return set(self.runs[row["run"]].processes) == {_process(row)}

    def ends(self, remember_s: int) -> dict[str, tuple[int, int]]:
        """Of each run its frontier, and since when things are remembered."""
        return {name: (run.frontier_ns, run.now_ns - remember_s * _SECOND) for name, run in self.runs.items()}

    def bounds_ns(self, version: AckerVersion, message_timeout_s: int) -> dict[str, tuple[int, int]]:
        """From when to when the acker's clock has gone, whole periods after a run's begin that nobody needs left out."""
        schedule = schedule_ms(version, message_timeout_s)
        if schedule is None:
            return {}
        first_ms, every_ms = schedule
        found: dict[str, tuple[int, int]] = {}
        for name, run in self.runs.items():
            if run.begin_ns is None or run.end_ns is None:
                continue
            begin_ms = run.begin_ns // _MS
            oldest_ms = min(_known(run.oldest_ns, run.end_ns)) // _MS
            over = max(0, (oldest_ms - begin_ms - first_ms) // every_ms)
            found[name] = ((begin_ms + over * every_ms) * _MS, run.end_ns)
        return found

    def written(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> "Clock":
        """From what was written."""
        said: dict[str, Any] = json.loads(text)
        runs: Mapping[str, Any] = said.pop("runs")
        return cls(runs={name: Run(**run) for name, run in runs.items()}, **said)


def _known(*times: int | None) -> list[int]:
    return [time for time in times if time is not None]


def _process(row: Row) -> str:
    return f"{row['worker']}/{row['pid']}"

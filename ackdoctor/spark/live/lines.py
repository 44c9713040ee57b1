"""The parts of a batch, with those that cannot be read, and the lines that a watch reports: flat objects."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, reduce
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from ackdoctor.dialects import known
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.trace import AUTO, EventKind
from ackdoctor.rulebook import NEVER_ZERO_ENTRY, ORPHAN_ENTRY, rule_name
from ackdoctor.spark.live.certain import ACKED_TWICE, NEVER_ZERO, OVER_ACKED
from ackdoctor.spark.read.events import quarantined, remove_unreadable
from ackdoctor.spark.read.file_kinds import FileKind
from ackdoctor.spark.read.inputs import Inputs, find_inputs
from ackdoctor.spark.read.paths import ZIPPED, unescaped, unzipped
from ackdoctor.spark.read.traces import refused, traces
from ackdoctor.spark.schema import ROOT_KEY
from ackdoctor.spark.tables import Quarantined
from ackdoctor.tracer.findings import RULE_MESSAGES, Case
from ackdoctor.tracer.sites import Places, parsed
from ackdoctor.tracer.trace_files import SUFFIXES, Stem, is_checkpoint, partition

__all__ = [
    "PATTERN",
    "Line",
    "Parts",
    "arrived",
    "delivery_lines",
    "empty",
    "part_lines",
    "root_lines",
    "waiting",
]

Line = Mapping[str, Any]

PATTERN = "part-*.{parquet,jsonl,jsonl.gz}"  # of names
_UNREADABLE = "unreadable"  # a part
_REFUSED = "refused"  # rows of a part

_INIT, _ACK = int(EventKind.INIT), int(EventKind.ACK)
_COMPLETED = int(EventKind.COMPLETED)
_MOST_NAMED = 1_000  # roots of a batch whose culprits are named
_MOST_SENT = 500  # messages of one root that are collected for that
_VERBS: Mapping[int, str] = {int(EventKind.ACKED): "ack", int(EventKind.FAILED): "fail"}
_RULES: Mapping[str, str] = {
    NEVER_ZERO: NEVER_ZERO_ENTRY,
    OVER_ACKED: ORPHAN_ENTRY,
}  # by what its acker keeps
_FAILED = int(EventKind.FAILED)
_SENT = ("time_ns", "kind", "component", "task", "delivery", "value", "site")
_KINDS = (FileKind.PARQUET, FileKind.JSON_LINES)


# ---- parts ----


@dataclass(slots=True, kw_only=True)
class Parts:
    """The parts of a batch, those that cannot be read, and why; `seen` has the names of all parts so far, by worker."""

    files: dict[FileKind, list[str]] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    again: int = 0  # copies of a part that was read before
    gone: int = 0  # removed before they could be read, as a full trace removes its oldest
    seen: dict[str, list[str]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many parts are read."""
        return sum(map(len, self.files.values()))

    def events(self, session: SparkSession) -> DataFrame | None:
        """Return EVENTS; None if there is nothing to read."""
        tables = [traces(session, sort, files) for sort, files in self.files.items() if files]
        return reduce(DataFrame.unionByName, tables) if tables else None

    def refused(self, session: SparkSession) -> tuple[Quarantined, ...]:
        """Return the rows that cannot be used."""
        tables = [refused(session, sort, files) for sort, files in self.files.items() if files]
        return quarantined(reduce(DataFrame.unionByName, tables)) if tables else ()

    def remove_unreadable(self, session: SparkSession) -> None:
        """Remove the parts that Spark cannot read to their end."""
        self.faults |= remove_unreadable(session, self.files)


def arrived(paths: Iterable[str], seen: dict[str, list[str]]) -> Parts:
    """Inspect the beginning and end of each part, as `analyze` does."""
    parts = Parts(seen={worker: list(stems) for worker, stems in seen.items()})
    inputs = find_inputs(_new(sorted(paths), parts))
    parts.files = {sort: inputs.files[sort] for sort in _KINDS}
    parts.faults |= dict(_faults(inputs))
    parts.again += len(inputs.passed_over)  # the same bytes under another name
    return parts


def _new(paths: Iterable[str], parts: Parts) -> Iterator[str]:
    for name in paths:
        path = Path(name)
        if any(map(is_checkpoint, path.parents)):  # the checkpoint of another watch
            continue
        if not path.exists():
            parts.gone += 1
            continue
        try:
            stem = _stem(path)
        except ValueError:
            parts.faults[name] = "is not a part of a trace: its name has no process and row"
            continue
        known = parts.seen.setdefault(_writer(path), [])
        if stem in known:
            parts.again += 1
            continue
        known.append(stem)
        yield name


def _stem(path: Path) -> str:
    """Return the process and first row that a part's name has; ValueError for another name."""
    return str(Stem.of(unzipped(path)))


def _faults(inputs: Inputs) -> Iterator[tuple[str, str]]:
    for fault in inputs.unreadable:
        yield fault.path, fault.reason
    for file in inputs.files[FileKind.LOG]:
        yield file, "is a worker's log, not a part of a trace"


def empty(folder: Path, seen: Mapping[str, Sequence[str]]) -> list[str]:
    """Return empty parts, which Spark does not list."""
    suffixes = (*SUFFIXES, f".jsonl{ZIPPED}")
    found = [path for suffix in suffixes for path in folder.rglob(f"part-*{suffix}") if not _size(path)]
    return [
        str(path)
        for path in found
        if unzipped(path).stem.removeprefix("part-") not in seen.get(_writer(path), ())
    ]


def _writer(path: Path) -> str:
    run, worker = partition(path)
    return f"{run}/{worker}" if run or worker else str(path.parent)


def waiting(folder: Path) -> tuple[int, int]:
    """Return the bytes of the parts, and how many live files there are of processes that run or were killed."""
    size = sum(_size(path) for path in folder.rglob("part-*"))
    return size, sum(1 for _ in folder.rglob(".live-*"))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # a full trace removes its oldest part
        return 0


# ---- lines ----


def root_lines(rows: DataFrame, found: Sequence[Row]) -> list[Line]:
    """Return the lines of JUDGED rows; `rows` are the messages that they were judged by."""
    sent = _sent(rows, found[:_MOST_NAMED])
    return [_root_line(row, sent.get(tuple(row[name] for name in ROOT_KEY), ())) for row in found]


def _sent(rows: DataFrame, found: Sequence[Row]) -> dict[tuple[Any, ...], Sequence[Row]]:
    """Return the messages of those roots, in the order of time."""
    if not found:
        return {}
    of = rows.where(
        F.col("root").isin(*{row["root"] for row in found}) & F.col("kind").between(_INIT, _COMPLETED - 1)
    )
    by_root = of.groupBy(*ROOT_KEY).agg(
        F.slice(F.array_sort(F.collect_list(F.struct(*_SENT))), 1, _MOST_SENT).alias("sent")
    )
    return {tuple(row[name] for name in ROOT_KEY): row["sent"] for row in by_root.collect()}


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
    """Return whose ack carries the value that is left (law L1), or created a new entry."""
    acks = [each for each in sent if each["kind"] == _ACK]
    if row["what"] == NEVER_ZERO:
        acks_of_culprits = [each for each in acks if each["value"] == row["value"]]
    else:
        acks_of_culprits = [each for each in acks if each["time_ns"] >= row["first_ns"]][:1]
    grouped: dict[tuple[Any, ...], list[Row]] = {}
    for ack in acks_of_culprits:
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
    """Return the lines of DONE rows."""
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
    """Return the rule that two completions of a delivery break, as the judge of a run would find."""
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
    """Return all methods that frameworks call: completions do not name the handler of their delivery."""
    return frozenset(entry.method for dialect in known() for role in dialect.roles for entry in role.entries)


def _rule(code: str) -> Line:
    return {"code": code, "name": rule_name(code)}


def part_lines(parts: Parts, bad: Iterable[Quarantined]) -> list[Line]:
    """Return the lines of what could not be read."""
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

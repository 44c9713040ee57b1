"""Parts of a trace as JSON lines: what is written where pyarrow is absent, and what `cat` prints."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from ackdoctor.model.event import SCHEMA, Event, EventKind
from ackdoctor.tracer.disk.codec import Batch, FaultError, too_new

__all__ = ["SUFFIX", "events", "line", "rows", "store", "write"]

SUFFIX = ".jsonl"
_TEXTS = ("component", "stream", "delivery", "site", "thread", "test", "note", "run", "worker")
_KINDS = {int(kind): kind for kind in EventKind}
_TYPES = {name: str if name in _TEXTS else int for name in Event._fields}
_LONGEST = 16 << 20  # bytes of a line
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1  # what a column of a part holds
_MOST_SHOWN = 60  # characters of a value that is none
_quote = json.encoder.encode_basestring_ascii


def line(event: Event) -> str:
    """One row, without its end of line; run and worker only where the folder does not say them."""
    return (
        f'{{"schema":{SCHEMA},"kind":{event.kind:d},"time_ns":{event.time_ns},"seq":{event.seq},'
        f'"component":{_quote(event.component)},"task":{event.task},"stream":{_quote(event.stream)},'
        f'"delivery":{_quote(event.delivery)},"root":{event.root},"value":{event.value},'
        f'"site":{_quote(event.site)},"thread":{_quote(event.thread)},"flags":{event.flags},'
        f'"test":{_quote(event.test)},"note":{_quote(event.note)},"pid":{event.pid}'
        + (f',"run":{_quote(event.run)}' if event.run else "")
        + (f',"worker":{_quote(event.worker)}' if event.worker else "")
        + "}"
    )


def write(rows: Iterable[Event], path: Path) -> None:
    """Write rows, wherever they come from."""
    with path.open("w", encoding="ascii", newline="\n") as out:
        out.writelines(line(row) + "\n" for row in rows)


def store(batch: Batch, path: Path) -> None:
    """Write a part; OSError if there is no room."""
    with path.open("w", encoding="ascii", newline="\n") as out:
        out.writelines(_lines(batch))


def _lines(batch: Batch) -> Iterator[str]:
    """The same lines as `line` makes of the rows, with each text quoted once."""
    stamped = [
        (
            f'{{"schema":{SCHEMA},"kind":{kind},"time_ns":',
            f',"component":{_quote(component)},"task":{task},"stream":{_quote(stream)},"delivery":',
            f',"site":{_quote(site)},"thread":{_quote(thread)},"flags":{flags},"test":',
            f',"note":{_quote(note)},"pid":{batch.pid}}}\n',
        )
        for kind, flags, component, task, stream, site, thread, note in batch.legend()
    ]
    texts = defaultdict(lambda: '""', enumerate(map(_quote, batch.texts)))
    for seq, time_ns, stamp, delivery, root, value, test in batch.rows():
        begin, who, where, end = stamped[stamp]
        yield (
            f'{begin}{time_ns},"seq":{seq}{who}{_quote(delivery)},"root":{root},"value":{value}'
            f"{where}{texts[test]}{end}"
        )


def rows(path: Path) -> int:
    """How many rows a part has."""
    with path.open("rb") as lines:
        return sum(1 for _ in lines)


def events(path: Path, run: str, worker: str) -> Iterator[Event]:
    """The rows of a part, in order; FaultError at the first line that is none."""
    with path.open("rb") as lines:
        number = 0
        while data := lines.readline(_LONGEST):
            number += 1
            if len(data) == _LONGEST and not data.endswith(b"\n"):
                raise FaultError(f"a line of more than {_LONGEST >> 20} MB", line=number)
            yield _row(data, number, run, worker)


def _row(data: bytes, number: int, run: str, worker: str) -> Event:
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        if data.endswith(b"\n"):
            raise FaultError("no JSON", line=number) from None
        raise FaultError("the last line was not finished", line=number, torn=True) from None
    if not isinstance(said, dict) or not isinstance(said.get("schema"), int):
        raise FaultError("no row of a trace", line=number)
    if not _LEAST <= said["schema"] <= _MOST:
        raise FaultError("no row of a trace", line=number)
    if said["schema"] > SCHEMA:
        raise too_new(said["schema"], line=number)
    values = {name: said[name] for name in Event._fields if name in said}
    for name, value in values.items():
        if type(value) is not _TYPES[name] or (type(value) is int and not _LEAST <= value <= _MOST):
            shown = repr(value) if isinstance(value, str) else str(value)
            raise FaultError(f"no row of a trace: {name} is {shown[:_MOST_SHOWN]}", line=number)
    if values.get("kind") not in _KINDS or "time_ns" not in values:
        raise FaultError("no row of a trace: its kind or its time is missing", line=number)
    values["kind"] = _KINDS[values["kind"]]
    return Event(**{"run": run, "worker": worker} | values)

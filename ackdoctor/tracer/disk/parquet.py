"""The door to pyarrow: parts of a trace as Parquet (extra `ackdoctor[trace]`).

A column of records is gathered into one buffer that Arrow takes as it is; texts become dictionaries
of what the part uses, so that a part explains itself and Spark reads the folder without conversion.
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ackdoctor.model.event import SCHEMA, Event, EventKind
from ackdoctor.tracer.disk.codec import BARE, NUMBER, PAIRED, WORD, Batch, FaultError, too_new

__all__ = ["SUFFIX", "TEXT", "events", "rows", "write"]

SUFFIX = ".parquet"
TEXT = pa.dictionary(pa.int32(), pa.string())  # few different values, named once in each part
_TEXTS = ("component", "stream", "site", "thread", "test", "note")
_NUMBERS = frozenset(Event._fields) - {*_TEXTS, "delivery", "run", "worker"}
_MARK = b"ackdoctor.schema"
_ROWS = b"ackdoctor.rows"  # once more: the footer is the one place without a checksum
_END = b"PAR1"
_ROWS_AT_ONCE = 16_384
_MOST_ROWS_PER_BYTE = 16  # of the file: a real row takes about five bytes
_MOST_BYTES = 1 << 30  # of a row group, unpacked
_KINDS = {int(kind): kind for kind in EventKind}


def write(batch: Batch, path: Path) -> None:
    """Write a part; OSError if there is no room."""
    count = len(batch)
    stamps = _column(batch, "stamp", pa.uint16())
    kinds, flags, components, tasks, streams, sites, threads, notes = zip(*batch.legend(), strict=True)
    zeros = _alike(count, 0, "q", pa.int64())
    forms = None if batch.is_uniform("form", NUMBER) else _column(batch, "form", pa.uint16())
    table = {
        "kind": pa.array(kinds, pa.int8()).take(stamps),
        "time_ns": _column(batch, "time_ns", pa.int64()),
        "seq": _seqs(batch),
        "component": _texts(components, stamps),
        "task": pa.array(tasks, pa.int32()).take(stamps),
        "stream": _texts(streams, stamps),
        "delivery": _deliveries(batch, forms),
        "root": zeros if forms is None else _of_acker(batch, "first", forms),
        "value": zeros if forms is None else _of_acker(batch, "second", forms),
        "site": _texts(sites, stamps),
        "thread": _texts(threads, stamps),
        "flags": pa.array(flags, pa.int8()).take(stamps),
        "test": _tests(batch),
        "note": _texts(notes, stamps),
        "pid": _alike(count, batch.pid, "i", pa.int32()),
    }
    columns = [pa.field(name, column.type, nullable=False) for name, column in table.items()]
    made = pa.table(table, schema=pa.schema(columns, {_MARK: str(SCHEMA), _ROWS: str(count)}))
    pq.write_table(
        made,
        path,
        compression={name: "none" if name == "time_ns" else "zstd" for name in table},  # packed, it is noise
        use_dictionary=["delivery", *_TEXTS],  # for numbers that are alike zstd is enough, and sooner done
        column_encoding=dict.fromkeys(("time_ns", "seq"), "DELTA_BINARY_PACKED"),
        write_statistics=["time_ns", "seq", "root"],
        write_page_checksum=True,
    )


def _column(batch: Batch, name: str, kind: Any) -> Any:
    return pa.Array.from_buffers(kind, len(batch), [None, pa.py_buffer(batch.column(name))])


def _alike(count: int, value: int, code: str, kind: Any) -> Any:
    """One number in every row; `pa.repeat` takes ten times as long."""
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(array(code, [value]).tobytes() * count)])


def _seqs(batch: Batch) -> Any:
    if isinstance(
        batch.slots, range
    ):  # most often; as an array of Python's it would cost more than all the rest
        return pc.cumulative_sum(_alike(len(batch), 1, "q", pa.int64()), start=batch.first - 1)
    return pc.add(pa.array(batch.slots, pa.int64()), batch.first)


def _texts(said: Sequence[str], stamps: Any) -> Any:
    """A column of texts that the stamps say, each once."""
    names = pa.array(said, pa.string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(names.indices.take(stamps), names.dictionary)


def _tests(batch: Batch) -> Any:
    packed, known = batch.column("test"), batch.texts
    tests = pa.Array.from_buffers(pa.uint16(), len(batch), [None, pa.py_buffer(packed)])
    if packed == packed[:2] * len(batch):  # the rows of a test are a part of their own
        rows, used = _alike(len(batch), 0, "i", pa.int32()), tests[:1]
    else:
        codes = tests.dictionary_encode()
        rows, used = codes.indices, codes.dictionary
    names = [known[code] if code < len(known) else "" for code in used.to_pylist()]
    return pa.DictionaryArray.from_arrays(rows, pa.array(names, pa.string()))


def _of_acker(batch: Batch, name: str, forms: Any) -> Any:
    """Root or value."""
    said = pc.or_(pc.equal(forms, BARE), pc.greater_equal(forms, PAIRED))
    return pc.if_else(said, _column(batch, name, pa.int64()), pa.scalar(0, pa.int64()))


def _deliveries(batch: Batch, forms: Any) -> Any:
    """Ids as text, each said once; the decimal ones (without `forms`, all are) are turned into text by Arrow."""
    first, none = _column(batch, "first", pa.int64()), pa.scalar(None, pa.int64())
    if forms is None:
        codes = first.dictionary_encode()
        return pa.DictionaryArray.from_arrays(codes.indices, codes.dictionary.cast(pa.string()))
    codes = pc.if_else(pc.equal(forms, NUMBER), first, none).dictionary_encode()
    words = pa.array([*batch.words, ""], pa.string())
    last = len(batch.words)  # what the side file does not know, and what has no delivery
    places = pc.if_else(pc.equal(forms, WORD), first, pc.subtract(forms.cast(pa.int64()), PAIRED))
    is_word = pc.and_(pc.greater_equal(places, 0), pc.less(places, last))
    after = pc.add(pc.if_else(is_word, places, last), len(codes.dictionary)).cast(pa.int32())
    return pa.DictionaryArray.from_arrays(
        pc.coalesce(codes.indices, after), pa.concat_arrays([codes.dictionary.cast(pa.string()), words])
    )


def rows(path: Path) -> int:
    """How many rows a part has."""
    return int(pq.read_metadata(path).num_rows)


def events(path: Path, run: str, worker: str) -> Iterator[Event]:
    """The rows of a part, in order; FaultError at the first that cannot be read."""
    try:
        if not _has_end(path):
            raise FaultError("no Parquet footer: the file is cut off, or was never finished")
        file = pq.ParquetFile(path, page_checksum_verification=True)
        said = file.schema_arrow.metadata or {}
        if _MARK not in said:
            raise FaultError("a Parquet file, but no part of a trace")
        if int(said[_MARK]) > SCHEMA:
            raise too_new(int(said[_MARK]))
        names = [name for name in Event._fields if name not in ("run", "worker")]
        for name in names:
            if name not in file.schema_arrow.names:
                raise FaultError(f"no part of a trace: it has no column {name!r}")
            kind = file.schema_arrow.field(name).type
            if name in _NUMBERS and not pa.types.is_integer(kind):
                raise FaultError(f"no part of a trace: its column {name!r} holds no whole numbers but {kind}")
            if name not in _NUMBERS and not _is_text(kind):
                raise FaultError(f"no part of a trace: its column {name!r} holds no texts but {kind}")
        _need_likely(file.metadata, path.stat().st_size)
        seen = 0
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=names):
            columns = [_values(batch.column(name)) for name in names]
            said_kinds, columns[0] = columns[0], [_KINDS.get(kind) for kind in columns[0]]
            asked = [place for place, name in enumerate(names) if not place or batch.column(name).null_count]
            nulls = {columns[place].index(None): names[place] for place in asked if None in columns[place]}
            good = min(nulls, default=batch.num_rows)
            for pid, *row in islice(zip(columns[-1], *columns[:-1], strict=True), good):
                yield Event._make((*row, run, worker, pid))
            if good < batch.num_rows:
                value = said_kinds[good] if nulls[good] == "kind" else None
                raise FaultError(f"no row of a trace: its {nulls[good]} is {value}")
            seen += batch.num_rows
        if seen != int(said.get(_ROWS, seen)):
            raise FaultError(f"its footer is damaged: {said[_ROWS].decode()} rows were written")
    except (
        pa.ArrowException,
        OSError,
        LookupError,
        ValueError,
        TypeError,
        OverflowError,
        MemoryError,
    ) as error:
        raise FaultError(_reason(error)) from error


def _is_text(kind: Any) -> bool:
    """Whether a column holds texts, named once or not."""
    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(values) or pa.types.is_large_string(values))


def _need_likely(said: Any, size: int) -> None:
    """FaultError for a file that would become far more than a trace of its size: it was made to fill memory or time."""
    groups = [said.row_group(number) for number in range(said.num_row_groups)]
    largest = max((group.total_byte_size for group in groups), default=0)
    if said.num_rows > _MOST_ROWS_PER_BYTE * size or largest > _MOST_BYTES:
        raise FaultError(
            f"no part of a trace: {size:,} bytes claim {said.num_rows:,} rows of {largest:,} bytes in one group"
        )


def _values(column: Any) -> list[Any]:
    """A column as a list, each text of a dictionary made once (`to_pylist` makes it for every row)."""
    if not pa.types.is_dictionary(column.type):
        return list(column.to_pylist())
    texts = column.dictionary.to_pylist()
    return [texts[code] for code in column.indices.to_pylist()]


def _has_end(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - len(_END), 0))
        return file.read() == _END


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).partition("\n")[0] or type(error).__name__

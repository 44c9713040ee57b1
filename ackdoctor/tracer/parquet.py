"""Parts of a trace as Parquet, by pyarrow (extra `ackdoctor[trace]`): the only module that imports pyarrow.

Text columns are dictionary-encoded, so that a part is small and Spark reads the folder without conversion.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from ackdoctor.model.trace import SCHEMA, Event, EventKind
from ackdoctor.tracer.trace_files import FaultError, newer_schema

_SMALL = {"kind": pa.int8(), "flags": pa.int8(), "task": pa.int32(), "pid": pa.int32()}
_TEXTS = ("component", "stream", "delivery", "site", "thread", "test", "note")
_COLUMNS = [name for name in Event._fields if name not in ("run", "worker")]
_LINES = pa.schema(
    [(name, pa.string() if name in _TEXTS else _SMALL.get(name, pa.int64())) for name in _COLUMNS]
)
_MARK = b"ackdoctor.schema"
_ROWS = b"ackdoctor.rows"  # repeated here since the footer has no checksum
_END = b"PAR1"
_MAX_BLOCK = 32 << 20  # bytes of JSON that pyarrow parses at once: more than the longest line
_ROWS_AT_ONCE = 16_384
_MAX_ROWS_PER_BYTE = 16  # of the file: a real row takes about five bytes
_MAX_BYTES = 1 << 30  # of an uncompressed row group
_KINDS = {int(kind): kind for kind in EventKind}
_ERRORS = (pa.ArrowException, OSError, LookupError, ValueError, TypeError, OverflowError, MemoryError)


def convert(lines: Path, part: Path) -> None:
    """Write a file of JSON lines as Parquet. OSError: no room; pa.ArrowException: pyarrow cannot parse the lines."""
    read = pj.ReadOptions(use_threads=False, block_size=_MAX_BLOCK)
    parse = pj.ParseOptions(explicit_schema=_LINES, unexpected_field_behavior="ignore")
    table = pj.read_json(lines, read, parse).combine_chunks()
    columns = {
        name: table.column(name).dictionary_encode() if name in _TEXTS else table.column(name)
        for name in _COLUMNS
    }
    fields = [pa.field(name, column.type, nullable=False) for name, column in columns.items()]
    marks = {_MARK: str(SCHEMA), _ROWS: str(table.num_rows)}
    pq.write_table(
        pa.table(columns, schema=pa.schema(fields, marks)),
        part,
        compression={name: "none" if name == "time_ns" else "zstd" for name in _COLUMNS},
        use_dictionary=list(_TEXTS),
        column_encoding=dict.fromkeys(("time_ns", "seq"), "DELTA_BINARY_PACKED"),
        write_statistics=["time_ns", "seq", "root"],
        write_page_checksum=True,
    )


def row_count(path: Path) -> int:
    """How many rows a part has."""
    return int(pq.read_metadata(path).num_rows)


def read_parquet(path: Path, run: str, worker: str) -> Iterator[Event]:
    """The rows of a part in order; FaultError at the first row that cannot be read."""
    try:
        file = _opened(path)
        marks = file.schema_arrow.metadata
        seen = 0
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=_COLUMNS):
            columns = [_values(batch.column(name)) for name in _COLUMNS]
            numbers, columns[0] = columns[0], [_KINDS.get(kind) for kind in columns[0]]
            nullable = [at for at, name in enumerate(_COLUMNS) if not at or batch.column(name).null_count]
            nulls = {columns[at].index(None): _COLUMNS[at] for at in nullable if None in columns[at]}
            good = min(nulls, default=batch.num_rows)
            for pid, *row in islice(zip(columns[-1], *columns[:-1], strict=True), good):
                yield Event._make((*row, run, worker, pid))
            if good < batch.num_rows:
                value = numbers[good] if nulls[good] == "kind" else None
                raise FaultError(f"no row of a trace: its {nulls[good]} is {value}")
            seen += batch.num_rows
        if seen != int(marks.get(_ROWS, seen)):
            raise FaultError(f"its footer is damaged: {marks[_ROWS].decode()} rows were written")
    except _ERRORS as error:
        raise FaultError(_reason(error)) from error


def _opened(path: Path) -> Any:
    """The file, checked: FaultError if it is no part of a trace."""
    with path.open("rb") as data:
        data.seek(max(path.stat().st_size - len(_END), 0))
        end = data.read()
    if end != _END:
        raise FaultError("no Parquet footer: the file is cut off, or was never finished")
    file = pq.ParquetFile(path, page_checksum_verification=True)
    marks = file.schema_arrow.metadata or {}
    if _MARK not in marks:
        raise FaultError("a Parquet file, but no part of a trace")
    if int(marks[_MARK]) > SCHEMA:
        raise newer_schema(int(marks[_MARK]))
    for name in _COLUMNS:
        if name not in file.schema_arrow.names:
            raise FaultError(f"no part of a trace: it has no column {name!r}")
        kind = file.schema_arrow.field(name).type
        if name not in _TEXTS and not pa.types.is_integer(kind):
            raise FaultError(f"no part of a trace: its column {name!r} holds no whole numbers but {kind}")
        if name in _TEXTS and not _is_text(kind):
            raise FaultError(f"no part of a trace: its column {name!r} holds no texts but {kind}")
    _check_size(file.metadata, path.stat().st_size)
    return file


def _is_text(kind: Any) -> bool:
    values = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(values) or pa.types.is_large_string(values))


def _check_size(metadata: Any, size: int) -> None:
    """FaultError for a small file that claims far more rows than a trace has: reading it would exhaust memory."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    largest = max((group.total_byte_size for group in groups), default=0)
    if metadata.num_rows > _MAX_ROWS_PER_BYTE * size or largest > _MAX_BYTES:
        raise FaultError(
            f"no part of a trace: {size:,} bytes claim {metadata.num_rows:,} rows of {largest:,} bytes in one group"
        )


def _values(column: Any) -> list[Any]:
    """A column as a list; each text of a dictionary is decoded once."""
    if not pa.types.is_dictionary(column.type):
        return list(column.to_pylist())
    texts = column.dictionary.to_pylist()
    return [texts[code] for code in column.indices.to_pylist()]


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).partition("\n")[0] or type(error).__name__

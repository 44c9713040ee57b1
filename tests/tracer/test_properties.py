import tempfile
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from ackdoctor.model.trace import Event, EventKind
from ackdoctor.tracer import recorder as write
from ackdoctor.tracer.trace_files import printable
from ackdoctor.tracer.trace_reader import parquet_module
from tests.tracer.traces import recorder, rows

LONG = st.integers(-(1 << 63), (1 << 63) - 1)
TEXT = st.text(max_size=8)
IDS = st.text(max_size=8) | LONG.map(str) | st.sampled_from(["", "0", "-0", "00", "1" * 30])
ROWS = st.lists(
    st.builds(
        Event,
        kind=st.sampled_from(EventKind),
        time_ns=st.just(0),
        component=TEXT,
        task=st.integers(-(1 << 31), (1 << 31) - 1),
        stream=TEXT,
        delivery=IDS,
        root=LONG,
        value=LONG,
        site=TEXT,
        thread=TEXT,
        flags=st.integers(0, 127),
        note=TEXT,
        **{name: st.just(Event._field_defaults[name]) for name in ("seq", "test", "run", "worker", "pid")},
    ),
    max_size=20,
)


@settings(max_examples=60)
@given(ROWS, st.integers(1, 7), st.sampled_from(["live", "parquet", "json lines"]))
def test_rows_survive_a_round_trip(wanted, room, how):
    module = (lambda: None) if how == "json lines" else parquet_module
    with tempfile.TemporaryDirectory() as folder, patch.object(write, "parquet_module", module):
        writer = recorder(Path(folder), events=20 if how == "live" else room)
        for row in wanted:
            writer.write(
                row.kind,
                row.component,
                row.task,
                row.stream,
                row.delivery,
                row.root,
                row.value,
                row.site,
                row.flags,
                row.thread,
                row.note,
            )
        if how == "live":
            writer.flush()
        else:
            writer.close()
        found = rows(folder) if wanted else []
        writer.close()
    texts = ("component", "stream", "delivery", "site", "thread", "note")
    printed = [row._replace(**{name: printable(getattr(row, name)) for name in texts}) for row in wanted]
    assert [row._replace(time_ns=0, seq=0, run="", worker="", pid=0) for row in found] == printed

import tempfile
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from ackdoctor.model.event import Event, EventKind
from ackdoctor.tracer.disk import storing
from ackdoctor.tracer.disk.codec import printable
from tests.tracer.disk.traces import recorder, rows

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


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(1, 7), st.sampled_from(["live", "parquet", "json lines"]))
def test_any_rows_come_back_as_they_were(wanted, room, how):
    door = (lambda: None) if how == "json lines" else storing.columnar
    with tempfile.TemporaryDirectory() as folder, patch.object(storing, "columnar", door):
        writer = recorder(Path(folder), events=20 if how == "live" else room)
        for row in wanted:
            writer.write(
                row.kind,
                writer.code(row.component),
                row.task,
                writer.code(row.stream),
                row.delivery,
                row.root,
                row.value,
                writer.code(row.site),
                row.flags,
                writer.code(row.thread),
                writer.code(row.note),
            )
        if how != "live":
            writer.close()
        found = rows(folder) if wanted else []
        writer.close()
    texts = ("component", "stream", "delivery", "site", "thread", "note")
    printed = [row._replace(**{name: printable(getattr(row, name)) for name in texts}) for row in wanted]
    assert [row._replace(time_ns=0, seq=0, run="", worker="", pid=0) for row in found] == printed

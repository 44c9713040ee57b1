"""Which of the files that Spark names are new parts."""

import pytest

pytest.importorskip("pyspark")

from ackdoctor.spark.live.parts import arrived


def test_what_another_watch_has_noted_in_here_is_no_part(tmp_path):
    state = tmp_path / "v1.watch" / "state" / "0-1" / "roots"
    state.mkdir(parents=True)
    for name in ("lock", "terms.json"):
        (tmp_path / "v1.watch" / name).touch()
    part = state / "part-00000-a.snappy.parquet"
    part.touch()
    parts = arrived([str(part)], {})
    assert (parts.count, parts.faults, parts.gone, parts.seen) == (0, {}, 0, {})

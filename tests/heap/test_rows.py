"""`Rows` finds the same rows as a dict."""

from array import array

from hypothesis import given
from hypothesis import strategies as st

from ackdoctor.heap.sweep import Rows

IDS = st.lists(st.integers(0, (1 << 64) - 1) | st.integers(0, 400), unique=True)


@given(IDS, st.lists(st.integers(0, 500)), st.integers(1, 5))
def test_every_id_is_found_in_its_row_and_no_other(ids, strangers, at_once):
    rows = Rows("q")
    for first in range(0, len(ids), at_once):
        part = ids[first : first + at_once]
        rows.extend(array("Q", part), array("q", range(first, first + len(part))))
    rows.sort()
    values = rows.columns[0]
    assert [values[place] for place in rows.find(ids)] == list(range(len(ids)))
    assert [values[place] for place in rows.find(sorted(ids))] == sorted(range(len(ids)), key=ids.__getitem__)
    foreign = [id_ for id_ in strangers if id_ not in ids]
    assert list(rows.find(foreign)) == [-1] * len(foreign)

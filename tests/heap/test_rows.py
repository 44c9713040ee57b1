"""Columns beside sorted ids find what a dict would."""

from hypothesis import given
from hypothesis import strategies as st

from ackdoctor.heap.jvm.rows import Rows

IDS = st.lists(st.integers(0, (1 << 64) - 1) | st.integers(0, 400), unique=True)


@given(IDS, st.lists(st.integers(0, 500)))
def test_every_id_is_found_in_its_row_and_no_other(ids, strangers):
    rows = Rows("q")
    push_id, push_value = rows.push
    for place, id_ in enumerate(ids):
        push_id(id_)
        push_value(place)
    find = rows.sort()
    values = rows.columns[0]
    assert {id_: values[find(id_)] for id_ in ids} == {id_: place for place, id_ in enumerate(ids)}
    assert [find(id_) for id_ in strangers if id_ not in ids] == [-1] * sum(
        id_ not in ids for id_ in strangers
    )

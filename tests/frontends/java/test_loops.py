"""Loops that step by hand are lowered like a `for` over their collection, or left as they are."""

import pytest

from ackdoctor.model.cfg import Next
from tests.frontends.java.lowered import unit


def iterables(body: str) -> list[object]:
    """What the loops of a method go over."""
    source = f"class A {{ List<Tuple> rows; void run(List<Tuple> batch) {{ {body} }} }}"
    steps = unit(source).classes["A"].methods["run"].cfg.steps
    return [step.op for step in steps if isinstance(step.op, Next)]


@pytest.mark.parametrize(
    "loop",
    [
        "for (Iterator<Tuple> it = rows.iterator(); it.hasNext();) { Tuple t = it.next(); use(t); it.remove(); }",
        "Iterator<Tuple> it = batch.iterator(); while (it.hasNext()) { Tuple t = (Tuple) it.next(); use(t); }",
        "Iterator<Tuple> it = batch.iterator(); while (it.hasNext()) use(it.next());",
        "for (int i = 0; i < rows.size(); i++) { use(rows.get(i)); }",
        "for (int i = 0; i < batch.size(); ++i) if (batch.get(i) != null) use(batch.get(i));",
        "for (int i = 0; i < this.rows.size(); i += 1) use(this.rows.get(i));",
    ],
)
def test_a_loop_by_hand_goes_over_its_collection(loop):
    assert len(iterables(loop)) == 1


@pytest.mark.parametrize(
    "loop",
    [
        "Iterator<Tuple> it = batch.iterator(); while (it.hasNext()) { Tuple a = it.next(); use(a, it.next()); }",
        "Iterator<Tuple> it = batch.iterator(); while (it.hasNext()) { if (ok()) use(it.next()); }",
        "Iterator<Tuple> it = batch.iterator(); while (it.hasNext()) { Tuple t = it.next(); use(it); }",
        "Scanner it = open(); while (it.hasNext()) { String t = it.next(); use(t); }",
        "for (int i = 1; i < rows.size(); i++) use(rows.get(i));",
        "for (int i = 0; i < rows.size() - 1; i++) use(rows.get(i));",
        "for (int i = 0; i < rows.size(); i++) use(rows.get(i), i);",
        "for (int i = 0; i < rows.size(); i++) use(rows.get(i + 1));",
        "for (int i = 0; i < rows.size(); i++) { use(rows.get(i)); rows.remove(0); }",
        "for (int i = 0; i < rows.size(); i += 2) use(rows.get(i));",
    ],
)
def test_any_other_loop_stays_as_it_is(loop):
    assert iterables(loop) == []


def test_a_label_and_a_continue_keep_their_loop():
    loop = "rows: for (int i = 0; i < rows.size(); i++) { if (rows.get(i) == null) continue rows; use(rows.get(i)); }"
    assert len(iterables(loop)) == 1

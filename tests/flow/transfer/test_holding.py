"""What was asked about a collection is asked anew once something was put into it."""

import pytest

from tests.checks.sources import codes, in_bolt


@pytest.mark.parametrize("begin", ["rows = work(1)", "rows = {}", "self.rows = work(1)"])
@pytest.mark.parametrize(
    ("first", "put", "then"),
    [
        ("len({rows}) < 10", "{rows}[key] = 1", "len({rows}) >= 10"),
        ("key not in {rows}", "{rows}[key] = 1", "key in {rows}"),
        ("not {rows}['bad']", "{rows}[key] = True", "{rows}['bad']"),
        ("not {rows}['bad']", "{rows}[key] |= True", "{rows}['bad']"),
        ("len({rows}) > 3", "{rows}[:] = []", "len({rows}) <= 3"),
    ],
)
def test_what_was_asked_before_something_was_put_in_is_open(begin, first, put, then):
    rows = begin.partition(" = ")[0]
    source = in_bolt(
        f"""
        def process(self, tup):
            key = tup.values[0]
            {begin}
            if {first.format(rows=rows)}:
                {put.format(rows=rows)}
                if {then.format(rows=rows)}:
                    self.fail(tup)
            self.ack(tup)
        """
    )

    assert codes(source) == [(15, "ACK106")]


@pytest.mark.parametrize("put", ["rows.append(1)", "rows.pop()", "rows.clear()"])
def test_so_is_how_much_there_was_in_a_new_list(put):
    source = in_bolt(
        f"""
        def process(self, tup):
            rows = []
            rows.extend(tup.values)
            before = len(rows)
            {put}
            if len(rows) != before:
                self.fail(tup)
            self.ack(tup)
        """
    )

    assert codes(source) == [(15, "ACK106")]


@pytest.mark.parametrize("put", ["rows['seen'] = True", "rows[0] += 1"])
def test_another_place_is_as_it_was(put):
    source = in_bolt(
        f"""
        def process(self, tup):
            rows = work(tup.values)
            if rows['bad']:
                self.fail(tup)
            {put}
            if not rows['bad']:
                self.ack(tup)
        """
    )

    assert codes(source) == []


def test_a_name_of_the_module_may_be_another_one_behind_a_helper():
    source = in_bolt(
        """
        def bump(self):
            global attempts
            attempts += 1

        def process(self, tup):
            global attempts
            if attempts < 3:
                self.bump()
                if attempts >= 3:
                    self.fail(tup)
            self.ack(tup)
        """
    )

    assert codes(source) == [(18, "ACK106")]

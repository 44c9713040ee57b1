"""What a path remembers about a collection: whether there is anything in it."""

import pytest

from tests.checks.sources import codes, in_bolt


@pytest.mark.parametrize("asked", ["not rows", "len(rows) == 0", "len(rows) < 1"])
@pytest.mark.parametrize("view", ["rows", "rows.items()"])
def test_a_loop_over_what_is_not_empty_has_a_round_and_over_what_is_empty_none(asked, view):
    left = in_bolt(
        f"""
        def process(self, tup):
            rows = work(tup.values[0])
            if {asked}:
                self.fail(tup)
                return
            for row in {view}:
                self.ack(tup)
                break
        """
    )
    stayed = in_bolt(
        f"""
        def process(self, tup):
            rows = work(tup.values[0])
            if {asked}:
                self.fail(tup)
            for row in {view}:
                self.ack(tup)
                break
        """
    )

    assert codes(left) == []
    assert codes(stayed) == []


def test_a_loop_may_end_after_any_round():
    source = in_bolt(
        """
        def process(self, tup):
            rows = work(tup.values[0])
            if not rows:
                self.fail(tup)
                return
            for row in rows:
                if ready(row):
                    self.ack(tup)
                    break
        """
    )

    assert codes(source) == [(14, "ACK101")]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("rows.append(1)", []),
        ("rows.extend(work())", [(14, "ACK101")]),
        ("rows[:] = work()", [(14, "ACK101")]),
    ],
)
def test_a_list_that_was_empty_has_what_is_put_into_it(change, expected):
    source = in_bolt(
        f"""
        def process(self, tup):
            rows = []
            if rows:
                self.fail(tup)
                return
            {change}
            if rows:
                self.ack(tup)
        """
    )

    assert codes(source) == expected


def test_a_list_that_was_emptied_is_asked_about_anew():
    source = in_bolt(
        """
        def process(self, tup):
            rows = work(tup.values[0])
            if not rows:
                self.ack(tup)
                return
            del rows[:]
            if not rows:
                self.ack(tup)
        """
    )

    assert codes(source) == [(14, "ACK101")]


@pytest.mark.parametrize(
    "change",
    [
        "self.fill(rows)",
        "fill(rows)",
        "self.store.fill(rows)",
        "self.store.fill([rows])",
        "self.store.each(rows.append)",
        "self.store.each(lambda word: rows.append(word))",
        'rows["a"] = 1',
        "rows[:] = [1]",
    ],
)
@pytest.mark.parametrize("asked", ["rows", "len(rows) > 0"])
def test_what_was_empty_may_have_something_once_others_were_given_it(asked, change):
    source = in_bolt(
        f"""
        def fill(self, rows):
            rows.append(1)

        def process(self, tup):
            rows = tup.values[0]
            if {asked}:
                self.ack(tup)
                return
            {change}
            for row in rows:
                self.ack(tup)
                break
            self.ack(tup)
        """
    )

    assert codes(source) == [(20, "ACK103")]


@pytest.mark.parametrize("change", ["json.dumps(rows)", "self.logger.info(rows)", 'rows["a"] = 1'])
def test_what_has_something_still_has_it_behind_what_takes_nothing_out(change):
    source = in_bolt(
        f"""
        def process(self, tup):
            rows = tup.values[0]
            if not rows:
                self.ack(tup)
                return
            {change}
            for row in rows:
                self.ack(tup)
                break
        """
    )

    assert codes(source) == []


@pytest.mark.parametrize("change", ["self.empty(rows)", "rows[:] = []"])
def test_what_had_something_may_be_empty_once_others_were_given_it(change):
    source = in_bolt(
        f"""
        def empty(self, rows):
            rows.clear()

        def process(self, tup):
            rows = tup.values[0]
            if not rows:
                self.ack(tup)
                return
            {change}
            for row in rows:
                self.ack(tup)
                break
        """
    )

    assert codes(source) == [(17, "ACK101")]

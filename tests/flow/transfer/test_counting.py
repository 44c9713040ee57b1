"""What a path knows of a number that is counted on: which round is the first, the last, or one in between."""

import pytest

from tests.checks.sources import codes, in_bolt


def in_rounds(head: str, condition: str, *, before: str = "pass") -> str:
    """A handler that acks in the round of a loop of which the condition is so."""
    return in_bolt(
        f"""
        def process(self, tup):
            words, count = tup.values
            if not words or count <= 0:
                self.ack(tup)
                return
            {before}
            {head}:
                work(tup.values)
                if {condition}:
                    self.ack(tup)
        """
    )


@pytest.mark.parametrize(
    ("head", "condition"),
    [
        ("for i in range(3)", "i == 2"),
        ("for i in range(3)", "i == 0"),
        ("for i in range(3)", "i >= 2"),
        ("for i in range(3)", "not i < 2"),
        ("for i in range(1, 4)", "i == 3"),
        ("for i in range(count)", "i == count - 1"),
        ("for i in range(count)", "i + 1 == count"),
        ("for i in range(count)", "count - 1 == i"),
        ("for i in range(count)", "i + 2 > count"),
        ("for i in range(len(words))", "i == len(words) - 1"),
        ("for i, word in enumerate(words)", "i == len(words) - 1"),
        ("for i, word in enumerate(words, 1)", "i == len(words)"),
        ("for i, word in enumerate(words, start=1)", "i == len(words)"),
        ("for i, word in enumerate(sorted(words))", "i == len(words) - 1"),
        ("for i, (word, much) in enumerate(words.items())", "i == len(words) - 1"),
        ("for i, word in enumerate(words)", "i == 0"),
        ("for i in range(0, count, 10)", "i + 10 >= count"),
    ],
)
def test_one_round_of_a_loop_is_one_ack(head, condition):
    assert codes(in_rounds(head, condition)) == []


@pytest.mark.parametrize(
    ("head", "condition", "expected"),
    [
        ("for i in range(3)", "i == 3", ["ACK101"]),
        ("for i in range(3)", "i >= 1", ["ACK104"]),
        ("for i in range(3)", "i != 1", ["ACK104"]),
        ("for i in range(count)", "i == count", ["ACK101"]),
        ("for i in range(count)", "i == count - 2", ["ACK101"]),
        ("for i in range(count)", "i >= count - 2", ["ACK104"]),
    ],
)
def test_no_round_or_several_are_told(head, condition, expected):
    assert [code for _, code in codes(in_rounds(head, condition))] == expected


def test_a_number_that_the_loop_changes_otherwise_is_not_counted():
    source = in_bolt(
        """
        def process(self, tup):
            for i in range(3):
                i = ready(i)
                if i == 2:
                    self.ack(tup)
        """
    )

    assert [code for _, code in codes(source)] == ["ACK101", "ACK104"]


@pytest.mark.parametrize("change", ["size = ready(size)", "size += 1", "large = ready(size)"])
def test_a_local_stands_for_a_condition_until_one_of_the_two_changes(change):
    source = in_bolt(
        f"""
        def process(self, tup):
            name, size = tup.values
            large = size > 1000
            {change}
            if large:
                self.ack(tup)
            if size <= 1000:
                self.fail(tup)
        """
    )

    assert [code for _, code in codes(source)] == ["ACK101", "ACK106"]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("size > 10", "size <= 10"),
        ("size > 10", "size < 11 and size <= 10"),
        ("size == 200", "size != 200"),
        ("isinstance(size, dict)", "not isinstance(size, dict)"),
        ("len(name) > 3", "len(name) <= 3"),
        ("not name", "name"),
    ],
)
def test_an_answer_that_is_kept_is_the_answer_to_the_question(first, then):
    source = in_bolt(
        f"""
        def process(self, tup):
            name, size = tup.values
            kept = {first}
            if {then}:
                self.fail(tup)
            if kept:
                self.ack(tup)
        """
    )

    assert codes(source) == []


def test_numbers_that_a_status_may_not_be_are_not_gone_into():
    source = in_bolt(
        """
        def process(self, tup):
            status = ready(tup.values)
            if status >= 500:
                self.fail(tup)
            elif status < 400:
                self.ack(tup)
            if status == 503 or status < 300:
                self.fail(tup)
        """
    )

    assert codes(source) == [(14, "ACK101"), (15, "ACK106")]


def test_a_list_from_behind_ends_with_its_first_place():
    source = in_bolt(
        """
        def process(self, tup):
            words = tup.values
            if not words:
                self.ack(tup)
                return
            i = len(words) - 1
            while i >= 0:
                work(words[i])
                if i == 0:
                    self.ack(tup)
                i -= 1
        """
    )

    assert codes(source) == []


@pytest.mark.parametrize(
    "head", ["while i < 3:\n                i = i + 1", "while (i := i + 1) <= 3:\n                pass"]
)
@pytest.mark.parametrize(("last", "expected"), [(3, []), (4, ["ACK101"]), (2, ["ACK106"])])
def test_a_number_may_be_given_what_is_one_more(head, last, expected):
    source = in_bolt(
        f"""
        def process(self, tup):
            i = 0
            {head}
                if ready(tup.values):
                    return self.ack(tup)
                if i == {last}:
                    self.fail(tup)
        """
    )

    assert sorted({code for _, code in codes(source)}) == expected


def test_a_number_that_is_none_is_unlike_itself():
    asked = """
        def process(self, tup):
            value = tup.values[0]
            if value != value:
                self.ack(tup)
            self.ack(tup)
        """
    assert [code for _, code in codes(in_bolt(asked))] == ["ACK103"]


@pytest.mark.parametrize("change", ["rows.append(1)", "rows = work(1)", "work(rows)", "self.keep([rows])"])
def test_how_much_there_was_is_no_answer_once_it_may_have_changed(change):
    source = in_bolt(
        f"""
        def process(self, tup):
            rows = work(tup.values)
            full = len(rows) >= 10
            {change}
            if full:
                self.fail(tup)
            if len(rows) < 10:
                self.ack(tup)
        """
    )

    assert [code for _, code in codes(source)] == ["ACK101", "ACK106"]


def test_what_is_no_number_is_not_what_it_is():
    source = in_bolt(
        """
        def process(self, tup):
            value = tup.values[0]
            if value != value:
                self.fail(tup)
            self.ack(tup)
        """
    )

    assert [code for _, code in codes(source)] == ["ACK106"]


@pytest.mark.parametrize(
    "body",
    [
        "i = 7",
        "i += 1",
        "for i in range(2): work(i)",
        "for i in work(i): pass",
        "count = 1",
    ],
)
def test_a_loop_whose_body_counts_as_well_goes_by_what_it_was_given(body):
    source = in_bolt(
        f"""
        def process(self, tup):
            count = 3
            for i in range(count):
                if i == 2:
                    self.fail(tup)
                {body}
                if count == 1:
                    work(i)
            self.ack(tup)
        """
    )

    assert (16, "ACK106") in codes(source)


@pytest.mark.parametrize(
    ("head", "first", "last"),
    [
        ("for i in range(2)", "i == 0", "i == 1"),
        ("for i, word in enumerate(words)", "i == 0", "i == 1"),
        ("for i in [tup]", "i is tup", "i is tup"),
    ],
)
def test_a_loop_that_was_left_begins_anew(head, first, last):
    source = in_bolt(
        f"""
        def process(self, tup):
            words = tup.values
            rounds = 0
            while rounds < 2:
                {head}:
                    if rounds == 1 and {first}:
                        self.fail(tup)
                    if {last}:
                        break
                rounds += 1
            self.ack(tup)
        """
    )

    assert codes(source) == [(18, "ACK106")]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("value.getScore() > 0", "value.getScore() < 1"),
        ("rounds > 1.5", "rounds < 2.5"),
    ],
)
def test_between_two_numbers_may_be_one_more(first, then):
    source = in_bolt(
        f"""
        def process(self, tup):
            value, limit = tup.values
            rounds = 0
            while rounds < limit:
                rounds += 1
            if {first}:
                if {then}:
                    self.fail(tup)
            self.ack(tup)
        """
    )

    assert codes(source) == [(16, "ACK106")]


def test_of_two_sets_none_need_be_in_the_other_nor_the_same():
    source = in_bolt(
        """
        def process(self, tup):
            have, want = tup.values
            if have < want:
                self.fail(tup)
            elif have > want:
                self.ack(tup)
            elif have == want:
                self.ack(tup)
        """
    )

    assert [code for _, code in codes(source)] == ["ACK101"]

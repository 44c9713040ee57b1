"""Conditions on numbers: counters, loops that count along, and sizes."""

import pytest

from tests.checks.sources import codes, in_bolt, java_codes


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
def test_a_loop_with_one_iteration_acks_once(head, condition):
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
def test_a_loop_with_no_or_several_iterations_is_reported(head, condition, expected):
    assert [code for _, code in codes(in_rounds(head, condition))] == expected


def test_a_counter_with_another_assignment_is_no_induction_variable():
    source = in_bolt(
        """
        def process(self, tup):
            for i in range(3):
                i = ready(i)
                if i == 2:
                    self.ack(tup)
        """
    )

    assert [code for _, code in codes(source)] == ["ACK104"]


@pytest.mark.parametrize("change", ["size = ready(size)", "size += 1", "large = ready(size)"])
def test_a_local_holds_a_condition_until_an_operand_changes(change):
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
def test_an_assigned_condition_has_the_tested_outcome(first, then):
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


def test_excluded_constants_close_a_branch():
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


def test_a_reversed_range_ends_at_the_first_index():
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
def test_a_counter_may_be_assigned_its_successor(head, last, expected):
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


def test_nan_is_not_equal_to_itself():
    asked = """
        def process(self, tup):
            value = tup.values[0]
            if value != value:
                self.ack(tup)
            self.ack(tup)
        """
    assert [code for _, code in codes(in_bolt(asked))] == ["ACK103"]


@pytest.mark.parametrize("change", ["rows.append(1)", "rows = work(1)", "work(rows)", "self.keep([rows])"])
def test_a_change_invalidates_a_size(change):
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


def test_a_value_that_may_be_nan_is_not_equal_to_itself():
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
def test_an_increment_in_the_body_does_not_change_the_range(body):
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
def test_a_loop_restarts_after_a_break(head, first, last):
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
def test_there_may_be_a_number_between_two_bounds(first, then):
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


def test_sets_are_only_partially_ordered():
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


def found(begin: str, body: str, *, head: str = "for part in parts", guard: str = "not parts") -> list[str]:
    source = in_bolt(
        f"""
        def process(self, tup):
            parts = work(tup.values)
            {begin}
            if {guard}:
                return self.ack(tup)
            {head}:
                {body}
        """
    )
    return [code for _, code in codes(source)]


def java(body: str) -> list[str]:
    return java_codes(f"public void execute(Tuple tuple) {{ {body} }}")


@pytest.mark.parametrize(
    ("begin", "step", "last"),
    [
        ("done = 0", "done += 1", "done == len(parts)"),
        ("done = 0", "done = done + 1", "done >= len(parts)"),
        ("done = 1", "done += 1", "len(parts) < done"),
        ("done = 0; count = len(parts)", "done += 1", "count == done"),
        ("done = -1", "done += 1", "done == len(parts) - 1"),
        ("left = len(parts)", "left -= 1", "left == 0"),
        ("left = len(parts)", "left -= 1", "not left"),
        ("left = len(parts)", "left -= 1", "left < 1"),
    ],
)
def test_a_body_counter_reaches_the_size_at_the_last_element(begin, step, last):
    assert found(begin, f"work(part); {step}; self.ack(tup) if {last} else None") == []
    assert found(begin, f"self.ack(tup) if {last} else None; {step}") == ["ACK101"]


@pytest.mark.parametrize(
    "head",
    [
        "for part in sorted(parts)",
        "for place, part in enumerate(parts)",
        "for part in parts.values()",
        "for part, more in parts.items()",
    ],
)
def test_every_kind_of_loop_visits_each_element_once(head):
    body = "work(part); done += 1; self.ack(tup) if done == len(parts) else None"

    assert found("done = 0", body, head=head) == []


def test_a_size_decides_emptiness():
    body = "work(part); done += 1; self.ack(tup) if done == count else None"

    assert found("done = 0; count = len(parts)", body, guard="count == 0") == []
    assert found("done = 0; count = len(parts)", body, guard="count == 1") == ["ACK101"]


@pytest.mark.parametrize(
    ("begin", "body", "expected"),
    [
        ("done = 0", "work(part); done += 1; self.ack(tup) if done == len(parts) - 2 else None", "ACK101"),
        ("done = 0", "work(part); done += 1; self.ack(tup) if done <= len(parts) else None", "ACK104"),
        (
            "done = 0",
            "parts = work(part); done += 1; self.ack(tup) if done == len(parts) else None",
            "ACK104",
        ),
        (
            "done = 0",
            "parts.remove(part); done += 1; self.ack(tup) if done == len(parts) else None",
            "ACK104",
        ),
        ("done = 0", "del parts[0]; done += 1; self.ack(tup) if done == len(parts) else None", "ACK104"),
        ("done = work()", "done += 1; self.ack(tup) if done == len(parts) else None", "ACK104"),
    ],
)
def test_a_wrong_count_of_iterations_is_reported(begin, body, expected):
    assert expected in found(begin, body)


@pytest.mark.parametrize(
    "head", ["for part in set(parts)", "for part in parts[1:]", "for part in parts.distinct()"]
)
def test_a_loop_over_a_slice_may_end_before_the_size(head):
    body = "work(part); done += 1; self.ack(tup) if done == len(parts) else None"

    assert found("done = 0", body, head=head) == ["ACK104"]


@pytest.mark.parametrize(("begin", "step", "end"), [("0", "++", "parts.size()"), ("parts.size()", "--", "0")])
def test_an_iteration_that_fails_is_not_counted(begin, step, end):
    body = f"""
        List<String> parts = client.parts(tuple.getString(0));
        int n = {begin};
        for (String part : parts) {{
            try {{ client.send(part); n{step}; }} catch (java.io.IOException e) {{ %s }}
        }}
        if (n == {end}) {{ collector.ack(tuple); }}
    """

    assert java(body % "collector.fail(tuple); break;") == []
    assert java(body % "log.warn(part);") == ["ACK101"]
    assert java(
        body.replace(f"client.send(part); n{step};", f"n{step}; client.send(part);")
        % "collector.fail(tuple); break;"
    ) == ["ACK106"]


def test_a_skipped_iteration_is_never_made_up():
    source = in_bolt(
        """
        def process(self, tup):
            parts = work(tup.values)
            failed = False
            left = len(parts)
            for part in parts:
                if not ready(part):
                    failed = True
                    continue
                left -= 1
                if left == 0:
                    self.ack(tup)
            if failed:
                self.fail(tup)
        """
    )

    assert [code for _, code in codes(source)] == ["ACK101"]  # where there is no part at all


def test_a_second_loop_counts_on_from_the_first():
    source = in_bolt(
        """
        def process(self, tup):
            parts = work(tup.values)
            if not parts:
                return self.ack(tup)
            done = 0
            for once in range(2):
                for part in parts:
                    done += 1
                    if done == len(parts):
                        self.ack(tup)
            for part in parts:
                done += 1
                if done == len(parts):
                    self.ack(tup)
        """
    )

    assert codes(source) == []


def test_a_loop_without_iteration_means_an_empty_container():
    source = in_bolt(
        """
        def process(self, tup):
            parts = work(tup.values)
            done = 0
            for part in parts:
                done += 1
                if done == len(parts):
                    self.ack(tup)
            if not parts:
                self.ack(tup)
        """
    )

    assert codes(source) == []


def test_a_local_may_hold_that_all_are_counted():
    body = """
        List<String> parts = client.parts(tuple.getString(0));
        if (parts.isEmpty()) { collector.ack(tuple); return; }
        int count = 0;
        for (String part : parts) {
            count++;
            boolean last = count == parts.size();
            client.send(part, last);
            if (last) { collector.ack(tuple); }
        }
    """

    assert java(body) == []
    assert java(body.replace("count++;", "")) == ["ACK101"]


@pytest.mark.parametrize("begin", ["None", "''", "0.5", "parts", "self.done", "len(work())"])
def test_a_counter_starts_at_an_integer(begin):
    body = "work(part); done += 1; self.ack(tup) if done == len(parts) else None"

    assert found(f"done = {begin}", body) == ["ACK104"]

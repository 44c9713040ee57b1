"""A local that counts the rounds of a loop over a collection: when it is at the end, so is the loop."""

import pytest

from tests.checks.sources import codes, in_bolt, java_codes


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
def test_the_last_element_is_the_one_at_which_all_are_counted(begin, step, last):
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
def test_each_element_comes_once_in_whatever_way_the_loop_goes_through_them(head):
    body = "work(part); done += 1; self.ack(tup) if done == len(parts) else None"

    assert found("done = 0", body, head=head) == []


def test_that_there_is_something_may_be_asked_of_the_number():
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
        ("done = work()", "done += 1; self.ack(tup) if done == len(parts) else None", "ACK101"),
    ],
)
def test_what_comes_too_early_too_often_or_with_another_amount_is_told(begin, body, expected):
    assert expected in found(begin, body)


@pytest.mark.parametrize(
    "head", ["for part in set(parts)", "for part in parts[1:]", "for part in parts.distinct()"]
)
def test_a_loop_over_some_of_them_need_not_come_to_the_end(head):
    body = "work(part); done += 1; self.ack(tup) if done == len(parts) else None"

    assert "ACK101" in found("done = 0", body, head=head)


@pytest.mark.parametrize(("begin", "step", "end"), [("0", "++", "parts.size()"), ("parts.size()", "--", "0")])
def test_a_part_that_has_failed_is_one_that_is_never_counted(begin, step, end):
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


def test_of_rounds_that_are_passed_over_none_is_made_good_by_a_later_one():
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


def test_a_loop_that_is_gone_through_again_counts_from_where_the_last_one_ended():
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


def test_where_there_was_no_round_there_is_nothing():
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


def test_that_all_are_counted_may_be_kept_in_a_local():
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
def test_what_begins_with_no_whole_number_counts_nothing(begin):
    body = "work(part); done += 1; self.ack(tup) if done == len(parts) else None"

    assert "ACK101" in found(f"done = {begin}", body)

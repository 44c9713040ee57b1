"""Effect summaries: a call keeps the facts about fields and aliases that the callee cannot change."""

import pytest

from tests.checks.sources import codes, in_bolt, java_codes


def with_helper(helper: str, call: str) -> list[str]:
    """What is found in a bolt that asks twice whether a field and a local for it have anything, with a call in between."""
    return java_codes(
        f"""
    List<String> sinks = new ArrayList<>();
    Map<String, List<String>> groups = new HashMap<>();
    long seen;
    public void execute(Tuple tuple) {{
        List<String> rows = groups.get("a");
        if (sinks.isEmpty() || rows.isEmpty()) {{ collector.fail(tuple); }}
        {call}
        if (!sinks.isEmpty() && !rows.isEmpty()) {{ collector.ack(tuple); }}
    }}
    {helper}
    """
    )


@pytest.mark.parametrize(
    "helper",
    [
        "void note(Tuple tuple) { seen++; client.send(tuple.getString(0)); }",
        "void note(Tuple tuple) { for (String sink : sinks) { client.send(sink); } client.log(groups.size()); }",
        "void note(Tuple tuple) { client.send(keyOf(tuple)); again(); } String keyOf(Tuple tuple) { return tuple.getString(0); } void again() { seen = 0; }",
    ],
)
def test_facts_survive_a_helper_that_does_not_change_their_field(helper):
    assert with_helper(helper, "note(tuple);") == []


@pytest.mark.parametrize(
    "helper",
    [
        "void note(Tuple tuple) { sinks.clear(); }",
        "void note(Tuple tuple) { again(); } void again() { sinks = client.sinks(); }",
        "void note(Tuple tuple) { client.fill(sinks); }",
        "void note(Tuple tuple) { client.fill(this); }",
        "void note(Tuple tuple) { List<String> all = sinks; all.clear(); }",
        'void note(Tuple tuple) { groups.get("a").clear(); }',
        'void note(Tuple tuple) { client.each(each -> groups.get("a").remove(each)); }',
    ],
)
def test_facts_are_dropped_if_a_helper_may_change_their_field(helper):
    assert with_helper(helper, "note(tuple);") != []


def given_away(call: str, *, ask: str = "self.failed") -> list[str]:
    """What is found where a method that sets a flag is given away between two looks at that."""
    source = in_bolt(
        f"""
        def on_row(self, row):
            if not row:
                self.failed = True

        def on_end(self):
            self.ended = True

        def process(self, tup):
            self.failed = False
            {call}
            if {ask}:
                self.fail(tup)
            self.ack(tup)
        """
    )
    return [code for _, code in codes(source)]


@pytest.mark.parametrize(
    "call",
    [
        "self.client.each(tup.values, self.on_row)",
        "self.client.each(tup.values, lambda row: self.on_row(row))",
        "self.client.each(tup.values, partial(self.on_row, 1))",
        "Thread(target=self.on_row).start()",
    ],
)
def test_an_opaque_call_may_set_the_flag_that_its_callback_sets(call):
    assert given_away(call) == ["ACK106"]


@pytest.mark.parametrize(
    "call", ["self.client.each(tup.values, self.on_end)", "self.client.each(tup.values)", "self.on_end()"]
)
def test_an_opaque_call_does_not_set_another_flag(call):
    assert given_away(call) == []


def test_an_opaque_call_may_set_the_flag_that_its_lambda_sets():
    body = """
    boolean failed;
    public void execute(Tuple tuple) {
        failed = false;
        client.each(tuple.getString(0), row -> { failed = true; });
        if (failed) { collector.fail(tuple); }
        collector.ack(tuple);
    }
    """

    assert java_codes(body) == ["ACK106"]


@pytest.mark.parametrize(
    ("in_between", "expected"), [("client.send(i);", []), ("send(i);", []), ("grow();", ["ACK101"])]
)
def test_a_loop_counts_up_to_a_field(in_between, expected):
    body = f"""
    int n;
    public void execute(Tuple tuple) {{
        if (n < 1) {{ collector.ack(tuple); return; }}
        for (int i = 0; i < n; i++) {{
            {in_between}
            if (i == n - 1) {{ collector.ack(tuple); }}
        }}
    }}
    void send(int i) {{ client.send(i); }}
    void grow() {{ n++; }}
    """

    assert java_codes(body) == expected


def test_an_increment_changes_a_field():
    body = """
    int errors;
    public void execute(Tuple tuple) {
        errors = 0;
        for (String part : client.parts(tuple)) { if (!client.send(part)) { errors += 1; } }
        if (errors > 0) { collector.fail(tuple); }
        if (errors != 0) { client.log(errors); }
        if (errors == 0) { collector.ack(tuple); }
        %s
    }
    """

    assert java_codes(body % "") == []
    assert java_codes(body % "if (errors != 0) { collector.ack(tuple); }") == ["ACK106"]

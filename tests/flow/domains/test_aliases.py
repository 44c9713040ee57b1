"""Aliases: a change of a collection under one name is a change under all of its names."""

import pytest

from tests.checks.sources import codes, in_bolt, java_codes


def bolt_testing_twice(begin: str, between: str, condition: str = "rows") -> str:
    """A bolt that acks if `rows` is empty, and acks again if it is not empty later."""
    lines = "\n            ".join(between.split("\n"))
    return in_bolt(
        f"""
        def rows_of(self):
            return self.rows

        def note(self):
            self.noted += 1

        def process(self, tup):
            {begin}
            if len({condition}) == 0:
                self.ack(tup)
            {lines}
            if len({condition}) > 0:
                self.ack(tup)
        """
    )


def in_java(begin: str, between: str) -> list[str]:
    """The Java version of `bolt_testing_twice`."""
    return java_codes(
        f"""
    List<String> current = new ArrayList<>();
    Map<String, List<String>> groups = new HashMap<>();
    public void execute(Tuple tuple) {{
        {begin}
        if (rows.isEmpty()) {{ collector.ack(tuple); }}
        {between}
        if (!rows.isEmpty()) {{ collector.ack(tuple); }}
    }}
    void flush() {{ client.send(current); current.clear(); }}
    String keyOf(Tuple tuple) {{ return tuple.getString(0); }}
    """
    )


@pytest.mark.parametrize(
    ("begin", "between"),
    [
        ("rows = work(1); other = rows", "other.append(1)"),
        ("rows = other = work(1)", "other += [1]"),
        ("rows = work(1); other, done = rows, []", 'other["a"] = 1'),
        ("rows = work(1); other = rows if tup.id else self.rows", "other.append(1)"),
        ("rows = self.rows", "self.rows.append(tup.values[0])"),
        ("rows = self.rows_of()", "self.rows.append(tup.values[0])"),
        ("rows = work(1); self.sink.rows = rows", "self.sink.flush()"),
        ("rows = work(1); job = Job(rows)", "job.drain()"),
        ("rows = self.groups[tup.id]", "self.groups[tup.id].append(1)"),
        ("rows = self.groups.setdefault(tup.id, [])", "self.groups[tup.id].append(1)"),
        ("order = work(1); rows = order.rows", "order.add(1)"),
        ("rows = work(1)", "for each in (rows,):\n    each.append(1)"),
        ("rows = []; fill = lambda row: rows.append(row)", "fill(1)"),
    ],
)
def test_adding_under_one_name_changes_the_other_name(begin, between):
    assert "ACK103" in [code for _, code in codes(bolt_testing_twice(begin, between))]


def test_adding_to_a_local_changes_the_field_it_aliases():
    source = bolt_testing_twice("rows = self.rows", "rows.append(1)", condition="self.rows")

    assert "ACK103" in [code for _, code in codes(source)]


@pytest.mark.parametrize(
    ("begin", "between"),
    [
        ("batch = self.rows; self.rows = []; rows = batch", "self.rows.append(1)"),
        ("rows, self.rows = self.rows, []", "self.rows.append(1)"),
        ("rows = work(1); other = list(rows)", "other.clear()"),
        ("rows = work(1); other = rows; other = []", "other.append(1)"),
        ("rows = self.db.find(1)", "for row in rows:\n    self.db.index(row)\nself.db.commit()"),
        ("rows = work(1)", 'for row in rows:\n    row.setdefault("a", 1)'),
        ("order = work(1); rows = order.rows", 'order.set_state("done")'),
        ("rows = self.groups.get(tup.id)", "self.groups.pop(tup.id)"),
        ("rows = work(1); other = rows", "other.sort()"),
        ("rows = work(1); other = rows or self.rows", "if rows:\n    other.append(1)"),
        ("rows = work(1); self.tup = tup", "self.note()"),
    ],
)
def test_changing_another_object_keeps_the_fact(begin, between):
    assert codes(bolt_testing_twice(begin, between)) == []


@pytest.mark.parametrize("value", ["work(1)", "self.enabled", "work(1).ok"])
@pytest.mark.parametrize("between", ["self.note()", "answer.close()", "other = ok"])
def test_a_flag_is_not_a_collection(value, between):
    source = in_bolt(
        f"""
        def note(self):
            self.noted += 1

        def process(self, tup):
            answer = work(1)
            ok = {value}
            if ok:
                self.ack(tup)
            {between}
            if not ok:
                self.fail(tup)
        """
    )

    assert codes(source) == []


@pytest.mark.parametrize(
    ("begin", "between"),
    [
        ("List<String> rows = client.rows(1), other = rows;", 'other.add("a");'),
        ("List<String> rows = client.rows(1); current = rows;", "flush();"),
        ("List<String> rows = current;", 'current.add("a");'),
        ("List<String> rows = groups.get(keyOf(tuple));", 'groups.get(keyOf(tuple)).add("a");'),
        ("Order order = client.order(1); List<String> rows = order.getRows();", 'order.addRow("a");'),
        ("Order order = client.order(1); List<String> rows = order.getRows();", 'order.getRows().add("a");'),
        ("List<String> rows = client.rows(1); Job job = new Job(rows);", "job.fill();"),
        ("List<String> rows = client.rows(1); List[] both = {rows};", 'both[0].add("a");'),
        ("Map<String, String> rows = client.rows(1);", "rows.keySet().retainAll(client.known());"),
    ],
)
def test_adding_under_one_name_changes_the_other_name_in_java(begin, between):
    assert "ACK103" in in_java(begin, between)


@pytest.mark.parametrize(
    ("begin", "between"),
    [
        ("List<String> rows = current; current = new ArrayList<>();", 'current.add("a");'),
        ("List<String> rows = client.rows(1), copy = new ArrayList<>(rows);", "copy.clear();"),
        (
            "List<String> rows = client.find(1);",
            "for (String row : rows) { client.index(row); } client.commit();",
        ),
        ("List<String> rows = groups.get(keyOf(tuple));", "groups.remove(keyOf(tuple));"),
        ("Order order = client.order(1); List<String> rows = order.getRows();", 'order.setState("done");'),
        ("Order order = client.order(1); String rows = order.getName();", "order.close();"),
        ("List<String> rows = client.rows(1);", "String key = keyOf(tuple);"),
    ],
)
def test_changing_another_object_keeps_the_fact_in_java(begin, between):
    assert in_java(begin, between) == []

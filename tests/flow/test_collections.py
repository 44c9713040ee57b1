"""Facts about collections: whether they are empty."""

import pytest

from tests.checks.sources import codes, in_bolt, java_codes


@pytest.mark.parametrize("condition", ["not rows", "len(rows) == 0", "len(rows) < 1"])
@pytest.mark.parametrize("view", ["rows", "rows.items()"])
@pytest.mark.parametrize("then", ["return", "pass"])
def test_a_loop_over_a_non_empty_collection_has_an_iteration(condition, view, then):
    source = in_bolt(
        f"""
        def process(self, tup):
            rows = work(tup.values[0])
            if {condition}:
                self.fail(tup)
                {then}
            for row in {view}:
                self.ack(tup)
                break
        """
    )

    assert codes(source) == []


def test_a_loop_may_end_after_any_iteration():
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
def test_an_empty_list_is_not_empty_after_an_append(change, expected):
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


def test_emptying_a_list_drops_the_fact():
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
@pytest.mark.parametrize("condition", ["rows", "len(rows) > 0"])
def test_an_empty_collection_may_be_filled_by_code_that_receives_it(condition, change):
    source = in_bolt(
        f"""
        def fill(self, rows):
            rows.append(1)

        def process(self, tup):
            rows = tup.values[0]
            if {condition}:
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


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("json.dumps(rows)", []),
        ("self.logger.info(rows)", []),
        ('rows["a"] = 1', []),
        ("self.empty(rows)", [(17, "ACK101")]),
        ("rows[:] = []", [(17, "ACK101")]),
    ],
)
def test_a_non_empty_collection_stays_so_after_a_call_that_removes_nothing(change, expected):
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

    assert codes(source) == expected


@pytest.mark.parametrize("condition", ["rows", "len(rows) > 2", "self.rows"])
@pytest.mark.parametrize(
    "call", ["rows.sort()", "self.rows.reverse()", "random.shuffle(rows)", "work(sum(rows))"]
)
def test_reordering_keeps_the_size(condition, call):
    source = in_bolt(
        f"""
        def process(self, tup):
            rows = work(tup.values[0])
            if not {condition}:
                self.fail(tup)
                return
            {call}
            if {condition}:
                self.ack(tup)
        """
    )

    assert codes(source) == []


@pytest.mark.parametrize(
    ("rows", "any_in", "call"),
    [
        ("List<Integer> rows", "rows.isEmpty()", "Collections.sort(rows);"),
        ("List<Integer> rows", "rows.size() < 2", "rows.sort(null); Collections.shuffle(rows);"),
        ("List<Integer> rows", "rows.isEmpty()", "client.note(Collections.max(rows));"),
        ("String[] rows", "rows.length == 0", "Arrays.sort(rows);"),
        ("List<Integer> rows", "rows == null", "rows.add(1); rows.clear();"),
    ],
)
def test_reordering_keeps_size_and_identity_in_java(rows, any_in, call):
    body = f"""
    public void execute(Tuple tuple) {{
        {rows} = client.rows(tuple.getString(0));
        if ({any_in}) {{ collector.fail(tuple); return; }}
        {call}
        if (!({any_in})) {{ collector.ack(tuple); }}
    }}
    """

    assert java_codes(body) == []


def test_reordering_changes_the_element_at_an_index():
    source = in_bolt(
        """
        def process(self, tup):
            rows = work(tup.values[0])
            if rows[0] == "a":
                self.ack(tup)
            rows.sort()
            if rows[0] == "b":
                self.ack(tup)
        """
    )

    assert "ACK103" in [code for _, code in codes(source)]


def test_a_new_list_may_be_filled_by_a_helper():
    source = in_bolt(
        """
        def fill(self, rows, words):
            for word in words:
                rows.append(word)

        def process(self, tup):
            rows = []
            if not rows:
                self.ack(tup)
            self.fill(rows, tup.values)
            if rows:
                self.ack(tup)
        """
    )

    assert "ACK103" in [code for _, code in codes(source)]


@pytest.mark.parametrize(
    "made", ["new ArrayList<>(client.rows())", "Arrays.asList(client.rows())", "new LinkedList<>()"]
)
@pytest.mark.parametrize(("last", "expected"), [("size() - 1", []), ("size() - 2", ["ACK101"])])
def test_a_loop_over_a_new_list_reaches_the_last_index_once(made, last, expected):
    body = f"""
    public void execute(Tuple tuple) {{
        List<String> rows = {made};
        if (rows.isEmpty()) {{ collector.ack(tuple); return; }}
        for (int i = 0; i < rows.size(); i++) {{
            client.send(rows.get(i));
            if (i == rows.{last}) {{ collector.ack(tuple); }}
        }}
    }}
    """

    assert java_codes(body) == expected


@pytest.mark.parametrize("view", ["rows.iterator()", "rows.listIterator()", "rows.values().iterator()"])
@pytest.mark.parametrize(("guard", "expected"), [("rows.isEmpty()", []), ("rows == null", ["ACK101"])])
def test_an_iterator_of_a_non_empty_collection_has_a_first_element(view, guard, expected):
    body = f"""
    public void execute(Tuple tuple) {{
        List<String> rows = client.rows();
        if ({guard}) {{ collector.ack(tuple); return; }}
        Iterator<String> it = {view};
        while (it.hasNext()) {{
            client.send(it.next());
            if (!it.hasNext()) {{ collector.ack(tuple); }}
        }}
    }}
    """

    assert java_codes(body) == expected


@pytest.mark.parametrize(
    ("split", "expected"),
    [("split(',')", []), ("rsplit(',', 1)", []), ("split()", ["ACK101"]), ("split(None, 2)", ["ACK101"])],
)
def test_split_at_a_comma_is_not_empty(split, expected):
    named = in_bolt(
        f"""
        def process(self, tup):
            words = tup.values[0].{split}
            for i, word in enumerate(words):
                if i == len(words) - 1:
                    self.ack(tup)
        """
    )
    looped = in_bolt(
        f"""
        def process(self, tup):
            known = False
            for word in tup.values[0].{split}:
                known = True
            if known:
                self.ack(tup)
        """
    )

    counted = in_bolt(
        f"""
        def process(self, tup):
            words = tup.values[0].{split}
            count = len(words)
            for i in range(count):
                if i == count - 1:
                    self.ack(tup)
        """
    )

    assert [[code for _, code in codes(source)] for source in (named, looped, counted)] == [expected] * 3

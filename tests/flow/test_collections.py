"""What a path remembers about a collection: whether there is anything in it."""

import pytest

from tests.checks.sources import codes, in_bolt, java_codes


@pytest.mark.parametrize("asked", ["not rows", "len(rows) == 0", "len(rows) < 1"])
@pytest.mark.parametrize("view", ["rows", "rows.items()"])
@pytest.mark.parametrize("then", ["return", "pass"])
def test_a_loop_over_what_is_not_empty_has_a_round_and_over_what_is_empty_none(asked, view, then):
    source = in_bolt(
        f"""
        def process(self, tup):
            rows = work(tup.values[0])
            if {asked}:
                self.fail(tup)
                {then}
            for row in {view}:
                self.ack(tup)
                break
        """
    )

    assert codes(source) == []


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
def test_what_has_something_still_has_it_behind_what_takes_nothing_out(change, expected):
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


@pytest.mark.parametrize("asked", ["rows", "len(rows) > 2", "self.rows"])
@pytest.mark.parametrize(
    "call", ["rows.sort()", "self.rows.reverse()", "random.shuffle(rows)", "work(sum(rows))"]
)
def test_what_is_ordered_anew_has_as_much_as_before(asked, call):
    source = in_bolt(
        f"""
        def process(self, tup):
            rows = work(tup.values[0])
            if not {asked}:
                self.fail(tup)
                return
            {call}
            if {asked}:
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
def test_in_java_too_and_what_is_put_in_or_taken_out_makes_it_no_other_object(rows, any_in, call):
    body = f"""
    public void execute(Tuple tuple) {{
        {rows} = client.rows(tuple.getString(0));
        if ({any_in}) {{ collector.fail(tuple); return; }}
        {call}
        if (!({any_in})) {{ collector.ack(tuple); }}
    }}
    """

    assert java_codes(body) == []


def test_at_a_place_of_what_is_ordered_anew_lies_something_else():
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


def test_a_list_made_here_may_have_something_once_a_helper_was_given_it():
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
def test_in_a_list_made_here_the_last_place_comes_once(made, last, expected):
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
def test_an_iterator_over_what_has_something_has_a_first_element(view, guard, expected):
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
def test_what_is_split_at_a_comma_has_a_part(split, expected):
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

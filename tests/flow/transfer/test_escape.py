"""Escape analysis: tuples in fields, and locals that opaque code may write."""

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
def test_a_store_invalidates_the_facts_about_a_container(begin, first, put, then):
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
def test_a_store_invalidates_the_size_of_a_new_list(put):
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
def test_a_store_keeps_the_facts_about_another_place(put):
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


def test_a_helper_may_rebind_a_global():
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


def in_between(between: str, *, begin: str = "failed = [False]", ask: str = "failed[0]") -> str:
    """A handler that fails where a flag is set, after these lines, and acks where another line says so."""
    lines = between.strip("\n").replace("\n", "\n            ")
    return in_bolt(
        f"""
        def keep(self, flags):
            self.flags = flags

        def turn(self):
            self.flags[0] = True

        def process(self, tup):
            {begin}
            {lines}
            if {ask}:
                self.fail(tup)
            self.ack(tup)
        """
    )


@pytest.mark.parametrize(
    "between",
    [
        "def on_error(): failed[0] = True\nself.client.on_error = on_error\nself.client.poll()",
        "self.hooks = [lambda: failed.insert(0, True)]\nself.client.poll()",
        "hooks = [lambda: failed.insert(0, True)]\nfor hook in hooks:\n    hook()",
        "watch(lambda: failed.insert(0, True))\nfailed[0] = False\nwork(1)",
        "watcher = Watcher(failed)\nfailed[0] = False\nwatcher.finish()",
        "watcher = Watcher(failed)\nwhile not failed[0]: time.sleep(1)",
        "self.keep(failed)\nfailed[0] = False\nself.turn()",
        "try: work(lambda: failed.insert(0, True))\nexcept ValueError: pass",
        "failed[0], error = work(tup.values)",
        "failed, error = work(tup.values)",
        "for failed in work(tup.values): pass",
        "for failed[0] in work(tup.values): pass",
        "for each in (failed, failed): each[0] = True",
        "failed[-1] = True",
        "failed += work(1)",
        "work(failed.append)",
        "add = failed.insert\nadd(0, True)",
    ],
)
def test_an_escaped_flag_may_be_set_by_an_opaque_call(between):
    assert "ACK106" in [code for _, code in codes(in_between(between))]


@pytest.mark.parametrize(
    "between",
    [
        "failed = False\ndef on_error():\n    nonlocal failed\n    failed = True\nself.client.each(on_error)",
        "failed = False\ndef on_error():\n    nonlocal failed\n    failed = True\nself.client.hook = on_error\nself.client.poll()",
    ],
)
def test_a_local_of_an_escaped_closure_may_be_set_by_an_opaque_call(between):
    found = codes(in_between(between, begin="pass", ask="failed"))

    assert "ACK106" in [code for _, code in found]


def test_a_method_of_a_part_may_change_the_object():
    found = codes(
        in_between("failed.parser.run()", begin="failed = Result(); failed.it = False", ask="failed.it")
    )

    assert [code for _, code in found] == ["ACK106"]


def test_a_project_s_own_event_class_has_no_known_value():
    source = in_bolt(
        """
        def process(self, tup):
            event = Event()
            if event.getValue() is None:
                return
            self.ack(tup)
        """
    )

    assert codes(source) == [(11, "ACK101")]


@pytest.mark.parametrize(
    "between", ["self.logger.info('kept')", "rows.append(tup.values)", "self.emit([1], anchors=[])"]
)
def test_a_call_that_runs_no_callbacks_keeps_an_escaped_flag(between):
    source = in_bolt(
        f"""
        def process(self, tup):
            rows, failed = [], False

            def on_error():
                nonlocal failed
                failed = True

            self.client.each(tup.values, on_error)
            if failed:
                self.fail(tup)
            {between}
            if not failed:
                self.ack(tup)
        """
    )

    assert codes(source) == []

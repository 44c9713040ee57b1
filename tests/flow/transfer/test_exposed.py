"""Who else may write a local: code that was given it, or a closure that knows it, may do so whenever it is called again."""

import pytest

from tests.checks.sources import codes, in_bolt


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
def test_a_flag_that_others_may_have_set_may_be_set(between):
    assert "ACK106" in [code for _, code in codes(in_between(between))]


@pytest.mark.parametrize(
    "between",
    [
        "failed = False\ndef on_error():\n    nonlocal failed\n    failed = True\nself.client.each(on_error)",
        "failed = False\ndef on_error():\n    nonlocal failed\n    failed = True\nself.client.hook = on_error\nself.client.poll()",
    ],
)
def test_so_may_a_local_that_a_closure_assigns(between):
    found = codes(in_between(between, begin="pass", ask="failed"))

    assert "ACK106" in [code for _, code in found]


def test_an_object_is_another_one_behind_a_method_of_one_of_its_parts():
    found = codes(
        in_between("failed.parser.run()", begin="failed = Result(); failed.it = False", ask="failed.it")
    )

    assert [code for _, code in found] == ["ACK106"]


def test_an_event_of_the_project_holds_what_nobody_knows():
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
def test_what_runs_no_code_of_others_leaves_a_flag_that_they_know(between):
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

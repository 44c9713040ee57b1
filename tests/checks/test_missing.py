"""The confidence of missing-ack findings."""

import pytest

from tests.checks.sources import codes, findings, in_bolt, java_codes


def test_a_tuple_that_no_path_completes_is_must():
    source = in_bolt(
        """
        def process(self, tup):
            try:
                work(1)
                work(2)
                work(3)
                work(4)
            except Exception:
                self.log("not done")
            self.log("next")
        """
    )

    assert [(f.code, f.confidence.word) for f in findings(source)] == [("ACK101", "must")]


def test_a_tuple_that_only_an_exception_misses_is_may():
    source = in_bolt(
        """
        def process(self, tup):
            try:
                work(1)
                self.ack(tup)
            except Exception:
                self.log("not done")
        """
    )

    assert ("ACK101", "may") in [(f.code, f.confidence.word) for f in findings(source)]


@pytest.mark.parametrize(
    ("start", "confidence"),
    [
        ("self.store = connect(conf)", "may"),
        ("self.store = None", "must"),
        ("if conf:\n                self.store = connect(conf)", "must"),
        (
            "try:\n                self.store = connect(conf)\n            except OSError:\n                pass",
            "must",
        ),
        (
            "try:\n                self.store = connect(conf)\n            except OSError:\n                raise",
            "may",
        ),
    ],
)
def test_a_tuple_that_only_a_missing_client_misses(start: str, confidence: str):
    source = in_bolt(
        f"""
        def initialize(self, conf, ctx):
            {start}

        def process(self, tup):
            if self.store is not None:
                self.store.put(tup.values)
                self.ack(tup)
        """
    )

    assert [(f.code, f.confidence.word) for f in findings(source)] == [("ACK101", confidence)]


@pytest.mark.parametrize(
    "call", ["get(tup, self.done)", "get(tup.values[0], lambda result: self.done(tup, result))"]
)
def test_a_client_s_get_may_take_a_callback(call):
    source = in_bolt(
        f"""
        def initialize(self, conf, ctx):
            self.client = work(conf)

        def process(self, tup):
            self.client.{call}

        def done(self, tup, result):
            self.ack(tup)
        """
    )

    assert codes(source) == []


@pytest.mark.parametrize(
    ("done", "found"), [("collector.ack(tuple)", []), ("System.out.println(value)", ["ACK101"])]
)
def test_a_question_with_a_callback_is_none_in_java(done, found):
    body = f"public void execute(Tuple tuple) {{ client.get(tuple.getString(0), value -> {done}); }}"

    assert java_codes(body) == found

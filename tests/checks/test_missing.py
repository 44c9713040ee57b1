"""The confidence of missing-ack findings."""

import pytest

from tests.checks.sources import findings, in_bolt


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

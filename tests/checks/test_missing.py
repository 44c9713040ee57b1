"""The confidence of missing-ack findings."""

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

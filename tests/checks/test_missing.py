"""Of a tuple that nobody completes: how sure that is."""

from tests.checks.sources import findings, in_bolt


def test_what_no_path_completes_takes_no_assumption():
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


def test_what_only_an_exception_forgets_is_an_assumption():
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

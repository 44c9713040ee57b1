"""The confidence and the path of swallowed-failure findings."""

import pytest

from tests.checks.sources import findings, in_bolt


def _handler(call: str) -> str:
    return in_bolt(
        f"""
        def process(self, tup):
            try:
                key = str(tup.values[0]).encode("ascii")
                row = self.parse(key)
                {call}
            except Exception:
                self.log("not done")
            self.ack(tup)
        """
    )


@pytest.mark.parametrize(
    ("call", "confidence"),
    [("self.table.insert(row)", "must"), ("self.row.setName(row)", "may"), ("self.row.get_name(row)", "may")],
)
def test_a_getter_or_setter_is_may(call: str, confidence: str):
    found = [f for f in findings(_handler(call)) if f.code == "ACK102"]

    assert [f.confidence.word for f in found] == [confidence]


def test_the_path_names_the_call_that_does_the_work():
    found = next(f for f in findings(_handler("self.table.insert(row)")) if f.code == "ACK102")

    assert "if `.insert` raises" in [step.note for step in found.evidence.steps]


def test_the_path_through_a_helper_names_the_call_that_does_the_work():
    source = in_bolt(
        """
        def process(self, tup):
            self.store(tup.values)
            self.ack(tup)

        def store(self, row):
            try:
                key = row[0].encode("ascii")
                self.table.insert(key, row)
            except Exception:
                self.log("not done")
        """
    )

    found = next(f for f in findings(source) if f.code == "ACK102")

    notes = [step.note for step in found.evidence.steps]
    assert notes[:4] == ["received", "calls `self.store`", "in store", "if `.insert` raises"]


@pytest.mark.parametrize(("answer", "found"), [("None", ["ACK102"]), ("False", ["ACK102"]), ("0", [])])
def test_a_default_is_no_answer_to_the_caller(answer: str, found: list[str]):
    source = in_bolt(
        f"""
        def count(self, word):
            try:
                self.table.insert(word)
                return True
            except Exception:
                return {answer}

        def process(self, tup):
            if not self.count(tup.values[0]):
                self.log("none")
            self.ack(tup)
        """
    )

    assert [f.code for f in findings(source)] == found

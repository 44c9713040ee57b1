"""A path on which two conditions contradict each other is not certain; another path to the same mistake may be."""

import pytest

from tests.checks.sources import findings, in_bolt

HEALTHY = {
    "a parameter": """
        def process(self, tup):
            kind = tup.values[0]
            self.check(tup, kind)
            if kind == "a":
                self.ack(tup)

        def check(self, tup, kind):
            if kind != "a":
                self.fail(tup)
    """,
    "the second of two parameters with one argument": """
        def process(self, tup):
            kind = tup.values[0]
            self.check(tup, kind, kind)
            if kind == "a":
                self.ack(tup)

        def check(self, tup, first, second):
            if second != "a":
                self.fail(tup)
    """,
    "a field": """
        def process(self, tup):
            self.kind = tup.values[0]
            self.check(tup)
            if self.kind == "a":
                self.ack(tup)

        def check(self, tup):
            if self.kind != "a":
                self.fail(tup)
    """,
    "a list": """
        def process(self, tup):
            errors = []
            for row in tup.values[0]:
                if row is None:
                    if not errors:
                        self.fail(tup)
                    errors.append(row)
            if len(errors) == 0:
                self.ack(tup)
    """,
    "a list that a helper fills": """
        def process(self, tup):
            errors = []
            self.check(tup, errors)
            if not errors:
                self.ack(tup)

        def check(self, tup, found):
            if tup.values[0] is None:
                found.append("bad")
                self.fail(tup)
    """,
    "a list in a field, in a helper of a helper": """
        def process(self, tup):
            self.errors = []
            self.first(tup)
            if not self.errors:
                self.ack(tup)

        def first(self, tup):
            self.second(tup)

        def second(self, tup):
            if tup.values[0] is None:
                self.errors.append("bad")
                self.fail(tup)
    """,
    "a set": """
        def process(self, tup):
            failed = set()
            if tup.values[0] is None:
                failed.add(tup.id)
                self.fail(tup)
            if tup.id not in failed:
                self.ack(tup)
    """,
    "a flag in a dict": """
        def process(self, tup):
            work = {"failed": False}
            self.check(tup, work)
            if not work["failed"]:
                self.ack(tup)

        def check(self, tup, work):
            if tup.values[0] is None:
                work["failed"] = True
                self.fail(tup)
    """,
    "an exception in a field": """
        def process(self, tup):
            self.error = None
            self.check(tup)
            if self.error is None:
                self.ack(tup)

        def check(self, tup):
            try:
                work(tup.values)
            except OSError as error:
                self.error = error
                self.fail(tup)
    """,
    "a value that the handler unpacks": """
        def process(self, tup):
            kind, row = tup.values
            self.check(tup)
            if kind == "a":
                self.ack(tup)

        def check(self, tup):
            if tup.values[0] != "a":
                self.fail(tup)
    """,
    "two results of a helper": """
        def process(self, tup):
            ok, reason = self.check(tup)
            if not ok:
                self.reject(tup, reason)
            if reason is None:
                self.ack(tup)

        def check(self, tup):
            if tup.values[0]:
                return True, None
            return False, "bad"

        def reject(self, tup, reason):
            if reason is not None:
                self.fail(tup)
    """,
    "a loop over the same rows": """
        def process(self, tup):
            rows = tup.values[0]
            self.check(tup, rows)
            if not rows:
                self.ack(tup)

        def check(self, tup, rows):
            for row in rows:
                self.fail(tup)
                return
    """,
    "a parameter, around a call of a client": """
        def process(self, tup):
            kind, row = tup.values
            self.check(tup, kind)
            self.client.write(kind, row)
            if kind == "a":
                self.ack(tup)
        def check(self, tup, kind):
            if kind != "a":
                self.fail(tup)
    """,
    "a call that only reads": """
        def process(self, tup):
            key = tup.values[0]
            self.check(tup, key)
            if self.rules.is_valid(key):
                self.ack(tup)
        def check(self, tup, key):
            if not self.rules.is_valid(key):
                self.fail(tup)
    """,
    "a list that a closure fills": """
        def process(self, tup):
            failed = []
            def bad(reason):
                failed.append(reason)
                self.fail(tup)
            if tup.values[0] is None:
                bad("none")
            if not failed:
                self.ack(tup)
    """,
}

MISTAKES = {
    "a list, tested one way only": """
        def process(self, tup):
            errors = []
            for row in tup.values[0]:
                if row is None:
                    errors.append(row)
            if not errors:
                self.ack(tup)
    """,
    "a list that a helper fills": """
        def process(self, tup):
            errors = []
            self.check(tup, errors)
            if not errors:
                self.ack(tup)

        def check(self, tup, found):
            for row in tup.values[0]:
                if row is None:
                    found.append(row)
    """,
    "a list that a helper returns": """
        def process(self, tup):
            errors = self.check(tup)
            if not errors:
                self.ack(tup)

        def check(self, tup):
            found = []
            for row in tup.values[0]:
                if row is None:
                    found.append(row)
            return found
    """,
    "a list in a field, in a helper of a helper": """
        def process(self, tup):
            self.errors = []
            self.first(tup)
            if not self.errors:
                self.ack(tup)

        def first(self, tup):
            self.second(tup)

        def second(self, tup):
            if tup.values[0] is None:
                self.errors.append("bad")
    """,
    "a list that other code gets": """
        def process(self, tup):
            errors = []
            work(tup.values, errors)
            if not errors:
                self.ack(tup)
    """,
    "a list whose method other code gets": """
        def process(self, tup):
            errors = []
            work(tup.values, errors.append)
            if not errors:
                self.ack(tup)
    """,
    "a flag in a dict": """
        def process(self, tup):
            work = {"failed": False}
            self.check(tup, work)
            if not work["failed"]:
                self.ack(tup)

        def check(self, tup, work):
            if tup.values[0] is None:
                work["failed"] = True
    """,
    "another of the values that the handler unpacks": """
        def process(self, tup):
            row, kind = tup.values
            self.check(tup)
            if kind == "a":
                self.ack(tup)

        def check(self, tup):
            if tup.values[0] != "a":
                self.fail(tup)
    """,
    "another value of a parameter": """
        def process(self, tup):
            kind = tup.values[0]
            self.check(tup, kind)
            if kind == "a":
                self.ack(tup)

        def check(self, tup, kind):
            if kind != "b":
                self.fail(tup)
    """,
    "two calls at the heads of loops": """
        def process(self, tup):
            for row in work():
                return self.ack(tup)
            self.fail(tup)
            for row in work():
                return self.ack(tup)
    """,
    "swapped arguments": """
        def process(self, tup):
            first, second = tup.values
            self.check(tup, second, first)
            if first == "a":
                self.ack(tup)

        def check(self, tup, first, second):
            if first != "a":
                self.fail(tup)
    """,
    "a parameter that the helper assigns": """
        def process(self, tup):
            kind = tup.values[0]
            self.check(tup, kind)
            if kind == "a":
                self.ack(tup)

        def check(self, tup, kind):
            kind = kind.lower()
            if kind != "a":
                self.fail(tup)
    """,
    "two counters": """
        def process(self, tup):
            good = 0
            bad = 0
            for row in tup.values[0]:
                if row:
                    good += 1
                else:
                    bad += 1
            if good:
                self.ack(tup)
                return
            if bad:
                return
            self.ack(tup)
    """,
    "the value before an update": """
        def process(self, tup):
            total = tup.values[0]
            before = total
            total += tup.values[1]
            if before == 0:
                self.fail(tup)
                return
            if total == 0:
                return
            self.ack(tup)
    """,
    "a list whose elements are replaced": """
        def process(self, tup):
            rows = list(tup.values[0])
            rows[:] = [r for r in rows if work(r)]
            if not rows:
                return
            self.ack(tup)
    """,
    "a second call of other code": """
        def process(self, tup):
            row = tup.values[0]
            done = work(row)
            if not done:
                done = work(row)
                if done:
                    return
                self.fail(tup)
                return
            self.ack(tup)
    """,
    "a flag that a closure sets": """
        def process(self, tup):
            failed = False
            def mark(row):
                nonlocal failed
                if row is None:
                    failed = True
            for row in tup.values[0]:
                mark(row)
            if failed:
                return
            self.ack(tup)
    """,
    "a list that a closure fills": """
        def process(self, tup):
            errors = []
            def mark(row):
                errors.append(row)
            for row in tup.values[0]:
                mark(row)
            if errors:
                return
            self.ack(tup)
    """,
    "a list that a closure in other code fills": """
        def process(self, tup):
            errors = []
            work(tup.values[0], lambda row: errors.append(row))
            if errors:
                return
            self.ack(tup)
    """,
    "an object that other code gets": """
        def process(self, tup):
            row = tup.values[0]
            if row["bad"]:
                self.fail(tup)
                return
            work(row)
            if row["bad"]:
                return
            self.ack(tup)
    """,
    "a parameter for further arguments": """
        def process(self, tup):
            kind = tup.values[0]
            if not kind:
                self.check(tup, kind)
            else:
                self.ack(tup)

        def check(self, tup, *kinds):
            if not kinds:
                self.ack(tup)
    """,
    "an object of another class": """
        def process(self, tup):
            report = Report(False)
            if report.get():
                return
            self.ack(tup)
    """,
    "a method called on its class": """
        def process(self, tup):
            self.failed = False
            Made.check(self, tup)
            if self.failed:
                return
            self.ack(tup)

        def check(self, tup):
            if tup.values[0] is None:
                self.failed = True
    """,
    "a method that other code gets": """
        def process(self, tup):
            self.failed = False
            work(tup.values, self.check)
            if self.failed:
                return
            self.ack(tup)

        def check(self, rows):
            self.failed = True
    """,
    "a list in a dict under an unknown key": """
        def process(self, tup):
            out = {"good": [], "bad": []}
            for row in tup.values[0]:
                kind = row.kind
                out[kind].append(row)
            if out["bad"]:
                return
            self.ack(tup)
    """,
    "a list in another object": """
        def process(self, tup):
            bad = []
            job = work(1)
            job.errors = bad
            job.run()
            if bad:
                return
            self.ack(tup)
    """,
}


def _confidences(source: str) -> set[str]:
    return {f.confidence.word for f in findings(source) if f.code in ("ACK101", "ACK106")}


@pytest.mark.parametrize("methods", HEALTHY.values(), ids=HEALTHY)
def test_a_path_that_contradicts_itself_is_not_certain(methods):
    assert _confidences(in_bolt(methods)) <= {"may"}


@pytest.mark.parametrize("methods", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_on_a_path_without_a_contradiction_is_certain(methods):
    assert _confidences(in_bolt(methods)) == {"must"}


def test_the_path_shown_is_the_one_without_a_contradiction():
    source = in_bolt(MISTAKES["a list, tested one way only"])

    (finding,) = findings(source)

    assert "`row is None` is true" in [step.note for step in finding.evidence.steps]


def test_a_list_that_is_emptied_again_is_empty():
    source = in_bolt("""
        def process(self, tup):
            errors = []
            if tup.values[0] is None:
                errors.append("bad")
                self.fail(tup)
            errors.clear()
            if not errors:
                self.ack(tup)
    """)

    assert {f.code: f.confidence.word for f in findings(source)} == {"ACK101": "may", "ACK106": "must"}

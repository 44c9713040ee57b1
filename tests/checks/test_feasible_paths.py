"""A path on which two conditions contradict each other is not certain; another path to the same mistake may be."""

import pytest

from tests.checks.sources import findings, in_bolt, java_findings

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
    "a list that is emptied again": """
        def process(self, tup):
            errors = []
            if tup.values[0] is None:
                errors.append("bad")
                self.fail(tup)
            errors.clear()
            if not errors:
                self.ack(tup)
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


@pytest.mark.parametrize(
    ("fail", "confidence"), [("collector.fail(input);", {"may"}), ("", {"must"})], ids=["healthy", "mistake"]
)
@pytest.mark.parametrize(
    ("made", "filled", "test"),
    [
        ("List<String> errors = new ArrayList<>();", 'errors.add("bad");', "errors.isEmpty()"),
        ("List<String> errors = new LinkedList<>();", 'errors.add("bad");', "errors.size() == 0"),
        ("Set<String> seen = new HashSet<>();", "seen.add(word);", "!seen.contains(word)"),
        ("Map<String, Integer> seen = new HashMap<>();", "seen.put(word, 1);", "!seen.containsKey(word)"),
    ],
)
def test_java_collections(made, filled, test, fail, confidence):
    source = f"""
        public void execute(Tuple input) {{
            String word = input.getString(0);
            {made}
            if (client.isBad(word)) {{
                {filled}
                {fail}
            }}
            if ({test}) {{
                collector.ack(input);
            }}
        }}
    """

    found = java_findings(source)

    assert {f.confidence.word for f in found if f.code in ("ACK101", "ACK106")} == confidence


def test_one_call_in_a_helper_and_in_its_caller():
    source = """
        public void execute(Tuple input) {
            if (input.getString(0) == null) {
                check(input);
                return;
            }
            if (!check(input)) {
                client.count();
            }
            collector.ack(input);
        }

        private boolean check(Tuple input) {
            String key = input.getString(0);
            if (key == null) {
                collector.fail(input);
                return false;
            }
            return client.has(key);
        }
    """

    assert {f.confidence.word for f in java_findings(source) if f.code in ("ACK101", "ACK106")} == {"may"}


@pytest.mark.parametrize(
    ("fail", "confidence"), [("collector.fail(input);", {"may"}), ("", {"must"})], ids=["healthy", "mistake"]
)
@pytest.mark.parametrize(
    ("made", "test", "methods"),
    [
        (
            "AtomicBoolean failed = new AtomicBoolean(false); check(input, failed);",
            "!failed.get()",
            "void check(Tuple input, AtomicBoolean failed) {"
            " if (client.isBad(input.getString(0))) { failed.set(true); FAIL } }",
        ),
        (
            "Optional<String> found = check(input);",
            "found.isPresent()",
            "Optional<String> check(Tuple input) {"
            " if (client.isBad(input.getString(0))) { FAIL return Optional.empty(); }"
            ' return Optional.of("good"); }',
        ),
    ],
    ids=["AtomicBoolean", "Optional"],
)
def test_java_objects_with_one_value(made, test, methods, fail, confidence):
    source = f"""
        public void execute(Tuple input) {{
            {made}
            if ({test}) {{
                collector.ack(input);
            }}
        }}
        private {methods.replace("FAIL", fail)}
    """

    found = java_findings(source)

    assert {f.confidence.word for f in found if f.code in ("ACK101", "ACK106")} == confidence


@pytest.mark.parametrize(
    ("second", "confidence"), [("done", "may"), ("isLate", "must"), ("tryAgain", "must")]
)
def test_one_method_of_a_result_asked_twice(second, confidence):
    source = f"""
        public void execute(Tuple input) {{
            Outcome outcome = client.send(input.getString(0));
            if (outcome.{second.replace("isLate", "done")}()) {{
                collector.ack(input);
            }}
            client.count(outcome.text());
            if (!outcome.{second}()) {{
                collector.fail(input);
            }}
        }}
    """

    found = [(f.code, f.confidence.word) for f in java_findings(source) if f.code in ("ACK101", "ACK106")]

    assert sorted(found) == [("ACK101", confidence), ("ACK106", confidence)]

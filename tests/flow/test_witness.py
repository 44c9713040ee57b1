"""The witness of a finding: every step, in order, as the reader sees it."""

import pytest

from tests.checks.sources import findings, in_bolt, java_findings

EARLY_RETURN = """
def process(self, tup):
    word = tup.values[0]
    if not word:
        return
    self.emit([word])
    self.ack(tup)
"""
HELPER = """
def store(self, tup):
    work(tup.values)
    self.ack(tup)

def process(self, tup):
    self.store(tup)
    for word in tup.values:
        if word == "stop":
            self.ack(tup)
            break
"""
HANDLER = """
def process(self, tup):
    try:
        work(tup.values)
        self.ack(tup)
        work(2)
    except ValueError:
        self.fail(tup)
"""
LOOP = """
def process(self, tup):
    words = tup.values
    for word in words:
        self.emit([word])
        self.ack(tup)
"""
LATE = """
def process(self, tup):
    self.pending = tup
    if ready():
        self.ack(tup)
    self.emit([1], anchors=[tup])
"""

MATCH = """
def process(self, tup):
    match tup.values:
        case ["put", str(key)]:
            self.ack(tup)
        case [{"key": key, "op": "drop"}, *_]:
            self.ack(tup)
        case Row(0):
            self.ack(tup)
"""

INSIDE = """
def give_up(self, tup):
    if ready():
        self.fail(tup)

def process(self, tup):
    try:
        work(tup.values)
        self.ack(tup)
    except ValueError:
        self.give_up(tup)
"""

CASES = {
    "early-return": (EARLY_RETURN, "ACK101"),
    "helper": (HELPER, "ACK103"),
    "handler": (HANDLER, "ACK106"),
    "loop": (LOOP, "ACK104"),
    "late-emit": (LATE, "ACK202"),
    "match": (MATCH, "ACK101"),
    "inside": (INSIDE, "ACK101"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_path_of_a_finding(name, golden):
    body, code = CASES[name]
    source = in_bolt(body)
    lines = source.splitlines()
    shown = [source]
    for finding in findings(source):
        if finding.code == code:
            shown.append(
                f"{finding.code} line {finding.site.span.line}, {finding.confidence.word}: {finding.message}\n"
            )
            for step in finding.evidence.steps:
                span = step.site.span
                text = lines[span.line - 1][span.column - 1 :][: span.end_column - span.column]
                shown.append(f"  {'  ' * step.depth}{span.line}: {text} -- {step.note} [{step.state}]\n")

    golden(f"path-{name}", "".join(shown))


@pytest.mark.parametrize(
    ("condition", "note"),
    [
        ("v == null", "`v == null` is true"),
        ("v != null", "`v != null` is true"),
        ("!(v instanceof String)", "`v instanceof String` is false"),
        ('"x".equals(tuple.getSourceStreamId())', '`tuple.getSourceStreamId().equals("x")` is true'),
        (r'v.equals("a\"b")', r'`v.equals("a\"b")` is true'),
        ("this.on == true", "`this.on == true` is true"),
        ("v == new Object()", "`v == new Object()` is true"),
        ("(tuple.size() & 1) == 0", "`(tuple.size() & 1) == 0` is true"),
        ("(v == null | on) == on", "`(v == null | on) == on` is true"),
        ("tuple.size() > 3", "`tuple.size() > 3` is true"),
    ],
)
def test_the_path_of_a_java_finding_quotes_java(condition, note):
    (finding,) = java_findings(
        f"public void execute(Tuple tuple) {{ Object v = read(tuple); boolean on = isOn();\n"
        f"if ({condition}) {{ return; }} collector.ack(tuple); }}"
    )
    assert note in [step.note for step in finding.evidence.steps]


def test_the_path_names_what_holds_the_tuple():
    source = in_bolt(
        "\ndef process(self, tup):\n    work = Work()\n    work.tup = tup\n    self.ack(tup)\n    self.ack(tup)\n"
    )
    (finding,) = (each for each in findings(source) if each.code == "ACK103")
    assert "held by an object" in [step.note for step in finding.evidence.steps]

"""An internal error names its file and component, the rest is judged, and lint exits with 2."""

import json

import pytest

from ackdoctor import checks
from ackdoctor.lint import analysis, files, select
from tests.lint.project import BOLT, CLEAN, write

IGNORED = BOLT.replace("        self.ack(tup)\n\n", "").replace(
    "self.ack(tup)\n        self.ack(tup)",
    "self.ack(tup)\n        self.ack(tup)  # ackdoctor: ignore[ACK103] counts",
)


@pytest.fixture
def broken(monkeypatch, tmp_path):
    """One file with a component that cannot be analysed and one that can; `good.py` is another file."""
    bad = CLEAN.replace("CountBolt", "BadBolt")
    write(tmp_path, {"bad.py": bad + "\n\n" + IGNORED.partition("\n\n\n")[2], "good.py": BOLT})
    original = checks.check_component

    def check_component(context, failed=None):
        if context.component.name == "BadBolt":
            raise ValueError("not enough values")
        return original(context, failed)

    monkeypatch.setattr(checks, "check_component", check_component)


LINE = "ackdoctor: bad.py:4:0: internal error in BadBolt: ValueError: not enough values\n"


def test_a_component_whose_calls_are_too_deep_is_named_and_the_exit_code_is_2(shell, broken, monkeypatch):
    original = checks.check_component

    def check_component(context, failed=None):
        if context.component.name == "BadBolt":
            raise RecursionError
        return original(context, failed)

    monkeypatch.setattr(checks, "check_component", check_component)
    outcome = shell("lint", "--no-cache", ".")
    assert outcome.code == 2
    assert outcome.err == "ackdoctor: bad.py:4:0: calls nested too deeply; `BadBolt` is not judged\n"


@pytest.mark.parametrize("more", [[], ["--exit-zero"], ["--quiet"], ["--output-format", "json-lines"]])
def test_the_exit_code_is_always_2(shell, broken, more):
    outcome = shell("lint", "--no-cache", ".", *more)
    assert (outcome.code, outcome.err) == (2, LINE)


def test_the_rest_is_judged_and_comments_in_the_same_file_count(shell, broken):
    outcome = shell("lint", "--no-cache", "--output-format", "concise", ".")
    assert [line[:19] for line in outcome.out.splitlines()[:-1]] == ["good.py:9:9: ACK103"]
    assert outcome.out.splitlines()[-1] == (
        "1 finding (1 error) in 2 files, 3 components · 1 internal error · 1 suppressed by comments"
    )


def test_json_names_the_component(shell, broken):
    document = json.loads(shell("lint", "--no-cache", "--output-format", "json", ".").out)
    (fault,) = document["unreadable"]
    assert (fault["path"], fault["line"], fault["internal_error"]) == ("bad.py", 4, True)
    assert fault["reason"].startswith("internal error in BadBolt: ValueError")
    assert document["summary"]["internal_errors"] == 1


def test_sarif_names_the_component(shell, broken):
    document = json.loads(shell("lint", "--no-cache", "--output-format", "sarif", ".").out)
    (invocation,) = document["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["descriptor"]["id"] == "internal-error"
    assert notification["exception"]["kind"] == "ValueError"
    assert notification["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "bad.py"


def test_github_names_the_component(shell, broken):
    out = shell("lint", "--no-cache", "--output-format", "github", ".").out
    assert out.startswith("::error file=bad.py,line=4,title=internal error::internal error in BadBolt")


def test_a_run_without_unjudged_components_was_successful(shell, tmp_path):
    write(tmp_path, {"good.py": BOLT, "bad.py": "from streamparse import Bolt\nclass (:\n"})
    document = json.loads(shell("lint", "--no-cache", "--output-format", "sarif", ".").out)
    assert document["runs"][0]["invocations"][0]["executionSuccessful"] is True


def test_a_failing_rule_does_not_stop_other_rules(shell, tmp_path, monkeypatch):
    write(tmp_path, {"good.py": BOLT})

    def check(context):
        raise MemoryError

    broken = {**checks.load(), "ACK104": checks.Check("ack-in-loop", check)}
    monkeypatch.setattr(checks, "load", lambda: broken)
    outcome = shell("lint", "--no-cache", "--output-format", "concise", ".")
    assert outcome.code == 2
    assert outcome.err == "ackdoctor: good.py:4:0: internal error in CountBolt, ACK104: MemoryError\n"
    assert "ACK103" in outcome.out


@pytest.mark.parametrize(
    ("module", "part"), [(files, "python_declarations"), (select, "_directives"), (analysis, "lower")]
)
def test_a_failing_reader_does_not_stop_other_files(shell, tmp_path, monkeypatch, module, part):
    write(tmp_path, {"bad.py": IGNORED.replace("CountBolt", "BadBolt"), "good.py": BOLT})
    original = getattr(module, part)

    def fail(*arguments, **named):
        if any(isinstance(each, bytes) and b"BadBolt" in each for each in arguments):
            raise ValueError("no such thing\nreally")
        return original(*arguments, **named)

    monkeypatch.setattr(module, part, fail)
    outcome = shell("lint", "--no-cache", "--output-format", "concise", ".")
    assert "good.py:9:9: ACK103" in outcome.out
    assert outcome.code == 2
    assert outcome.err.startswith("ackdoctor: bad.py: internal error")
    assert outcome.err.endswith("ValueError: no such thing\n")
    assert outcome.err.count("\n") == 1

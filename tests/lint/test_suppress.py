"""Python comments that silence findings, and the findings about them."""

import pytest

from ackdoctor.lint.select import Suppressed, suppress
from ackdoctor.model.finding import Confidence, Finding, PathWitness, Severity, stamp
from ackdoctor.model.source import Site, Span

RULES = {"ACK101": "missing-ack", "ACK103": "double-ack", "ACK901": "unused-ignore"}


def finding(line: int, code: str = "ACK103", path: str = "bolt.py") -> Finding:
    return Finding(
        code=code,
        name=RULES[code],
        severity=Severity.ERROR,
        confidence=Confidence.MUST,
        site=Site(path, Span(line, 1, line, 2)),
        message="m",
        component="B",
        handler="process",
        dialect="streamparse",
        evidence=PathWitness(steps=()),
        cause=str(line),
    )


def run_suppress(source: str, *findings: Finding) -> Suppressed:
    return suppress(findings, {"bolt.py": source.encode()}, RULES)


def messages(outcome: Suppressed) -> list[str]:
    return [f"{f.site.span.line}:{f.site.span.column} {f.severity.word} {f.message}" for f in outcome.kept]


@pytest.mark.parametrize("name", ["ACK103", "double-ack", "ACK101, ACK103", " ACK103 "])
def test_a_comment_silences_the_rule_on_its_line(name):
    outcome = run_suppress(
        f"x = 1\nself.ack(tup)  # ackdoctor: ignore[{name}] counted per item\n", finding(2)
    )
    assert outcome.suppressed == 1
    assert finding(2) not in outcome.kept


def test_a_comment_alone_on_its_line_silences_the_next_statement():
    source = "# ackdoctor: ignore[ACK103] counted per item\nself.ack(\n    tup\n)\n"
    assert run_suppress(source, finding(3)) == Suppressed((), 1)


def test_a_comment_leaves_other_rules_and_other_lines_alone():
    source = "self.ack(tup)  # ackdoctor: ignore[ACK103] counted\nself.ack(tup)\n"
    others = (finding(1, "ACK101"), finding(2))
    assert run_suppress(source, finding(1), *others) == Suppressed(others, 1)


def test_a_comment_may_follow_another_one():
    source = "self.ack(tup)  # noqa: E501  # ackdoctor: ignore[ACK103] counted, see #12\n"
    assert run_suppress(source, finding(1)) == Suppressed((), 1)


def test_one_comment_silences_every_finding_of_its_line():
    source = "self.ack(tup)  # ackdoctor: ignore[ACK103] counted\n"
    assert run_suppress(source, finding(1), finding(1)) == Suppressed((), 2)


def test_ignore_file_silences_the_whole_file():
    source = '"""Doc."""\n# ackdoctor: ignore-file[double-ack] a demo of what not to do\nx = 1\ny = 1\n'
    assert run_suppress(source, finding(3), finding(4)) == Suppressed((), 2)


def test_ignore_file_below_the_first_statement_does_nothing():
    outcome = run_suppress("import x\n# ackdoctor: ignore-file[ACK103] demo\ny = 1\n", finding(3))
    assert outcome.suppressed == 0
    assert messages(outcome)[1:] == [
        "2:1 error `ignore-file[ACK103]` silences nothing here: it belongs above the first statement of the file"
    ]


def test_a_string_is_no_comment():
    source = "x = '# ackdoctor: ignore[ACK103] no'\n"
    assert run_suppress(source, finding(1)) == Suppressed((finding(1),), 0)


def test_python_2_sources_have_comments_too():
    source = "print 'x', 0777\nself.ack(tup)  # ackdoctor: ignore[ACK103] counted\n"
    assert run_suppress(source, finding(2)) == Suppressed((), 1)


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("ackdoctor: ignore", "error `ackdoctor: ignore` names no rule, so it silences nothing"),
        ("ackdoctor: ignore[] why", "error `ackdoctor: ignore` names no rule, so it silences nothing"),
        ("ackdoctor: ignroe[ACK103] why", "error `ackdoctor: ignroe` means nothing, so it silences nothing"),
        (
            "ackdoctor: ignore[ACK13] why",
            "error `ignore[ACK13]`: there is no rule `ACK13`; did you mean `ACK103`?",
        ),
        (
            "ackdoctor: ignore[ack103] why",
            "error `ignore[ack103]`: there is no rule `ack103`; did you mean `ACK103`?",
        ),
        ("ackdoctor: ignore[ACK101] why", "warning `ignore[ACK101]` silences nothing"),
        ("ackdoctor: ignore[ACK101]", "warning `ignore[ACK101]` silences nothing"),
        (
            "ackdoctor: ignore[ACK1]",
            "error `ignore[ACK1]`: there is no rule `ACK1`; a comment names whole codes",
        ),
    ],
)
def test_a_comment_that_silences_nothing_is_a_finding(comment, message):
    outcome = run_suppress(f"self.ack(tup)  # {comment}\n", finding(1))
    assert outcome.kept[0] == finding(1)
    assert messages(outcome)[1:] == [f"1:16 {message}"]


def test_a_comment_without_a_reason_works_and_is_a_finding():
    outcome = run_suppress("self.ack(tup)  # ackdoctor: ignore[ACK103]\n", finding(1))
    assert outcome.suppressed == 1
    assert messages(outcome) == ["1:16 warning `ignore[ACK103]` gives no reason"]


@pytest.mark.parametrize("beside", ["  # noqa: E702", " # type: ignore"])
def test_a_comment_for_another_tool_is_no_reason(beside):
    outcome = run_suppress(f"self.ack(tup)  # ackdoctor: ignore[ACK103]{beside}\n", finding(1))
    assert messages(outcome) == ["1:16 warning `ignore[ACK103]` gives no reason"]
    outcome = run_suppress(
        f"self.ack(tup)  # ackdoctor: ignore[ACK103] C# asks, see #12{beside}\n", finding(1)
    )
    assert messages(outcome) == []


def test_each_rule_may_have_its_own_reason_on_one_line():
    source = "self.ack(tup)  # ackdoctor: ignore[ACK103] counted  # ackdoctor: ignore[ACK101] drained\n"
    outcome = run_suppress(source, finding(1))
    assert outcome.suppressed == 1
    assert messages(outcome) == ["1:53 warning `ignore[ACK101]` silences nothing"]


def test_the_unused_code_of_a_comment_is_named():
    outcome = run_suppress("self.ack(tup)  # ackdoctor: ignore[ACK101, ACK103] why\n", finding(1))
    assert messages(outcome) == ["1:16 warning `ignore[ACK101, ACK103]` silences nothing for ACK101"]


def test_a_rule_that_did_not_run_is_not_unused():
    source = {"bolt.py": b"x = 1  # ackdoctor: ignore[ACK103] why\n"}
    assert suppress([], source, RULES, active={"ACK101", "ACK901"}) == Suppressed((), 0)


def test_without_unused_ignore_there_are_no_findings_about_comments():
    source = {"bolt.py": b"x = 1  # ackdoctor: ignore\n"}
    assert suppress([], source, RULES, active={"ACK103"}) == Suppressed((), 0)


def test_a_comment_may_silence_the_finding_about_itself():
    source = "x = 1  # ackdoctor: ignore[ACK103, ACK901] needed on Storm 0.9 only\n"
    assert run_suppress(source) == Suppressed((), 1)


def test_each_fault_of_a_comment_has_its_own_fingerprint():
    comments = ("ignore[ACK103]", "ignore[ACK103] why", "ignore[ACK13]", "ignroe[ACK103] why", "ignore")
    used = [
        stamp(run_suppress(f"x  # ackdoctor: {comment}\n", *found).kept)[-1].fingerprint
        for comment, found in [(comments[0], [finding(1)]), *((comment, []) for comment in comments[1:])]
    ]
    assert len(set(used)) == len(comments)


def test_findings_about_comments_are_sorted_by_file_and_line():
    idle = b"x = 1\ny = 2  # ackdoctor: ignore[ACK103] why\nz = 3  # ackdoctor: ignore[ACK101] why\n"
    outcome = suppress([], {"b.py": idle, "a.py": idle}, RULES)
    assert [str(f.site) for f in outcome.kept] == ["a.py:2:8", "a.py:3:8", "b.py:2:8", "b.py:3:8"]

"""Java comments and annotations that silence findings, and the findings about them."""

import pytest

from ackdoctor.lint.select import Suppressed, suppress
from tests.lint.test_suppress import RULES, finding, messages

PATH = "Bolt.java"


def run_suppress(source: str, *lines: int, unsure: tuple[str, ...] = ()) -> Suppressed:
    found = [finding(line, path=PATH) for line in lines]
    return suppress(found, {PATH: source.encode()}, RULES, unsure=unsure)


@pytest.mark.parametrize(
    "source",
    [
        "x();\ncollector.ack(t); // ackdoctor: ignore[ACK103] counted per item\n",
        "// ackdoctor: ignore[double-ack] counted per item\ncollector.ack(\n    t);\n",
        "x();\ncollector.ack(t); /* ackdoctor: ignore[ACK103] counted per item */\n",
        "/*\n * ackdoctor: ignore[ACK103] counted per item\n */ collector.ack(t);\n",
        "// ackdoctor: ignore-file[ACK103] a demo\npackage a;\nx(); y();\n",
        "package a;\n/* ackdoctor: ignore-file[ACK103] a demo */ class A { }\n",
        'class A {\n  @SuppressWarnings("ackdoctor:ACK103 counted per item") void f() {\n  }\n}\n',
        '@SuppressWarnings({"unchecked", "ackdoctor:double-ack counted"})\nclass A {\n}\n',
        '@SuppressWarnings("ackdoctor:ACK103") // counted per item\nclass A {\n}\n',
    ],
)
def test_a_comment_or_an_annotation_silences_its_statement(source):
    line = 3 if "*/ coll" in source else 2
    assert run_suppress(source, line) == Suppressed((), 1)


def test_a_comment_for_another_tool_is_no_reason():
    outcome = run_suppress("collector.ack(t); // ackdoctor: ignore[ACK103] // NOPMD\n", 1)
    assert messages(outcome) == ["1:19 warning `ignore[ACK103]` gives no reason"]
    assert (
        messages(
            run_suppress("collector.ack(t); // ackdoctor: ignore[ACK103] see https://a.b/c // NOPMD\n", 1)
        )
        == []
    )


def test_an_annotation_leaves_other_methods_alone():
    source = '@SuppressWarnings("ackdoctor:ACK103 why")\nvoid f() {\n}\nvoid g() {\n}\n'
    assert run_suppress(source, 2, 4) == Suppressed((finding(4, path=PATH),), 1)


@pytest.mark.parametrize(
    "source", ['s = "// ackdoctor: ignore[ACK103] no";\n', 's = """\n// ackdoctor: ignore[ACK103] no\n""";\n']
)
def test_a_string_silences_nothing(source):
    assert run_suppress(source, 1) == Suppressed((finding(1, path=PATH),), 0)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x(); // ackdoctor: ignore[ACK103]\n", "1:6 warning `ignore[ACK103]` gives no reason"),
        ("x(); // ackdoctor: ignore[ACK103] why\n", "1:6 warning `ignore[ACK103]` silences nothing"),
        (
            "x(); /* ackdoctor: ignore */\n",
            "1:6 error `ackdoctor: ignore` names no rule, so it silences nothing",
        ),
        (
            "class A {} // ackdoctor: ignore-file[ACK103] why\n",
            "1:12 error `ignore-file[ACK103]` silences nothing here: it belongs above the first class of the file",
        ),
        (
            '@SuppressWarnings({"rawtypes", "ackdoctor:ACK103"})\nclass A {}\n',
            '1:32 warning `@SuppressWarnings("ackdoctor:ACK103")` gives no reason',
        ),
        (
            '@SuppressWarnings("ackdoctor:ACK103 why")\nclass A {}\n',
            '1:19 warning `@SuppressWarnings("ackdoctor:ACK103")` silences nothing',
        ),
        (
            '@SuppressWarnings("ackdoctor:ACK13 why")\nclass A {}\n',
            '1:19 error `@SuppressWarnings("ackdoctor:ACK13")`: there is no rule `ACK13`; did you mean `ACK103`?',
        ),
        (
            '@SuppressWarnings("ackdoctor:")\nclass A {}\n',
            '1:19 error `@SuppressWarnings("ackdoctor:")` names no rule, so it silences nothing',
        ),
    ],
)
def test_a_faulty_comment_or_annotation_is_a_finding(source, message):
    lines = (1,) if "no reason" in message else ()
    assert messages(run_suppress(source, *lines)) == [message]


def test_the_advice_uses_the_syntax_of_the_language():
    (complaint,) = run_suppress("x(); // ackdoctor: ignore\n").kept
    assert complaint.help == "write `// ackdoctor: ignore[ACK101] reason`"
    (complaint,) = run_suppress('@SuppressWarnings("ackdoctor:")\nclass A {}\n').kept
    assert complaint.help == 'write `@SuppressWarnings("ackdoctor:ACK101 reason")`'


def test_no_comment_is_unused_in_a_file_that_was_read_in_part():
    assert run_suppress("x(); // ackdoctor: ignore[ACK103] why\n", unsure=(PATH,)) == Suppressed((), 0)

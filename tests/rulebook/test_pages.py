"""Parsing rule pages and regression pages: what a good one contains, and on which line a broken one is wrong."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ackdoctor.model import RulebookError
from ackdoctor.model.finding import Severity
from ackdoctor.rulebook import find, locate, survey
from ackdoctor.rulebook.pages import explanation
from tests.rule_pages import CaseFile, Expected, cases_of, load_metadata, load_rules, read_case_page

GOOD = """\
# double-ack (ACK103)

One path acks the same tuple twice.

```toml
severity = "error"
default = true
evidence = ["path", "tree"]
fix = "sometimes"
since = "0.1.0"
```

## What it does

Reports a second ack.

## Why is this bad

The worker dies. See [missing-ack](ACK101-missing-ack.md).

## Example

```python storm_py
storm.ack(tup)
storm.ack(tup)  # expect: ACK103
```

## How to fix

Ack once.

```java storm
collector.ack(tuple); // expect: ACK101
```

## Limits

None.

## Messages

Message, help and last note.

```toml
message = ["{tup} is acked twice", "ack once"]
leave = "return first"
```
"""

CASES = """\
# ACK103: branches

How double-ack treats branches.

## Reports

### Twice in a row

Prose between blocks.

```python storm_py
storm.ack(tup)
storm.ack(tup)  # expect: ACK103
```

```text
ShellBolt died.
```

```python streamparse bolts/base.py
## not a section
self.ack(tup)
```

```python streamparse bolts/count.py
self.ack(tup)  # expect: ACK103, ACK101
self.ack(tup)  # expect-info: ACK103  # todo: ACK201
```

```python streamparse bolts/count.py
pass
```

## Stays silent

### Once; as it should be

```java storm
collector.ack(tuple); // expect: ACK101
```

```python pyleus
self.ack(tup)
```
"""

NAME = "ACK103-double-ack.md"
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def page(text: str | bytes, name: str = NAME) -> Path:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    return page


@pytest.fixture
def case_page(tmp_path: Path) -> Callable[[str], Path]:
    def page(text: str) -> Path:
        path = tmp_path / "ACK103" / "branches.md"
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
        return path

    return page


def test_the_head_holds_the_metadata(write: Write) -> None:
    rule = load_metadata(write(GOOD))["ACK103"]
    assert (rule.code, rule.name, rule.summary) == (
        "ACK103",
        "double-ack",
        "One path acks the same tuple twice.",
    )
    assert (rule.severity, rule.default, rule.evidence) == (Severity.ERROR, True, ("path", "tree"))
    assert rule.path.name == NAME


def test_a_whole_page_has_the_same_head(write: Write) -> None:
    directory = write(GOOD)
    rule, page = load_metadata(directory)["ACK103"], load_rules(directory)["ACK103"]
    fields = ("code", "name", "summary", "severity", "default", "evidence", "path", "url")
    assert [getattr(page, field) for field in fields] == [getattr(rule, field) for field in fields]


def test_the_sections_come_in_order_without_their_headings(write: Write) -> None:
    page = load_rules(write(GOOD))["ACK103"]
    assert list(page.sections) == [
        "What it does",
        "Why is this bad",
        "Example",
        "How to fix",
        "Limits",
        "Messages",
    ]
    assert page.sections["What it does"] == "Reports a second ack."
    assert page.text == GOOD


def test_one_section_of_options_may_follow_the_limits(write: Write) -> None:
    page = load_rules(write(GOOD.replace("## Messages", "## Options\n\nNone yet.\n\n## Messages")))["ACK103"]
    assert page.sections["Options"] == "None yet."


def test_the_example_and_the_fix_are_cases(write: Write) -> None:
    cases = cases_of(load_rules(write(GOOD))["ACK103"])
    assert [(case.name, case.section, case.page.name) for case in cases] == [
        ("example-storm_py", "Example", NAME),
        ("how-to-fix-storm", "How to fix", NAME),
    ]


def test_an_explanation_begins_with_the_fix_and_ends_with_the_address(write: Write) -> None:
    page = load_rules(write(GOOD.replace("## Messages", "## Options\n\nNone yet.\n\n## Messages")))["ACK103"]
    text = explanation(page)
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# double-ack (ACK103)",
        "## How to fix",
        "## Why is this bad",
        "## Example",
        "## Limits",
        "## Options",
    ]
    assert "storm.ack(tup)  # ACK103\n" in text
    assert "(https://ackdoctor.readthedocs.io/en/latest/rules/ACK101-missing-ack/)" in text
    assert text.endswith("\n\n<https://ackdoctor.readthedocs.io/en/latest/rules/ACK103-double-ack/>\n")


def test_a_case_is_a_run_of_blocks_of_one_dialect_with_different_files(case_page) -> None:
    cases = read_case_page(case_page(CASES))
    assert [(case.name, [file.name for file in case.files]) for case in cases] == [
        ("twice-in-a-row-storm_py", ["case.py"]),
        ("twice-in-a-row-streamparse", ["bolts/base.py", "bolts/count.py"]),
        ("twice-in-a-row-streamparse-2", ["bolts/count.py"]),
        ("once-as-it-should-be-storm", ["Case.java"]),
        ("once-as-it-should-be-pyleus", ["case.py"]),
    ]
    assert [(case.code, case.section, case.language, case.dialect) for case in cases][3] == (
        "ACK103",
        "Stays silent",
        "java",
        "storm",
    )


def test_a_file_keeps_its_markers_and_knows_its_line_in_the_page(case_page) -> None:
    case = read_case_page(case_page(CASES))[0]
    text = "storm.ack(tup)\nstorm.ack(tup)  # expect: ACK103\n"
    assert case.files == (CaseFile("case.py", text, 12),)
    assert CASES.splitlines()[11] == "storm.ack(tup)"


def test_markers_name_the_exact_line_of_every_finding(case_page) -> None:
    cases = read_case_page(case_page(CASES))
    assert cases[0].expected == (("case.py", 2, "ACK103"),)
    assert cases[1].expected == (
        ("bolts/count.py", 1, "ACK101"),
        ("bolts/count.py", 1, "ACK103"),
        ("bolts/count.py", 2, "ACK103"),
    )
    assert cases[1].todo == (("bolts/count.py", 2, "ACK201"),)
    assert cases[1].severities == {Expected("bolts/count.py", 2, "ACK103"): Severity.INFO}
    assert cases[2].expected == ()
    assert cases[3].expected == (("Case.java", 1, "ACK101"),)


def test_windows_line_ends_change_nothing(write: Write) -> None:
    directory = write(GOOD.replace("\n", "\r\n"))
    assert cases_of(load_rules(directory)["ACK103"])[0].files[0].first_line == 24
    assert load_metadata(directory)["ACK103"].summary == "One path acks the same tuple twice."


def test_rules_come_sorted_by_code_and_a_readme_is_not_a_rule(write: Write) -> None:
    write(GOOD)
    other = GOOD.replace("double-ack (ACK103)", "missing-ack (ACK101)").replace("// expect: ACK101", "")
    write(other, "ACK101-missing-ack.md")
    directory = write("# About these pages\n", "README.md")
    assert list(load_rules(directory)) == ["ACK101", "ACK103"]
    assert list(load_metadata(directory)) == ["ACK101", "ACK103"]


@pytest.mark.parametrize("word", ["ACK103", "ack103", "double-ack", "Double-Ack", " ACK103 "])
def test_a_rule_is_found_by_code_or_name(write: Write, word: str) -> None:
    found = find(load_metadata(write(GOOD)), word)
    assert found is not None
    assert found.code == "ACK103"


def test_a_rule_that_does_not_exist_is_not_found(write: Write) -> None:
    assert find(load_metadata(write(GOOD)), "ACK1") is None


HEADS = [
    ("# double-ack (ACK103)", "# Double ack", 1, "the title must read '# rule-name (ACK101)'"),
    ("(ACK103)", "(ACK13)", 1, "the title must read '# rule-name (ACK101)'"),
    ("# double-ack", "# Double-Ack", 1, "the title must read '# rule-name (ACK101)'"),
    ("double-ack (", "twice (", 1, "the title belongs to a page called ACK103-twice.md"),
    ("twice.\n", "twice.\nAnd more.\n", 4, "the summary is one line, followed by an empty one"),
    ("One path acks the same tuple twice.\n\n", "", 3, "a one-line summary must follow the title"),
    ("```toml\n", "```yaml\n", 5, "a ```toml block must follow the summary"),
    ('since = "0.1.0"\n', "", 5, "since is missing"),
    ('"error"', '"fatal"', 6, 'severity must be "error", "warning" or "info"'),
    ("default = true", 'default = "yes"', 7, "default must be true or false"),
    ('["path", "tree"]', '"path"', 8, 'evidence must be a list of "path", "wiring", "tree" and "heap"'),
    ('["path", "tree"]', '["rumour"]', 8, 'evidence must be a list of "path", "wiring", "tree" and "heap"'),
    ('"sometimes"', "1", 9, 'fix must be "none", "sometimes" or "always"'),
    ('"0.1.0"', '"soon"', 10, 'since must be a version such as "0.1.0"'),
    (
        'since = "0.1.0"',
        'since = "0.1.0"\nautor = "me"',
        11,
        "unknown key 'autor': known are severity, default, evidence, fix, since",
    ),
    ("default = true", "default = yes", 5, "not TOML: Invalid value (at line 2, column 11)"),
    (
        "default = true",
        'default = true\nfix = "none"',
        5,
        "not TOML: Cannot overwrite a value (at line 5, column 18)",
    ),
]


@pytest.mark.parametrize(("old", "new", "line", "reason"), HEADS)
def test_a_broken_head_is_an_error_at_its_line(
    write: Write, old: str, new: str, line: int, reason: str
) -> None:
    assert GOOD.count(old) >= 1
    directory = write(GOOD.replace(old, new, 1))
    for load in (load_metadata, load_rules):
        with pytest.raises(RulebookError) as caught:
            load(directory)
        assert str(caught.value) == f"{(directory / NAME).as_posix()}:{line}: {reason}"


def test_an_empty_page_is_an_error(write: Write) -> None:
    directory = write("")
    for load in (load_metadata, load_rules):
        with pytest.raises(RulebookError, match=r"ACK103-double-ack\.md:1: "):
            load(directory)


def test_a_toml_block_that_never_closes_is_an_error_where_it_opens(write: Write) -> None:
    directory = write(GOOD.split("```\n", maxsplit=1)[0])
    with pytest.raises(RulebookError, match=r"ACK103-double-ack\.md:5: the ```toml block is not closed"):
        load_metadata(directory)


BODIES = [
    ("## What it does\n", "", 14, "'## What it does' must follow the toml block"),
    (
        "\nReports a second ack.\n\n## Why is this bad\n",
        "",
        17,
        "section '## Why is this bad' belongs here, not '## Example'",
    ),
    ("## How to fix", "## How-to-fix", 28, "section '## How to fix' belongs here, not '## How-to-fix'"),
    ("## Limits\n\nNone.\n\n", "", 36, "section '## Limits' belongs here, not '## Messages'"),
    (
        "None.\n",
        "None.\n\n## See also\n",
        40,
        "section '## Messages' belongs here, not '## See also'",
    ),
    ("\nNone.\n", "", 36, "section '## Limits' is empty"),
    ("\n```\n\n## Limits", "\n\n## Limits", 32, "this block is not closed"),
    (
        '"return first"\n```\n',
        '"return first"\n```\n\n## See also\n',
        49,
        "no section may follow '## Messages'",
    ),
    ("```toml\nmessage", "```text\nmessage", 48, "section '## Messages' has no toml block"),
    ("leave =", "leave", 44, "not TOML: Expected '=' after a key in a key/value pair (at line 2, column 7)"),
    ('"return first"', "1", 44, "'leave' must be a text, or a list of message, help and note"),
    ('["{tup} is', '[1, "{tup} is', 44, "'message' must be a text, or a list of message, help and note"),
    ("// expect: ACK101", "// expect: ACK103", 33, "a case of this section must not expect ACK103"),
]


@pytest.mark.parametrize(("old", "new", "line", "reason"), BODIES)
def test_a_broken_body_is_an_error_at_its_line(
    write: Write, old: str, new: str, line: int, reason: str
) -> None:
    assert GOOD.count(old) >= 1
    directory = write(GOOD.replace(old, new, 1))
    with pytest.raises(RulebookError) as caught:
        cases_of(load_rules(directory)["ACK103"])
    assert str(caught.value) == f"{(directory / NAME).as_posix()}:{line}: {reason}"
    assert list(load_metadata(directory)) == ["ACK103"]


KNOWN = "known are python, java, acker, text, toml, diff, console, json, yaml, xml, properties"
BROKEN_CASES = [
    ("# ACK103: branches", "# Branches", 1, "the title must read '# ACK103: topic'"),
    ("How double-ack treats branches.\n", "", 2, "one line of text must follow the title"),
    ("## Reports", "## Examples", 5, "a section is '## Reports' or '## Stays silent'"),
    ("```python storm_py\n", "```acker 1.1.0\n", 11, "'1.1.0' is not the name of an acker's version"),
    (
        "```python storm_py\n",
        "```python\n",
        11,
        "a case opens with '```python dialect' and perhaps a file name",
    ),
    (
        "```python storm_py\n",
        "```python storm_py a.py b.py\n",
        11,
        "a case opens with '```python dialect' and perhaps a file name",
    ),
    ("```python storm_py\n", "```python storm.py\n", 11, "'storm.py' is not the name of a dialect"),
    ("```python storm_py\n", "```pyhton storm_py\n", 11, f"unknown block 'pyhton': {KNOWN}"),
    ("```text\n", "```patch\n", 16, f"unknown block 'patch': {KNOWN}"),  # no test would read it
    (
        "streamparse bolts/base.py",
        "streamparse ../base.py",
        20,
        "the file name '../base.py' leads out of the case",
    ),
    (
        "  # expect: ACK103\n",
        "  # expect ACK103\n",
        13,
        "a marker reads 'expect: ACK101' or 'expect: ACK101, ACK201'",
    ),
    (
        "  # expect: ACK103\n",
        "  # expect: ACK103 here\n",
        13,
        "a marker reads 'expect: ACK101' or 'expect: ACK101, ACK201'",
    ),
    ("# todo: ACK201", "# todo: later", 27, "a marker reads 'todo: ACK101' or 'todo: ACK101, ACK201'"),
    ("// expect: ACK101", "// expect: ACK103", 39, "a case of this section must not expect ACK103"),
    ("self.ack(tup)\n```\n\n## Stays", "\n## Stays", 30, "this block is not closed"),
]


@pytest.mark.parametrize(("old", "new", "line", "reason"), BROKEN_CASES)
def test_a_broken_regression_page_is_an_error_at_its_line(
    case_page, old: str, new: str, line: int, reason: str
) -> None:
    text = CASES.replace("pass\n", "self.ack(tup)\n")
    assert text.count(old) >= 1
    path = case_page(text.replace(old, new, 1))
    with pytest.raises(RulebookError) as caught:
        read_case_page(path)
    assert str(caught.value) == f"{path.as_posix()}:{line}: {reason}"


def test_bytes_that_are_not_utf_8_are_an_error_at_their_line(write: Write) -> None:
    directory = write(GOOD.encode().replace(b"The worker dies. ", b"The worker dies\xff "))
    with pytest.raises(RulebookError, match=r"ACK103-double-ack\.md:19: not UTF-8: invalid start byte$"):
        load_rules(directory)


@pytest.mark.parametrize(
    ("title", "name", "reason"),
    [
        ("twice (ACK103)", "ACK103-twice.md", "ACK103-double-ack.md already has the code ACK103"),
        (
            "double-ack (ACK203)",
            "ACK203-double-ack.md",
            "ACK103-double-ack.md already has the name double-ack",
        ),
    ],
)
def test_a_code_or_name_used_twice_is_an_error_on_the_second_page(
    write: Write, title: str, name: str, reason: str
) -> None:
    write(GOOD)
    directory = write(GOOD.replace("double-ack (ACK103)", title, 1), name)
    with pytest.raises(RulebookError) as caught:
        load_rules(directory)
    assert str(caught.value) == f"{(directory / name).as_posix()}:1: {reason}"


def test_a_survey_returns_the_good_rules_and_the_errors_of_broken_pages(write: Write) -> None:
    write(GOOD)
    directory = write("nothing\n", "ACK101-missing-ack.md")
    rules, errors = survey(directory)
    assert list(rules) == ["ACK103"]
    page = (directory / "ACK101-missing-ack.md").as_posix()
    assert [str(error) for error in errors] == [f"{page}:1: the title must read '# rule-name (ACK101)'"]


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RulebookError, match=r"/nowhere: cannot be read: No such file or directory$"):
        load_metadata(tmp_path / "nowhere")


def test_the_rules_directory_is_found_in_a_source_checkout() -> None:
    assert (locate() / "ACK101-missing-ack.md").is_file()


def test_a_rule_has_an_address() -> None:
    assert (
        load_metadata()["ACK101"].url
        == "https://ackdoctor.readthedocs.io/en/latest/rules/ACK101-missing-ack/"
    )

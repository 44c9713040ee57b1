"""Reading a rule page: what a good one says, and on which line a broken one is wrong."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ackdoctor.model.errors import RulebookError
from ackdoctor.model.finding import Severity
from ackdoctor.rulebook import CaseFile, Expected, find, load_metadata, load_rules, locate, survey

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

The worker dies.

## Examples

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

## Fix safety

Safe.

## Known gaps

None.
"""

NAME = "ACK103-double-ack.md"
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def page(text: str | bytes, name: str = NAME) -> Path:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    return page


def test_the_head_says_what_a_run_needs(write: Write) -> None:
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
    fields = ("code", "name", "summary", "severity", "default", "evidence", "path")
    assert [getattr(page, field) for field in fields] == [getattr(rule, field) for field in fields]


def test_the_sections_come_in_order_without_their_headings(write: Write) -> None:
    page = load_rules(write(GOOD))["ACK103"]
    assert list(page.sections) == [
        "What it does",
        "Why is this bad",
        "Examples",
        "Stays silent",
        "Fix safety",
        "Known gaps",
    ]
    assert page.sections["Why is this bad"] == "The worker dies."
    assert page.text == GOOD


def test_a_case_is_a_run_of_blocks_of_one_dialect_with_different_files(write: Write) -> None:
    cases = load_rules(write(GOOD))["ACK103"].cases
    assert [(case.name, [file.name for file in case.files]) for case in cases] == [
        ("twice-in-a-row-storm_py", ["case.py"]),
        ("twice-in-a-row-streamparse", ["bolts/base.py", "bolts/count.py"]),
        ("twice-in-a-row-streamparse-2", ["bolts/count.py"]),
        ("once-as-it-should-be-storm", ["Case.java"]),
        ("once-as-it-should-be-pyleus", ["case.py"]),
    ]
    assert [(case.code, case.section, case.slug, case.language, case.dialect) for case in cases][3] == (
        "ACK103",
        "Stays silent",
        "once-as-it-should-be",
        "java",
        "storm",
    )


def test_a_file_keeps_its_markers_and_knows_its_line_in_the_page(write: Write) -> None:
    case = load_rules(write(GOOD))["ACK103"].cases[0]
    text = "storm.ack(tup)\nstorm.ack(tup)  # expect: ACK103\n"
    assert case.files == (CaseFile("case.py", text, 28),)
    assert GOOD.splitlines()[27] == "storm.ack(tup)"


def test_markers_name_the_exact_line_of_every_finding(write: Write) -> None:
    cases = load_rules(write(GOOD))["ACK103"].cases
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
    assert load_rules(directory)["ACK103"].cases[0].files[0].first_line == 28
    assert load_metadata(directory)["ACK103"].summary == "One path acks the same tuple twice."


def test_rules_come_sorted_by_code_and_a_readme_is_no_rule(write: Write) -> None:
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
    ("One path acks the same tuple twice.\n\n", "", 3, "a one-line summary must stand here"),
    ("```toml\n", "```yaml\n", 5, "a ```toml block must stand here"),
    ('since = "0.1.0"\n', "", 5, "since is missing"),
    ('"error"', '"fatal"', 6, 'severity must be "error", "warning" or "info"'),
    ("default = true", 'default = "yes"', 7, "default must be true or false"),
    ('["path", "tree"]', '"path"', 8, 'evidence must be a list of "path", "tree" and "heap"'),
    ('["path", "tree"]', '["rumour"]', 8, 'evidence must be a list of "path", "tree" and "heap"'),
    ('"sometimes"', "1", 9, 'fix must be "none", "sometimes" or "always"'),
    ('"0.1.0"', '"soon"', 10, 'since must be a version such as "0.1.0"'),
    (
        'since = "0.1.0"',
        'since = "0.1.0"\nautor = "me"',
        11,
        "unknown key 'autor': known are severity, default, evidence, fix, since",
    ),
    ("default = true", "default = yes", 7, "not TOML: invalid value"),
    ("default = true", 'default = true\nfix = "none"', 10, "not TOML: cannot overwrite a value"),
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
    ("## What it does\n", "", 14, "nothing may stand between the toml block and '## What it does'"),
    ("```python storm_py\n", "```acker 1.1.0\n", 27, "'1.1.0' is no name of a version of an acker"),
    (
        "\nReports a second ack.\n\n## Why is this bad\n",
        "",
        17,
        "section '## Why is this bad' must stand here, not '## Examples'",
    ),
    (
        "## Fix safety",
        "## Fix-safety",
        62,
        "section '## Fix safety' must stand here, not '## Fix-safety'",
    ),
    ("## Known gaps\n\nNone.\n", "", 65, "section '## Known gaps' is missing"),
    ("None.\n", "None.\n\n## See also\n", 70, "no section may follow '## Known gaps'"),
    ("\nSafe.\n", "", 62, "section '## Fix safety' is empty"),
    ("### Twice in a row\n", "", 26, "a case needs a '###' heading above it"),
    (
        "```python storm_py\n",
        "```python\n",
        27,
        "a case opens with '```python dialect' and perhaps a file name",
    ),
    (
        "```python storm_py\n",
        "```python storm_py a.py b.py\n",
        27,
        "a case opens with '```python dialect' and perhaps a file name",
    ),
    ("```python storm_py\n", "```python storm.py\n", 27, "'storm.py' is no name of a dialect"),
    (
        "```python storm_py\n",
        "```pyhton storm_py\n",
        27,
        "unknown block 'pyhton': known are python, java, acker, text, toml, console, json, yaml",
    ),
    (  # nothing would test it
        "```text\n",
        "```diff\n",
        32,
        "unknown block 'diff': known are python, java, acker, text, toml, console, json, yaml",
    ),
    (
        "streamparse bolts/base.py",
        "streamparse ../base.py",
        36,
        "the file name '../base.py' leads out of the case",
    ),
    (
        "  # expect: ACK103\n",
        "  # expect ACK103\n",
        29,
        "a marker reads 'expect: ACK101' or 'expect: ACK101, ACK201'",
    ),
    (
        "  # expect: ACK103\n",
        "  # expect: ACK103 here\n",
        29,
        "a marker reads 'expect: ACK101' or 'expect: ACK101, ACK201'",
    ),
    ("# todo: ACK201", "# todo: later", 43, "a marker reads 'todo: ACK101' or 'todo: ACK101, ACK201'"),
    (
        "// expect: ACK101",
        "// expect: ACK103",
        55,
        "ACK103 is expected in a case that must stay silent",
    ),
    ("```\n\n## Fix safety", "\n\n## Fix safety", 58, "the block that opens here is not closed"),
]


@pytest.mark.parametrize(("old", "new", "line", "reason"), BODIES)
def test_a_broken_body_is_an_error_at_its_line(
    write: Write, old: str, new: str, line: int, reason: str
) -> None:
    assert GOOD.count(old) >= 1
    directory = write(GOOD.replace(old, new, 1))
    with pytest.raises(RulebookError) as caught:
        load_rules(directory)
    assert str(caught.value) == f"{(directory / NAME).as_posix()}:{line}: {reason}"
    assert list(load_metadata(directory)) == ["ACK103"]


def test_bytes_that_are_no_utf_8_are_an_error_at_their_line(write: Write) -> None:
    directory = write(GOOD.encode().replace(b"The worker dies.", b"The worker dies\xff"))
    with pytest.raises(RulebookError, match=r"ACK103-double-ack\.md:19: not UTF-8: invalid start byte$"):
        load_rules(directory)


@pytest.mark.parametrize(
    ("title", "name", "reason"),
    [
        ("twice (ACK103)", "ACK103-twice.md", "ACK103 is taken by ACK103-double-ack.md"),
        (
            "double-ack (ACK203)",
            "ACK203-double-ack.md",
            "the name double-ack is taken by ACK103-double-ack.md",
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


def test_a_survey_hands_over_the_good_rules_beside_the_broken_pages(write: Write) -> None:
    write(GOOD)
    directory = write("nothing\n", "ACK101-missing-ack.md")
    rules, errors = survey(directory)
    assert list(rules) == ["ACK103"]
    page = (directory / "ACK101-missing-ack.md").as_posix()
    assert [str(error) for error in errors] == [f"{page}:1: the title must read '# rule-name (ACK101)'"]


def test_a_directory_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RulebookError, match=r"/nowhere: cannot be read: No such file or directory$"):
        load_metadata(tmp_path / "nowhere")


def test_the_rules_directory_is_found_in_a_source_checkout() -> None:
    assert (locate() / "ACK101-missing-ack.md").is_file()

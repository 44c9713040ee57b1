"""A page in brief: all of its prose, and of its examples the first of each section."""

import pytest

from ackdoctor.rulebook import RulePage, load_rules
from ackdoctor.rulebook.brief import brief

PAGES = load_rules()
EXAMPLES = ("Examples", "Stays silent")


every_page = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)


@every_page
def test_the_prose_is_all_there(page: RulePage) -> None:
    short = brief(page.text)
    for heading, text in page.sections.items():
        if heading not in EXAMPLES:
            assert f"## {heading}\n\n{text.strip()}\n" in short


@every_page
def test_the_first_case_of_a_section_is_there_and_no_other(page: RulePage) -> None:
    short = brief(page.text)
    for section in EXAMPLES:
        first, *others = [case for case in page.cases if case.section == section]
        assert all(file.text in short for file in first.files)
        shown = {file.text for case in page.cases for file in case.files if f"\n{file.text}```" in short}
        assert not [case.name for case in others if any(file.text in shown for file in case.files)]


@every_page
def test_every_heading_of_an_example_is_there(page: RulePage) -> None:
    headings = [line[4:] for line in page.text.splitlines() if line.startswith("### ")]
    short = brief(page.text).splitlines()
    assert [
        line[2:] if line.startswith("- ") else line[4:] for line in short if _names(line, headings)
    ] == headings


@every_page
def test_it_is_read_in_a_minute(page: RulePage) -> None:
    assert len(brief(page.text).splitlines()) < 250


def _names(line: str, headings: list[str]) -> bool:
    return line.startswith(("### ", "- ")) and line.partition(" ")[2] in headings


def test_files_of_one_case_stay_together() -> None:
    text = (
        "# a\n\n## Examples\n\n### Two files\n\nProse.\n\n"
        "```python pystorm base.py\n## no heading\nx\n```\n\n```python pystorm bolt.py\ny\n```\n\n"
        "```python streamparse\nz\n```\n\n### Another\n\n```python pystorm\nw\n```\n\n## Known gaps\n\n- none\n"
    )
    assert brief(text) == (
        "# a\n\n## Examples\n\n### Two files\n\nProse.\n\n"
        "```python pystorm base.py\n## no heading\nx\n```\n\n```python pystorm bolt.py\ny\n```\n"
        "\nAlso:\n\n- Another\n\n## Known gaps\n\n- none\n"
    )

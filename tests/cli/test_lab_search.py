"""`ackdoctor lab run --search`: the smallest faults that lose something."""

from typing import Any

import pytest

from tests.cli.lab_project import edit, run, write_project
from tests.frameworks import framework

framework("streamparse")


@pytest.fixture
def project(tmp_path):
    return write_project(tmp_path)


def test_a_search_writes_a_test_that_fails_until_the_component_is_mended(shell, project):
    edit(project, "words.py", "self.source.put(tup_id)", "pass")
    (project / "tests").mkdir()
    code, out, _ = run(shell, "--search", "30", "--write-test", "tests/test_words.py")
    assert code == 1
    smallest = out.partition("the smallest that fails: ")[2].splitlines()[0]
    words = smallest.removesuffix(" --seed 0").split()
    assert len(words) == 2  # one fault
    assert run(shell, *words).code == 1
    text = (project / "tests" / "test_words.py").read_text()
    assert str(project) not in text
    written: dict[str, Any] = {"__file__": str(project / "tests" / "test_words.py")}
    exec(text, written)
    survives = written["test_words_survives_these_faults"]
    with pytest.raises(AssertionError, match=r"of words lost(?s:.*)words\.py:14: ACK302 "):
        survives()
    edit(project, "words.py", "pass", "self.source.put(tup_id)")
    survives()


def test_a_search_in_a_sound_topology_finds_nothing(shell, project):
    code, out, _ = run(shell, "--search", "10", "--write-test", "test_words.py")
    assert code == 0
    assert "search: 10 random plans, none loses a message" in out
    assert not (project / "test_words.py").exists()


def test_a_search_says_that_the_topology_fails_without_faults(shell, project):
    edit(project, "count.py", "tup.values[0].upper()", "self.fail(tup)")
    code, out, _ = run(shell, "--search", "3")
    assert (code, "  search: it fails without faults, with --seed 0\n" in out) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--write-test", "test.py"), "--write-test needs --search"),
        (("--search", "2", "--kill", "count@1"), "--search draws the faults"),
        (("--search", "2", "--write-test", "no/test.py"), "--write-test: no/test.py cannot be written"),
    ],
)
def test_search_options_are_checked(shell, project, arguments, message):
    code, _, err = run(shell, *arguments)
    assert (code, message in err) == (2, True)

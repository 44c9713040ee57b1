"""YAML files that no one vouches for: lines, bounds, templates."""

from time import process_time

import pytest

from ackdoctor.model.topology import Gap, Place
from ackdoctor.topology import marked_yaml
from ackdoctor.topology.marked_yaml import Document, Duplicate, read


def document(text: str, known=None) -> Document:
    found = read("a.yaml", text.encode(), known)
    assert isinstance(found, Document), found
    return found


def failure(text: str) -> Gap:
    found = read("a.yaml", text.encode())
    assert isinstance(found, Gap)
    return found


def test_every_key_and_value_has_its_line():
    root = document("name: x\nconfig:\n  a.b: 1\n  list:\n    - one\n    - 2.5\n").root
    config = root.get("config")
    assert root.key_place("config") == Place("a.yaml", 2)
    assert config.key_place("a.b") == Place("a.yaml", 3)
    assert config.get("list").items()[1].place == Place("a.yaml", 6)
    assert root.value == {"name": "x", "config": {"a.b": 1, "list": ("one", 2.5)}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("30", 30),
        ('"30"', "30"),
        ("yes", True),
        ("off", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("1_000", 1000),
        ("0x10", 16),
        ("1:30", 90),
        ("2001-01-01", "2001-01-01"),
        ("SHUFFLE", "SHUFFLE"),
    ],
)
def test_a_scalar_is_read_as_yaml_1_1_reads_it(text, value):
    assert document(f"a: {text}\n").root.get("a").value == value


def test_the_second_of_two_equal_keys_wins_and_is_noted():
    found = document("config:\n  a: 1\n  b: 2\n  a: 3\n")
    assert found.root.get("config").value == {"b": 2, "a": 3}
    assert found.duplicates == (Duplicate("a", 2, 4),)


def test_merge_keys_yield_to_the_keys_of_the_mapping():
    found = document("base: &base {a: 1, b: 2}\nreal:\n  <<: *base\n  a: 9\n")
    assert found.root.get("real").value == {"a": 9, "b": 2}
    assert found.duplicates == ()


def test_an_item_without_a_space_after_its_dash_is_no_item():
    found = failure("topology:\n    - spout:\n        name: a\n\n    -bolt:\n        name: b\n")
    assert found.place == Place("a.yaml", 5)
    assert "expected <block end>, but found '?'" in found.why


@pytest.mark.parametrize(
    "text", ["a: [1, 2", "a: 'open", "a: 1\n\tb: 2\n", "--- 1\n--- 2\n", "a: *nowhere\n", "\x00"]
)
def test_broken_text_is_one_sentence(text):
    found = failure(text)
    assert found.why.startswith("the file does not parse: ")
    assert "\n" not in found.why


def test_a_tag_of_its_own_constructs_nothing():
    found = document('a: !!python/object/apply:os.system ["true"]\nb: !secret token\n').root
    assert found.get("a").value == ("true",)
    assert isinstance(found.get("b").value, Gap)


def test_aliases_that_multiply_are_refused():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert "values" in failure("\n".join(lines)).why


def test_an_alias_to_what_contains_it_is_refused():
    assert "nested" in failure("a: &a [*a]\n").why


def test_deep_nesting_is_refused():
    assert "nested" in failure("[" * 5000).why


def test_a_large_file_is_not_read():
    assert "KB" in failure("# " + "x" * marked_yaml.MOST_BYTES).why


@pytest.mark.parametrize("text", ["a: " + "1:" * 50_000, "${" * 60_000, "{{" * 60_000, "bolts:\n" * 20_000])
def test_hostile_text_takes_no_quadratic_time(text):
    started = process_time()
    read("a.yaml", text.encode())
    assert process_time() - started < 5


# ---- templates ----


def test_a_placeholder_is_a_gap_with_its_line():
    found = document("config:\n  topology.workers: ${workers}\n  path: '/data/${ENV-USER}'\n").root.get(
        "config"
    )
    value = found.get("topology.workers").value
    assert value == Gap("`${workers}` is filled in when the topology is submitted", Place("a.yaml", 2))
    assert isinstance(found.get("path").value, Gap)


def test_a_placeholder_in_a_flow_list_does_not_break_the_file():
    assert isinstance(document("args: [${period}, '${unit}']\n").root.get("args").items()[0].value, Gap)


def test_a_known_placeholder_is_text_before_it_is_yaml():
    found = document("a: ${n}\nb: '${n}'\n", {"n": "3"}).root
    assert found.value == {"a": 3, "b": "3"}


def test_jinja_and_erb_leave_a_gap_for_a_value_and_one_for_each_steering_line():
    text = "config:\n{% if big %}\n  topology.workers: {{ workers }}\n{% endif %}\n  a: <%= @a %>\n  <% each do %>\n"
    found = document(text)
    config = found.root.get("config")
    assert isinstance(config.get("topology.workers").value, Gap)
    assert isinstance(config.get("a").value, Gap)
    assert [gap.place.line for gap in found.gaps] == [2, 4, 6]


def test_gaps_are_found_within_a_value():
    value = document("a: [1, {b: ${x}}]\n").root.value
    assert [gap.place.line for gap in marked_yaml.gaps_of(value)] == [1]

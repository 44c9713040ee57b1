"""Rules that every dialect follows."""

from pathlib import Path

import pytest

import ackdoctor
from ackdoctor.dialects import known
from ackdoctor.model.dialect import Dialect, Kind, Misuse, Role, VerbKind

ROLES = [pytest.param(d, r, id=f"{d.name}-{r.name}") for d in known() for r in d.roles]


@pytest.mark.parametrize(("dialect", "role"), ROLES)
def test_a_verb_names_only_parameters_that_it_has(dialect: Dialect, role: Role) -> None:
    for verb in (*role.verbs, *dialect.verbs):
        message_id = None if verb.types else verb.message_id  # another overload may be the one that has it
        named = (verb.subject, verb.anchors, message_id, verb.direct, verb.task_ids, *verb.keyword_only)
        assert [name for name in named if name and name not in verb.params] == [], verb.name


@pytest.mark.parametrize(("dialect", "role"), ROLES)
def test_no_verb_is_described_twice_in_one_place(dialect: Dialect, role: Role) -> None:
    for verbs in (role.verbs, dialect.verbs):
        places = [(verb.on, verb.name, verb.types) for verb in verbs]
        assert len(places) == len(set(places))


@pytest.mark.parametrize(("dialect", "role"), ROLES)
def test_every_price_has_a_note(dialect: Dialect, role: Role) -> None:
    assert set(role.discipline.prices) <= set(role.discipline.notes)


def test_a_check_or_the_tracer_reads_every_misuse() -> None:
    package = Path(ackdoctor.__file__).parent
    sources = [*package.glob("checks/*.py"), *package.glob("tracer/**/*.py")]
    text = "".join(source.read_text(encoding="utf-8") for source in sources)
    assert [misuse for misuse in Misuse if f"Misuse.{misuse.name}" not in text] == []


@pytest.mark.parametrize(("dialect", "role"), ROLES)
def test_a_note_is_one_clause_without_a_full_stop(dialect: Dialect, role: Role) -> None:
    for note in role.discipline.notes.values():
        assert note
        assert "\n" not in note
        assert not note.endswith(".")


@pytest.mark.parametrize(("dialect", "role"), ROLES)
def test_a_method_has_one_entry_and_is_not_also_owned(dialect: Dialect, role: Role) -> None:
    methods = [entry.method for entry in role.entries]
    assert len(methods) == len(set(methods))
    if role.kind is Kind.BOLT:
        assert set(methods) & set(role.owned) <= {"initialize"}


@pytest.mark.parametrize(("dialect", "role"), ROLES)
def test_a_bolt_can_ack_and_fail_and_a_spout_can_emit(dialect: Dialect, role: Role) -> None:
    kinds = {verb.kind for verb in (*role.verbs, *dialect.verbs)}
    wanted = {VerbKind.EMIT} if role.kind is Kind.SPOUT else {VerbKind.ACK, VerbKind.FAIL, VerbKind.EMIT}
    assert wanted <= kinds

"""The names of node types and fields in the frontend exist in the installed grammar."""

import re
from pathlib import Path

import pytest
import tree_sitter_java
from tree_sitter import Language

from ackdoctor.frontends import java
from ackdoctor.frontends.java.lowering import TABLES

LANGUAGE = Language(tree_sitter_java.language())
SOURCE = "\n".join(
    path.read_text(encoding="utf-8") for path in sorted(Path(java.__file__).parent.glob("*.py"))
)
FIELDS = sorted(set(re.findall(r'(?:\bchild\([^"\n]*|by_field_name\()"(\w+)"\)', SOURCE)))
TYPES = sorted(set(re.findall(r'(?:\.type|\bkind) (?:==|!=) "(\S+?)"', SOURCE)))


def is_node_type(name: str) -> bool:
    return any(LANGUAGE.id_for_node_kind(name, named) for named in (True, False))


@pytest.mark.parametrize("table", ["values", "pure", "forks", "statements"])
def test_every_node_type_in_a_table_exists(table):
    assert [name for name in getattr(TABLES, table) if not is_node_type(name)] == []


def test_every_compared_node_type_exists():
    assert len(TYPES) > 30
    assert [name for name in TYPES if not is_node_type(name)] == []


def test_every_field_exists():
    assert len(FIELDS) > 20
    assert [name for name in FIELDS if LANGUAGE.field_id_for_name(name) is None] == []

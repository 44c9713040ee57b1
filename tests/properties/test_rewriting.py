"""Rewriting a bolt without a change of behaviour keeps its findings."""

import ast
import re
from collections.abc import Iterator
from random import Random

import pytest

from tests.properties.bolt_settings import SETTINGS
from tests.properties.comparison import FAMILIES, findings_about
from tests.properties.examples import seeds
from tests.properties.generator import write
from tests.properties.rewriting import REWRITINGS, Rewriting, extract_the_body

SOURCES = 50


def _kinds(source: str) -> set[tuple[str, str, str]]:
    """Code, confidence and message of each finding, without names, lines and callees."""
    found = set()
    for finding in findings_about(source):
        if finding.code in FAMILIES:
            message = re.sub(r"`[^`]*`|Made\.\w+|\d+", "_", finding.message)
            found.add((finding.code, finding.confidence.word, message))
    return found


def _pairs(rewrite: Rewriting) -> Iterator[tuple[str, str]]:
    for seed in seeds(SOURCES):
        setting = SETTINGS[seed % len(SETTINGS)]
        source = write(Random(seed).choice, setting)
        tree = ast.parse(source)
        rewrite(tree, setting)
        yield source, ast.unparse(ast.fix_missing_locations(tree))


@pytest.mark.parametrize("rewrite", REWRITINGS, ids=lambda rewrite: rewrite.__name__)
def test_a_rewriting_keeps_the_findings(rewrite: Rewriting) -> None:
    for source, rewritten in _pairs(rewrite):
        assert _kinds(rewritten) == _kinds(source), f"{source}\n{rewritten}"


def test_a_helper_for_the_body_keeps_the_codes() -> None:
    for source, rewritten in _pairs(extract_the_body):
        before, after = ({code for code, _, _ in _kinds(text)} for text in (source, rewritten))

        assert after == before, f"{source}\n{rewritten}"

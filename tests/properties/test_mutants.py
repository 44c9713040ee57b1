"""Mutants of correct bolts from the rule pages: lint must report those that a run shows to be wrong."""

import ast
from collections.abc import Iterator

from tests.properties.comparison import findings_in
from tests.properties.page_runs import UnsupportedSource, breaches
from tests.rule_cases import cases_by_code
from tests.rule_pages import Case

PAGES = ("ACK101", "ACK103", "ACK104", "ACK105", "ACK106", "ACK202")
DIALECTS = ("streamparse", "pystorm", "storm_py", "pyleus", "heronpy")
FOUND_BY = {"ACK101", "ACK102", "ACK103", "ACK104", "ACK105", "ACK106", "ACK107", "ACK202"}
MIN_RECALL = 0.95


def _silent_cases() -> list[Case]:
    return [
        case
        for code in PAGES
        for case in cases_by_code()[code]
        if not case.expected and not case.todo and len(case.files) == 1 and case.dialect in DIALECTS
    ]


def _completes(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr in ("ack", "fail")
    )


def _mutants(source: str) -> Iterator[tuple[str, str]]:
    """Every source with one completion deleted, doubled, or moved past the statement before or after it."""
    tree = ast.parse(source)
    for parent in list(ast.walk(tree)):
        for part in ("body", "orelse", "finalbody"):
            block = getattr(parent, part, None)
            if not isinstance(block, list):
                continue
            for index, node in enumerate(block):
                if _completes(node):
                    for name, changed in _changes(block, index):
                        setattr(parent, part, changed)
                        yield (
                            f"{name} {ast.unparse(node)} on line {node.lineno}",
                            ast.unparse(ast.fix_missing_locations(tree)),
                        )
                    setattr(parent, part, block)


def _changes(block: list[ast.stmt], index: int) -> Iterator[tuple[str, list[ast.stmt]]]:
    before, node, after = block[:index], block[index], block[index + 1 :]
    yield "without", [*before, ast.Pass(), *after]
    yield "twice", [*before, node, node, *after]
    if before:
        yield "earlier", [*before[:-1], node, before[-1], *after]
    if after:
        yield "later", [*before, after[0], node, *after[1:]]


def test_lint_reports_nearly_every_mutant_that_a_run_shows_to_be_wrong() -> None:
    wrong, missed, bolts = 0, [], 0
    for case in _silent_cases():
        source = case.files[0].text
        try:
            if breaches(source, case.dialect):
                continue  # correct for a reason that these runs do not model
        except UnsupportedSource:
            continue
        bolts += 1
        for name, mutant in _mutants(source):
            try:
                found = breaches(mutant, case.dialect)
            except UnsupportedSource:
                continue
            if found:
                wrong += 1
                if not {finding.code for finding in findings_in(mutant)} & FOUND_BY:
                    words = ", ".join(sorted(breach.value for breach in found))
                    missed.append(f"{case.code}/{case.name} ({case.dialect}), {name}: {words}\n{mutant}")

    print(f"{wrong - len(missed)} of {wrong} wrong mutants of {bolts} bolts found")  # noqa: T201  # the figure
    assert wrong > 100
    assert 1 - len(missed) / wrong >= MIN_RECALL, "\n".join(missed)

"""The standard library, file by file: no crash, and every edge and span is valid."""

import ast
import re
import sysconfig
import warnings
from pathlib import Path

import pytest

from ackdoctor.frontends.python import lower_source
from ackdoctor.frontends.python.source import decode
from ackdoctor.model.cfg import Call, Return, Throw, Unit
from tests.frontends.python.lowered import all_functions
from tests.sampled import sampled

ROOT = Path(sysconfig.get_paths()["stdlib"])
FILES = [path for path in sorted(ROOT.rglob("*.py")) if "site-packages" not in path.parts]
PARTS = 64
QUICK = 1  # parts of every run; `make test-all` reads all

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.parametrize(
        "part",
        sampled(range(PARTS), range(QUICK)),
    ),
]


def lowered(path):
    return lower_source(path=path.name, module=path.stem, is_package=False, data=path.read_bytes())


def lines_of(path):
    text = decode(path.name, path.read_bytes())
    assert isinstance(text, str)
    return re.split("\r\n|\r|\n", text)


def test_the_standard_library_is_lowered_soundly(part):
    for path in FILES[part::PARTS]:
        unit = lowered(path)
        if isinstance(unit, Unit):
            lines = lines_of(path)
            for function in all_functions(unit):
                every_edge_leads_somewhere(path, function)
                every_step_is_in_its_file(path, function, lines)
            calls_and_exits_stand_where_the_interpreter_sees_them(path, unit, lines)


def every_edge_leads_somewhere(path, function):
    reached = {0, 1, 2}.union(edge.target for step in function.cfg.steps for edge in step.edges)
    assert reached == set(range(len(function.cfg.steps))), (path, function.qualname)


def every_step_is_in_its_file(path, function, lines):
    for step in function.cfg.steps:
        span = step.span
        assert span[:2] <= span[2:], (path, span)
        assert 1 <= span.line <= span.end_line <= len(lines), (path, span)
        assert 1 <= span.column <= len(lines[span.line - 1]) + 1, (path, span)
        assert 1 <= span.end_column <= len(lines[span.end_line - 1]) + 1, (path, span)


def calls_and_exits_stand_where_the_interpreter_sees_them(path, unit, lines):
    tree = _tree(path)
    if tree is None:
        return
    seen = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Call, ast.Return, ast.Raise, ast.Assert, ast.Await)):
            seen.add(_place(node, lines))
        elif isinstance(node, ast.Lambda):
            seen.add(_place(node.body, lines))
        seen.update(_place(decorator, lines) for decorator in getattr(node, "decorator_list", ()))
    for function in all_functions(unit):
        for step in function.cfg.steps:
            if isinstance(step.op, (Call, Return, Throw)):
                assert tuple(step.span) in seen, (path, step)


def _tree(path):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return None


def _place(node, lines):
    first, last = lines[node.lineno - 1].encode(), lines[node.end_lineno - 1].encode()
    return (
        node.lineno,
        len(first[: node.col_offset].decode()) + 1,
        node.end_lineno,
        len(last[: node.end_col_offset].decode()) + 1,
    )

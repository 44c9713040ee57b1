"""The standard library, file by file: nothing crashes, nothing takes long, every edge and span is sound."""

import ast
import gc
import re
import sysconfig
import time
import warnings
from pathlib import Path

import libcst as cst
import pytest

from ackdoctor.frontends.python import lower_source
from ackdoctor.frontends.python.decode import decode
from ackdoctor.model.cfg import Call, Mix, Return, Throw
from ackdoctor.model.component import Unit
from tests.frontends.python.lowered import all_functions

ROOT = Path(sysconfig.get_paths()["stdlib"])
FILES = [path for path in sorted(ROOT.rglob("*.py")) if "site-packages" not in path.parts]
PARTS = 24
SECONDS = 2.0

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.parametrize("part", range(PARTS)),
]


def lowered(path):
    return lower_source(path=path.name, module=path.stem, is_package=False, data=path.read_bytes())


def lines_of(path):
    return re.split("\r\n|\r|\n", decode(path.name, path.read_bytes()))


def test_every_file_is_lowered_or_refused_in_time(part):
    for path in FILES[part::PARTS]:
        gc.collect()
        seconds = _measured(lambda path=path: lowered(path))
        if seconds > SECONDS:  # perhaps the machine is busy: then so is the parser alone
            assert seconds < 3 * _measured(lambda path=path: cst.parse_module(path.read_bytes())), path


def _measured(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def test_every_edge_leads_somewhere_and_every_step_stands_in_its_file(part):
    for path in FILES[part::PARTS]:
        unit = lowered(path)
        if not isinstance(unit, Unit):
            continue
        lines = lines_of(path)
        for function in all_functions(unit):
            steps = function.cfg.steps
            reached = {0, 1, 2}
            for step in steps:
                reached.update(edge.target for edge in step.edges)
                span = step.span
                assert span[:2] <= span[2:], (path, span)
                assert 1 <= span.line <= span.end_line <= len(lines), (path, span)
                assert 1 <= span.column <= len(lines[span.line - 1]) + 1, (path, span)
                assert 1 <= span.end_column <= len(lines[span.end_line - 1]) + 1, (path, span)
            assert reached == set(range(len(steps))), (path, function.qualname)


def test_calls_and_exits_stand_where_the_interpreter_sees_them(part):
    for path in FILES[part::PARTS]:
        unit = lowered(path)
        tree = _tree(path)
        if tree is None or not isinstance(unit, Unit) or unit.python2:
            continue
        lines = lines_of(path)
        seen = {
            _place(node, lines)
            for node in ast.walk(tree)
            if isinstance(node, (ast.Call, ast.Return, ast.Raise))
        }
        seen |= {_place(node, lines) for node in ast.walk(tree) if isinstance(node, (ast.Assert, ast.Await))}
        seen |= {_place(node.body, lines) for node in ast.walk(tree) if isinstance(node, ast.Lambda)}
        decorators = {
            _place(decorator, lines)
            for node in ast.walk(tree)
            for decorator in getattr(node, "decorator_list", ())
        }
        for function in all_functions(unit):
            for step in function.cfg.steps:
                if isinstance(step.op, (Call, Return, Throw)) and not isinstance(
                    getattr(step.op, "func", None), Mix
                ):
                    assert tuple(step.span) in seen | decorators, (path, step)


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

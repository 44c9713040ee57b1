"""Helpers: lower small Java and Python files, link them, and list the calls that an entry point makes."""

from textwrap import dedent

from ackdoctor.dialects import load
from ackdoctor.flow.program import Program
from ackdoctor.frontends.java import Lowered
from ackdoctor.frontends.java import lower_source as lower_java
from ackdoctor.frontends.python import lower_source as lower_python
from ackdoctor.model.cfg import JAVA, PYTHON, Unit
from ackdoctor.topology.interpreter import Entry, Paths, Run, explore
from ackdoctor.topology.objects import Data, describe

__all__ = ["calls", "link", "outcomes"]


def link(files: dict[str, str]) -> Program:
    """Link these files, given by path."""
    return Program([_unit(path, dedent(text)) for path, text in files.items()], load({}))


def _unit(path: str, text: str) -> Unit:
    if path.endswith(".java"):
        lowered = lower_java(path=path, data=text.encode())
        assert isinstance(lowered, Lowered), lowered
        return lowered.unit
    module = path.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
    unit = lower_python(path=path, module=module, is_package=path.endswith("__init__.py"), data=text.encode())
    assert isinstance(unit, Unit), unit
    return unit


def _text(data: Data) -> str:
    return repr(data) if isinstance(data, str) else describe(data)


def _calls(run: Run) -> tuple[str, ...]:
    """The calls with a receiver or arguments, as text; `*` marks calls in a loop over unknown elements."""
    return tuple(
        f"{'*' * call.repeated}{call.name}({', '.join(map(_text, call.args))})"
        for call in run.calls
        if (call.args or call.keywords) and call.kind != "set"
    )


def outcomes(files: dict[str, str], function: str, cls: str = "") -> Paths[tuple[str, ...]]:
    """The calls on each path of an entry point in the first file."""
    program = link(files)
    unit = program.units[next(iter(files))]
    java = unit.path.endswith(".java")
    if cls:
        found = unit.classes[cls]
        entry = Entry(found.methods[function], unit, found)
    else:
        entry = Entry(unit.body if function == "<module>" else unit.functions[function], unit)
    return explore(program, entry, JAVA if java else PYTHON, _calls)


def calls(files: dict[str, str], function: str, cls: str = "") -> tuple[str, ...]:
    """The calls of an entry point with one path."""
    (path,) = outcomes(files, function, cls).paths
    return path.outcome

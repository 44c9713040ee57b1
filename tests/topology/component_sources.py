"""Facts of components that a test writes down."""

from textwrap import dedent

from ackdoctor.checks import check_component
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.dialects import load
from ackdoctor.flow.program import Program
from ackdoctor.frontends.java import Lowered
from ackdoctor.frontends.java import lower_source as lower_java
from ackdoctor.frontends.python import lower_source
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.topology import ComponentFacts
from ackdoctor.topology.facts import component_facts

__all__ = ["java_facts", "python_facts"]

_JAVA_HEAD = """\
import java.util.*;
import org.apache.storm.Config;
import org.apache.storm.spout.*;
import org.apache.storm.task.*;
import org.apache.storm.topology.*;
import org.apache.storm.topology.base.*;
import org.apache.storm.tuple.*;
"""


def _facts(program: Program, name: str) -> ComponentFacts:
    component = next(each for each in program.components if each.cls.name == name)
    context = RuleContext.of(program, component)
    return component_facts(context, list(check_component(context)))


def python_facts(source: str, name: str = "") -> ComponentFacts:
    """The facts of a class in a Python file, by default of the only component."""
    text = dedent(source).lstrip("\n")
    unit = lower_source(path="parts.py", module="parts", is_package=False, data=text.encode())
    assert not isinstance(unit, Unreadable), unit
    program = Program([unit], load({}))
    return _facts(program, name or program.components[0].cls.name)


def java_facts(source: str, name: str = "Made") -> ComponentFacts:
    """The facts of a class in a Java file; line 1 is the first line of the source."""
    head = _JAVA_HEAD.replace("\n", " ")
    lowered = lower_java(path="Made.java", data=(head + dedent(source).lstrip("\n")).encode())
    assert isinstance(lowered, Lowered)
    assert lowered.broken == ()
    return _facts(Program([lowered.unit], load()), name)

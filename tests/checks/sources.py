"""Lint a bolt around a few lines of handler."""

from textwrap import dedent, indent

from ackdoctor.checks import check_component
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.dialects import load
from ackdoctor.flow.program import Program
from ackdoctor.frontends.java import Lowered
from ackdoctor.frontends.java import lower_source as lower_java
from ackdoctor.frontends.python import lower_source
from ackdoctor.model.finding import Finding, Unreadable

__all__ = ["HANDLER_LINE", "codes", "findings", "in_bolt", "java_codes", "java_findings"]

HANDLER_LINE = 8  # the line of the first statement of `body` in `in_bolt(body)`

_HEAD = """\
from streamparse import Bolt
from elsewhere import ready, work


class Made(Bolt):
    {switches}

"""


_JAVA_HEAD = """\
import java.util.*;
import org.apache.storm.task.*;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.*;
class Made extends BaseRichBolt {
    OutputCollector collector;
    Client client;
"""


def in_bolt(body: str, *, switches: str = "auto_ack = auto_fail = False") -> str:
    """A streamparse bolt with these methods; they begin on `HANDLER_LINE`."""
    return _HEAD.format(switches=switches) + indent(dedent(body).strip("\n"), "    ") + "\n"


def findings(source: str) -> list[Finding]:
    """Everything found in one source, by line and code."""
    unit = lower_source(path="bolt.py", module="bolt", is_package=False, data=source.encode())
    assert not isinstance(unit, Unreadable), unit
    program = Program([unit], load({}))
    found = [
        finding
        for component in program.components
        for finding in check_component(RuleContext.of(program, component))
        if not finding.repaired_by
    ]
    return sorted(found, key=lambda finding: (finding.site.span.line, finding.code))


def codes(source: str) -> list[tuple[int, str]]:
    """Line and code of everything found in one source."""
    return list(dict.fromkeys((finding.site.span.line, finding.code) for finding in findings(source)))


def java_findings(body: str) -> list[Finding]:
    """Everything found in a bolt of Storm's with these methods; `collector` and `client` are its fields."""
    lowered = lower_java(path="Made.java", data=(_JAVA_HEAD + dedent(body) + "\n}\n").encode())
    assert isinstance(lowered, Lowered)
    assert lowered.broken == ()
    program = Program([lowered.unit], load())
    return [
        finding
        for component in program.components
        for finding in check_component(RuleContext.of(program, component))
        if not finding.repaired_by
    ]


def java_codes(body: str) -> list[str]:
    """The codes of `java_findings` of severity warning or error, line by line."""
    found = {
        (finding.site.span.line, finding.code)
        for finding in java_findings(body)
        if finding.severity.word != "info"
    }
    return [code for _, code in sorted(found)]

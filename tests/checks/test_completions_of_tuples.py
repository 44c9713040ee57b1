"""A dialect whose tuples complete themselves, `tup.ack()`: it differs from others in data only."""

from dataclasses import replace
from textwrap import dedent

import pytest

from ackdoctor.checks import check_component
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.dialects.pystorm import BOLT, DIALECTS
from ackdoctor.flow.program import Program
from ackdoctor.frontends.python import lower_source
from ackdoctor.model.cfg import Unit
from ackdoctor.model.dialect import OFF, Dialect, Verb, VerbKind

_VERBS = (
    Verb("ack", VerbKind.ACK, on="tuple", params=("multiple",)),
    Verb("reject", VerbKind.FAIL, on="tuple", params=("requeue",)),
    *(verb for verb in BOLT.verbs if verb.kind not in (VerbKind.ACK, VerbKind.FAIL)),
)
_ROLE = BOLT.derive(verbs=_VERBS, discipline=BOLT.discipline.derive(auto_ack=OFF, auto_fail=OFF))
DIALECT: Dialect = replace(DIALECTS[0], roles=(_ROLE,))


def _codes(body: str) -> list[tuple[int, str]]:
    head = "from pystorm import Bolt\n\n\nclass Made(Bolt):\n"
    lines = dedent(body).strip("\n").splitlines()
    source = head + "".join(f"    {line}\n" for line in lines)
    unit = lower_source(path="bolt.py", module="bolt", is_package=False, data=source.encode())
    assert isinstance(unit, Unit), unit
    program = Program([unit], [DIALECT])
    (component,) = program.components
    found = [
        finding for finding in check_component(RuleContext.of(program, component)) if not finding.repaired_by
    ]
    return sorted({(finding.site.span.line - 4, finding.code) for finding in found})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            """
            def process(self, msg):
                msg.ack()
            """,
            [],
            id="acked",
        ),
        pytest.param(
            """
            def process(self, msg):
                if msg.values[0]:
                    msg.ack()
                else:
                    msg.reject(requeue=True)
            """,
            [],
            id="acked or failed",
        ),
        pytest.param(
            """
            def process(self, msg):
                msg.ack()
                msg.ack(True)
            """,
            [(3, "ACK103")],
            id="acked twice",
        ),
        pytest.param(
            """
            def process(self, msg):
                msg.reject()
                msg.ack()
            """,
            [(3, "ACK106")],
            id="failed and acked",
        ),
        pytest.param(
            """
            def process(self, msg):
                if msg.values[0]:
                    msg.ack()
            """,
            [(2, "ACK101")],
            id="acked on one path",
        ),
        pytest.param(
            """
            def process(self, msg):
                for word in msg.values:
                    msg.ack()
            """,
            [(3, "ACK104")],
            id="acked in a loop",
        ),
        pytest.param(
            """
            def process(self, msg):
                done = {"ok": msg.ack, "bad": msg.reject}[msg.stream]
                done()
                msg.ack()
            """,
            [(4, "ACK103")],
            id="chosen from a table",
        ),
        pytest.param(
            """
            def process(self, msg):
                self.finish(msg)
                msg.ack()

            def finish(self, tup):
                tup.ack()
            """,
            [(3, "ACK103")],
            id="acked by a helper and again",
        ),
        pytest.param(
            """
            def initialize(self, conf, ctx):
                self.waiting = []

            def process(self, msg):
                self.waiting.append(msg)
                if len(self.waiting) > 10:
                    for each in self.waiting:
                        each.ack()
                    self.waiting = []

            def process_tick(self, tick):
                for each in self.waiting:
                    each.ack()
                    each.reject()
                self.waiting = []
                tick.ack()
            """,
            [(14, "ACK106")],
            id="from a buffer",
        ),
        pytest.param(
            """
            def process(self, msg):
                try:
                    self.store(msg.values)
                except Exception:
                    self.log("lost")
                msg.ack()

            def store(self, values):
                self.client.put(values)
            """,
            [(4, "ACK102")],
            id="a swallowed failure",
        ),
    ],
)
def test_a_verb_of_the_tuple_completes_it(body: str, expected: list[tuple[int, str]]) -> None:
    assert _codes(body) == expected

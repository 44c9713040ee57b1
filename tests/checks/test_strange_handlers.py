"""Every method of the standard library is analysed as a handler without an error."""

import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest

from ackdoctor.checks import check_component
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.dialects import load
from ackdoctor.dialects.pystorm import BOLT, DIALECTS
from ackdoctor.flow.program import Program
from ackdoctor.frontends.python import lower_source
from ackdoctor.model.cfg import ClassInfo, Component, Unit
from ackdoctor.model.dialect import Entry, EntryKind
from tests.sampled import sampled

STDLIB = Path(sysconfig.get_path("stdlib"))
SAMPLE = sorted(path for path in STDLIB.rglob("*.py") if "site-packages" not in path.parts)[::25]


def as_bolt(program: Program, cls: ClassInfo) -> Component:
    entries = tuple(Entry(method=name, kind=EntryKind.DATA) for name in cls.methods)
    return Component(
        name=cls.name,
        cls=cls,
        lineage=program.lineage(cls).order,
        ahead=program.lineage(cls).order,
        dialect=DIALECTS[0],
        role=replace(BOLT, entries=entries),
        auto_ack=False,
        auto_fail=True,
        auto_anchor=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("part", sampled(range(4), (1, 3)))
def test_every_class_of_the_standard_library_is_analysed(part: int) -> None:
    for path in SAMPLE[part::4]:
        unit = lower_source(path=path.name, module=path.stem, is_package=False, data=path.read_bytes())
        if not isinstance(unit, Unit):
            continue
        program = Program([unit], load())
        for cls in unit.classes.values():
            findings = list(check_component(RuleContext.of(program, as_bolt(program, cls))))

            assert all(finding.site.path == path.name for finding in findings)

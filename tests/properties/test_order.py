"""The findings do not depend on the order of files or components."""

from pathlib import Path
from random import Random

import pytest

from ackdoctor.checks import check_component
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.dialects import load
from ackdoctor.flow.program import Program
from ackdoctor.frontends.python import lower_source
from ackdoctor.model.cfg import Unit
from ackdoctor.model.finding import Finding
from tests.rule_cases import cases_by_code

FIXTURES = Path(__file__).parents[2] / "fixtures" / "topologies"


def _unit(path: str, data: bytes) -> Unit:
    module = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    unit = lower_source(path=path, module=module, is_package=path.endswith("__init__.py"), data=data)
    assert isinstance(unit, Unit), unit
    return unit


def _pages() -> dict[str, bytes]:
    """Every case of every rule page that has several files, each case in its own directory."""
    return {
        f"{case.code.lower()}_{number}/{file.name}": file.text.encode()
        for cases in cases_by_code().values()
        for number, case in enumerate(cases)
        if len(case.files) > 1 and case.dialect == "streamparse"
        for file in case.files
    }


def _fixtures() -> dict[str, bytes]:
    return {
        path.relative_to(FIXTURES).as_posix(): path.read_bytes() for path in sorted(FIXTURES.rglob("*.py"))
    }


def _findings(texts: dict[str, bytes], random: Random) -> list[Finding]:
    """The findings for files and components in random order."""
    units = [_unit(path, text) for path, text in texts.items()]
    random.shuffle(units)
    program = Program(units, load({}))
    components = list(program.components)
    random.shuffle(components)
    found = [
        finding for component in components for finding in check_component(RuleContext.of(program, component))
    ]
    return sorted(
        found, key=lambda finding: (finding.site.path, finding.site.span, finding.code, repr(finding))
    )


@pytest.mark.parametrize("texts", [_pages(), _fixtures()], ids=["rule pages", "fixtures"])
def test_findings_do_not_depend_on_the_order_of_files_or_components(texts: dict[str, bytes]) -> None:
    first = _findings(texts, Random(0))

    assert first
    for seed in range(1, 4):
        assert _findings(texts, Random(seed)) == first


def test_a_topology_has_the_same_findings_alone_and_with_others() -> None:
    texts = _fixtures()
    together = _findings(texts, Random(0))
    apart = [
        finding
        for topology in sorted({Path(path).parts[:2] for path in texts})
        for finding in _findings({p: t for p, t in texts.items() if Path(p).parts[:2] == topology}, Random(0))
    ]

    assert _independent(apart) == _independent(together)


def _independent(findings: list[Finding]) -> list[str]:
    """All findings but batch-without-timer, which searches all files for a tick setting."""
    return sorted(repr(finding) for finding in findings if finding.code != "ACK404")

"""The rules' logic: one module per rule page, found by its name (`ack101_missing_ack` is ACK101 missing-ack).

A check is a function `check(context) -> Iterator[Finding]`.  It reads the events of the flow engine and the
language-neutral code of the component, never a syntax tree.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType, ModuleType

from ackdoctor.checks.mistakes import repaired
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.model.finding import Finding

__all__ = ["all_findings", "check_component", "load"]


@cache
def load() -> Mapping[str, ModuleType]:
    """Return every check module by its rule code, in order."""
    names = sorted(module.name for module in iter_modules(__path__) if module.name.startswith("ack"))
    return MappingProxyType(
        {name.split("_")[0].upper(): import_module(f"{__name__}.{name}") for name in names}
    )


def check_component(
    context: RuleContext, failed: Callable[[str, Exception], None] | None = None
) -> Iterator[Finding]:
    """Yield the findings of all rules about one component; `repaired_by` marks those that belong to another's mistake.

    If a check raises, `failed` gets its rule code and the exception, and the other rules run.
    """
    findings = list(all_findings(context, failed))
    others = repaired(context.claims)
    yield from (replace(finding, repaired_by=others.get(id(finding), "")) for finding in findings)


def all_findings(
    context: RuleContext, failed: Callable[[str, Exception], None] | None = None
) -> Iterator[Finding]:
    """Yield every finding about one component; several may be about one mistake."""
    for code, module in load().items():
        name = module.__name__.rpartition(".")[2].partition("_")[2].replace("_", "-")
        try:
            yield from module.check(context.under(code, name))
        except Exception as error:
            if failed is None:
                raise
            failed(code, error)

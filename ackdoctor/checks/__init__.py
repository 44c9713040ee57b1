"""The rules' logic: one function per rule page, found by its name (`ack101_missing_ack` is ACK101 missing-ack).

A check is a function of a `RuleContext` that yields findings.  It reads the events of the flow engine and the
language-neutral code of the component, never a syntax tree.  A module holds the checks of one kind of mistake.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any, NamedTuple

from ackdoctor.checks.mistakes import repaired
from ackdoctor.checks.rule_context import RuleContext
from ackdoctor.model.finding import Finding

__all__ = ["Check", "all_findings", "check_component", "checks_in", "load"]


class Check(NamedTuple):
    """A rule's logic, with the name of the rule's page."""

    name: str
    run: Callable[[Any], Iterator[Any]]


def checks_in(package: str, path: list[str]) -> Mapping[str, Check]:
    """Return the checks in the modules of a package by their rule codes, in order."""
    modules = [import_module(f"{package}.{each.name}") for each in iter_modules(path) if not each.ispkg]
    found = {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if name.startswith("ack") and name[3:6].isdigit()
    }
    return MappingProxyType(
        {name[:6].upper(): Check(name[7:].replace("_", "-"), found[name]) for name in sorted(found)}
    )


@cache
def load() -> Mapping[str, Check]:
    """Return every check by its rule code, in order."""
    return checks_in(__name__, __path__)


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
    for code, check in load().items():
        try:
            yield from check.run(context.under(code, check.name))
        except Exception as error:  # noqa: PERF203  # the other rules run
            if failed is None:
                raise
            failed(code, error)

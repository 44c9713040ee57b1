"""`ackdoctor lint --fix`, `--fix-only` and `--diff`: which fixes are applied, and what is printed about them."""

import sys
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ackdoctor.cli.output import complain, escaped_report
from ackdoctor.model.finding import Report
from ackdoctor.reporters import counted

if TYPE_CHECKING:
    from ackdoctor.lint.repair import Repairs

__all__ = ["WITH_FIXES", "Fixing", "repair"]

WITH_FIXES = frozenset(("json", "json-lines", "sarif"))  # formats that hold fixes


class Fixing(NamedTuple):
    """The options of a run; `stdin` is the name of the only file, if that is standard input."""

    apply: bool
    unsafe: bool
    diff: bool
    quiet: bool
    stdin: str | None


def repair(repairs: "Repairs", report: Report, options: Fixing) -> Report:
    """Fix files, or show the edits, or add the fixes to the findings; return the report on what is left."""
    if not options.apply:
        return repairs.offer_all(report, unsafe=options.unsafe)
    left = repairs.fix(report, unsafe=options.unsafe)
    more = 0
    if not options.unsafe:
        more = sum(each.fix is not None for each in repairs.offer(left, safe=False).findings)
    if options.diff:
        sys.stdout.write(escaped_report(repairs.diff(), "full"))
    else:
        left = left if repairs.write() else repairs.on_disk()
        if options.stdin is not None:
            sys.stdout.flush()
            sys.stdout.buffer.write(repairs.after.get(options.stdin, repairs.before[options.stdin]))
    for path, why in sorted(repairs.refused.items()):
        complain(f"{path}: not fixed: {why}")
    if not options.quiet:
        complain(_summary(repairs, more, would=options.diff))
    return left


def _summary(repairs: "Repairs", more: int, *, would: bool) -> str:
    amounts: Counter[str] = Counter()
    for (_, code), amount in repairs.fixed.items():
        amounts[code] += amount
    total = amounts.total()
    codes = ", ".join(f"{amount} {code}" for code, amount in sorted(amounts.items()))
    parts = [
        f"{'would fix' if would else 'fixed'} {counted(total, 'finding')}" + (f" ({codes})" if codes else "")
    ]
    if more:
        parts.append(f"{more} {'fix is' if more == 1 else 'fixes are'} available with --unsafe-fixes")
    return "; ".join(parts)

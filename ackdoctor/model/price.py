"""What a misuse costs in a framework: the severity and the words, for every kind of evidence alike."""

from ackdoctor.model.dialect import Discipline, Misuse, Price
from ackdoctor.model.finding import Severity

__all__ = ["clause", "reaches_system", "severity"]

_COSTS = {
    Price.KILL: Severity.ERROR,
    Price.LEAK: Severity.ERROR,
    Price.TIMEOUT: Severity.ERROR,
    Price.ZOMBIE: Severity.ERROR,
    Price.ERROR: Severity.ERROR,
    Price.LOSS: Severity.WARNING,
    Price.EXIT: Severity.WARNING,
    Price.NOTHING: Severity.INFO,
}


_OF_TREES = frozenset({Price.TIMEOUT, Price.ZOMBIE, Price.LOSS, Price.NOTHING})


def severity(discipline: Discipline, misuse: Misuse) -> Severity:
    """How bad a misuse is: the worst of its prices; where acking is opt-in, never an error."""
    worst = max(_COSTS[price] for price in discipline.prices.get(misuse, (Price.NOTHING,)))
    return min(worst, Severity.WARNING) if discipline.advisory else worst


def reaches_system(discipline: Discipline, misuse: Misuse) -> bool:
    """Whether a misuse costs anything for a tick, which has no tree: nothing of it times out or is lost."""
    return not _OF_TREES.issuperset(discipline.prices.get(misuse, ()))


def clause(discipline: Discipline, misuse: Misuse) -> str:
    """The consequence of a misuse, one clause."""
    note = discipline.notes.get(misuse)
    if note is not None:
        return note
    return "; ".join(price.value for price in discipline.prices.get(misuse, (Price.NOTHING,)))

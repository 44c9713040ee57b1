"""What the head of a rule page says."""

from dataclasses import dataclass
from pathlib import Path

from ackdoctor.model.finding import Severity

__all__ = ["Rule"]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Rule:
    """Enough of a rule to select it and to label its findings."""

    code: str
    name: str
    summary: str
    severity: Severity
    default: bool  # in the default rule set
    evidence: tuple[str, ...]
    path: Path

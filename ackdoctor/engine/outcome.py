"""What goes into the examination of a cluster besides its files, and what comes out of it."""

from collections.abc import Mapping
from typing import NamedTuple

from ackdoctor.model.finding import Finding, Unreadable
from ackdoctor.model.values import dataclass

__all__ = ["Outcome", "Terms"]


class Terms(NamedTuple):
    """What all clusters of a run share: dialect versions, hints for unknown bases, contents not on disk."""

    versions: Mapping[str, str]
    extra_bases: Mapping[str, str]
    overlay: Mapping[str, bytes]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Outcome:
    """All that one cluster has to say, before any rule is selected.

    It is `lasting` when the same files would give the same again: no crash, no refusal by the system.
    """

    findings: tuple[Finding, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    components: int = 0
    lasting: bool = True

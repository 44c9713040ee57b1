"""How long an acker keeps an entry, and what that costs: the price of ACK601 to ACK603 per version.

Heap bytes were measured in the real ackers, with compressed oops.
"""

from collections.abc import Mapping
from typing import Protocol

from ackdoctor.model.message import Engine

__all__ = ["Keeper", "entry_bytes", "stays"]

_LIFE: Mapping[Engine, str] = {
    Engine.CLOJURE: "stays for one to two message timeouts after its last message",
    Engine.JAVA: "stays for two to three message timeouts",
    Engine.JSTORM: "stays for one to one and a half message timeouts, longer when no messages come",
    Engine.HERON: "stays for up to one message timeout",
}
_BYTES: Mapping[Engine, tuple[int, int]] = {  # tracked, orphan
    Engine.CLOJURE: (200, 144),
    Engine.JAVA: (104, 104),
}


class Keeper(Protocol):
    """What of a version decides how long it keeps an entry; who judges a trace need not know the acker's model."""

    @property
    def name(self) -> str:
        """The version, as the user says it."""

    @property
    def engine(self) -> Engine:
        """The code that keeps the roots."""

    @property
    def forgets(self) -> bool:
        """Whether an entry that never completes is dropped in the end."""


def stays(profile: Keeper | None) -> str:
    """How long, as the end of a sentence that begins with the entry."""
    if profile is None:
        return "stays until the acker drops it"
    if not profile.forgets:
        return f"stays until the acker's worker restarts: {profile.name} never drops one"
    return _LIFE[profile.engine]


def entry_bytes(profile: Keeper | None, *, orphan: bool) -> int | None:
    """The heap that one entry takes; None where nobody has measured."""
    sizes = _BYTES.get(profile.engine) if profile is not None else None
    return None if sizes is None else sizes[orphan]

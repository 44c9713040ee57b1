"""The different violations of one book: what is alike but for the delivery is one incident, and is counted."""

from collections.abc import Hashable

from ackdoctor.tracer.ledger.deliveries import Incident

__all__ = ["Incidents"]


class Incidents:
    """At most `limit` of them; the deliveries of `cap` are remembered, so that each counts once."""

    def __init__(self, limit: int, cap: int) -> None:
        self._limit = limit
        self._cap = cap
        self._kept: dict[Hashable, Incident] = {}
        self._told: set[tuple[Hashable, Hashable]] = set()

    def take_down(self, incident: Incident) -> bool:
        """Adds one, or counts it with its like; says whether there was room for it."""
        key = (
            incident.misuse,
            incident.kind,
            incident.closed.site if incident.closed else 0,
            incident.closed.op if incident.closed else None,
            incident.site,
            incident.handler,
            incident.tick,
        )
        seen = self._kept.get(key)
        if seen is None and len(self._kept) >= self._limit:
            return False
        told = (key, incident.delivery)
        if seen is None:
            self._kept[key] = incident
        elif told in self._told:
            seen.discarded += 1
            return True
        else:
            seen.count += 1
        if len(self._told) < self._cap:
            self._told.add(told)
        return True

    def all(self) -> tuple[Incident, ...]:
        """In the order of the first of its kind."""
        return tuple(self._kept.values())

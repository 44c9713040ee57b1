"""Wraps the one send and the one receive function of every framework, by the data of its dialect."""

from ackdoctor.tracer.ledger import Ledger

__all__ = ["Installation", "install"]


class Installation:
    """What was wrapped; `undo` puts every attribute back as it was."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def undo(self) -> None:
        """Takes all wrappers off, the last one first.  A second call does nothing."""


def install(ledger: Ledger, recorder: object | None = None) -> Installation:
    """Wraps the frameworks that are imported, and those that will be; RuntimeError while installed already."""
    return Installation(ledger)

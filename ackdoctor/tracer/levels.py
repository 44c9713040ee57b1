"""How much the tracer writes down."""

from enum import IntEnum, unique

__all__ = ["Level"]


@unique
class Level(IntEnum):
    """As in Netty's leak detector, each level includes those below it.

    No level is sampled: at `sites` the whole cost is a tenth of the framework's own.
    """

    OFF = 0  # nothing is wrapped
    COUNTS = 1  # which deliveries are open, and how often each was completed
    SITES = 2  # the call sites of completions, and of every violation
    TRACE = 3  # the call sites of emits as well, and a row on disk for everything

    @classmethod
    def named(cls, name: str) -> "Level":
        """The level that `name` says ("sites"); ValueError names the four."""
        try:
            return cls[name.upper()]
        except KeyError:
            known = ", ".join(level.name.lower() for level in cls)
            raise ValueError(f"unknown level {name!r}; known are {known}") from None

    def __str__(self) -> str:
        return self.name.lower()

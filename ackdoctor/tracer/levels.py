"""How much the tracer records."""

from enum import IntEnum, unique

__all__ = ["Level"]


@unique
class Level(IntEnum):
    """Each level includes those below it. No level is sampled."""

    OFF = 0  # nothing is wrapped
    SITES = 1  # open tuples, completions, and the call sites of completions
    TRACE = 2  # the call sites of emits as well, and a row on disk for every event

    @classmethod
    def named(cls, name: str) -> "Level":
        """The level of that name ("sites"); ValueError names the levels."""
        try:
            return cls[name.upper()]
        except KeyError:
            known = ", ".join(level.name.lower() for level in cls)
            raise ValueError(f"unknown level {name!r}; the levels are {known}") from None

    def __str__(self) -> str:
        return self.name.lower()

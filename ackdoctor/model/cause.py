"""A likely cause, of an entry in a heap or of a symptom in a log."""

from dataclasses import dataclass

__all__ = ["Cause"]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Cause:
    """One explanation, the law that it follows from, if any, and the rules that tell more."""

    text: str
    law: str = ""
    rules: tuple[str, ...] = ()

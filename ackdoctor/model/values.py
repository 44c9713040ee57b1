"""`dataclass`, for what every start imports: the same class at half the price.

The standard decorator compiles the text of each method of each class, which for the hundred classes of a run
costs as much as the analysis of a small file.  Here only `__init__` is compiled; the other methods read the
fields with `attrgetter`, and do what the standard ones do.
"""

from collections.abc import Callable
from dataclasses import dataclass as _standard
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        *,
        slots: bool,
        kw_only: bool = False,
        eq: bool = True,
        unsafe_hash: bool = False,
        repr: bool = True,  # noqa: A002  # as the standard decorator calls it
    ) -> Callable[[type], type]:
        """The standard decorator, for classes whose fields all take part in every method."""

        def made(cls: type) -> type:
            found = _standard(slots=slots, kw_only=kw_only, eq=False, repr=False)(cls)
            names = [item.name for item in fields(found)]
            methods = {}
            if eq:
                methods |= _comparing(names)
                if not unsafe_hash:
                    methods["__hash__"] = None
            if repr:
                methods["__repr__"] = _showing(names)
            for name, method in methods.items():
                if name not in vars(cls):
                    setattr(found, name, method)
            return found

        return made


def _comparing(names: list[str]) -> dict[str, Any]:
    """`__eq__` and `__hash__`."""
    of = attrgetter(*names, "__class__", *(() if names else ("__class__",)))  # always a tuple

    def __eq__(self: object, other: object) -> bool:  # noqa: N807
        return of(self) == of(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: object) -> int:  # noqa: N807
        return hash(of(self))

    return {"__eq__": __eq__, "__hash__": __hash__}


def _showing(names: list[str]) -> Callable[[object], str]:
    """`__repr__`."""

    def __repr__(self: object) -> str:  # noqa: N807
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({values})"

    return __repr__

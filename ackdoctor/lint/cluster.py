"""A cluster of files that are analysed together, what its analysis needs, and its result."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ackdoctor.model.finding import Finding, UnknownBase, Unreadable

__all__ = ["Cluster", "Inputs", "Result", "Source"]


class Source(NamedTuple):
    """A file to parse: its path, its path in findings, and its dotted module name."""

    path: str
    display_path: str
    module: str
    is_package: bool


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Cluster:
    """Files of one language that are analysed together; only the components of `own` files are diagnosed."""

    language: str
    own: tuple[Source, ...]
    context: tuple[Source, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """All its files."""
        return (*self.own, *self.context)


class Inputs(NamedTuple):
    """What all clusters of a run share: dialect versions, hints for unknown bases, contents that are not on disk.

    `digests` are those of the files by path; a run without a cache has none.
    """

    versions: Mapping[str, str]
    extra_bases: Mapping[str, str]
    overlay: Mapping[str, bytes]
    digests: Mapping[str, str] | None = None


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Result:
    """What the analysis of a cluster found, before any rule is selected.

    It is `repeatable` if the same files give the same again: no crash, no refusal by the system, no file that changed
    after its digest was taken.
    """

    findings: tuple[Finding, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    components: int = 0
    unknown_bases: tuple[UnknownBase, ...] = ()
    repeatable: bool = True

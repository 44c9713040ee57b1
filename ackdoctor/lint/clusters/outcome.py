"""What goes into the examination of clusters besides their files, and what comes out of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ackdoctor.config import Settings
from ackdoctor.lint.files.discover import Candidate
from ackdoctor.model.finding import Finding, UnknownBase, Unreadable

if TYPE_CHECKING:
    from ackdoctor.lint.clusters.pool import Progress

__all__ = ["Outcome", "Task", "Terms", "Whole"]


class Task(NamedTuple):
    """What a run has to do: its files, those in languages that nobody reads included; `overlay` is not on disk."""

    files: tuple[Candidate, ...]
    settings: Settings
    root: str
    overlay: Mapping[str, bytes]
    jobs: int
    progress: "Progress | None"


class Terms(NamedTuple):
    """What all clusters of a run share: dialect versions, hints for unknown bases, contents not on disk.

    `digests` are those of the files' bytes by path, where a cache wants to know that the same bytes were examined.
    """

    versions: Mapping[str, str]
    extra_bases: Mapping[str, str]
    overlay: Mapping[str, bytes]
    digests: Mapping[str, str] | None = None


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Outcome:
    """All that one cluster has to say, before any rule is selected.

    It is `lasting` when the same files would give the same again: no crash, no refusal by the system, no file that has
    changed since it got its digest.
    """

    findings: tuple[Finding, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    components: int = 0
    unknown_bases: tuple[UnknownBase, ...] = ()
    lasting: bool = True


class Whole(NamedTuple):
    """What came of all clusters of a run.

    `marked` are the paths of files that may hold comments of ours, `notes` what is to be said of files that
    nobody here reads, `read` the shown paths of all files that were read.
    """

    outcome: Outcome
    marked: tuple[str, ...]
    notes: tuple[str, ...]
    read: tuple[str, ...]

"""Tuples that a test left in a buffer: whether the code flushes that buffer is what `lint` knows."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ackdoctor.config import Settings
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.violation import Violation
from ackdoctor.rulebook.messages import EVICTING_BUFFER, MISSING_ACK, PENDING_OVERWRITE, UNDRAINED_BUFFER

__all__ = ["Flushes", "Waiting"]

_NEVER = (
    MISSING_ACK,
    UNDRAINED_BUFFER,
    PENDING_OVERWRITE,
    EVICTING_BUFFER,
)  # what lint finds where the tuples of a field stay open


class Waiting(NamedTuple):
    """Open tuples that a later flush would complete, and a note for each kind."""

    violations: tuple[Violation, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def components(self) -> frozenset[str]:
        """The components that keep them."""
        return frozenset(_short(violation.traced.name) for violation in self.violations)


class Flushes:
    """What lint says of the bolts of a session; each file is linted once, and only after a test that left tuples in a field."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings = replace(settings, select=_NEVER, ignore=(), per_file_ignores={}, exclude=())
        self._folder = folder
        self._messages: dict[str, dict[str, list[str]] | None] = {}  # file -> component -> messages

    def waiting(self, violations: Iterable[Violation]) -> Waiting:
        """Those of the violations that are the test's choice: the code has a flush for the field, which came too late."""
        found = tuple(violation for violation in violations if self._has_flush(violation))
        return Waiting(found, tuple(map(_note, found)))

    def _has_flush(self, violation: Violation) -> bool:
        """Whether lint sees the component, and nothing in it leaves the tuples of the field open for ever."""
        field, traced = violation.held or violation.named, violation.traced
        if violation.misuse is not Misuse.NEVER or not field or not traced.path:
            return False
        if traced.path not in self._messages:
            self._messages[traced.path] = self._linted(Path(traced.path))
        messages = self._messages[traced.path]
        if messages is None:
            return False
        mine = messages.get(_short(traced.name), [])
        # of a bare id lint does not always know the field
        return not [said for said in mine if not violation.held or f"`{field}`" in said]

    def _linted(self, file: Path) -> dict[str, list[str]] | None:
        """The messages by component; None where lint cannot read the file, or sees no component in it."""
        from ackdoctor.lint.run import lint
        from ackdoctor.model.errors import AckdoctorError

        try:
            report = lint([file], self._settings, root=self._folder)
        except AckdoctorError:
            return None
        if report.unreadable or not report.components:
            return None
        found: dict[str, list[str]] = {}
        for finding in report.findings:
            found.setdefault(_short(finding.component), []).append(finding.message)
        return found


def _note(violation: Violation) -> str:
    tuples = "1 tuple waits" if violation.count == 1 else f"{violation.count} tuples wait"
    return (
        f"{_short(violation.traced.name)}: {tuples} in {violation.held or violation.named}, and the test ends before the code "
        f"flushes it: feed more, tick, or mark max_pending={violation.count}"
    )


def _short(component: str) -> str:
    return component.rpartition(".")[2]

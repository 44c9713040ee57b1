"""Which findings of a test count: the same settings, comments and baseline that `ackdoctor lint` respects."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

from ackdoctor.config import Settings, find_config, load_settings
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.errors import AckdoctorError
from ackdoctor.model.finding import Finding, plain
from ackdoctor.model.verdict import TupleTree
from ackdoctor.model.violation import Violation
from ackdoctor.pytest_plugin.flushes import Flushes, Waiting
from ackdoctor.pytest_plugin.options import Options
from ackdoctor.rulebook.messages import NEVER_ZERO_ENTRY, PENDING_GROWTH, UNDRAINED_BUFFER, UNUSED_IGNORE

__all__ = ["Judge", "Sentence"]


class Sentence(NamedTuple):
    """What a test is told: `counted` fails it, `accepted` is allowed by a mark, the ini file or the baseline.

    `waiting` are open tuples that fail nothing: the test ends before the code flushes them.
    """

    counted: tuple[Finding, ...]
    accepted: tuple[Finding, ...]
    waiting: Waiting = Waiting()


@dataclass(slots=True, kw_only=True)
class Judge:
    """One session's settings; `folder` is where the paths of findings start."""

    settings: Settings
    folder: Path
    flushes: Flushes
    known: frozenset[str] = frozenset()  # fingerprints in the baseline

    @classmethod
    def of(cls, config: pytest.Config, options: Options) -> "Judge":
        """The judge of a session; UsageError for settings or a baseline that cannot be read."""
        try:
            file = find_config(config.rootpath)
            settings = load_settings(file) if file is not None else Settings(directory=config.rootpath)
            known: frozenset[str] = frozenset()
            baseline, writes = options.baseline, options.write_baseline
            if baseline is not None and (baseline.exists() or not writes):
                from ackdoctor.lint.baseline import read

                if not baseline.exists():
                    raise pytest.UsageError(
                        f"{baseline}: there is no such baseline; --ackdoctor-write-baseline makes it"
                    )
                entries = read(baseline).entries  # what is none is not written over either
                known = frozenset(plain(entry.fingerprint) for entry in entries if not writes)
        except AckdoctorError as error:
            raise pytest.UsageError(str(error)) from None
        folder = config.invocation_params.dir
        return cls(settings=settings, folder=folder, flushes=Flushes(settings, folder), known=known)

    def sentence(
        self,
        violations: Sequence[Violation],
        trees: Sequence[TupleTree],
        *,
        pending: int,
        options: Options,
        ended: bool = True,
    ) -> Sentence:
        """What the evidence comes to; `pending` is how many tuples were open.  Only once the test has `ended` may tuples wait."""
        if not violations and not trees:  # a clean test needs neither judge nor rulebook
            return Sentence((), ())
        from ackdoctor.acker.versions import NEWEST, profile
        from ackdoctor.tracer.judge.entries import Causes
        from ackdoctor.tracer.judge.findings import findings
        from ackdoctor.tracer.judge.place import Places

        tolerated = pending <= options.max_pending
        owed = [violation for violation in violations if tolerated and violation.misuse is Misuse.NEVER]
        waiting = self.flushes.waiting(violations) if ended and not tolerated else Waiting()
        rest = [violation for violation in violations if violation not in (*owed, *waiting.violations)]
        version = profile(options.profile) if options.profile else NEWEST
        places = Places(folder=str(self.folder))
        causes = Causes(trees)
        spared_roots = {
            tree.root for violation in (*owed, *waiting.violations) for tree in causes.of(violation)
        }
        charged = [tree for tree in trees if tree.root not in spared_roots]
        found = self._heard(findings(rest, charged, profile=version, places=places))
        counted: list[Finding] = []
        accepted = list(self._heard(findings(owed, places=places)))
        for finding in found:
            (accepted if self._spares(finding, options) else counted).append(finding)
        return Sentence(tuple(counted), tuple(accepted), waiting)

    def weighed(
        self,
        sentence: Sentence,
        held: Sequence[Finding],
        *,
        trees: Sequence[TupleTree],
        pending: int,
        options: Options,
    ) -> Sentence:
        """The sentence with what the heap shows of it, and what only the heap shows.

        What open tuples leave on the heap is accepted where they are.  Without `trees` nobody is charged with what an
        acker holds: it waits for a framework's batch, or its worker is dead.
        """
        from ackdoctor.heap.python.judge import OF_OPEN_TUPLES, OF_THE_ACKER, with_heap_evidence

        held = [finding for finding in held if trees or finding.code not in OF_THE_ACKER]
        held = [finding for finding in held if not _waits(finding, sentence.waiting)]
        counted, rest = with_heap_evidence(sentence.counted, held)
        accepted, rest = with_heap_evidence(sentence.accepted, rest)
        tolerated = 0 < pending <= options.max_pending
        for finding in self._heard(rest):
            spared = self._spares(finding, options) or (tolerated and finding.code in OF_OPEN_TUPLES)
            if spared:
                accepted = (*accepted, finding)
            else:
                counted = (*counted, finding)
        return Sentence(counted, accepted, sentence.waiting)

    def _spares(self, finding: Finding, options: Options) -> bool:
        """Whether a mark or the baseline allows it."""
        allowed = Settings(select=options.allow)
        spared = bool(options.allow) and allowed.selects(finding.code, finding.name, default=False)
        return spared or plain(finding.fingerprint) in self.known

    def _heard(self, found: Sequence[Finding]) -> Sequence[Finding]:
        """Without what the settings or a comment in the source silence."""
        if not found:
            return ()
        from ackdoctor.lint.select import select

        paths = {finding.site.path for finding in found}
        sources = {path: content for path in paths if (content := _content(self.folder / path))}
        chosen = select(found, sources, paths, self.settings, str(self.folder)).findings
        return tuple(
            finding
            for finding in chosen
            if finding.code != UNUSED_IGNORE  # what this test did not use, another may
            and finding.severity >= self.settings.min_severity
            and finding.confidence >= self.settings.min_confidence
        )


def _waits(finding: Finding, waiting: Waiting) -> bool:
    """Whether a finding of the heap is about tuples that wait for a flush, or about their entries in the acker."""
    if not waiting.violations:
        return False
    return finding.code in {NEVER_ZERO_ENTRY, PENDING_GROWTH} or (
        finding.code == UNDRAINED_BUFFER and finding.component.rpartition(".")[2] in waiting.components
    )


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError):
        return b""

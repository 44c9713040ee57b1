"""One directory of the editor: its settings, its buffers as lint sees them, its reports, and the fixes of its findings."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ackdoctor.cache_folder import CacheFolder
from ackdoctor.config import Settings
from ackdoctor.fixes import Document, open_document
from ackdoctor.lint.baseline import Baseline, compare_report
from ackdoctor.lint.baseline import read as read_baseline
from ackdoctor.lint.discover import display_path, is_text, language_of
from ackdoctor.lint.memory import Memory
from ackdoctor.lint.repair import Repairs, all_rules
from ackdoctor.lint.result_cache import cache_folder
from ackdoctor.lint.run import Progress, lint
from ackdoctor.lint.select import filter_report, silenced
from ackdoctor.model import AckdoctorError
from ackdoctor.model.finding import Edit, Finding, Fix, Report
from ackdoctor.model.source import Span
from ackdoctor.server.options import Options

Texts = Mapping[str, bytes]  # the buffers by their absolute paths
_REASON = "TODO: say why"


@dataclass(slots=True, eq=False, kw_only=True)
class Job:
    """How a job is stopped, and who hears of its progress."""

    stop: Callable[[], None]
    progress: Progress | None = None


@dataclass(slots=True, eq=False)
class Folder:
    """A directory that is linted as a whole; with `named` paths, only these files.

    All methods that lint run in one thread.  `fault` says why the settings cannot be used.
    """

    root: Path
    named: tuple[str, ...] = ()
    settings: Settings = field(default_factory=Settings)
    fault: str = ""
    _memory: Memory = field(default_factory=Memory)
    _baseline: Baseline | None = None
    _cache: CacheFolder | None = None

    def place(self, path: str) -> str:
        """Return the path that a report has for a file."""
        return display_path(path, str(self.root))

    def path(self, place: str) -> str:
        """Return the absolute path of a file in a report."""
        return os.path.normpath(os.path.join(self.root, place))  # noqa: PTH118  # no link is followed

    def configure(self, options: Options) -> None:
        """Read the settings.  Those that cannot be used are replaced by the last good ones."""
        try:
            settings = options.settings(self.root)
            baseline = settings.baseline and settings.baseline.exists() and read_baseline(settings.baseline)
        except AckdoctorError as error:
            self.fault = str(error)
            return
        self.fault = ""
        self._baseline = baseline or None
        if settings != self.settings:
            self.settings, self._memory = settings, Memory()
        self._cache = cache_folder((), settings, self.root)[0]
        self.look_again()

    def look_again(self) -> None:
        """Forget which files are on disk."""
        self._memory.found = None

    # ---- reports ----

    def check(self, texts: Texts, job: Job, *, focus: str = "") -> tuple[Report, bool]:
        """Return the report, and whether it is exact in the focused file only."""
        self._memory.focus = focus
        try:
            report = self._report(texts, job, self.settings, {})
            return self._filtered(report), self._memory.is_partial
        finally:
            self._memory.focus = ""

    def _report(self, texts: Texts, job: Job, settings: Settings, edited: Texts) -> Report:
        self._memory.stop = job.stop
        paths = [Path(path) for path in self.named if os.path.exists(path)] if self.named else [self.root]  # noqa: PTH110
        return lint(
            paths,
            settings,
            root=self.root,
            edited={**texts, **{self.path(place): data for place, data in edited.items()}},
            jobs=1,
            cache=self._cache,
            progress=job.progress,
            memory=self._memory,
        )

    def _filtered(self, report: Report) -> Report:
        compared = (
            compare_report(report, self.settings, self._baseline, root=self.root) if self._baseline else None
        )
        return filter_report(report, self.settings, compared)

    # ---- fixes ----

    def fixes(
        self, findings: Sequence[Finding], texts: Texts, job: Job, *, unsafe: bool
    ) -> Mapping[Finding, Fix]:
        """Return the proven fixes of these findings."""
        offered = self._repairs(texts, job).offer_all(Report(findings=tuple(findings)), unsafe=unsafe)
        found = zip(findings, offered.findings, strict=True)
        return {finding: each.fix for finding, each in found if each.fix is not None}

    def fixed(self, findings: Sequence[Finding], path: str, texts: Texts, job: Job) -> bytes | None:
        """Return a file with all safe fixes of these findings; None if there are none."""
        place = self.place(path)
        repairs = self._repairs(texts, job, only=place)
        repairs.fix(Report(findings=tuple(findings)), unsafe=False)
        return repairs.after.get(place)

    def _repairs(self, texts: Texts, job: Job, *, only: str = "") -> Repairs:
        def left(edited: Texts) -> Report:
            report = self._filtered(self._report(texts, job, self.settings, edited))
            return replace(report, findings=tuple(each for each in report.findings if each.site.path == only))

        everything = partial(self._report, texts, job, all_rules(self.settings))
        contents = {self.place(path): data for path, data in texts.items()}
        return Repairs(left, everything, self.root, contents, self.settings.rules)

    def suppression(self, finding: Finding, data: bytes) -> Edit | None:
        """Return the edit that adds a comment for a finding; None where no comment silences it."""
        place = finding.site.path
        for edit, moved in _comments(finding, data):
            document = _document(data, place)
            edited = document.with_edits((edit,)) if document else None
            if edited is None:
                continue
            line, column, end_line, end_column = finding.site.span
            span = Span(line + moved, column, end_line + moved, end_column)
            there = replace(finding, site=replace(finding.site, span=span))
            if silenced((there,), {place: edited}):
                return edit
        return None


def _comments(finding: Finding, data: bytes) -> Iterator[tuple[Edit, int]]:
    """Yield the comments to try: behind the line, and on a line of its own; each with the lines that the code moves."""
    place = finding.site.path
    line = finding.site.span.line
    suffix = os.path.splitext(place)[1].lower()  # noqa: PTH122
    mark = "//" if language_of(place).name == "java" else ";" if suffix == ".clj" else "#"
    comment = f"{mark} ackdoctor: ignore[{finding.code}] {_REASON}"
    document = _document(data, place)
    if document is None or suffix == ".json":
        return
    start = document.offset(line, 1)
    end = document.line_end(start)
    text = document.text[start:end]
    if suffix != ".properties":  # there a value ends with its line
        behind = start + len(text.rstrip())
        yield document.edit(behind, end, f"  {comment}"), 0
    indent = text[: len(text) - len(text.lstrip())]
    yield document.edit(start, start, f"{indent}{comment}{document.newline}"), 1


def _document(data: bytes, place: str) -> Document | None:
    return open_document(data, "text" if is_text(place) else language_of(place).name)

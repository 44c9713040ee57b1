"""The outcome of a test: which findings count, its row in the summary, and its report."""

import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from ackdoctor.config import Settings, find_config, load_settings
from ackdoctor.model import AckdoctorError
from ackdoctor.model.dialect import Misuse
from ackdoctor.model.finding import Finding, Report, counted, plain
from ackdoctor.model.trace import ComponentTally, TupleTree, Violation
from ackdoctor.pytest_plugin.options import FAILED_BY_ACKDOCTOR, Options
from ackdoctor.rulebook import (
    EVICTING_BUFFER,
    MISSING_ACK,
    NEVER_ZERO_ENTRY,
    PENDING_GROWTH,
    PENDING_OVERWRITE,
    UNDRAINED_BUFFER,
    UNUSED_IGNORE,
)

if TYPE_CHECKING:
    from ackdoctor.reporters import Context


PROPERTY = "ackdoctor"  # name of the user property, and of the testcase's property in JUnit
SECTION = "ackdoctor"
# lint's rules for tuples of a field that stay open
_OPEN_TUPLE_RULES = (MISSING_ACK, UNDRAINED_BUFFER, PENDING_OVERWRITE, EVICTING_BUFFER)
_MOST_ROWS = 10  # without -v
_MOST_FINDINGS = 10  # per test, without -vv
_HEADS = {
    "delivered": "delivered",
    "emitted": "emitted",
    "acked": "ack",
    "failed": "fail",
    "pending": "pending",
}
COUNTS = tuple(_HEADS)
_WIDTHS = {name: max(7, len(head) + 2) for name, head in _HEADS.items()}
_LONGEST_NAME = 60
_INTERNAL_ERROR = "internal error"  # in a note of the plugin or of the tracer
# reports of tests that unexpectedly passed: pytest's and unittest's
_EXPECTED = re.compile(r"\A(?:\[XPASS\(strict\)\] |Unexpected success(?:: )?)")


@dataclass(slots=True, kw_only=True)
class Row:
    """One test.  `findings` maps rule codes to numbers of tuples, without findings that a mark or the baseline accepts."""

    level: str
    verdict: str = ""  # "failed": a passing test fails; "also": it failed anyway; "warned": no failure
    asked: bool = False  # traced by mark or fixture, not only by the session
    ticks: int = 0
    high_water: int = 0
    dropped: int = 0  # events that the tracer dropped
    findings: Mapping[str, int] = field(default_factory=dict)
    accepted: Mapping[str, int] = field(default_factory=dict)
    components: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # name -> COUNTS
    unobserved: Sequence[str] = ()
    notes: Sequence[str] = ()
    doubts: Sequence[str] = ()  # why tuples may be incomplete, although there is no finding
    baseline: Sequence[Sequence[str]] = ()  # entries to write to it

    def __getitem__(self, count: str) -> int:
        """Return a count of COUNTS, summed over all components."""
        return sum(counts.get(count, 0) for counts in self.components.values())

    @property
    def doubtful(self) -> bool:
        """Whether some tuples may be incomplete, although there is no finding."""
        return bool(self.doubts or self.dropped)

    @property
    def silent(self) -> bool:
        """Whether the tracer observed no event; then a test without findings is not clean."""
        return not self.ticks and not any(self[count] for count in COUNTS)

    def dump(self) -> str:
        """Return the row as JSON, without empty fields; `read_row` reads it."""
        return json.dumps(
            {name: value for name, value in asdict(self).items() if value}, separators=(",", ":")
        )


def read_row(text: str) -> Row | None:
    """Return the row; None if another plugin wrote the property."""
    try:
        values = json.loads(text)
        return Row(**{f.name: values[f.name] for f in fields(Row) if f.name in values})
    except (ValueError, TypeError):
        return None


def totals(tallies: Iterable[ComponentTally]) -> dict[str, dict[str, int]]:
    """Return the counts by component, summed over its tasks."""
    found: dict[str, dict[str, int]] = {}
    for tally in tallies:
        counts = found.setdefault(tally.component, dict.fromkeys(COUNTS, 0))
        for count in COUNTS:
            counts[count] += getattr(tally, count)
    return found


def count_by_rule(findings: Iterable[Finding]) -> dict[str, int]:
    """Return the number of tuples of each rule's findings."""
    codes: Counter[str] = Counter()
    for finding in findings:
        codes[finding.code] += finding.seen
    return dict(sorted(codes.items()))


class Judgement(NamedTuple):
    """The findings of a test: `counted` fail it, `accepted` are allowed by a mark, the ini file or the baseline.

    `waiting` are open tuples that fail nothing: the test ends before the code flushes them.
    """

    counted: tuple[Finding, ...]
    accepted: tuple[Finding, ...]
    waiting: tuple[Violation, ...] = ()


class Judge:
    """Judges the tests of a session; paths of findings are relative to `folder`."""

    def __init__(self, config: pytest.Config, options: Options) -> None:
        self.folder = config.invocation_params.dir
        self._messages: dict[str, dict[str, list[str]] | None] = {}  # file -> component -> lint's messages
        try:
            file = find_config(config.rootpath)
            self._settings = load_settings(file) if file is not None else Settings(directory=config.rootpath)
            self._known = _accepted(options)
        except AckdoctorError as error:
            raise pytest.UsageError(str(error)) from None

    def judge(
        self,
        violations: Sequence[Violation],
        trees: Sequence[TupleTree],
        *,
        pending: int,
        options: Options,
        ended: bool = True,
    ) -> Judgement:
        """Judge the violations; `pending` is the number of open tuples.  Tuples may wait for a flush only if the test has `ended`."""
        if not violations and not trees:  # a clean test needs neither judge nor rulebook
            return Judgement((), ())
        from ackdoctor.acker.versions import NEWEST, profile
        from ackdoctor.tracer.acker_findings import Causes
        from ackdoctor.tracer.findings import findings
        from ackdoctor.tracer.sites import Places

        tolerated = pending <= options.max_pending
        owed = [violation for violation in violations if tolerated and violation.misuse is Misuse.NEVER]
        waiting = tuple(filter(self._has_flush, violations)) if ended and not tolerated else ()
        spared = (*owed, *waiting)
        rest = [violation for violation in violations if violation not in spared]
        version = profile(options.profile) if options.profile else NEWEST
        places = Places(folder=str(self.folder))
        causes = Causes(trees)
        spared_roots = {tree.root for violation in spared for tree in causes.of(violation)}
        unexplained = [tree for tree in trees if tree.root not in spared_roots]
        found = self._unsuppressed(findings(rest, unexplained, profile=version, places=places))
        counted: list[Finding] = []
        accepted = list(self._unsuppressed(findings(owed, places=places)))
        for finding in found:
            (accepted if self._is_accepted(finding, options) else counted).append(finding)
        return Judgement(tuple(counted), tuple(accepted), waiting)

    def with_heap_findings(
        self,
        judgement: Judgement,
        held: Sequence[Finding],
        *,
        trees: Sequence[TupleTree],
        pending: int,
        options: Options,
    ) -> Judgement:
        """Add the findings of the heap.

        Findings about accepted open tuples are accepted, too.  Without `trees` there are no findings about the acker: its
        entries wait for the framework's batch, or its worker is dead.
        """
        from ackdoctor.heap.python_judge import ACKER_CODES, OPEN_TUPLE_CODES, with_heap_evidence

        held = [finding for finding in held if trees or finding.code not in ACKER_CODES]
        held = [finding for finding in held if not _waits(finding, judgement.waiting)]
        counted, rest = with_heap_evidence(judgement.counted, held)
        accepted, rest = with_heap_evidence(judgement.accepted, rest)
        tolerated = 0 < pending <= options.max_pending
        for finding in self._unsuppressed(rest):
            if self._is_accepted(finding, options) or (tolerated and finding.code in OPEN_TUPLE_CODES):
                accepted = (*accepted, finding)
            else:
                counted = (*counted, finding)
        return Judgement(counted, accepted, judgement.waiting)

    def _is_accepted(self, finding: Finding, options: Options) -> bool:
        """Whether a mark or the baseline accepts the finding."""
        allowed = Settings(select=options.allow)
        spared = bool(options.allow) and allowed.selects(finding.code, finding.name, default=False)
        return spared or plain(finding.fingerprint) in self._known

    def _unsuppressed(self, found: Sequence[Finding]) -> Sequence[Finding]:
        """Return the findings that neither the settings nor an ignore comment suppresses."""
        if not found:
            return ()
        from ackdoctor.lint.select import select

        paths = {finding.site.path for finding in found}
        sources: dict[str, bytes] = {}
        for path in paths:
            with suppress(OSError, ValueError):
                sources[path] = (self.folder / path).read_bytes()
        chosen = select(found, sources, paths, self._settings, str(self.folder)).findings
        return tuple(
            finding
            for finding in chosen
            if finding.code != UNUSED_IGNORE  # another test may use the comment
            and finding.severity >= self._settings.min_severity
            and finding.confidence >= self._settings.min_confidence
        )

    def _has_flush(self, violation: Violation) -> bool:
        """Whether a later flush would complete the tuples: lint finds no path that leaves those of the field open."""
        field, traced = violation.held or violation.named, violation.traced
        if violation.misuse is not Misuse.NEVER or not field or not traced.path:
            return False
        if traced.path not in self._messages:
            self._messages[traced.path] = self._lint(Path(traced.path))
        messages = self._messages[traced.path]
        if messages is None:
            return False
        mine = messages.get(_short(traced.name), [])
        # lint does not always know the field of a bare id
        return not [message for message in mine if not violation.held or f"`{field}`" in message]

    def _lint(self, file: Path) -> dict[str, list[str]] | None:
        """Return the messages by component; None if lint cannot read the file, or finds no component."""
        from ackdoctor.lint.run import lint

        rules = replace(self._settings, select=_OPEN_TUPLE_RULES, ignore=(), per_file_ignores={}, exclude=())
        try:
            report = lint([file], rules, root=self.folder)
        except AckdoctorError:
            return None
        if report.unreadable or not report.components:
            return None
        found: dict[str, list[str]] = {}
        for finding in report.findings:
            found.setdefault(_short(finding.component), []).append(finding.message)
        return found


def _accepted(options: Options) -> frozenset[str]:
    """Return the fingerprints in the baseline; an invalid one is not overwritten either."""
    baseline, writes = options.baseline, options.write_baseline
    if baseline is None or (writes and not baseline.exists()):
        return frozenset()
    from ackdoctor.lint.baseline import read

    if not baseline.exists():
        raise pytest.UsageError(f"{baseline}: no such file; --ackdoctor-write-baseline creates it")
    entries = read(baseline).entries
    return frozenset(plain(entry.fingerprint) for entry in entries if not writes)


def waiting_note(violation: Violation) -> str:
    """Return a sentence about tuples that a later flush would complete."""
    tuples = counted(violation.count, "tuple waits", "tuples wait")
    return (
        f"{_short(violation.traced.name)}: {tuples} in {violation.held or violation.named}, and the test ends before the code "
        f"flushes it: feed more, tick, or mark max_pending={violation.count}"
    )


def _waits(finding: Finding, waiting: Sequence[Violation]) -> bool:
    """Whether a finding of the heap is about tuples that wait for a flush, or about their entries in the acker."""
    if not waiting:
        return False
    components = {_short(violation.traced.name) for violation in waiting}
    return finding.code in {NEVER_ZERO_ENTRY, PENDING_GROWTH} or (
        finding.code == UNDRAINED_BUFFER and _short(finding.component) in components
    )


def _short(component: str) -> str:
    return component.rpartition(".")[2]


def summary(rows: Mapping[str, Row], verbosity: int) -> Iterator[str]:
    """Yield the lines of the summary; `rows` by node id, `verbosity` as pytest counts it.

    -q: totals only; by default noteworthy tests; -v: all tests; -vv: their components.
    """
    ordered = sorted(rows.items(), key=lambda item: (-item[1]["pending"], item[0]))
    shown = [(test, row) for test, row in ordered if verbosity > 0 or _is_noteworthy(row)]
    hidden = 0
    if verbosity < 0:
        shown = []
    elif verbosity == 0 and len(shown) > _MOST_ROWS:
        shown, hidden = shown[:_MOST_ROWS], len(shown) - _MOST_ROWS
    if shown:
        names = [test for test, _ in shown]
        names += [f"  {name}" for _, row in shown for name in row.components if verbosity > 1]
        width = min(_LONGEST_NAME, max(len(name) for name in [*names, counted(len(rows), "test")]))
        yield _line("test", _HEADS, "findings", width)
        for test, row in shown:
            yield _line(test, {count: row[count] for count in COUNTS}, _remarks(row), width)
            if verbosity > 1:
                for name, counts in row.components.items():
                    yield _line(f"  {name}", counts, "", width)
        if hidden:
            yield f"... and {counted(hidden, 'test')} more; -v shows all"
        sums = {count: sum(row[count] for row in rows.values()) for count in COUNTS}
        yield _line(counted(len(rows), "test"), sums, "", width)
    yield from _closing(rows)
    if verbosity < 0:
        doubted = [(test, row) for test, row in ordered if row.doubts]
        yield from (f"{test}: {'; '.join(row.doubts)}" for test, row in doubted[:_MOST_ROWS])


def _is_noteworthy(row: Row) -> bool:
    noted = row.findings or row["pending"] or row.unobserved or row.notes
    return bool(noted or row.doubtful or (row.asked and row.silent))


def _line(test: str, counts: Mapping[str, object], remarks: str, width: int) -> str:
    name = test if len(test) <= width else f"...{test[3 - width :]}"
    numbers = "".join(f"{counts.get(count, 0):>{_WIDTHS[count]}}" for count in COUNTS)
    return f"{name:<{width}}{numbers}  {remarks}".rstrip()


def _remarks(row: Row) -> str:
    """Return the findings and notes of a row."""
    remarks = [_times(code, number) for code, number in row.findings.items()]
    remarks += [f"({_times(code, number)} accepted)" for code, number in row.accepted.items()]
    if row.unobserved:
        remarks.append(f"not observed: {'; '.join(row.unobserved)}")
    elif row.silent:
        remarks.append("observed 0 events")
    if notes := [*row.doubts, *row.notes]:
        remarks.append("; ".join(notes))
    if row.dropped:
        remarks.append(f"{row.dropped:,} events not kept")
    return " ".join(remarks)


def _times(code: str, number: int) -> str:
    return code if number == 1 else f"{code} x{number}"


def _closing(rows: Mapping[str, Row]) -> Iterator[str]:
    """Yield the closing sentences."""
    hidden = [row for row in rows.values() if row.unobserved and not row.findings]
    silent = [row for row in rows.values() if row.silent and not row.unobserved]
    seen = [row for row in rows.values() if row.findings or not (row.silent or row.unobserved)]
    codes: Counter[str] = Counter()
    for row in seen:
        codes.update(row.findings)
    if codes:
        broken = sum(bool(row.findings) for row in seen)
        listed = ", ".join(_times(code, number) for code, number in sorted(codes.items()))
        yield f"{broken} of {counted(len(seen), 'test')} broke the protocol: {listed} · ackdoctor explain {min(codes)}"
    elif certain := [row for row in seen if not row.doubtful]:
        delivered = [row for row in certain if row["delivered"]]
        if any(row["pending"] or row.accepted for row in certain):
            yield f"{counted(len(certain), 'test')}: all findings are accepted"
        elif delivered:
            yield f"{counted(len(delivered), 'test')}: every tuple completed exactly once"
        if len(delivered) < len(certain):
            yield f"{counted(len(certain) - len(delivered), 'test')}: no bolt received a tuple"
    if doubted := [row for row in rows.values() if row.doubtful]:
        yield f"{counted(len(doubted), 'test')} in doubt: some tuples may not have completed exactly once"
    if hidden:
        yield f"{counted(len(hidden), 'test')} not observed: a mock or an unknown transport hides the component's calls"
    if silent:
        yield f"{counted(len(silent), 'test')} observed 0 events: the tracer saw no component run"
    troubles = [
        note for row in rows.values() for note in (*row.notes, *row.doubts) if _INTERNAL_ERROR in note
    ]
    if troubles:
        yield f"{_times(troubles[0], len(troubles))} · some events were not traced"


def fail(report: pytest.TestReport, why: str) -> bool:
    """Turn a passed report into a failed one; return True if it was.

    A test that was expected to fail fails as expected.
    """
    if hasattr(report, "wasxfail"):
        report.outcome = "skipped" if report.outcome == "passed" else report.outcome
    elif report.outcome == "failed" and _EXPECTED.match(str(report.longrepr)):
        report.outcome = "skipped"
        report.wasxfail = _EXPECTED.sub("", str(report.longrepr))
    elif report.outcome == "passed":
        report.outcome = "failed"
        report.longrepr = why
        setattr(report, FAILED_BY_ACKDOCTOR, True)
        return True
    return False


def one_line(finding: Finding) -> str:
    """Return a finding in one line, the rule first, since pytest may cut the end."""
    return f"{finding.code} {finding.name} {finding.site.path}:{finding.site.span.line} {finding.message}"


def format_findings(findings: Sequence[Finding], *, root: Path, verbosity: int) -> str:
    """Format findings as `ackdoctor lint` does: none with -qq, all with -vv."""
    if verbosity < -1:
        return ""
    from ackdoctor.reporters import reporter  # imported only if there are findings

    most = len(findings) if verbosity > 1 else _MOST_FINDINGS
    stream = io.StringIO()
    reporter("full")(Report(findings=tuple(findings[:most])), stream, context_of(root))
    if len(findings) > most:
        stream.write(f"... and {len(findings) - most} more; -vv shows all\n")
    return stream.getvalue().rstrip("\n")


def context_of(root: Path) -> "Context":
    """Return the terminal's glyphs and the folder of the sources, for reporters."""
    from ackdoctor.reporters import Context, Sources, glyphs_for

    encoding = getattr(sys.__stdout__, "encoding", None)  # an xdist worker assumes its own
    return Context(sources=Sources(root=root), glyphs=glyphs_for(encoding))

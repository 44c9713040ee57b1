"""Apply fixes and prove them: the edited files are linted again.

A batch of fixes is accepted if each of its findings is gone, no rule reports anything new in any file, and every file can
still be read.  Otherwise smaller batches are tried, down to one fix; a fix that fails alone is dropped.  Of fixes that
overlap the first one wins; the others are tried on the result.  A fix of a spout that makes its topology report an
unset bound is tried again together with the fix of that report.
"""

import difflib
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ackdoctor.config import RuleOptions, Settings
from ackdoctor.fixes import CONSEQUENCES, Document, fixes_of, open_document
from ackdoctor.lint.discover import LIMIT, is_text, language_of
from ackdoctor.model.finding import Edit, Finding, Fix, Report
from ackdoctor.model.source import Span, decode_leniently, read_file, replacing

Lint = Callable[[Mapping[str, bytes]], Report]  # by the contents of the edited files

_MOST_RUNS = 200  # of lint, for one command


class _Offer(NamedTuple):
    """A fix of a finding."""

    finding: Finding
    fix: Fix

    @property
    def edits(self) -> Iterable[tuple[str, Edit]]:
        """The edits, each with its file."""
        return ((edit.path or self.finding.site.path, edit) for edit in self.fix.edits)

    @property
    def paths(self) -> set[str]:
        """The files that the fix changes."""
        return {path for path, _ in self.edits}

    @property
    def key(self) -> tuple[object, ...]:
        """The identity of an offer, whatever lines the edits before it moved."""
        texts = tuple(edit.text for edit in self.fix.edits)
        return (*_key(self.finding), self.finding.cause, self.fix.title, texts)


def _key(finding: Finding) -> tuple[str, ...]:
    return finding.code, finding.site.path, finding.component, finding.handler


def _amounts(report: Report) -> Counter[tuple[str, str]]:
    return Counter((each.site.path, each.code) for each in report.findings)


def all_rules(settings: Settings) -> Settings:
    """Return settings under which no finding of a default rule or a selected one is ignored."""
    return replace(
        settings,
        select=(),
        ignore=(),
        extend_select=(*settings.extend_select, *settings.select),
        per_file_ignores={},
    )


class Repairs:
    """The fixes of one run.

    `report` returns what the user asked for, `everything` the findings of all rules.  `text` is standard input, by the
    path that a report gives it; `options` are those of rules.
    """

    def __init__(
        self,
        report: Lint,
        everything: Lint,
        root: Path,
        text: Mapping[str, bytes],
        options: RuleOptions,
    ) -> None:
        self._report = report
        self._everything = everything
        self._root = root
        self._text = text
        self._options = options
        self._runs = _MOST_RUNS
        self._documents: dict[str, Document | None] = {}
        self.before: dict[str, bytes] = dict(text)
        self.after: dict[str, bytes] = {}  # the edited files
        self.refused: dict[str, str] = {}  # files that cannot be written, and why
        self.fixed: Counter[tuple[str, str]] = Counter()  # findings that are gone, by path and code

    def fix(self, report: Report, *, unsafe: bool) -> Report:
        """Apply all fixes that hold, unsafe ones only if asked for; return the report on the edited files."""
        rejected: set[tuple[object, ...]] = set()
        known: Report | None = None
        before = _amounts(report)
        while self._runs > 0:
            offers = self._offers(report, rejected, lambda fix: unsafe or fix.safe)
            if not offers:
                break
            known = known or self._everything({})
            accepted, dropped = self._largest(offers, known)
            rejected |= {each.key for each in dropped}
            if accepted:
                self._apply(accepted)
                changed = {path for each in accepted for path in each.paths}  # what failed there may hold now
                rejected = {key for key in rejected if key[1] not in changed}
                known, report = self._everything(self.after), self._report(self.after)
        for path, document in self._documents.items():
            if unsafe and document is not None and document.refusal:
                self.refused.setdefault(path, document.refusal)
        self.fixed = before - _amounts(report)
        return report

    def offer(self, report: Report, *, safe: bool) -> Report:
        """Return the report with the safe or the unsafe fix of each finding that has one; files stay as they are."""
        rejected: set[tuple[object, ...]] = set()
        proven: dict[Finding, Fix] = {}
        known: Report | None = None
        while self._runs > 0:
            waiting = [
                each
                for each in self._offers(report, rejected, lambda fix: fix.safe is safe)
                if each.finding not in proven
            ]
            if not waiting:
                break
            known = known or self._everything(self.after)
            accepted, dropped = self._largest(waiting, known)
            proven.update((each.finding, each.fix) for each in accepted)
            rejected |= {each.key for each in dropped}
        return replace(
            report, findings=tuple(replace(each, fix=proven.get(each, each.fix)) for each in report.findings)
        )

    def offer_all(self, report: Report, *, unsafe: bool) -> Report:
        """Return the report with the fix of each finding that has one, unsafe ones only if asked for."""
        safe = self.offer(report, safe=True)
        return self.offer(safe, safe=False) if unsafe else safe

    # ---- batches ----

    def _offers(
        self, report: Report, rejected: Collection[tuple[object, ...]], wanted: Callable[[Fix], bool]
    ) -> list[_Offer]:
        """Return the first fix of each finding that is wanted and was not rejected."""
        found = []
        for finding in report.findings:
            document = self._document(finding.site.path)
            fixes = fixes_of(finding, document) if document is not None else ()
            offers = (_Offer(finding, fix) for fix in fixes if wanted(fix))
            offer = next((each for each in offers if each.key not in rejected), None)
            if offer is not None and self._is_writable(offer):
                found.append(offer)
        return found

    def _is_writable(self, offer: _Offer) -> bool:
        """Whether all files that a fix changes can be written."""
        for path in sorted(offer.paths - self._text.keys()):
            if why := _unwritable(self._root, self._root / path):
                self.refused[path] = why
                return False
        return True

    def _largest(self, offers: Sequence[_Offer], known: Report) -> tuple[Sequence[_Offer], Sequence[_Offer]]:
        """Return a batch that holds; or else one offer that does not, to be dropped."""
        batch = _disjoint(offers)
        failed: Sequence[_Offer] = ()
        while self._runs > 0:
            self._runs -= 1
            edited = self._edited(batch)
            contents = {path: data for path, data in edited.items() if data is not None}
            found = self._everything({**self.after, **contents})
            wrong = _worse(batch, known, found)
            if not wrong and len(contents) == len(edited):
                return batch, ()
            if len(batch) == 1:
                wider = self._widened(batch[0], known, found) if not failed else None
                failed = failed or batch
                if wider is None:
                    return (), failed
                batch = [wider]
                continue
            clean = [each for each in batch if not each.paths & wrong]
            batch = clean if clean and len(clean) < len(batch) else batch[: len(batch) // 2]
        return (), offers

    def _widened(self, offer: _Offer, known: Report, found: Report) -> _Offer | None:
        """Return a fix together with the fixes of what it makes a topology report; None if there is no such report."""
        before = {_key(each) for each in known.findings}
        new = [each for each in found.findings if each.code in CONSEQUENCES and _key(each) not in before]
        more, titles = [], [offer.fix.title]
        for each in new:
            path = each.site.path
            document = self._document(path)
            span = _unmoved(each.site.span, [edit for place, edit in offer.edits if place == path])
            there = replace(each, site=replace(each.site, span=span))
            fix = next(fixes_of(there, document), None) if document is not None else None
            if fix is None:
                return None
            more += [edit._replace(path=path) for edit in fix.edits]
            titles.append(f"{fix.title} in {path.rpartition('/')[2]}")
        if not new or any(
            _touch(one.span, two.span) for path, one in offer.edits for two in more if two.path == path
        ):
            return None
        edits = (*offer.fix.edits, *more)
        wider = offer._replace(fix=Fix(title="; ".join(titles), safe=False, edits=edits))
        return wider if self._is_writable(wider) else None

    def _edited(self, batch: Iterable[_Offer]) -> dict[str, bytes | None]:
        """Return the contents of the files with the fixes of a batch; None for a file that cannot hold them."""
        edits: dict[str, list[Edit]] = {}
        for each in batch:
            for path, edit in each.edits:
                edits.setdefault(path, []).append(edit)
        found: dict[str, bytes | None] = {}
        for path, group in edits.items():
            document = self._document(path)
            found[path] = document.with_edits(group) if document is not None else None
        return found

    def _apply(self, batch: Sequence[_Offer]) -> None:
        for path, data in self._edited(batch).items():
            if data is not None:
                self.after[path] = data
                self._documents.pop(path, None)

    # ---- files ----

    def _document(self, path: str) -> Document | None:
        if path in self._documents:
            return self._documents[path]
        data = self.after.get(path, self.before.get(path))
        if data is None:
            try:
                data = self.before[path] = read_file(str(self._root / path), LIMIT)
            except OSError as error:
                self.refused[path] = error.strerror or str(error)
        found = None
        if data is not None:
            language = "text" if is_text(path) else language_of(path).name
            found = open_document(
                data, language, on_missing_path=self._options.on_missing_path, place=self._root / path
            )
            if found is None:
                self.refused[path] = "its bytes are not those of its encoding"
            elif found.root is None and language != "text":
                self.refused[path] = "it has a syntax error"
        self._documents[path] = found
        return found

    def write(self) -> bool:
        """Replace the edited files, each one whole or not at all; False if one is refused."""
        wrote = True
        for path, data in sorted(self.after.items()):
            if path in self._text:
                continue
            place = self._root / path
            try:
                if read_file(str(place), LIMIT) != self.before[path]:
                    self._refuse(path, "it changed during the run")
                    wrote = False
                    continue
                with replacing(place) as stream:
                    stream.buffer.write(data)
            except OSError as error:
                self._refuse(path, error.strerror or str(error))
                wrote = False
        return wrote

    def _refuse(self, path: str, why: str) -> None:
        self.refused[path] = why
        self.after.pop(path)
        for key in [key for key in self.fixed if key[0] == path]:
            del self.fixed[key]

    def on_disk(self) -> Report:
        """Return the report on the files as they are."""
        return self._report({})

    def diff(self) -> str:
        """Return the edits as a unified diff."""
        return "".join(_diff(path, self.before[path], data) for path, data in sorted(self.after.items()))


def _disjoint(offers: Sequence[_Offer]) -> list[_Offer]:
    """Return the first offers whose edits neither overlap nor touch."""
    chosen: list[_Offer] = []
    taken: dict[str, list[Span]] = {}
    for offer in offers:
        if not any(_touch(edit.span, span) for path, edit in offer.edits for span in taken.get(path, ())):
            chosen.append(offer)
            for path, edit in offer.edits:
                taken.setdefault(path, []).append(edit.span)
    return chosen


def _unmoved(span: Span, edits: Iterable[Edit]) -> Span:
    """Return where the lines of a span were before these edits."""
    line = span.line
    for edit in sorted(edits):
        more = edit.text.count("\n") - (edit.span.end_line - edit.span.line)
        if edit.span.line + more <= line:
            line -= more
    return span._replace(line=line, end_line=line + span.end_line - span.line)


def _touch(one: Span, other: Span) -> bool:
    return one[:2] <= other[2:] and other[:2] <= one[2:]


def _worse(batch: Sequence[_Offer], known: Report, found: Report) -> set[str]:
    """Return the files in which a fixed finding stays, a new one appears, or a part is no longer read."""
    allowed = Counter(map(_key, known.findings))
    allowed.subtract(_key(each.finding) for each in batch)
    wrong = {
        key[1] for key, count in Counter(map(_key, found.findings)).items() if count > max(allowed[key], 0)
    }
    unread = Counter(each.path for each in known.unreadable)
    return wrong | {each.path for each in found.unreadable if unread[each.path] == 0}


def _unwritable(root: Path, path: Path) -> str:
    """Return why a file is not edited; "" for one that may be."""
    if path.is_symlink():
        return "it is a symbolic link; name its target"
    if any(each.is_symlink() for each in path.parents if root in each.parents):
        return "it is below a symbolic link; name the target"
    if not os.access(path, os.W_OK):
        return "it is read-only" if path.exists() else "it does not exist"
    return ""


def _diff(path: str, before: bytes, after: bytes) -> str:
    cookie = not path.endswith(".java")
    old, new = (decode_leniently(data, cookie=cookie).splitlines(keepends=True) for data in (before, after))
    lines = difflib.unified_diff(old, new, f"a/{path}", f"b/{path}")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )

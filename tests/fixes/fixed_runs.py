"""Run Python components before and after each fix of their findings, with good and bad records.

    python -m tests.fixes.fixed_runs FOLDER... [--list]

Lint proves the fixes, `tests.advice.component_runs` runs the components.  The imports of a project are its own modules,
the frameworks and the standard library; all others are fakes.
"""

import ast
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from unittest import mock

from ackdoctor.config import Settings
from ackdoctor.fixes import open_document
from ackdoctor.frontends.python.source import translate
from ackdoctor.lint.memory import Memory
from ackdoctor.lint.repair import Repairs, all_rules
from ackdoctor.lint.run import lint
from ackdoctor.model.finding import Finding, Report
from ackdoctor.model.trace import Verdict
from ackdoctor.rulebook import UNSERIALISABLE_EMIT
from tests.advice.component_runs import Cost, Result, run_components

__all__ = ["Comparison", "compare", "compare_all", "fixed_findings"]

_LONGEST_S = 120
_FAILING = ", call "  # in the setting of a run in which a call fails
_FRAMEWORKS = frozenset("heronpy petrel pyleus pystorm storm streamparse".split())


@dataclass(slots=True, kw_only=True)
class Comparison:
    """The runs of the components of one file before and after a fix."""

    finding: Finding
    reason: str = ""  # why there was no run
    added: tuple[str, ...] = ()  # faults that only the fixed components have
    left: tuple[str, ...] = ()  # faults that both have
    gone: tuple[str, ...] = ()  # faults that the fix removes
    acked: tuple[str, ...] = ()  # runs in which a call failed or said no, and the fix acks an open tuple

    @property
    def ran(self) -> bool:
        """Whether the component ran."""
        return not self.reason

    def __str__(self) -> str:
        finding = self.finding
        title = finding.fix.title if finding.fix else ""
        head = f"{finding.site.path}:{finding.site.span.line} {finding.code} {finding.component}: {title}"
        parts: dict[str, tuple[str, ...]] = {
            "not run": (self.reason,) if self.reason else (),
            "NEW": self.added,
            "ACKED": self.acked,
            "left": self.left,
            "gone": self.gone,
        }
        lines = (f"    {word}: {each}" for word, texts in parts.items() for each in texts)
        return "\n".join((head, *lines))


def fixed_findings(folder: Path) -> Iterator[tuple[Finding, dict[str, bytes]]]:
    """Yield the findings of a project in Python that have a fix, each with the file that its fix changes."""
    settings = Settings(directory=folder)
    run = partial(lint, [folder], root=folder, memory=Memory())
    report = run(settings)
    report = replace(
        report, findings=tuple(each for each in report.findings if each.site.path.endswith(".py"))
    )
    everything = all_rules(settings)
    known: dict[tuple[tuple[str, bytes], ...], Report] = {}

    def lint_all(edited: Mapping[str, bytes]) -> Report:
        key = tuple(sorted(edited.items()))
        if key not in known:
            known[key] = run(everything, edited=edited)
        return known[key]

    repairs = Repairs(lambda edited: run(settings, edited=edited), lint_all, folder, {}, settings.rules)
    for finding in repairs.offer_all(report, unsafe=True).findings:
        path = finding.site.path
        document = open_document((folder / path).read_bytes(), "python") if finding.fix else None
        edited = document.with_edits(finding.fix.edits) if document and finding.fix else None
        if edited is not None:
            yield finding, {path: edited}


def compare_all(folder: Path) -> list[Comparison]:
    """Run the component of each finding that has a fix, before and after it."""
    found = []
    pool = ProcessPoolExecutor(1)  # one process keeps the runs before the fixes; it is replaced if it hangs
    for finding, edited in fixed_findings(folder):
        job = pool.submit(compare, folder, finding, edited)
        try:
            found.append(job.result(timeout=_LONGEST_S))
        except (TimeoutError, BrokenProcessPool) as error:
            for process in list(pool._processes.values()):
                process.kill()
            found.append(Comparison(finding=finding, reason=type(error).__name__))
            pool.shutdown(wait=False, cancel_futures=True)
            pool = ProcessPoolExecutor(1)
    pool.shutdown(wait=False, cancel_futures=True)
    return found


@lru_cache(maxsize=8)
def _runs(dialect: str, files: tuple[tuple[str, str], ...]) -> Result:
    """Run components; the files without a fix are those of several findings in a row."""
    with tempfile.TemporaryDirectory() as scratch, mock.patch.object(time, "sleep"):
        return run_components(dialect, dict(files), Path(scratch))


def compare(folder: Path, finding: Finding, edited: Mapping[str, bytes]) -> Comparison:
    """Run the component of a finding before and after its fix."""
    warnings.simplefilter("ignore")
    results = []
    for contents in ({}, edited):
        files = _with_imports(folder, finding.home or finding.site.path, contents)
        results.append(_runs(finding.dialect, tuple(files.items())))
    before, after = results
    name = finding.component.rpartition(".")[2]
    reason = before.reason or after.reason or ("late" if before.late or after.late else "")
    if not reason and name not in after.classes:
        reason = f"{name} is not among {', '.join(after.classes)}"
    old, new = ({run for run in each.runs if run[1].startswith(f"{name},")} for each in results)
    settings = {each for each in after.settings if each.startswith(f"{name},")}
    if not reason and not settings - {setting for cost, setting in new if cost is Cost.EXITS}:
        reason = f"dies in every run: {after.costs[Cost.EXITS]}"
    if reason:
        return Comparison(finding=finding, reason=reason)
    dead = {
        setting for cost, setting in old if cost in (Cost.EXITS, Cost.TWICE)
    }  # what came later was not seen
    added = {run for run in new - old if run[1] not in dead}
    if finding.code == UNSERIALISABLE_EMIT:  # the conversion is a new call: it must succeed for a good record
        added = {run for run in added if _FAILING not in run[1]}
    return Comparison(
        finding=finding,
        added=_texts(added),
        left=_texts(new - added),
        gone=_texts(old - new),
        acked=tuple(_acked(name, before, after)),
    )


def _texts(runs: set[tuple[Cost, str]]) -> tuple[str, ...]:
    """Return an example of each cost, with the number of runs."""
    amounts = Counter(cost for cost, _ in runs)
    examples = dict(sorted(runs, key=lambda run: (run[0].value, run[1])))
    return tuple(f"{cost.value} ({amounts[cost]}): {setting}" for cost, setting in examples.items())


def _acked(name: str, before: Result, after: Result) -> Iterator[str]:
    for setting, ends in after.ends.items():
        old = before.ends.get(setting, [])
        if setting.startswith(f"{name},") and any(
            was is Verdict.OPEN and now is Verdict.COMPLETE for was, now in zip(old, ends, strict=False)
        ):
            yield setting


# ---- the files of a component ----


def _with_imports(folder: Path, path: str, edited: Mapping[str, bytes]) -> dict[str, str]:
    """Return a file and the modules of its project that it imports, in Python 3, by the names under which they are imported."""
    modules = sorted(each.relative_to(folder) for each in folder.rglob("*.py"))
    start = Path(path)
    files: dict[str, str] = {}
    waiting: list[tuple[Path, tuple[str, ...]]] = [(start, (start.stem,))]
    if any(level for _, level, _ in _imports(_text(folder, start, edited))):
        waiting = [(start, (start.parent.name or "package", start.stem))]
    while waiting:
        place, module = waiting.pop()
        name = "/".join(module) + ("/__init__.py" if place.name == "__init__.py" else ".py")
        if name in files:
            continue
        files[name] = text = _text(folder, place, edited)
        for wanted, level, names in _imports(text):
            package = module if place.name == "__init__.py" else module[:-1]
            base = package[: len(package) - level + 1] if level else ()
            for target in ((*base, *wanted), *((*base, *wanted, each) for each in names)):
                found = _module(modules, target, place)
                if found is not None and target[0] not in _FRAMEWORKS:
                    waiting.append((found, target))
    return files


def _text(folder: Path, place: Path, edited: Mapping[str, bytes]) -> str:
    """Return the text of a module in Python 3."""
    data = edited.get(str(place)) or (folder / place).read_bytes()
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    try:
        ast.parse(text)
    except SyntaxError:
        translation = translate(text)
        return translation.text if translation is not None else text
    return text


def _imports(text: str) -> list[tuple[tuple[str, ...], int, list[str]]]:
    """Return the modules that a text imports, the number of dots before them, and the names that it takes from them."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:
        return []
    found: list[tuple[tuple[str, ...], int, list[str]]] = [
        (tuple(alias.name.split(".")), 0, [])
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    return found + [
        (
            tuple((node.module or "").split(".")) if node.module else (),
            node.level,
            [each.name for each in node.names],
        )
        for node in nodes
        if isinstance(node, ast.ImportFrom)
    ]


def _module(modules: list[Path], name: tuple[str, ...], place: Path) -> Path | None:
    """Return the nearest file of a module."""
    ends = ("/".join(name) + ".py", "/".join((*name, "__init__.py")))
    hits = [each for each in modules if f"/{each}".endswith(tuple(f"/{end}" for end in ends))] if name else []
    return max(hits, key=lambda each: len(set(each.parents) & set(place.parents)), default=None)


def main() -> int:
    """Print what became of each fix, and the amounts."""
    amounts: Counter[str] = Counter()
    for folder in (Path(each).resolve() for each in sys.argv[1:] if each != "--list"):
        for each in compare_all(folder):
            amounts += Counter(fixes=1, run=each.ran, worse=bool(each.added), acked=bool(each.acked))
            amounts["healed"] += bool(each.ran and not each.left)
            if each.added or each.acked or "--list" in sys.argv:
                sys.stdout.write(f"{each}\n")
    words = ("fixes", "run", "worse", "acked", "healed")
    sys.stdout.write(", ".join(f"{amounts[word]} {word}" for word in words) + "\n")
    return amounts["worse"] > 0


if __name__ == "__main__":
    sys.exit(main())

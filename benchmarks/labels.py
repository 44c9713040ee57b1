"""Measures recall and precision of `ackdoctor lint` against hand-labelled public code.

    python benchmarks/labels.py FOLDER LABELS.json [-v]

FOLDER holds one folder per repository, `owner__name`, with the labelled files at their own paths and,
best, the rest of the repository's Python beside them.  LABELS.json lists files with their defects.
A file that stands elsewhere is found by its sha256; one that is absent is reported and left out.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CODES: Mapping[str, tuple[str, ...]] = {
    "missing-ack": ("ACK101", "ACK401", "ACK109"),
    "double-ack": ("ACK103", "ACK104", "ACK105"),
    "manual-ack-with-auto-ack": ("ACK105", "ACK103"),
    "ack-and-fail": ("ACK106", "ACK105"),
    "emit-after-ack": ("ACK202",),
    "unanchored-emit": ("ACK201", "ACK203"),
    "unreliable-spout-emit": ("ACK301",),
    "spout-no-fail-handler": ("ACK302",),
    "bolt-buffer-leak": ("ACK401", "ACK403", "ACK404"),
    "missing-ack-on-exception": ("ACK101", "ACK102"),
    "premature-ack": ("ACK107", "ACK404"),
    "swallowed-failure": ("ACK102",),
    "off-thread-emit": ("ACK108",),
    "blocking-next-tuple": ("ACK305",),
}
SPOKEN = frozenset(code for codes in CODES.values() for code in codes)
SUFFIXES = {"python": ".py", "java": ".java"}
NEAR = 1  # lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One defect that a reader found; `kinds` are the names it may go by."""

    file: Path
    dialect: str
    kind: str
    kinds: tuple[str, ...]
    confidence: str
    lines: tuple[int, ...]
    why: str

    @property
    def codes(self) -> frozenset[str]:
        """The rules that may say it."""
        return frozenset(code for kind in self.kinds for code in CODES.get(kind, ()))

    @property
    def is_certain(self) -> bool:
        """Nobody would argue."""
        return self.confidence == "certain"

    @property
    def is_debatable(self) -> bool:
        """Right or wrong to report: it counts neither way."""
        return self.confidence == "debatable"

    @property
    def is_other(self) -> bool:
        """Of a kind that no rule was made for in the first place."""
        return self.kind.startswith("other")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One finding of the linter, in a file the labels speak of."""

    file: Path
    dialect: str
    code: str
    severity: str
    confidence: str
    line: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """What of the labels could be had."""

    labels: tuple[Label, ...]
    dialects: Mapping[Path, str]  # every labelled file that is present
    absent: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The outcome: labels met and missed, findings by what they met."""

    met: tuple[Label, ...]
    missed: tuple[Label, ...]
    right: tuple[Found, ...]
    debatable: tuple[Found, ...]
    wrong: tuple[Found, ...]


# ---- reading ----


def read_corpus(folder: Path, entries: Iterable[Mapping[str, Any]], language: str) -> Corpus:
    """The labels of one language whose files stand under `folder`."""
    labels: list[Label] = []
    dialects: dict[Path, str] = {}
    absent: list[str] = []
    hashes: dict[str, Path] = {}
    for entry in entries:
        if entry["lang"] != language:
            continue
        file = folder / entry["repo"].replace("/", "__") / entry["path"]
        if not file.is_file():
            hashes = hashes or hash_tree(folder, SUFFIXES[language])
            file = hashes.get(entry["sha256"], file)
        if not file.is_file():
            absent.append(f"{entry['repo']} {entry['path']}")
            continue
        file = file.resolve()
        dialects[file] = entry["dialect"]
        labels.extend(read_label(file, entry["dialect"], defect) for defect in entry["defects"])
    return Corpus(labels=tuple(labels), dialects=dialects, absent=tuple(absent))


def read_label(file: Path, dialect: str, defect: Mapping[str, Any]) -> Label:
    """One entry of `defects`; kind `other` goes by its subkind."""
    kind = defect["kind"]
    own = defect.get("subkind", kind) if kind == "other" else kind
    return Label(
        file=file,
        dialect=dialect,
        kind=kind if kind != "other" else f"other: {own}",
        kinds=(own, *defect.get("also_kinds", ())),
        confidence=defect["confidence"],
        lines=(defect["line"], *defect.get("also_lines", ())),
        why=defect["why"],
    )


def hash_tree(folder: Path, suffix: str) -> dict[str, Path]:
    """sha256 of every source file under a folder."""
    return {
        hashlib.sha256(path.read_bytes()).hexdigest(): path
        for path in sorted(folder.rglob(f"*{suffix}"))
        if path.is_file()
    }


def lint(
    folder: Path, roots: Iterable[Path], options: Sequence[str]
) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Findings of this interpreter's ackdoctor, one process per repository folder, with absolute paths."""
    command = [sys.executable, "-m", "ackdoctor", "lint", "--output-format", "json", "--no-cache"]
    command += ["--isolated", "--exit-zero", *options, "."]
    for root in sorted({folder.resolve() / path.relative_to(folder.resolve()).parts[0] for path in roots}):
        run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise SystemExit(f"ackdoctor failed on {root} with exit code {run.returncode}:\n{run.stderr}")
        for row in findings_of(run.stdout):
            yield (root / row["path"]).resolve(), row


def findings_of(text: str) -> list[Mapping[str, Any]]:
    """The list of findings, bare or under `findings`."""
    document = json.loads(text)
    rows: list[Mapping[str, Any]] = document["findings"] if isinstance(document, dict) else document
    return rows


# ---- matching ----


def score(corpus: Corpus, findings: Iterable[Found], near: int) -> Score:
    """Matches by file, code and line; several findings may meet one label, and one finding several labels."""
    met: set[Label] = set()
    right: list[Found] = []
    debatable: list[Found] = []
    wrong: list[Found] = []
    by_file: dict[Path, list[Label]] = {}
    for label in corpus.labels:
        by_file.setdefault(label.file, []).append(label)
    for finding in findings:
        hit = [label for label in by_file.get(finding.file, ()) if meets(finding, label, near)]
        met.update(hit)
        if any(not label.is_debatable for label in hit):
            right.append(finding)
        else:
            (debatable if hit else wrong).append(finding)
    return Score(
        met=tuple(label for label in corpus.labels if label in met),
        missed=tuple(label for label in corpus.labels if label not in met),
        right=tuple(right),
        debatable=tuple(debatable),
        wrong=tuple(wrong),
    )


def meets(finding: Found, label: Label, near: int) -> bool:
    """Whether a finding says what the label says, where the label says it."""
    return finding.code in label.codes and any(abs(finding.line - line) <= near for line in label.lines)


# ---- printing ----


def share(part: int, whole: int) -> str:
    """A fraction and its percentage."""
    return (
        f"{part:4d} /{whole:4d}  {100 * part / whole:5.1f} %" if whole else f"{part:4d} /{whole:4d}      - "
    )


def summary(result: Score) -> Iterator[str]:
    """The figures that the project promises."""
    recalls: dict[str, Callable[[Label], bool]] = {
        "recall, certain, without other": lambda label: label.is_certain and not label.is_other,
        "recall, certain + likely, without other": lambda label: not (label.is_debatable or label.is_other),
        "recall, certain + likely, with other": lambda label: not label.is_debatable,
    }
    for title, counts in recalls.items():
        met, missed = sum(map(counts, result.met)), sum(map(counts, result.missed))
        yield f"{title:44s}{share(met, met + missed)}"
    spoken = sum(finding.code in SPOKEN for finding in result.wrong)
    right = len(result.right)
    yield f"{'precision, debatable labels left out':44s}{share(right, right + len(result.wrong))}"
    yield f"{'precision, of the codes the labels speak of':44s}{share(right, right + spoken)}"
    yield f"{'findings at a debatable label':44s}{len(result.debatable):4d}"


def groups(result: Score, corpus: Corpus) -> Iterator[str]:
    """Per dialect and kind: labels met of all, by confidence; then per dialect: findings right, debatable, wrong."""
    rows: Counter[tuple[str, str, str]] = Counter(
        (one.dialect, one.kind, one.confidence) for one in corpus.labels
    )
    met: Counter[tuple[str, str, str]] = Counter(
        (one.dialect, one.kind, one.confidence) for one in result.met
    )
    yield f"{'dialect':22s}{'kind':32s}{'certain':>10s}{'likely':>10s}{'debatable':>11s}"
    for dialect, kind in sorted({key[:2] for key in rows}):
        cells = (
            f"{met[dialect, kind, c]}/{rows[dialect, kind, c]}" for c in ("certain", "likely", "debatable")
        )
        yield f"{dialect:22s}{kind:32s}{next(cells):>10s}{next(cells):>10s}{next(cells):>11s}"
    yield ""
    yield f"{'dialect':22s}{'files':>7s}{'right':>7s}{'debatable':>11s}{'wrong':>7s}"
    files = Counter(corpus.dialects.values())
    tables = [Counter(one.dialect for one in part) for part in (result.right, result.debatable, result.wrong)]
    for dialect in sorted(files):
        counts = [table[dialect] for table in tables]
        yield f"{dialect:22s}{files[dialect]:7d}{counts[0]:7d}{counts[1]:11d}{counts[2]:7d}"


def details(result: Score, folder: Path) -> Iterator[str]:
    """Every miss and every finding that meets no label, with its source line."""
    for label in result.missed:
        codes = "/".join(sorted(label.codes)) or "no rule"
        yield f"\nMISSED {label.confidence} {label.kind} ({codes}): {label.why}"
        yield from quote(folder, label.file, label.lines[0])
    for finding in result.wrong:
        yield f"\nUNMATCHED {finding.code} {finding.severity} {finding.confidence}: {finding.message}"
        yield from quote(folder, finding.file, finding.line)


def quote(folder: Path, file: Path, line: int) -> Iterator[str]:
    """Place and source text of a line."""
    lines = file.read_bytes().splitlines()
    text = lines[line - 1].decode("utf-8", "replace").strip() if 0 < line <= len(lines) else ""
    yield f"    {file.relative_to(folder.resolve())}:{line}: {text}"


# ---- the command ----


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Recall and precision of ackdoctor on labelled public code.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("labels", type=Path)
    parser.add_argument("--lang", default="python", choices=sorted(SUFFIXES))
    parser.add_argument("--min-severity", default="warning")
    parser.add_argument("--min-confidence", default="may")
    parser.add_argument("--findings", type=Path, help="JSON with absolute paths, in place of a run")
    parser.add_argument("-v", "--verbose", action="store_true", help="every miss and every unmatched finding")
    return parser.parse_args()


def collect(args: argparse.Namespace, corpus: Corpus) -> list[Found]:
    """Findings in labelled files; the rest of each repository is there only to be read."""
    if args.findings:
        rows: Iterable[tuple[Path, Mapping[str, Any]]] = (
            (Path(row["path"]).resolve(), row) for row in findings_of(args.findings.read_text("utf-8"))
        )
    else:
        options = ["--min-severity", args.min_severity, "--min-confidence", args.min_confidence]
        rows = lint(args.folder, corpus.dialects, options)
    return [
        Found(
            file=path,
            dialect=corpus.dialects[path],
            code=row["code"],
            severity=row["severity"],
            confidence=row["confidence"],
            line=row["line"],
            message=row["message"],
        )
        for path, row in rows
        if path in corpus.dialects
    ]


def main() -> int:
    """Reads, runs, matches, prints."""
    args = arguments()
    corpus = read_corpus(args.folder, json.loads(args.labels.read_text("utf-8")), args.lang)
    for name in corpus.absent:
        print(f"absent, left out: {name}")
    findings = collect(args, corpus)
    result = score(corpus, findings, NEAR)
    print(f"{len(corpus.dialects)} files, {len(corpus.labels)} labels, {len(findings)} findings\n")
    print("\n".join(groups(result, corpus)))
    print(f"\nwithin {NEAR} line of a labelled place")
    print("\n".join(summary(result)))
    print("\nat a labelled line exactly")
    print("\n".join(summary(score(corpus, findings, 0))))
    if args.verbose:
        print("\n".join(details(result, args.folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

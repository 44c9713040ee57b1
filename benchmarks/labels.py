"""Measure recall and precision of `ackdoctor lint` against hand-labelled public code.

    python benchmarks/labels.py FOLDER LABELS.json [-v]

FOLDER holds one folder per repository, `owner__name`, with the labelled files at their own paths and
the rest of the repository's sources beside them.  LABELS.json lists files with their defects.
The script finds a moved file by its sha256; it reports and skips an absent file.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
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
LABELLED_CODES = frozenset(code for codes in CODES.values() for code in codes)
SUFFIXES = {"python": ".py", "java": ".java"}
NEAR = 1  # lines between a finding and its label
UNREADABLE = 2  # exit code of lint if it could not read some file; its document is whole all the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """One defect that a reader found; `kinds` are its possible names."""

    file: Path
    dialect: str
    kind: str
    kinds: tuple[str, ...]
    confidence: str
    lines: tuple[int, ...]
    why: str

    @property
    def codes(self) -> frozenset[str]:
        """The rules that may report it."""
        return frozenset(code for kind in self.kinds for code in CODES.get(kind, ()))

    @property
    def is_certain(self) -> bool:
        """Every reader would agree."""
        return self.confidence == "certain"

    @property
    def is_debatable(self) -> bool:
        """A report of it counts neither as right nor as wrong."""
        return self.confidence == "debatable"

    @property
    def is_other(self) -> bool:
        """No rule exists for this kind."""
        return self.kind.startswith("other")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One finding of the linter in a labelled file."""

    file: Path
    dialect: str
    code: str
    severity: str
    confidence: str
    line: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """The labels whose files are present."""

    labels: tuple[Label, ...]
    dialects: Mapping[Path, str]  # by labelled file
    absent: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Labels met and missed; findings by the label they meet."""

    met: tuple[Label, ...]
    missed: tuple[Label, ...]
    right: tuple[Found, ...]
    debatable: tuple[Found, ...]
    wrong: tuple[Found, ...]


# ---- reading ----


def read_corpus(folder: Path, entries: Iterable[Mapping[str, Any]], language: str) -> Corpus:
    """Return the labels of one language whose files are under `folder`."""
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
    """Read one entry of `defects`; the kind `other` is named by its subkind."""
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
    """Return every source file under a folder by its sha256."""
    return {
        hashlib.sha256(path.read_bytes()).hexdigest(): path
        for path in sorted(folder.rglob(f"*{suffix}"))
        if path.is_file()
    }


def lint(
    folder: Path, roots: Iterable[Path], options: Sequence[str]
) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Yield the findings of this interpreter's ackdoctor with absolute paths, one process per repository."""
    command = [sys.executable, "-m", "ackdoctor", "lint", "--output-format", "json", "--no-cache"]
    command += ["--isolated", "--exit-zero", *options, "."]
    for root in sorted({folder.resolve() / path.relative_to(folder.resolve()).parts[0] for path in roots}):
        run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        for row in findings_of_run(run, root):
            yield (root / row["path"]).resolve(), row


def findings_of_run(run: subprocess.CompletedProcess[str], root: Path) -> list[Mapping[str, Any]]:
    """Return the findings of a lint run; an unreadable file (exit code 2) does not spoil the others."""
    if run.returncode in (0, UNREADABLE):
        with suppress(json.JSONDecodeError):
            return findings_of(run.stdout)
    raise SystemExit(f"ackdoctor failed on {root} with exit code {run.returncode}:\n{run.stderr}")


def findings_of(text: str) -> list[Mapping[str, Any]]:
    """Return the findings of a JSON document: the document itself, or its key `findings`."""
    document = json.loads(text)
    rows: list[Mapping[str, Any]] = document["findings"] if isinstance(document, dict) else document
    return rows


# ---- matching ----


def score(corpus: Corpus, findings: Iterable[Found], near: int) -> Score:
    """Match findings and labels by file, code and line; each may meet several of the other."""
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
    """Return whether a finding reports the label's defect at the label's place."""
    return finding.code in label.codes and any(abs(finding.line - line) <= near for line in label.lines)


# ---- printing ----


def share(part: int, whole: int) -> str:
    """Return a fraction and its percentage as text."""
    return (
        f"{part:4d} /{whole:4d}  {100 * part / whole:5.1f} %" if whole else f"{part:4d} /{whole:4d}      - "
    )


def summary(result: Score) -> Iterator[str]:
    """Yield recall and precision."""
    recalls: dict[str, Callable[[Label], bool]] = {
        "recall, certain, without other": lambda label: label.is_certain and not label.is_other,
        "recall, certain + likely, without other": lambda label: not (label.is_debatable or label.is_other),
        "recall, certain + likely, with other": lambda label: not label.is_debatable,
    }
    for title, counts in recalls.items():
        met, missed = sum(map(counts, result.met)), sum(map(counts, result.missed))
        yield f"{title:44s}{share(met, met + missed)}"
    wrong = sum(finding.code in LABELLED_CODES for finding in result.wrong)
    right = len(result.right)
    yield f"{'precision, without debatable labels':44s}{share(right, right + len(result.wrong))}"
    yield f"{'precision, codes with labels only':44s}{share(right, right + wrong)}"
    yield f"{'findings at a debatable label':44s}{len(result.debatable):4d}"


def groups(result: Score, corpus: Corpus) -> Iterator[str]:
    """Yield labels met per dialect and kind, then right, debatable and wrong findings per dialect."""
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
    """Yield every missed label and every unmatched finding with its source line."""
    for label in result.missed:
        codes = "/".join(sorted(label.codes)) or "no rule"
        yield f"\nMISSED {label.confidence} {label.kind} ({codes}): {label.why}"
        yield from quote(folder, label.file, label.lines[0])
    for finding in result.wrong:
        yield f"\nUNMATCHED {finding.code} {finding.severity} {finding.confidence}: {finding.message}"
        yield from quote(folder, finding.file, finding.line)


def quote(folder: Path, file: Path, line: int) -> Iterator[str]:
    """Yield the place and the text of a source line."""
    lines = file.read_bytes().splitlines()
    text = lines[line - 1].decode("utf-8", "replace").strip() if 0 < line <= len(lines) else ""
    yield f"    {file.relative_to(folder.resolve())}:{line}: {text}"


# ---- the command ----


def arguments() -> argparse.Namespace:
    """Read the command line."""
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
    """Return the findings in labelled files; lint reads the other files only for context."""
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
    """Lint the labelled repositories and print recall and precision."""
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

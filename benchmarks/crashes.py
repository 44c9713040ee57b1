"""Lints whole trees that have nothing to do with Storm, and fails on whatever should not happen there.

    python benchmarks/crashes.py [FOLDER ...] [--seconds 120] [--allow TEXT]

Without a folder: the standard library and the site-packages of this interpreter.  A failure is a
traceback or an exit code other than 0, more than the given wall seconds, or a finding in a file that
does not name a Storm framework, or whose path does not contain an allowed text.  Files that the
linter reports as unreadable are counted and shown.

A file without a component is never analysed.  So `--with-bolt N` also takes N files of each folder, evenly
drawn, appends a small correct bolt to each, and lints those: every construct in them is then lowered.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FRAMEWORKS = re.compile(
    rb"^[ \t]*(?:from|import)[ \t]+(?:[\w.]*\.)?(?:streamparse|pystorm|pyleus|petrel|heronpy|pyheron|storm|heron)\b",
    re.MULTILINE,
)

INPUTS = Path(__file__).resolve().parent / "inputs"
BOLTS = {".py": (INPUTS / "a_bolt.py").read_bytes(), ".java": (INPUTS / "ABolt.java").read_bytes()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one tree gave."""

    folder: Path
    files: int
    seconds: float
    failures: tuple[str, ...]
    findings: int
    unreadable: tuple[str, ...]
    components: int = 0
    seen: int = 0  # files the linter says it looked at


def lint(folder: Path, seconds: float, allowed: Sequence[str]) -> Outcome:
    """One run over one tree."""
    command = [sys.executable, "-m", "ackdoctor", "lint", "--isolated", "--no-cache", "--exit-zero"]
    command += ["--output-format", "json", str(folder)]
    files = len(sources(folder))
    start = time.perf_counter()
    try:
        run = ended(command, seconds)
    except subprocess.TimeoutExpired:
        failure = (f"hang: no end after {seconds:g} s",)
        return Outcome(
            folder=folder, files=files, seconds=seconds, failures=failure, findings=0, unreadable=()
        )
    spent = time.perf_counter() - start
    failures = list(process_failures(run))
    document: Any = [] if failures else json.loads(run.stdout)
    findings = document["findings"] if isinstance(document, dict) else document
    unreadable = document.get("unreadable", []) if isinstance(document, dict) else []
    failures += strangers(findings, allowed)
    return Outcome(
        folder=folder,
        files=files,
        seconds=spent,
        failures=tuple(failures),
        findings=len(findings),
        components=document["summary"]["components"] if "summary" in document else 0,
        seen=document["summary"]["files"] if "summary" in document else 0,
        unreadable=tuple(f"{row['path']}:{row.get('line', 0)}: {row['reason']}" for row in unreadable),
    )


def ended(command: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """The command, run in a group of its own: at its limit its workers are killed with it."""
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, start_new_session=True, **pipes) as process:
        try:
            out, err = process.communicate(timeout=seconds)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def process_failures(run: subprocess.CompletedProcess[str]) -> Iterator[str]:
    """An internal error, however it shows."""
    if "Traceback (most recent call last)" in run.stderr or "internal error" in run.stderr.lower():
        yield f"internal error:\n{run.stderr.strip()[-2000:]}"
    elif run.returncode != 0:
        yield f"exit code {run.returncode}: {run.stderr.strip()[-2000:]}"


def strangers(findings: Sequence[Mapping[str, Any]], allowed: Sequence[str]) -> Iterator[str]:
    """Findings where no Storm component stands."""
    for row in findings:
        path = Path(row["path"])
        if any(text in path.as_posix() for text in allowed) or FRAMEWORKS.search(path.read_bytes()):
            continue
        yield f"finding outside Storm components: {path}:{row['line']} {row['code']} {row['message']}"


def with_bolts(folder: Path, count: int, home: Path) -> Path:
    """Copies of `count` files of a folder, each made into a component file."""
    files = sources(folder)
    for number, path in enumerate(files[:: max(1, len(files) // count)]):
        copy = home / f"part{number}" / path.name
        copy.parent.mkdir()
        copy.write_bytes(path.read_bytes() + b"\n" + BOLTS[path.suffix])
    return home


def sources(folder: Path) -> list[Path]:
    """The files under a folder that the linter reads."""
    return [path for path in sorted(folder.rglob("*")) if path.suffix in BOLTS and path.is_file()]


def main() -> int:
    """Lints every folder; 1 if any failed."""
    parser = argparse.ArgumentParser(
        description="No crash, no hang and no finding where no Storm component stands."
    )
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument(
        "--seconds", type=float, default=120, help="wall seconds per folder before it counts as a hang"
    )
    parser.add_argument(
        "--allow", action="append", default=[], help="findings are right in paths that contain this"
    )
    parser.add_argument(
        "--with-bolt", type=int, default=0, metavar="N", help="also N files with a bolt appended"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="every unreadable file")
    args = parser.parse_args()
    paths = sysconfig.get_paths()
    folders = args.folders or [Path(paths["stdlib"]), Path(paths["purelib"])]
    failed = False
    for folder in folders:
        failed = report(lint(folder.resolve(), args.seconds, args.allow), str(folder), args.verbose) or failed
        if args.with_bolt:
            with tempfile.TemporaryDirectory() as name:
                home = with_bolts(folder.resolve(), args.with_bolt, Path(name))
                outcome = lint(home, args.seconds, args.allow)
                failed = (
                    report(outcome, f"{folder} with bolts", args.verbose) or bool(outcome.findings) or failed
                )
    return 1 if failed else 0


def report(outcome: Outcome, title: str, verbose: bool) -> bool:  # noqa: FBT001 - the command line's own switch
    """Prints an outcome; whether it is a failure."""
    print(
        f"{title}: {outcome.files} files, {outcome.seen} looked at, {outcome.seconds:.1f} s, "
        f"{outcome.components} components, {outcome.findings} findings, "
        f"{len(outcome.unreadable)} unreadable, {len(outcome.failures)} failures"
    )
    for line in outcome.failures:
        print(f"  FAIL {line}")
    for line in outcome.unreadable if verbose else ():
        print(f"  unreadable {line}")
    return bool(outcome.failures)


if __name__ == "__main__":
    sys.exit(main())

"""Lint whole trees without Storm, and fail on a crash, a hang or a finding outside Storm components.

    python benchmarks/crashes.py [FOLDER ...] [--seconds 120] [--allow TEXT]

The default folders are the standard library and the site-packages of this interpreter.  Failures are a
traceback, an unexpected exit code, a run longer than `--seconds`, and a finding in a file that imports no
Storm framework (unless its path contains TEXT).  The report counts unreadable files; `-v` lists them.

Lint analyses only files with a component.  `--with-bolt N` therefore appends a small correct bolt to copies
of N files of each folder and lints those: lint then lowers every construct in them.
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

UNREADABLE = 2  # exit code of lint if it could not read some file; its document is whole all the same
INPUTS = Path(__file__).resolve().parent / "inputs"
BOLTS = {".py": (INPUTS / "a_bolt.py").read_bytes(), ".java": (INPUTS / "ABolt.java").read_bytes()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of linting one tree."""

    folder: Path
    files: int
    seconds: float
    failures: tuple[str, ...]
    findings: int
    unreadable: tuple[str, ...]
    components: int = 0
    linted: int = 0  # files, by the summary of lint


def lint(folder: Path, seconds: float, allowed: Sequence[str]) -> Outcome:
    """Lint one tree."""
    command = [sys.executable, "-m", "ackdoctor", "lint", "--isolated", "--no-cache", "--exit-zero"]
    command += ["--output-format", "json", str(folder)]
    files = len(sources(folder))
    start = time.perf_counter()
    try:
        run = run_to_end(command, seconds)
    except subprocess.TimeoutExpired:
        failure = (f"hang: still running after {seconds:g} s",)
        return Outcome(
            folder=folder, files=files, seconds=seconds, failures=failure, findings=0, unreadable=()
        )
    spent = time.perf_counter() - start
    failures = list(process_failures(run))
    document: Any = [] if failures else json.loads(run.stdout)
    findings = document["findings"] if isinstance(document, dict) else document
    unreadable = document.get("unreadable", []) if isinstance(document, dict) else []
    failures += findings_outside_components(findings, allowed)
    return Outcome(
        folder=folder,
        files=files,
        seconds=spent,
        failures=tuple(failures),
        findings=len(findings),
        components=document["summary"]["components"] if "summary" in document else 0,
        linted=document["summary"]["files"] if "summary" in document else 0,
        unreadable=tuple(f"{row['path']}:{row.get('line', 0)}: {row['reason']}" for row in unreadable),
    )


def run_to_end(command: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a command in a process group of its own; at its time limit its workers die with it."""
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
    """Yield an internal error or an unexpected exit code."""
    if "Traceback (most recent call last)" in run.stderr or "internal error" in run.stderr.lower():
        yield f"internal error:\n{run.stderr.strip()[-2000:]}"
    elif run.returncode not in (0, UNREADABLE):
        yield f"exit code {run.returncode}: {run.stderr.strip()[-2000:]}"


def findings_outside_components(
    findings: Sequence[Mapping[str, Any]], allowed: Sequence[str]
) -> Iterator[str]:
    """Yield the findings in files that import no Storm framework."""
    for row in findings:
        path = Path(row["path"])
        if any(text in path.as_posix() for text in allowed) or FRAMEWORKS.search(path.read_bytes()):
            continue
        yield f"finding outside Storm components: {path}:{row['line']} {row['code']} {row['message']}"


def with_bolts(folder: Path, count: int, home: Path) -> Path:
    """Copy `count` files of a folder and append a bolt to each."""
    files = sources(folder)
    for number, path in enumerate(files[:: max(1, len(files) // count)]):
        copy = home / f"part{number}" / path.name
        copy.parent.mkdir()
        copy.write_bytes(path.read_bytes() + b"\n" + BOLTS[path.suffix])
    return home


def sources(folder: Path) -> list[Path]:
    """Return the files under a folder that the linter reads."""
    return [path for path in sorted(folder.rglob("*")) if path.suffix in BOLTS and path.is_file()]


def main() -> int:
    """Lint every folder; return 1 if any fails."""
    parser = argparse.ArgumentParser(
        description="Check that lint does not crash, hang or report anything on trees without Storm."
    )
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument(
        "--seconds", type=float, default=120, help="wall seconds per folder; a longer run is a hang"
    )
    parser.add_argument(
        "--allow", action="append", default=[], help="accept findings in paths that contain this text"
    )
    parser.add_argument(
        "--with-bolt", type=int, default=0, metavar="N", help="lint N files with a bolt appended as well"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="list every unreadable file")
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
    """Print an outcome and return whether it is a failure."""
    print(
        f"{title}: {outcome.files} files, {outcome.linted} linted, {outcome.seconds:.1f} s, "
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

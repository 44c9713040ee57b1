"""Measure the cost of `ackdoctor lint`, as ratios to other tools in the same run.

    python benchmarks/speed.py COMPONENTS TREE [--rounds 5] [--only WORDS]

COMPONENTS is a folder of bolt and spout sources.  TREE is a folder of Python without Storm, such as a
site-packages.  A figure is CPU time, user and system, of a process and of the processes it waited for.
`imports excluded` is CPU time inside one process that has imported everything before the clock starts.
Commands run interleaved, in reverse order every other round; a ratio is the median of the rounds' ratios.
If a tool is not installed, its row says so.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
PARSE = str(HERE / "drivers" / "parse.py")
PEAK = str(HERE / "drivers" / "peak.py")
INSIDE = str(HERE / "drivers" / "inside.py")
ONE_FILE = str(HERE / "inputs" / "word_count.py")
A_BOLT = (HERE / "inputs" / "a_bolt.py").read_bytes()
READ_BYTES = 1_000_000  # of the output
LARGEST = 25  # files of the standard library that get a bolt appended


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One run: CPU seconds, wall seconds, and the beginning of its output."""

    cpu: float
    wall: float
    printed: str


def cpu_time(sample: Sample) -> float:
    """Return seconds of user and system time."""
    return sample.cpu


def nothing() -> None:
    """Prepare nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command line, its preparation before the clock starts, and the figure that counts (`clock`)."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    before: Callable[[], object] = nothing
    clock: Callable[[Sample], float] = cpu_time
    accepted: tuple[int, ...] = (0,)  # exit codes


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A figure `top`, divided by `bottom` if there is one, and the most that it may be."""

    title: str
    top: str
    bottom: str | None
    unit: str = "x"
    bar: float | None = None


ROWS = (
    Row(
        title="components, cold / libcst.parse_module, whole process",
        top="lint components",
        bottom="parse components",
        bar=1.0,
    ),
    Row(
        title="components, cold / libcst.parse_module, imports excluded",
        top="lint components inside",
        bottom="parse components inside",
        bar=1.0,
    ),
    Row(title="Fixit default rules / components, cold", top="fixit components", bottom="lint components"),
    Row(
        title="unrelated tree, cold / ruff default, one thread",
        top="lint tree",
        bottom="ruff tree",
        bar=0.6,
    ),
    Row(title="unrelated tree, unchanged / its cold run", top="warm tree", bottom="cold tree"),
    Row(
        title="components, unchanged / their cold run",
        top="warm components",
        bottom="cold components",
        bar=0.4,
    ),
    Row(
        title="one 50-line file / interpreter + import libcst",
        top="lint one file",
        bottom="import libcst",
        bar=2.0,
    ),
    Row(title="peak memory, unrelated tree", top="peak tree", bottom=None, unit="MB"),
    Row(title="peak memory, components", top="peak components", bottom=None, unit="MB"),
    Row(title="slowest standard library file", top="worst plain", bottom=None, unit="s"),
    Row(title="the same, a bolt appended", top="worst with bolt", bottom=None, unit="s"),
    Row(title="components, wall: two jobs / one", top="two jobs components", bottom="one job components"),
    Row(title="everything, wall: two jobs / one", top="two jobs all", bottom="one job all"),
)


# ---- running ----


def environment() -> dict[str, str]:
    """Return this process's environment, with bytecode caching on as after an installation."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def run(command: Command) -> Sample:
    """Run a command to its end and read the resource usage of the child."""
    command.before()
    start = time.perf_counter()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(
            command.argv, cwd=command.cwd, env={**environment(), **command.env}, stdout=out, stderr=err
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        out.seek(0)
        err.seek(0)
        if child.returncode not in command.accepted:
            raise SystemExit(
                f"{' '.join(command.argv)[:300]}\nexit code {child.returncode}\n{err.read().decode()}"
            )
        printed = out.read(READ_BYTES).decode("utf-8", "replace")
    return Sample(cpu=usage.ru_utime + usage.ru_stime, wall=wall, printed=printed)


def last_number(sample: Sample) -> float:
    """Return the number that the command printed last."""
    return float(sample.printed.split()[-1])


def largest_number(sample: Sample) -> float:
    """Return the largest number that the command printed."""
    return max(map(float, sample.printed.split()))


def wall_time(sample: Sample) -> float:
    """Return wall seconds."""
    return sample.wall


def rounds(commands: Mapping[str, Command], count: int) -> dict[str, list[float]]:
    """Return the figures of each command, one per round."""
    figures: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(count):
        names = list(commands)[:: 1 if number % 2 == 0 else -1]
        for name in names:
            if sys.stderr.isatty():
                print(f"round {number + 1}/{count}: {name:30s}", end="\r", file=sys.stderr, flush=True)
            figures[name].append(commands[name].clock(run(commands[name])))
    if sys.stderr.isatty():
        print(" " * 60, end="\r", file=sys.stderr)
    return figures


# ---- commands ----


def lint_command(
    cwd: Path, *rest: str, before: Callable[[], object] = nothing, clock: Callable[[Sample], float] = cpu_time
) -> Command:
    """Return `ackdoctor lint --isolated`, with a cache of its own for each working directory."""
    argv = (sys.executable, "-m", "ackdoctor", "lint", "--isolated", "--exit-zero", *rest)
    env = {"XDG_CACHE_HOME": str(cache_of(cwd))}
    return Command(argv=argv, cwd=cwd, env=env, before=before, clock=clock)


def lint_commands(components: Path, tree: Path, scratch: Path) -> Iterator[tuple[str, Command]]:
    """Yield the runs of the linter that the table needs."""
    one = ("--no-cache", "--jobs", "1")
    cold = scratch / "cache"
    yield "lint components", lint_command(scratch, *one, str(components))
    inside = (sys.executable, INSIDE, ONE_FILE, str(components))
    yield "lint components inside", Command(argv=inside, cwd=scratch, clock=last_number)
    yield "lint tree", lint_command(scratch, *one, str(tree))
    yield "lint one file", lint_command(scratch, *one, ONE_FILE)
    for name, folder in (("tree", tree), ("components", components)):
        argv = (sys.executable, "-S", "-E", PEAK, *lint_command(scratch, *one, str(folder)).argv)
        yield f"peak {name}", Command(argv=argv, cwd=scratch, clock=last_number)
    for name, folder in (("tree", tree), ("components", components)):
        home = cold / name
        cached = ("--jobs", "1", str(folder))
        yield f"cold {name}", lint_command(home, *cached, before=lambda home=home: forget(home))  # type: ignore[misc]
        fill = lint_command(home, *cached)
        yield f"warm {name}", lint_command(home, *cached, before=lambda fill=fill: run(fill))  # type: ignore[misc]
    for name, folders in (("components", (str(components),)), ("all", (str(components), str(tree)))):
        for word, jobs in (("one job", "1"), ("two jobs", "2")):
            rest = ("--no-cache", "--jobs", jobs, *folders)
            yield f"{word} {name}", lint_command(scratch, *rest, clock=wall_time)


def other_commands(components: Path, tree: Path, scratch: Path) -> Iterator[tuple[str, Command]]:
    """Yield the runs of the other tools, if they are installed."""
    python = sys.executable
    parse = (python, PARSE, str(components))
    yield "parse components", Command(argv=parse, cwd=scratch)
    yield "parse components inside", Command(argv=parse, cwd=scratch, clock=last_number)
    yield "import libcst", Command(argv=(python, "-c", "import libcst"), cwd=scratch)
    if find_spec("fixit"):
        argv = (python, "-m", "fixit", "lint", str(components))
        found_something = 1
        yield "fixit components", Command(argv=argv, cwd=scratch, accepted=(0, found_something))
    if ruff := shutil.which(
        "ruff", path=os.pathsep.join((str(Path(python).parent), os.environ.get("PATH", "")))
    ):
        check = (ruff, "check", "--isolated", "--no-cache", "--silent", "--exit-zero", str(tree))
        yield "ruff tree", Command(argv=check, cwd=scratch, env={"RAYON_NUM_THREADS": "1"})


def cache_of(home: Path) -> Path:
    """Return the cache directory of the runs from this folder, beside the folder."""
    return home.with_name(f"{home.name}-cache")


def forget(home: Path) -> None:
    """Delete the cache of the runs from this folder."""
    shutil.rmtree(cache_of(home), ignore_errors=True)


def prepare(scratch: Path) -> None:
    """Make the working directories of the cached runs."""
    for name in ("tree", "components"):
        (scratch / "cache" / name).mkdir(parents=True)


def worst_files(scratch: Path) -> dict[str, list[float]]:
    """Return the CPU time of the slowest standard library file, as it is and with a bolt appended."""
    library = Path(os.__file__).parent
    skipped = {"site-packages", "lib2to3"}
    files = [path for path in sorted(library.rglob("*.py")) if not skipped & set(path.parts)]
    files.sort(key=lambda path: path.stat().st_size, reverse=True)
    plain = [str(path) for path in files]
    bolts = []
    for number, path in enumerate(files[:LARGEST]):
        copy = scratch / "bolts" / str(number) / path.name
        copy.parent.mkdir(parents=True)
        copy.write_bytes(path.read_bytes() + A_BOLT)
        bolts.append(str(copy))
    figures = {}
    for name, paths in (("worst plain", plain), ("worst with bolt", bolts)):
        command = Command(argv=(sys.executable, INSIDE, ONE_FILE, *paths), cwd=scratch, clock=largest_number)
        figures[name] = [command.clock(run(command))]
    return figures


# ---- printing ----


def table(figures: Mapping[str, Sequence[float]], rows: Sequence[Row] = ROWS) -> Iterator[str]:
    """Yield each row's value, its bar, and whether the value meets the bar."""
    yield f"{'what':58s}{'value':>10s}{'bar':>9s}{'met':>5s}"
    for row in rows:
        sides = [name for name in (row.top, row.bottom) if name is not None]
        absent = [name for name in sides if name not in figures]
        if absent:
            yield f"{row.title:58s}  not measured: {absent[0]}"
            continue
        value = ratio(figures[row.top], figures[row.bottom] if row.bottom else None)
        bar, met = "-", "-"
        if row.bar is not None:
            bar, met = f"<= {row.bar:g}", "yes" if value <= row.bar else "NO"
        yield f"{row.title:58s}{f'{value:.2f} {row.unit}':>10s}{bar:>9s}{met:>5s}"


def ratio(top: Sequence[float], bottom: Sequence[float] | None) -> float:
    """Return the median of the rounds' ratios, or of the figures if there is no divisor."""
    return median(top) if bottom is None else median(a / b for a, b in zip(top, bottom, strict=True))


def medians(figures: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield the figures behind the ratios."""
    yield f"{'figure':30s}{'median':>10s}{'least':>10s}{'most':>10s}"
    for name, values in figures.items():
        yield f"{name:30s}{median(values):10.3f}{min(values):10.3f}{max(values):10.3f}"


def census(folder: Path) -> str:
    """Return the number and size of a folder's Python files."""
    files = sorted(path for path in folder.rglob("*.py") if path.is_file())
    size = sum(path.stat().st_size for path in files)
    return f"{folder}: {len(files)} files, {size / 1e6:.1f} MB"


def main() -> int:
    """Run all commands and print the tables."""
    parser = argparse.ArgumentParser(description="What ackdoctor lint costs, as ratios to other tools.")
    parser.add_argument("components", type=Path)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="only commands whose name contains one of these words (with commas)")
    args = parser.parse_args()
    components, tree = args.components.resolve(), args.tree.resolve()
    print(f"components {census(components)}\ntree       {census(tree)}\n")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        prepare(scratch)
        commands = {
            **dict(other_commands(components, tree, scratch)),
            **dict(lint_commands(components, tree, scratch)),
        }
        if args.only:
            commands = {
                key: value
                for key, value in commands.items()
                if any(word in key for word in args.only.split(","))
            }
        figures = rounds(commands, args.rounds)
        if not args.only:
            figures |= worst_files(scratch)
    print("\n".join(table(figures)))
    print()
    print("\n".join(medians(figures)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Measure the cost of `ackdoctor lint` on Java, as ratios to a bare tree-sitter parse of the same files.

    python benchmarks/java.py SOURCES [--rounds 5]

SOURCES is a folder, or a jar of sources from Maven Central (storm-client-2.8.3-sources.jar).
speed.py explains figures and ratios.
"""

import argparse
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from speed import (
    HERE,
    INSIDE,
    Command,
    Row,
    forget,
    last_number,
    lint_command,
    medians,
    rounds,
    run,
    table,
    wall_time,
)

PARSE = str(HERE / "drivers" / "parse_java.py")
ONE_FILE = str(HERE / "inputs" / "WordCount.java")

ROWS = (
    Row(title="all files, cold / tree-sitter parse, whole process", top="lint", bottom="parse"),
    Row(
        title="all files, cold / tree-sitter parse, imports excluded",
        top="lint inside",
        bottom="parse inside",
    ),
    Row(title="all files, unchanged / their cold run", top="warm", bottom="cold", bar=0.4),
    Row(
        title="one 40-line file / interpreter + import tree_sitter",
        top="lint one file",
        bottom="import parser",
    ),
    Row(title="all files, wall: two jobs / one", top="two jobs", bottom="one job"),
)


def commands(sources: Path, scratch: Path) -> Iterator[tuple[str, Command]]:
    """Yield the runs that the table needs."""
    python = sys.executable
    parse = (python, PARSE, str(sources))
    one = ("--no-cache", "--jobs", "1")
    yield "parse", Command(argv=parse, cwd=scratch)
    yield "parse inside", Command(argv=parse, cwd=scratch, clock=last_number)
    yield "lint", lint_command(scratch, *one, str(sources))
    inside = (python, INSIDE, ONE_FILE, str(sources))
    yield "lint inside", Command(argv=inside, cwd=scratch, clock=last_number)
    yield "lint one file", lint_command(scratch, *one, ONE_FILE)
    parser = "import tree_sitter, tree_sitter_java"
    yield "import parser", Command(argv=(python, "-c", parser), cwd=scratch)
    home = scratch / "home"
    home.mkdir()
    cached = ("--jobs", "1", str(sources))
    yield "cold", lint_command(home, *cached, before=lambda: forget(home))
    fill = lint_command(home, *cached)
    yield "warm", lint_command(home, *cached, before=lambda: run(fill))
    for word, jobs in (("one job", "1"), ("two jobs", "2")):
        yield word, lint_command(scratch, "--no-cache", "--jobs", jobs, str(sources), clock=wall_time)


def unpacked(sources: Path, scratch: Path) -> Path:
    """Return the folder of sources; a jar is unpacked first."""
    if sources.is_dir():
        return sources
    into = scratch / "sources"
    with zipfile.ZipFile(sources) as jar:
        jar.extractall(into, [name for name in jar.namelist() if name.endswith(".java")])
    return into


def main() -> int:
    """Run all commands and print the tables."""
    parser = argparse.ArgumentParser(description="What ackdoctor lint costs on Java.")
    parser.add_argument("sources", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        sources = unpacked(args.sources.resolve(), scratch)
        files = [path for path in sources.rglob("*.java") if path.is_file()]
        print(
            f"{args.sources}: {len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.1f} MB\n"
        )
        figures = rounds(dict(commands(sources, scratch)), args.rounds)
    print("\n".join(table(figures, ROWS)))
    print()
    print("\n".join(medians(figures)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What the heaps of a run's processes show, when `ackdoctor trace run --heap` ends: on standard error."""

import sys
from pathlib import Path

from ackdoctor.cli.streams import chatter, glyphs_for, palette_for, tolerant, width_for
from ackdoctor.heap.python.judge import findings
from ackdoctor.heap.python.snapshot import LAST, files, load
from ackdoctor.model.finding import Report
from ackdoctor.reporters import Context
from ackdoctor.reporters.context import Sources
from ackdoctor.reporters.heap_python import snapshots_screen
from ackdoctor.reporters.terminal import full
from ackdoctor.tracer.judge.places import Places

__all__ = ["RECORDING", "show_heaps"]

RECORDING = "ackdoctor.heap.python.snapshot"  # what the processes of the command import


def show_heaps(folder: Path) -> None:
    """One report for each process that has left snapshots below the folder of its run."""
    stream = tolerant(sys.stderr)
    context = Context(
        sources=Sources(root=Path.cwd()), palette=palette_for(stream), glyphs=glyphs_for(stream)
    )
    shown = list(files(folder))
    for file in shown:
        try:
            snapshots = load(file)
        except (OSError, ValueError) as error:
            chatter(f"heap: {error}")
            continue
        killed = snapshots and snapshots[-1].label != LAST
        cut = (
            ", which was killed before its last look; what it came to hold later is not known"
            if killed
            else ""
        )
        stream.write(f"\nheap of process {file.stem.rpartition('-')[2]}{cut}: ")
        snapshots_screen(snapshots, stream, context, width=width_for(stream))
        found = findings(snapshots, Places())
        if found:
            stream.write("\n")
            full(Report(findings=found), stream, context)
        stream.flush()
    if not shown and folder.exists():  # made by whoever has run a component
        chatter("no heap was looked into: no process that ran a component could take or write a snapshot")
    elif not shown:
        chatter("no heap was looked into: no process has run a component")

"""What `ackdoctor lab scenes` shows: the screen, the list and the JSON.  docs/json.md documents every field of the JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TextIO

from ackdoctor import __version__
from ackdoctor.lab.scenes import Scene
from ackdoctor.lab.stage import TIMEOUT_S, Measure, Moment, Result, Setting
from ackdoctor.model.finding import counted
from ackdoctor.reporters import Context, wrapped
from ackdoctor.reporters.tables import grid, table

_MAX_RANGES = 3  # of message ids in a cell
_MIN_TABLE_WIDTH = 80
_HANG = " " * 11
Played = tuple[Scene, Sequence[Result]]


def screen(played: Sequence[Played], setting: Setting, stream: TextIO, context: Context) -> None:
    """Write the story of each run as a table, the law of each scene with what was measured, and the verdict."""

    def write(line: str) -> None:
        stream.write("".join(f"{part}\n" for part in wrapped(line, context.width)))

    write(f"{setting.profile.name}, seed {setting.seed}, T = message timeout = {TIMEOUT_S} s")
    write("spout: the roots in its pending map, and their message ids; acker: the roots in its table")
    for scene, results in played:
        stream.write("\n")
        write(f"{context.palette.paint('label', f'{scene.name}: {scene.title}')}")
        write(f"  topology: {scene.topology}")
        write(f"  law: {scene.law}")
        if scene.note:
            write(f"  note: {scene.note}")
        for result in results:
            stream.write("\n")
            write(f"  {result.label}")
            stream.write(_story(result.moments, context))
            write(f"  {_verdict_of(result)}")
    stream.write("\n")
    write(verdict(played))


def verdict(played: Sequence[Played]) -> str:
    """Return one line: whether every law holds, or which do not."""
    broken = broken_runs(played)
    if not broken:
        runs = sum(len(results) for _, results in played)
        return f"OK: the law holds in {counted(runs, 'run')} of {counted(len(played), 'scene')}"
    return f"the law does not hold: {'; '.join(broken)}"


def broken_runs(played: Sequence[Played]) -> list[str]:
    """Return the runs whose law does not hold."""
    return [
        f"{scene.name}, {result.label}" for scene, results in played for result in results if not result.holds
    ]


def _story(moments: Sequence[Moment], context: Context) -> str:
    """Return a table, or on a narrow screen paragraphs."""
    rows = [_cells(moment) for moment in moments]
    if context.width >= _MIN_TABLE_WIDTH:
        return table(rows, context, numbers=("time", "stored"), unfolded=("spout", "acker"))
    lines = []
    for cells in rows:
        at, text, *state = cells.values()
        lines += wrapped(f"{at:>9}  {text}", context.width, hang=_HANG)
        shown = f" {context.glyphs.dot} ".join(
            f"{head} {cell}" for head, cell in zip([*cells][2:], state, strict=True)
        )
        lines += wrapped(f"{_HANG}{shown}", context.width, hang=_HANG)
    return "".join(f"{line}\n" for line in lines)


def _cells(moment: Moment) -> Mapping[str, str]:
    return {
        "time": f"{moment.time_ms / 1000:.1f} s",
        "what happens": moment.text,
        "spout": _pending(moment.pending),
        "acker": " + ".join("down" if size is None else str(size) for size in moment.tables) or "none",
        "stored": str(moment.stored),
    }


def _pending(ids: Sequence[int]) -> str:
    """Return the number of roots in the pending map, and their message ids if these are a few ranges: `7 (3-9)`."""
    ranges: list[list[int]] = []
    for number in ids:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    if not ranges or len(ranges) > _MAX_RANGES or len(set(ids)) < len(ids):
        return str(len(ids))
    shown = " ".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges)
    return f"{len(ids)} ({shown})"


def _verdict_of(result: Result) -> str:
    if result.holds:
        return f"holds: yes; {', '.join(f'{measure.name}: {measure.value:g}' for measure in result.measures)}"
    wrong = [measure for measure in result.measures if not measure.holds]
    return f"holds: no; {', '.join(f'{measure.name}: {measure.value:g}, law {_bounds(measure)}' for measure in wrong)}"


def _bounds(measure: Measure) -> str:
    if measure.least == measure.most:
        return f"{measure.least:g}"
    return f"{measure.least:g}..{measure.most:g}"


def listing(scenes: Sequence[Scene], stream: TextIO, context: Context) -> None:
    """Write the name and title of each scene."""
    stream.write(grid([(scene.name, scene.title) for scene in scenes], context, bold=0))


def document(played: Sequence[Played], setting: Setting, stream: TextIO) -> None:
    """Write the results as JSON."""
    value = {
        "version": __version__,
        "profile": setting.profile.name,
        "seed": setting.seed,
        "message_timeout_s": TIMEOUT_S,
        "scenes": [
            {
                "name": scene.name,
                "title": scene.title,
                "topology": scene.topology,
                "law": scene.law,
                "note": scene.note or None,
                "runs": [_run(result) for result in results],
            }
            for scene, results in played
        ],
        "broken": broken_runs(played),
    }
    json.dump(value, stream, indent=2)
    stream.write("\n")


def _run(result: Result) -> dict[str, object]:
    return {
        "label": result.label,
        "moments": [asdict(moment) for moment in result.moments],
        "measures": [{**asdict(measure), "holds": measure.holds} for measure in result.measures],
        "holds": result.holds,
    }

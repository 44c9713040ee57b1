"""pystorm components that run in this process, and summaries of their violations."""

import io
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ackdoctor.model.trace import Access, Violation
from ackdoctor.tracer.install import install
from ackdoctor.tracer.ledger import Ledger, Level, Settlement
from ackdoctor.tracer.recorder import Recorder

__all__ = ["Traced", "build", "drive", "frame", "summaries", "tick", "traced"]


class Traced:
    """A ledger with wrapped frameworks; `settlement` is set at the end of the block."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.settlement = Settlement()


@contextmanager
def traced(level: Level = Level.SITES, recorder: Recorder | None = None, **options: Any) -> Iterator[Traced]:
    run = Traced(Ledger(level, **options))
    installation = install(run.ledger, recorder)
    try:
        yield run
    finally:
        installation.undo()
        run.settlement = run.ledger.settle()


def frame(
    delivery: str, *values: Any, stream: str = "default", component: str = "spout", task: int = 4
) -> dict[str, Any]:
    return {"id": delivery, "comp": component, "stream": stream, "task": task, "tuple": list(values)}


def tick(delivery: str) -> dict[str, Any]:
    return frame(delivery, 1, stream="__tick", component="__system", task=-1)


def build(component: type, frames: Iterable[dict[str, Any]] = ()) -> Any:
    """Build a component over streams with these frames."""
    text = "".join(f"{json.dumps(one)}\nend\n" for one in frames)
    return component(input_stream=io.BytesIO(text.encode()), output_stream=io.BytesIO(), rdb_signal=None)


def drive(component: type, *frames: dict[str, Any]) -> Any:
    """Run the body of pystorm's loop once for each frame."""
    bolt = build(component, frames)
    for _ in frames:
        bolt._run()
    return bolt


def summaries(violations: Iterable[Violation]) -> list[str]:
    """Return violations as lines: the misuse, the delivery, and the history with the source text of each site."""
    return [_summary(violation) for violation in violations]


def _summary(violation: Violation) -> str:
    times = f" x{violation.count}" if violation.count > 1 else ""
    held = f" in {violation.held}" if violation.held else ""
    return f"{violation.misuse.value}{times}: {violation.delivery}{held}: " + "; ".join(
        map(_touch, violation.history)
    )


def _touch(touch: Access) -> str:
    if touch.site is None:
        return touch.kind.value
    thread = f" on {touch.thread}" if touch.thread else ""
    if touch.site.framework:
        return f"{touch.kind.value} by {touch.site.function}{thread}"
    line = Path(touch.site.path).read_text(encoding="utf-8").splitlines()[touch.site.line - 1].strip()
    return f"{touch.kind.value} at `{line}`{thread}"

"""What is said of files that are not read, or that tell what others tell."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sized
from shlex import quote

from ackdoctor.spark.read.lives import Lives
from ackdoctor.spark.read.logbook import Survey

__all__ = ["passed_over", "started_anew", "told_twice"]

_MOST = 3  # logs that are named one by one


def passed_over(files: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Files that nobody named and that are nothing to us, with the reason: a line for each reason."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for path, reason in files:
        by_reason[reason].append(path)
    for reason, paths in by_reason.items():
        yield f"passed over {paths[0]}{_more(paths)}: {reason}"


def told_twice(surveyed: Survey, near: Callable[[str], str]) -> Iterator[str]:
    """Logs that tell what others tell too; `near` makes of a log's file what the user calls it."""
    if copies := [log for log in surveyed.logs if log.copy_of]:
        yield f"passed over {near(copies[0].file)}{_more(copies)}: {near(copies[0].copy_of)} tells the same"
    again = [log for log in surveyed.logs if log.again]
    for log in again[:_MOST]:
        yield f"{near(log.file)} goes on from {near(log.after)}: {log.again:,} lines that both tell are used once"
    if others := again[_MOST:]:
        lines = sum(log.again for log in others)
        yield f"{len(others):,} more logs go on from others: {lines:,} lines are used once"
    if surveyed.torn:
        late, early = surveyed.torn[0]
        yield (
            f"{near(late)}{_more(surveyed.torn)} and {near(early)} differ where they overlap, as if lines were missing: "
            "what they tell there is taken from one of them"
        )


def started_anew(lives: Lives, near: Callable[[str], str]) -> Iterator[str]:
    """Workers that did not live as long as their logs."""
    often = sorted(lives.anew.items(), key=lambda worker: (-len(worker[1]), worker[0]))
    for _, starts in often[:_MOST]:
        log, times = near(starts[-1].file), "once" if len(starts) == 1 else f"{len(starts):,} times"
        yield f"the worker of {log} was started anew {times}: `ackdoctor diagnose {quote(log)}` looks for the reason"
    if others := often[_MOST:]:
        yield f"{len(others):,} more workers were started anew, {sum(len(starts) for _, starts in others):,} times"


def _more(of: Sized) -> str:
    """How many there are but the first."""
    return f" and {len(of) - 1:,} more" if len(of) > 1 else ""

"""What is said of files that are not read, or that tell what others tell."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import chain
from shlex import quote

from ackdoctor.spark.read.lives import Lives
from ackdoctor.spark.read.logbook import Survey

__all__ = ["copies", "passed_over", "put_together", "started_anew", "told_twice"]

_MOST = 3  # logs that are named one by one


def passed_over(files: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Files that nobody need read, with the reason: a line for each reason."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for path, reason in files:
        by_reason[reason].append(path)
    for reason, paths in by_reason.items():
        yield f"passed over {paths[0]}{_more(paths)}: {reason}"


def copies(surveyed: Survey, near: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    """Logs that tell nothing but what another tells, and which; `near` makes of a log's file what the user calls it."""
    for log in surveyed.logs:
        if log.copy_of:
            yield near(log.file), f"{near(log.copy_of)} tells the same"


def put_together(surveyed: Survey, near: Callable[[str], str]) -> Iterator[str]:
    """Files that somebody made of several logs, or put in another order."""
    for file, what in surveyed.pieces[:_MOST]:
        yield f"{near(file)} holds {what}"
    if others := surveyed.pieces[_MOST:]:
        yield f"{len(others):,} more files hold several logs, one behind another"
    for file, how in surveyed.disordered[:_MOST]:
        yield f"{near(file)} {how}"
    if more := surveyed.disordered[_MOST:]:
        yield f"{len(more):,} more files are not in the order of their times"


def told_twice(surveyed: Survey, near: Callable[[str], str]) -> Iterator[str]:
    """Logs of which a part is told by others too."""
    again = [log for log in surveyed.logs if log.again]
    for log in again[:_MOST]:
        yield f"{near(log.file)} goes on from {near(log.after)}: {log.again:,} lines that both tell are used once"
    if others := again[_MOST:]:
        lines = sum(log.again for log in others)
        yield f"{len(others):,} more logs go on from others: {lines:,} lines are used once"
    if surveyed.torn:
        first, second, *rest = dict.fromkeys(chain.from_iterable(surveyed.torn))
        who = (
            f"{near(first)}, {near(second)} and {len(rest):,} more"
            if rest
            else f"{near(first)} and {near(second)}"
        )
        unused = (
            "1 line that only another has is"
            if surveyed.left_out == 1
            else f"{surveyed.left_out:,} lines that only another has are"
        )
        yield (
            f"{who} differ where they overlap, as if lines were missing: what they tell there is taken from one of them"
            + (f", and {unused} not used" if surveyed.left_out else "")
        )


def started_anew(lives: Lives, near: Callable[[str], str]) -> Iterator[str]:
    """Workers that did not live as long as their logs."""
    often = sorted(lives.anew.items(), key=lambda worker: (-len(worker[1]), worker[0]))
    for _, starts in often[:_MOST]:
        log, times = near(lives.file(starts[-1])), "once" if len(starts) == 1 else f"{len(starts):,} times"
        yield f"the worker of {log} was started anew {times}: `ackdoctor diagnose {quote(log)}` looks for the reason"
    if others := often[_MOST:]:
        yield f"{len(others):,} more workers were started anew, {sum(len(starts) for _, starts in others):,} times"


def _more(of: Sized) -> str:
    """How many there are but the first."""
    return f" and {len(of) - 1:,} more" if len(of) > 1 else ""

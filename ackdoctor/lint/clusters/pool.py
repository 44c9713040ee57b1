"""Spreads clusters over processes where that pays, and survives a worker that dies.

The answer does not depend on how many workers there are: clusters know nothing of each other.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ackdoctor.lint.clusters.outcome import Outcome, Terms
from ackdoctor.lint.files.index import Cluster
from ackdoctor.model.finding import Unreadable

__all__ = ["Progress", "processors", "run"]

Progress = Callable[[int, int], None]

_PAYS = {"fork": 60_000, "spawn": 250_000}  # bytes of source from which two workers beat one process
_ROUNDS = 4  # batches per worker: enough to even out, few enough to share what is lowered


def run(
    work: Sequence[Cluster], terms: Terms, sizes: Sequence[int], jobs: int, progress: Progress | None
) -> list[Outcome]:
    """The outcome of every cluster, in the order given; `sizes` are the bytes each of them reads."""
    method = _method()
    workers = min(jobs, len(work)) if method and sum(sizes) >= _PAYS[method] else 1
    if workers <= 1:
        return list(_here(work, terms, progress))
    if method == "fork":
        from ackdoctor.lint.clusters.examine import prepare

        prepare({cluster.language for cluster in work})  # imported once, before the fork
    done: dict[int, Outcome] = {}
    lost: list[int] = []
    for batch, outcomes in _there(work, terms, _batches(sizes, workers * _ROUNDS), workers, method):
        if outcomes is None:
            lost += batch
            continue
        done.update(zip(batch, outcomes, strict=True))
        if progress is not None:
            progress(len(done), len(work))
    dead: list[int] = []
    for number in sorted(lost):  # one at a time, so that the culprit takes nobody along
        if len(dead) > 1 and not done:
            return list(_here(work, terms, progress))  # workers cannot live here at all
        for _, outcomes in _there(work, terms, [[number]], 1, method):
            if outcomes is None:
                dead.append(number)
            else:
                done[number] = outcomes[0]
    return [done[number] if number in done else _died(work[number]) for number in range(len(work))]


def processors() -> int:
    """How many workers this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _here(work: Sequence[Cluster], terms: Terms, progress: Progress | None) -> Iterator[Outcome]:
    from ackdoctor.lint.clusters.examine import Examiner  # the parser: an unchanged run never gets here

    examiner = Examiner(terms, work)
    for number, cluster in enumerate(work, start=1):
        yield examiner.examine(cluster)
        if progress is not None:
            progress(number, len(work))


def _there(
    work: Sequence[Cluster], terms: Terms, batches: list[list[int]], workers: int, method: str
) -> Iterator[tuple[list[int], list[Outcome] | None]]:
    """Every batch with its outcomes as they come in; None where a worker died."""
    from concurrent.futures import ProcessPoolExecutor, as_completed  # 50 ms that short runs do not pay
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    futures = {}
    waiting = list(batches)
    with _safe_path(), ProcessPoolExecutor(workers, mp_context=get_context(method)) as pool:
        try:
            while waiting:
                group = [work[number] for number in waiting[0]]
                futures[pool.submit(_examine, terms, group)] = waiting[0]
                del waiting[0]
        except BrokenProcessPool:
            pass
        for future in as_completed(futures):
            broken = isinstance(future.exception(), BrokenProcessPool)
            yield futures[future], None if broken else future.result()
    yield from ((batch, None) for batch in waiting)


def _examine(terms: Terms, group: list[Cluster]) -> list[Outcome]:
    from ackdoctor.lint.clusters.examine import Examiner

    examiner = Examiner(terms, group)
    return [examiner.examine(cluster) for cluster in group]


def _died(cluster: Cluster) -> Outcome:
    what = "the process that analysed it died"
    return Outcome(
        unreadable=tuple(Unreadable.crash(source.shown, what) for source in cluster.own), lasting=False
    )


def _method() -> str:
    """How workers start, "" where none may.

    Forked workers start with everything imported; a fork beside other threads is not safe.  A spawned worker is a
    `python -c`, which before 3.11 always imports modules from the current folder first.
    """
    if sys.platform == "linux" and threading.active_count() == 1:
        return "fork"
    return "spawn" if sys.version_info >= (3, 11) else ""


@contextmanager
def _safe_path() -> Iterator[None]:
    """Keep the interpreters that start meanwhile from importing modules out of the current folder."""
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def _batches(sizes: Sequence[int], count: int) -> list[list[int]]:
    """Neighbours together, about equally many bytes each."""
    share = sum(sizes) / count
    batches: list[list[int]] = [[]]
    filled = 0
    for number, size in enumerate(sizes):
        if batches[-1] and filled + size / 2 > share * len(batches):
            batches.append([])
        batches[-1].append(number)
        filled += size
    return batches

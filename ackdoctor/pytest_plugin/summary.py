"""The end of the run: one table over all tests, whichever worker ran them."""

from collections import Counter
from collections.abc import Iterator, Mapping

from ackdoctor.pytest_plugin.rows import COUNTS, Row

__all__ = ["summary"]

_MOST_ROWS = 10  # without -v
_HEADS = {
    "delivered": "delivered",
    "emitted": "emitted",
    "acked": "ack",
    "failed": "fail",
    "pending": "pending",
}
_WIDTHS = {name: max(7, len(head) + 2) for name, head in _HEADS.items()}
_LONGEST_NAME = 60
_OWN_ERROR = "met an error of its own"  # in a note of ours or of the tracer's


def summary(rows: Mapping[str, Row], verbosity: int) -> Iterator[str]:
    """The lines; `rows` by node id, `verbosity` as pytest counts it.

    -q: totals only; by default the tests with something to tell; -v: all tests; -vv: their components.
    """
    ordered = sorted(rows.items(), key=lambda item: (-item[1]["pending"], item[0]))
    shown = [(test, row) for test, row in ordered if verbosity > 0 or _telling(row)]
    hidden = 0
    if verbosity < 0:
        shown = []
    elif verbosity == 0 and len(shown) > _MOST_ROWS:
        shown, hidden = shown[:_MOST_ROWS], len(shown) - _MOST_ROWS
    if shown:
        names = [test for test, _ in shown]
        names += [f"  {name}" for _, row in shown for name in row.components if verbosity > 1]
        width = min(_LONGEST_NAME, max(len(name) for name in [*names, _tests(len(rows))]))
        yield _line("test", _HEADS, "findings", width)
        for test, row in shown:
            yield _line(test, {count: row[count] for count in COUNTS}, _remarks(row), width)
            if verbosity > 1:
                for name, counts in row.components.items():
                    yield _line(f"  {name}", counts, "", width)
        if hidden:
            yield f"... and {_tests(hidden)} more; -v shows all"
        sums = {count: sum(row[count] for row in rows.values()) for count in COUNTS}
        yield _line(_tests(len(rows)), sums, "", width)
    yield from _closing(rows)
    if verbosity < 0:
        doubted = [(test, row) for test, row in ordered if row.doubts]
        yield from (f"{test}: {'; '.join(row.doubts)}" for test, row in doubted[:_MOST_ROWS])


def _telling(row: Row) -> bool:
    return bool(
        row.findings
        or row["pending"]
        or row.unobserved
        or row.notes
        or row.doubtful
        or (row.asked and row.silent)
    )


def _line(test: str, counts: Mapping[str, object], remarks: str, width: int) -> str:
    name = test if len(test) <= width else f"...{test[3 - width :]}"
    numbers = "".join(f"{counts.get(count, 0):>{_WIDTHS[count]}}" for count in COUNTS)
    return f"{name:<{width}}{numbers}  {remarks}".rstrip()


def _remarks(row: Row) -> str:
    """The findings, and what makes a row less than the whole truth."""
    remarks = [_times(code, number) for code, number in row.findings.items()]
    remarks += [f"({_times(code, number)} accepted)" for code, number in row.accepted.items()]
    if row.unobserved:
        remarks.append(f"not observed: {'; '.join(row.unobserved)}")
    elif row.silent:
        remarks.append("observed 0 events")
    if said := [*row.doubts, *row.notes]:
        remarks.append("; ".join(said))
    if row.dropped:
        remarks.append(f"{row.dropped:,} events not kept")
    return " ".join(remarks)


def _times(code: str, number: int) -> str:
    return code if number == 1 else f"{code} x{number}"


def _tests(number: int) -> str:
    return f"{number} test" if number == 1 else f"{number} tests"


def _closing(rows: Mapping[str, Row]) -> Iterator[str]:
    """What it comes to, in one sentence each."""
    hidden = [row for row in rows.values() if row.unobserved and not row.findings]
    silent = [row for row in rows.values() if row.silent and not row.unobserved]
    seen = [row for row in rows.values() if row.findings or not (row.silent or row.unobserved)]
    codes: Counter[str] = Counter()
    for row in seen:
        codes.update(row.findings)
    if codes:
        broken = sum(bool(row.findings) for row in seen)
        listed = ", ".join(_times(code, number) for code, number in sorted(codes.items()))
        yield f"{broken} of {_tests(len(seen))} broke the protocol: {listed} · ackdoctor explain {min(codes)}"
    elif certain := [row for row in seen if not row.doubtful]:
        given = [row for row in certain if row["delivered"]]
        if any(row["pending"] or row.accepted for row in certain):
            yield f"{_tests(len(certain))}: nothing that is not accepted"
        elif given:
            yield f"{_tests(len(given))}: every tuple completed exactly once"
        if len(given) < len(certain):
            yield f"{_tests(len(certain) - len(given))}: no tuple was handed to a bolt"
    if doubted := [row for row in rows.values() if row.doubtful]:
        yield f"{_tests(len(doubted))} in doubt: not every tuple is known to have completed exactly once"
    if hidden:
        yield f"{_tests(len(hidden))} not observed: something stands between the component and Storm that is not watched"
    if silent:
        yield f"{_tests(len(silent))} observed 0 events: no component was seen to run there"
    troubles = [note for row in rows.values() for note in (*row.notes, *row.doubts) if _OWN_ERROR in note]
    if troubles:
        yield f"{_times(troubles[0], len(troubles))} · not everything was seen"

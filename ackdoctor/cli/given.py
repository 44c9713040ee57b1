"""What was given to an option, understood, or refused by a UsageError that names the option."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ackdoctor.config import nearest
from ackdoctor.model.errors import UsageError

__all__ = ["STDIN", "known_word", "measured_bytes", "measured_ms", "named", "path_called", "spark_settings"]

STDIN = "-"  # in the place of a path


class _Measure(NamedTuple):
    """How an amount is written; `most` is what Spark can still reckon with, in nanoseconds where it is a time."""

    form: str
    units: Mapping[str, int]
    example: str
    most: str

    def amount(self, given: str) -> int:
        """In the smallest unit; 0 for what is not written so."""
        parts = re.fullmatch(self.form, given)
        return 0 if parts is None else int(parts[1]) * self.units[parts[2]]


_SIZE = _Measure(
    form=r"(\d{1,99})([kmgt]?)b?",
    units={"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40},
    example="768m or 4g",
    most="1024t",
)
_TIME = _Measure(
    form=r"(\d{1,99})(ms|s|m|h|)",
    units={"ms": 1, "": 1000, "s": 1000, "m": 60_000, "h": 3_600_000},
    example="500ms, 10s or 5m",
    most="876000h",
)


def known_word(option: str, given: str, words: Iterable[str]) -> str:
    """The word itself, if it is one of these."""
    known = tuple(words)
    if given not in known:
        raise UsageError(f"{option} must be one of {', '.join(known)}, not {given!r}{nearest(given, known)}")
    return given


def named(what: str, given: str) -> str:
    """The text itself, unless it is empty: as a path that would be the current folder."""
    if not given:
        raise UsageError(f"{what} is empty; the current folder is `.`")
    return given


def path_called(what: str) -> Callable[[str], Path]:
    """Makes a path of what is given for that argument; UsageError for nothing."""
    return lambda given: Path(named(what, given))


def measured_bytes(option: str, given: str) -> int:
    """`768m` or `4g`, as JVMs take them, in bytes."""
    return _measured(option, given, _SIZE)


def measured_ms(option: str, given: str) -> int:
    """`500ms`, `10s` or `5m` in milliseconds."""
    return _measured(option, given, _TIME)


def spark_settings(conf: Sequence[str]) -> Mapping[str, str]:
    """Spark's settings, from each `KEY=VALUE` of --conf."""
    pairs = [setting.partition("=") for setting in conf]
    for name, is_, _ in pairs:
        if not name or not is_:
            raise UsageError(f"--conf must be KEY=VALUE, not {name!r}")
        if not name.startswith("spark."):  # Spark would ignore it in silence
            raise UsageError(
                f"--conf: Spark's settings begin with `spark.`, Hadoop's with `spark.hadoop.`: {name!r}"
            )
    return {name: value for name, _, value in pairs}


def _measured(option: str, given: str, measure: _Measure) -> int:
    amount = measure.amount(given.strip().lower())
    if not amount:
        raise UsageError(f"{option} must be like {measure.example}, not {given!r}")
    if amount > measure.amount(measure.most):
        raise UsageError(f"{option} must be at most {measure.most}, not {given!r}")
    return amount

"""Sizes as JVMs take them on their command lines."""

import re

from ackdoctor.model.errors import UsageError

__all__ = ["measured_bytes"]

_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def measured_bytes(option: str, given: str) -> int:
    """`768m` or `4g` in bytes; UsageError for anything else."""
    parts = re.fullmatch(r"(\d+)([kmgt]?)b?", given.strip().lower())
    if parts is None or not int(parts[1]):
        raise UsageError(f"{option} must be like 768m or 4g, not {given!r}")
    return int(parts[1]) * _SIZES[parts[2]]

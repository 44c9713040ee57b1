"""Parameters of which `make test` takes a sample, and `make test-all` the rest."""

from collections.abc import Collection, Iterable

import pytest

__all__ = ["sampled"]


def sampled(values: Iterable[object], sample: Collection[object]) -> list[object]:
    """Return the values for `parametrize`; those outside the sample are marked `minutes`."""
    return [value if value in sample else pytest.param(value, marks=pytest.mark.minutes) for value in values]

"""The number of examples per property: few and fixed, or with ACKDOCTOR_SEARCH=n many new ones."""

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.properties.bolt_settings import SETTINGS, Setting
from tests.properties.generator import write

__all__ = ["SEARCH", "examples", "handlers", "seeds"]

SEARCH = int(os.environ.get("ACKDOCTOR_SEARCH", "0"))


def examples(count: int) -> settings:
    """The hypothesis settings of a property with `count` examples in a normal test run."""
    return settings(
        max_examples=SEARCH or count,
        derandomize=not SEARCH,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@st.composite
def handlers(draw: DrawFn, size: int = 6) -> tuple[str, Setting]:
    """A generated bolt and its setting; shrinks to few simple statements."""
    setting = draw(st.sampled_from(SETTINGS))
    return write(lambda options: options[draw(st.integers(0, len(options) - 1))], setting, size), setting


def seeds(count: int) -> range:
    """The seeds of generated bolts: fixed ones, or new ones for a search."""
    return range(1_000_000, 1_000_000 + SEARCH) if SEARCH else range(count)

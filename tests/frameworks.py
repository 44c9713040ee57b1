"""The frameworks that components are written with, as their projects published them (`make frameworks`).

pystorm is installed with the dev extra.  The others lie in `.frameworks`, which comes last on the path: what
tests/frameworks.txt names, and Storm's own storm.py, which Storm publishes to Maven's repositories only.
"""

import sys
import warnings
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

__all__ = ["framework"]

FOLDER = Path(__file__).parents[1] / ".frameworks"


def framework(name: str) -> ModuleType:
    """Module `name` of a framework; skips the test, or the test module, where it was not fetched."""
    for folder in (FOLDER, FOLDER / "storm" / "resources"):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of their own age
            return import_module(name)
    except ModuleNotFoundError as error:
        pytest.skip(f"{name} is not here ({error}): `make frameworks` fetches it", allow_module_level=True)

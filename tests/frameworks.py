"""The published frameworks that components are written with (`make frameworks`).

The dev extra installs pystorm.  The others are in `.frameworks`, last on the path: the packages in tests/frameworks.txt,
and storm.py, which Storm publishes to Maven's repositories only.
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
    """Import a module of a framework, or skip the test if the framework is not fetched."""
    for folder in (FOLDER, FOLDER / "storm" / "resources"):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about deprecated features
            return import_module(name)
    except ModuleNotFoundError as error:
        pytest.skip(f"{name} is not installed ({error}): run `make frameworks`", allow_module_level=True)

"""Reports as text: a format is a function (Report, stream, Context) -> None.

The output depends on the report and the sources only: it is sorted, and holds neither times nor absolute paths.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TextIO, TypeAlias

from ackdoctor.model.finding import Report
from ackdoctor.reporters.context import Context

__all__ = ["Context", "Reporter", "reporter"]

Reporter: TypeAlias = Callable[[Report, TextIO, Context], None]

_FUNCTIONS: Mapping[str, str] = {
    "full": "terminal:full",
    "concise": "terminal:concise",
    "json": "as_json:document",
    "json-lines": "as_json:lines",
    "sarif": "sarif:sarif",
    "github": "github:github",
    "statistics": "terminal:statistics",
    "statistics-json": "as_json:statistics",
    "files": "terminal:files",
    "summary": "terminal:summary",
}


def reporter(name: str) -> Reporter:
    """Import and return the reporter of a format."""
    module, _, function = _FUNCTIONS[name].partition(":")
    found: Reporter = getattr(import_module(f"ackdoctor.reporters.{module}"), function)
    return found

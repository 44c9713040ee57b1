"""A Report as text for people and for machines: each format is one function (Report, stream, Context) -> None.

Output is a function of the report and the sources: sorted, without a clock, without a machine's paths.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TextIO, TypeAlias

from ackdoctor.model.finding import Report
from ackdoctor.reporters.context import Context

__all__ = ["Context", "Reporter", "reporter"]

Reporter: TypeAlias = Callable[[Report, TextIO, Context], None]

_WHERE: Mapping[str, str] = {
    "full": "terminal:full",
    "concise": "terminal:concise",
    "json": "as_json:document",
    "json-lines": "as_json:lines",
    "sarif": "sarif:sarif",
    "github": "github:github",
    "statistics": "statistics:table",
    "statistics-json": "statistics:document",
    "files": "terminal:files",
    "footer": "footer:footer",
}


def reporter(name: str) -> Reporter:
    """The reporter of a format; only the one that is asked for is imported."""
    module, _, function = _WHERE[name].partition(":")
    found: Reporter = getattr(import_module(f"ackdoctor.reporters.{module}"), function)
    return found

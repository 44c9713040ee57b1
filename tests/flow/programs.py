"""Helpers: lower several small files and link them."""

from textwrap import dedent

from ackdoctor.dialects import load
from ackdoctor.flow.program import Program
from ackdoctor.frontends.python import lower_source
from ackdoctor.model.cfg import Component, Unit

__all__ = ["component", "link"]


def link(files: dict[str, str], **options: dict[str, str]) -> Program:
    """Link these files, given by path; the path gives the module name."""
    units = []
    for path, text in files.items():
        package = path.endswith("__init__.py")
        module = path.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
        unit = lower_source(path=path, module=module, is_package=package, data=dedent(text).encode())
        assert isinstance(unit, Unit), unit
        units.append(unit)
    return Program(units, load({}), **options)


def component(files: dict[str, str], name: str) -> Component:
    """The component of that name."""
    (found,) = (each for each in link(files).components if each.name == name)
    return found

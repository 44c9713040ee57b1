"""Lowers several small files and links them."""

from textwrap import dedent

from ackdoctor.dialects import load
from ackdoctor.flow.program import Program
from ackdoctor.frontends.python import lower_source
from ackdoctor.model.component import Component, Unit

__all__ = ["component", "link"]


def link(files: dict[str, str], **given: dict[str, str]) -> Program:
    """The program of these files, by path; a module is named after its path."""
    units = []
    for path, text in files.items():
        package = path.endswith("__init__.py")
        module = path.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
        unit = lower_source(path=path, module=module, is_package=package, data=dedent(text).encode())
        assert isinstance(unit, Unit), unit
        units.append(unit)
    return Program(units, load({}), **given)


def component(files: dict[str, str], name: str) -> Component:
    """The one component of that name."""
    (found,) = (each for each in link(files).components if each.name == name)
    return found

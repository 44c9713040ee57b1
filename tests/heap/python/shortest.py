"""The shortest path of guppy3 from a holder, as an expression to compare our walk with."""

from typing import Any

from guppy import hpy


def shortest_path(holder: object, target: object, name: str) -> str:
    """Return one of the shortest; a step through the `__dict__` of an instance is a step to its attribute."""
    heapy: Any = hpy()
    paths = heapy.iso(target).get_shpaths(src=heapy.iso(holder))
    steps = [str(relation).replace("%s", "") for relation in next(iter(paths)).path[1::2]]
    return (name + "".join(steps)).replace(".__dict__['", ".").replace("']", "")

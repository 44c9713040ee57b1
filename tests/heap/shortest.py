"""guppy3's shortest path from a holder as an expression, for comparison with our walk."""

from typing import Any

from guppy import hpy


def shortest_path(holder: object, target: object, name: str) -> str:
    """One of the shortest; a step through an instance's `__dict__` is a step to its attribute."""
    heapy: Any = hpy()
    paths = heapy.iso(target).get_shpaths(src=heapy.iso(holder))
    steps = [str(relation).replace("%s", "") for relation in next(iter(paths)).path[1::2]]
    return (name + "".join(steps)).replace(".__dict__['", ".").replace("']", "")

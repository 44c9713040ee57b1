"""The topologies that texts wire, and what the texts of a project add to those that code wires."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from ackdoctor.model.topology import Topology
from ackdoctor.topology.frameworks import framework_of
from ackdoctor.topology.readers import clojure, flux, streamparse_config
from ackdoctor.topology.texts import Texts

_Reader = Callable[[str, bytes, Texts], tuple[Topology, ...]]
_READERS: Mapping[str, tuple[_Reader, ...]] = {
    ".clj": (clojure.read,),
    ".yaml": (flux.read,),
    ".yml": (flux.read,),
    ".flux": (flux.read,),
}
_CONFIGURE: Mapping[str, Callable[[Topology, Texts], tuple[Topology, ...]]] = {
    "streamparse-py": streamparse_config.configured
}


def from_text(path: str, texts: Texts) -> Iterator[Topology]:
    """Yield the topologies of a text; one that does not parse has a gap that says why."""
    for read in _READERS.get(path[path.rfind(".") :], ()):
        yield from read(path, texts[path], texts)


def configured(topology: Topology, texts: Texts) -> tuple[Topology, ...]:
    """Return a topology of code with the versions and the settings that the texts of its project tell."""
    if topology.kind in _CONFIGURE:
        return _CONFIGURE[topology.kind](topology, texts)
    framework = framework_of(topology.place.path, texts, (topology.framework,))
    return (replace(topology, framework=framework),)

"""The topologies that texts wire, and what the texts of a project add to those that code wires."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from ackdoctor.model.topology import Topology
from ackdoctor.topology.frameworks import framework_of
from ackdoctor.topology.readers import clojure, flux, petrel, pyleus, streamparse_config
from ackdoctor.topology.readers.conf_files import with_cluster_file, with_conf_files, with_possible_values
from ackdoctor.topology.texts import Texts, suffix_of

_Reader = Callable[[str, bytes, Texts], tuple[Topology, ...]]
_READERS: Mapping[str, tuple[_Reader, ...]] = {
    ".clj": (clojure.read,),
    ".yaml": (flux.read, pyleus.read),
    ".yml": (flux.read, pyleus.read),
    ".flux": (flux.read,),
}
_CONFIGURE: Mapping[str, Callable[[Topology, Texts], tuple[Topology, ...]]] = {
    "streamparse-py": streamparse_config.configured,
    "petrel": petrel.configured,
}
_CONFIGURABLE = "java-configurable"
# if no build file is in the run
_FRAMEWORK_OF_KIND = {"heron-java": "heron", "heronpy": "heron", "jstorm": "jstorm"}


def from_text(path: str, texts: Texts) -> Iterator[Topology]:
    """Yield the topologies of a text; one that does not parse has a gap that says why."""
    for read in _READERS.get(suffix_of(path), ()):
        yield from (with_cluster_file(each, texts) for each in read(path, texts[path], texts))


def configured(topology: Topology, texts: Texts) -> tuple[Topology, ...]:
    """Return a topology of code with the versions and the settings that the texts of its project tell."""
    if topology.kind in _CONFIGURE:
        return tuple(with_cluster_file(each, texts) for each in _CONFIGURE[topology.kind](topology, texts))
    framework = framework_of(topology.place.path, texts, (topology.framework,))
    framework = framework or _FRAMEWORK_OF_KIND.get(topology.kind, "")
    topology = replace(topology, framework=framework)
    if topology.kind == _CONFIGURABLE:
        topology = with_conf_files(topology, texts)
    return (with_cluster_file(with_possible_values(topology, texts), texts),)

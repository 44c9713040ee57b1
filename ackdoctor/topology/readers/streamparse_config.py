"""What a streamparse project adds to its topologies: the options in `config.json`, and the versions it names.

`envs.<env>.options` < `Topology.config` < command line (cli/common.py `resolve_options`).  No other key of an environment
reaches Storm.
"""

from collections.abc import Iterator
from dataclasses import replace

from ackdoctor.model.topology import Gap, Place, Setting, Topology
from ackdoctor.topology import marked_yaml
from ackdoctor.topology.frameworks import framework_of, parsed
from ackdoctor.topology.marked_yaml import Document, Marked
from ackdoctor.topology.readers.undecided import undecided_settings
from ackdoctor.topology.texts import Texts

_CONFIG = ("config.json",)
_OPTIONS = "options"
_COUNTS = frozenset({"acker_count", "worker_count"})  # documented, and read by no version since 3.0
_OF_STORM = ("topology.", "supervisor.", "worker.", "nimbus.", "storm.", "drpc.", "zmq.")
_READ = frozenset({"storm.workers.list"})
_NEEDED = "streamparse>=3"  # of topologies in Python


def configured(topology: Topology, texts: Texts) -> tuple[Topology, ...]:
    """Return a topology with the settings of its project: one for each group of environments with equal options."""
    topology = replace(topology, framework=framework_needing(_NEEDED, topology.place.path, texts))
    for path in texts.above(topology.place.path, _CONFIG):
        document = _read(path, texts)
        if isinstance(document, Gap):
            settings = (*undecided_settings(document), *topology.settings)
            return (replace(topology, settings=settings),)
        environments = document.root.get("envs")
        if environments is not None:
            return tuple(_by_environment(topology, document.root, environments))
    return (topology,)


def unread_settings(path: str, texts: Texts) -> Iterator[Setting]:
    """The settings in the `config.json` of a topology in Clojure: streamparse 1 and 2 pass none of them to Storm."""
    for file in texts.above(path, _CONFIG):
        document = _read(file, texts)
        environments = None if isinstance(document, Gap) else document.root.get("envs")
        for _, _, environment in _entries(environments):
            for key, place, value in (*_entries(environment), *_entries(environment.get(_OPTIONS))):
                if key in _COUNTS or (key.startswith(_OF_STORM) and key not in _READ):
                    why = (
                        f"streamparse before 3 does not read `{key}`: give it as an option of `sparse submit`"
                    )
                    yield Setting(key=key, value=value.value, place=place, effective=False, why=why)
        if environments is not None:
            return


def _read(file: str, texts: Texts) -> Document | Gap:
    """JSON is YAML but for tabs, which occur only between its tokens."""
    return marked_yaml.read(file, texts[file].replace(b"\t", b" "))


def framework_needing(needed: str, path: str, texts: Texts) -> str:
    """The versions that a project names, corrected by what a file of it needs: "streamparse>=3" of a Python topology."""
    name = next(iter(parsed(needed).parts))
    described = framework_of(path, texts, (name,))
    if parsed(described).meets(needed):
        return described
    others = (part.strip() for part in described.split(",") if not part.strip().startswith(name))
    return ", ".join([needed, *filter(None, others)])


def _by_environment(topology: Topology, root: Marked, environments: Marked) -> Iterator[Topology]:
    groups: dict[str, list[tuple[str, Marked]]] = {}
    for name, _, environment in _entries(environments):
        options = environment.get(_OPTIONS)
        groups.setdefault(repr(options.value if options else {}), []).append((name, environment))
    misplaced = tuple(_without_effect(root))
    for group in groups.values():
        names = " or ".join(name for name, _ in group)
        branch = (topology.branch, f"environment {names}" if len(groups) > 1 else "")
        dead = [setting for _, environment in group for setting in _without_effect(environment)]
        yield replace(
            topology,
            settings=(*misplaced, *dead, *_options(group[0][1]), *topology.settings),
            branch=", ".join(filter(None, branch)),
        )
    if not groups:
        yield replace(topology, settings=(*misplaced, *topology.settings))


def _options(environment: Marked) -> Iterator[Setting]:
    for key, place, value in _entries(environment.get(_OPTIONS)):
        yield Setting(key=key, value=value.value, place=place)


def _without_effect(mapping: Marked) -> Iterator[Setting]:
    """The settings of Storm that are not among the options of an environment."""
    for key, place, value in _entries(mapping):
        if key in _COUNTS:
            yield Setting(key=key, value=value.value, place=place)
        elif key.startswith(_OF_STORM) and key not in _READ:
            why = (
                f"streamparse passes only the `options` of an environment to Storm, so `{key}` has no effect"
            )
            yield Setting(key=key, value=value.value, place=place, effective=False, why=why)


def _entries(mapping: Marked | None) -> Iterator[tuple[str, Place, Marked]]:
    if mapping is not None and isinstance(mapping.content, dict):
        for key, (place, value) in mapping.content.items():
            yield key, place, value

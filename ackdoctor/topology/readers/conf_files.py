"""Configuration files beside a topology: those that `-conf` passes to its main class, and the cluster's `storm.yaml`.

`ConfigurableTopology` of Storm 2 and of StormCrawler merges each file of `-conf` before its `run`; a file whose only key is
`config` is unwrapped (ConfigurableTopology.java:85-94@v2.8.8).  Only a script tells which files are passed.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from posixpath import basename

from ackdoctor.model.topology import Defect, Gap, Setting, Topology
from ackdoctor.topology.frameworks import parsed
from ackdoctor.topology.marked_yaml import Document
from ackdoctor.topology.marked_yaml import read as read_yaml
from ackdoctor.topology.readers.commands import Command, commands
from ackdoctor.topology.readers.undecided import undecided_settings
from ackdoctor.topology.settings import (
    ACKERS,
    CLUSTER_FILE,
    ENABLE_TIMEOUTS,
    MAX_PENDING,
    REQUEST_TIMEOUT,
    STORM_DEFAULTS,
    TIMEOUT,
    effective,
)
from ackdoctor.topology.texts import Texts, suffix_of

_DECIDING = frozenset((ACKERS, ENABLE_TIMEOUTS))
_QUOTED = re.compile(r'"([\w\-]+\.[\w.\-]+)"')  # a key with a dot: others may be anything
_TURNED_OFF = {  # the value that turns tracking off, the kind of the defect, and what then happens
    ACKERS: (0, "ackers-zero", f"no tuple is tracked: it sets `{ACKERS}` to 0"),
    ENABLE_TIMEOUTS: (False, "timeouts-off", "a lost tuple never times out: it turns timeouts off"),
}
_TUNED = frozenset(
    (TIMEOUT, MAX_PENDING)
)  # each value of the cluster's file matters, as it is not Storm's default


def with_conf_files(topology: Topology, texts: Texts) -> Topology:
    """Add the settings of the files that a script passes with `-conf`; what the code itself sets comes later and wins."""
    if any(each.kind.startswith("config-object") for each in topology.defects):
        return topology  # the object that is submitted is not the one that -conf fills
    main = basename(topology.place.path).partition(".")[0]
    runs = [
        {
            setting.key: setting
            for name in command.given("-conf")
            for setting in _of_file(topology.place.path, name, command, texts)
        }
        for command in commands(texts)
        if any(word.rpartition(".")[2] == main for word in command.words)
    ]
    keys = dict.fromkeys(key for run in runs for key in run)
    found = tuple(_agreed([run.get(key) for run in runs]) for key in keys)
    return replace(topology, settings=(*found, *topology.settings)) if found else topology


def _agreed(runs: list[Setting | None]) -> Setting:
    """The setting of all scripts, or a gap if they differ."""
    first = next(each for each in runs if each is not None)
    if all(each is not None and each.value == first.value for each in runs):
        return first
    return replace(
        first, value=Gap(f"scripts pass different files with -conf, and `{first.key}` differs", first.place)
    )


def _of_file(path: str, name: str, command: Command, texts: Texts) -> Iterator[Setting]:
    files = texts.from_directory(command.place.path, name) or texts.from_directory(path, name)
    if len(files) != 1:
        yield from undecided_settings(
            Gap(f"{name} is given with -conf and is not among the files", command.place)
        )
        return
    document = read_yaml(files[0], texts[files[0]])
    if isinstance(document, Gap):
        yield from undecided_settings(document)
        return
    why = f"if {files[0]} is given with -conf, as in {command.place}"
    yield from (replace(each, why=why) for each in _settings(document))


def _settings(document: Document) -> Iterator[Setting]:
    root = document.root
    inner = root.get("config")
    if inner is not None and root.names == ("config",):
        root = inner
    for key in root.names:
        value = root.get(key)
        if value is not None:
            yield Setting(key=key, value=value.value, place=root.key_place(key))


def with_possible_values(topology: Topology, texts: Texts) -> Topology:
    """Add the values that files of the project have for what the code looks up, before the assignment that is open.

    The code says `conf.setNumAckers(file.get("storm.ackers"))` and not which file it reads: each value is possible.
    """
    settings: list[Setting] = []
    for setting in topology.settings:
        if isinstance(setting.value, Gap) and not setting.component and setting.key in _DECIDING:
            for name in _QUOTED.findall(setting.value.why):
                settings += (replace(each, key=setting.key) for each in _values_of(name, texts))
        settings.append(setting)
    return replace(topology, settings=tuple(settings))


def _values_of(name: str, texts: Texts) -> Iterator[Setting]:
    for path, data in texts.items():
        if suffix_of(path) in {".yaml", ".yml"} and name.encode() in data:
            document = read_yaml(path, data)
            if isinstance(document, Document):
                found = [each for each in _settings(document) if each.key == name]
                yield from (replace(each, why=f"if the code reads `{name}` from {path}") for each in found)


def with_cluster_file(topology: Topology, texts: Texts) -> Topology:
    """Add what the nearest `storm.yaml` sets and the topology does not: it holds only if this is the cluster's file.

    So the value is open.  What the file would turn off is reported as information as well.
    """
    file = next(iter(texts.from_class_path(topology.place.path, CLUSTER_FILE)), None)
    document = read_yaml(file, texts[file]) if file is not None else None
    if not isinstance(document, Document) or not parsed(topology.framework).is_storm:
        return topology
    settings: list[Setting] = []
    defects: list[Defect] = []
    for each in _settings(document):
        if each.key == REQUEST_TIMEOUT:  # which no topology can set
            settings.append(each)
        elif effective(topology, each.key).place.path == STORM_DEFAULTS:
            off, kind, why = _TURNED_OFF.get(each.key, (None, "", ""))
            turned_off = kind and (each.value, type(each.value)) == (off, type(off))
            if turned_off:
                why = f"if this is the cluster's file, {why}"
                defects.append(Defect(kind=kind, sure="information", place=each.place, why=why))
            if turned_off or each.key in _TUNED:
                gap = Gap(f"{each.key} is {each.value} if {file} is the cluster's file", each.place)
                settings.append(replace(each, value=gap))
    return replace(topology, settings=(*settings, *topology.settings), defects=(*topology.defects, *defects))

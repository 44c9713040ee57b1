"""Read a topology of the user's own components from its files, and run it under faults.

    outcome = run_topology("topology.py", plan(kills=["count@5"]), stubs=["shop:Source=stubs:FakeSource"], seconds=10)
    assert outcome.survived, outcome.verdict

The code of the components runs in this process, each time imported afresh.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ackdoctor.acker.versions import Profile
from ackdoctor.acker.versions import profile as profile_of
from ackdoctor.config import Settings
from ackdoctor.lab.faults import Plan
from ackdoctor.lab.loader import Stub, imported
from ackdoctor.lab.run import Options, Outcome, run
from ackdoctor.lint.run import lint
from ackdoctor.model import UsageError
from ackdoctor.model.finding import Unreadable
from ackdoctor.model.topology import Gap, Judged, Place, Setting, Value
from ackdoctor.topology.marked_yaml import read as read_yaml
from ackdoctor.tracer.install import installed_alone

_STREAMPARSE_FOLDER = "topologies"
Progress = Callable[[int, int], None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A topology that was read, and what its components need to run.

    The paths of the topology start from `project`.  `conf` are settings over those of the files.
    """

    judged: Judged
    project: Path
    stubs: tuple[Stub, ...] = ()
    conf: Mapping[str, object] = field(default_factory=dict)
    component_options: Mapping[str, Value] = field(default_factory=dict)

    def options(self, faults: Plan, **others: object) -> Options:
        """Return the options of a run; `others` are fields of Options."""
        own = Options(
            project=self.project,
            plan=faults,
            conf=self.conf,
            component_options=self.component_options,
            folder=str(Path.cwd()),
        )
        return replace(own, **others)  # type: ignore[arg-type]  # the caller's fields

    def run(self, options: Options, progress: Progress = None) -> Outcome:
        """Import the components afresh, and run them."""
        with warnings.catch_warnings(), options.time.replacing():
            warnings.simplefilter("ignore")
            with imported(self.judged, self.project, self.stubs, options.limit) as classes:
                return run(self.judged, classes, options, installed_alone, progress)


def run_topology(
    file: str | os.PathLike[str],
    faults: Plan | None = None,
    *,
    name: str | None = None,
    project: str | os.PathLike[str] | None = None,
    stubs: Sequence[str] = (),
    conf: Mapping[str, object] | None = None,
    seed: int = 0,
    seconds: float = 60.0,
    rate: float = 100.0,
    limit: float = 60.0,
    profile: str | Profile | None = None,
) -> Outcome:
    """Read the topology of a file and run it; the arguments are the options of `ackdoctor lab run`.

    A UsageError says in one sentence why it cannot run.
    """
    trial = read(
        Path(file),
        name,
        Path(project) if project is not None else None,
        stubs=[Stub.parse(each) for each in stubs],
        conf=conf or {},
    )
    version = profile_of(profile) if isinstance(profile, str) else profile
    options = trial.options(
        faults or Plan(), seed=seed, seconds=seconds, rate=rate, limit=limit, profile=version
    )
    return trial.run(options)


def read(
    file: Path,
    name: str | None = None,
    project: Path | None = None,
    *,
    stubs: Sequence[Stub] = (),
    conf: Mapping[str, object],
    progress: Progress = None,
) -> Trial:
    """Read the topology of a file as lint does; UsageError if there is none, or if it has several and none is named."""
    if not file.is_file():
        raise UsageError(f"TOPOLOGY: {file} is {'a directory' if file.is_dir() else 'no file'}")
    folder = file.resolve().parent
    above = folder.parent if folder.name == _STREAMPARSE_FOLDER else folder
    root = project.resolve() if project is not None else above
    if not root.is_dir():
        raise UsageError(f"--project: {project} is no directory")
    if not file.resolve().is_relative_to(root):
        raise UsageError(f"--project: {file} is not below {project}")
    report = lint([root], Settings(directory=root), root=root, progress=progress)
    own = str(file.resolve().relative_to(root))
    unread = {fault.path: fault for fault in report.unreadable}
    _require_readable(unread, [own])
    found = [each for each in report.topologies if each.topology.place.path == own]
    if not found:  # a walk does not read a file that names no framework
        alone = lint([file.resolve()], Settings(directory=root), root=root)
        _require_readable({fault.path: fault for fault in alone.unreadable}, [own])
    judged = _chosen(file, found, name)
    without = [node.cls.split(".") for node in judged.topology.nodes if node.code is None]
    _require_readable(unread, [path for path in unread if any(Path(path).stem in names for names in without)])
    return Trial(
        judged=_with_settings(judged, conf),
        project=root,
        stubs=tuple(stubs),
        conf=conf,
        component_options=_options_of(file),
    )


def _require_readable(unread: Mapping[str, Unreadable], paths: Iterable[str]) -> None:
    for fault in (unread[path] for path in paths if path in unread):
        raise UsageError(f"{fault.path}{f':{fault.line}' if fault.line else ''}: {fault.reason}")


def _chosen(file: Path, found: Sequence[Judged], name: str | None) -> Judged:
    names = sorted({judged.topology.name for judged in found})
    if not found:
        raise UsageError(f"{file}: no topology; looked for Python or YAML that wires a spout to a bolt")
    if name is None and len(names) > 1:
        raise UsageError(f"{file} has {len(names)} topologies; name one: {', '.join(names)}")
    chosen = [judged for judged in found if name in {None, judged.topology.name}]
    if not chosen:
        raise UsageError(f"NAME: no topology is called `{name}`; the file has {', '.join(names)}")
    return chosen[0]


def _with_settings(judged: Judged, conf: Mapping[str, object]) -> Judged:
    """Return the topology with settings over those of its files, as `storm jar -c` sets them."""
    given = (
        Setting(key=key, value=value, place=Place("--conf"))
        for key, value in conf.items()
        if value is None or isinstance(value, bool | int | float | str)
    )
    topology = replace(judged.topology, settings=(*judged.topology.settings, *given))
    return replace(judged, topology=topology)


def _options_of(file: Path) -> Mapping[str, Value]:
    """Return the `options` of each component of a YAML file that lists spouts and bolts, by component id."""
    document = read_yaml(str(file), file.read_bytes()) if file.suffix in {".yaml", ".yml"} else None
    if document is None or isinstance(document, Gap):
        return {}
    entries = document.root.items_of("topology")
    components = [entry.get(kind) for entry in entries for kind in ("spout", "bolt")]
    found = [(each.text_of("name"), each.get("options")) for each in components if each is not None]
    return {name: options.value for name, options in found if options is not None}

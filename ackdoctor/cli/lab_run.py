"""`ackdoctor lab run`: a topology of the user's own components under faults, in the simulator."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import isnan
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from ackdoctor.acker.versions import NEWEST, profile
from ackdoctor.cli.commands import AckerVersion, acker_option, formats_option, path_parser, seconds_option
from ackdoctor.cli.output import complain, destination, require_writable, write_report
from ackdoctor.cli.progress import progress
from ackdoctor.config import FORMATS, Settings, nearest
from ackdoctor.lab.faults import InvalidFaultError, Plan, plan
from ackdoctor.lab.loader import CannotLoadError, Stub, imported
from ackdoctor.lab.run import CannotRunError, Options, Outcome, run
from ackdoctor.lab.search import random_plan, search
from ackdoctor.lab.topology import InvalidTopologyError
from ackdoctor.lab.wired import ackers_of, timeout_of
from ackdoctor.lint.run import lint
from ackdoctor.model import UsageError
from ackdoctor.model.finding import Report
from ackdoctor.model.topology import Gap, Judged, Value
from ackdoctor.reporters import counted
from ackdoctor.reporters.lab_run import LabRun, document, screen, verdict
from ackdoctor.topology.marked_yaml import read as read_yaml
from ackdoctor.tracer.install import install
from ackdoctor.tracer.ledger import Ledger

_TEST = '''"""Written by `ackdoctor lab run --search`: the smallest plan of faults that the topology did not survive."""

import subprocess
import sys

ARGUMENTS = [
{arguments}]


def test_{name}_survives_these_faults():
    command = [sys.executable, "-m", "ackdoctor", "lab", "run", *ARGUMENTS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
'''
_STREAMPARSE_FOLDER = "topologies"
_INTERRUPTED = 130

Seed: TypeAlias = Annotated[
    int, typer.Option(min=0, metavar="N", help="Decides ids, and the order and times of events.")
]


@dataclass(slots=True, kw_only=True)
class Run:
    """Run a topology under faults: your own spouts and bolts, in a simulator of Storm.

    This command imports and runs your code in this process, unlike lint. TOPOLOGY is the Python or YAML file that
    wires Python components. Numbers in faults count the tuples of a component; for a spout, the calls of its
    next_tuple. Times are those of the simulation. Exit code: 0 nothing is lost or stuck; 1 something is, or a
    component breaks a rule; 2 the topology could not be run, or not to its end; 130 interrupted.
    """

    topology: Annotated[
        Path, typer.Argument(metavar="TOPOLOGY", parser=path_parser("TOPOLOGY"), help="The topology's file.")
    ]
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Its name, if the file has several.")] = (
        None
    )
    kill: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COMPONENT@WHEN",
            help="The component dies: count@100 before its 100th tuple, count@40s after 40 seconds,"
            " acker=3 three times at equal intervals. Repeat it for more.",
        ),
    ] = None
    raises: Annotated[
        list[str] | None,
        typer.Option(
            "--raise", metavar="COMPONENT@NUMBER", help="Its handler raises instead of handling this tuple."
        ),
    ] = None
    drop: Annotated[
        str | None, typer.Option(metavar="SHARE", help="The network loses this share of messages: 0.1%.")
    ] = None
    slow: Annotated[
        list[str] | None,
        typer.Option(metavar="COMPONENT=TIME", help="A tuple takes the bolt so long: store=40s."),
    ] = None
    stub: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:NAME=MODULE:CLASS",
            help="Replace an outside service: shop.queue:OrderQueue=stubs:FakeQueue.",
        ),
    ] = None
    conf: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A setting that the components read; a JSON value or text."),
    ] = None
    seconds: Annotated[float, seconds_option(0.1, "How long the faults last, in simulated time.")] = 60.0
    rate: Annotated[
        float, typer.Option(min=0.01, max=1000, metavar="N", help="Calls of each spout task in a second.")
    ] = 100.0
    limit: Annotated[float, seconds_option(1, "Stop after so many seconds of real time.")] = 60.0
    seed: Seed = 0
    project: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=path_parser("--project"),
            help="The directory of the code. Default: the file's; above `topologies`, its parent.",
        ),
    ] = None
    search: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Try N random plans of faults, and report the smallest one that loses something.",
        ),
    ] = 0
    write_test: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=path_parser("--write-test"),
            help="Write what --search finds as a pytest test that runs it again.",
        ),
    ] = None
    acker_version: AckerVersion = None
    output_format: Annotated[str, formats_option(*FORMATS)] = "full"

    def __post_init__(self) -> None:
        """Raise UsageError for options that exclude each other, and for `nan`."""
        if isnan(self.rate):
            raise UsageError("--rate: nan is not a number of calls")
        if self.search and (self.kill or self.raises or self.drop or self.slow):
            raise UsageError("--search draws the faults: leave out --kill, --raise, --drop and --slow")
        if self.write_test is not None:
            if not self.search:
                raise UsageError("--write-test needs --search")
            require_writable(self.write_test, "--write-test")

    def run(self) -> int:
        """Run the topology, write the report and return the exit code."""
        try:
            faults = plan(
                self.kill or (), self.raises or (), [self.drop] if self.drop else (), self.slow or ()
            )
            stubs = _stubs(self.stub or ())
        except InvalidFaultError as error:
            raise UsageError(str(error)) from None
        judged, project = self._judged()
        options, note = self._options(project, faults), ""
        ids = {node.id: node.role for node in judged.topology.nodes}
        trial = partial(_try, judged, stubs)
        try:
            faults.check(*([name for name in ids if ids[name] == role] for role in ("spout", "bolt")))
            if self.search:
                options, note = self._searched(judged, options, trial)
            with progress("simulating") as show:
                outcome = trial(options, show)
        except (CannotLoadError, CannotRunError, InvalidFaultError, InvalidTopologyError) as error:
            raise UsageError(str(error)) from None
        made = LabRun(judged=judged, options=options, outcome=outcome)
        report = Report(
            findings=outcome.findings,
            files=(str(self.topology),),
            components=len(ids),
            notes=(note,) if note else (),
        )
        self._write(made, report)
        if outcome.interrupted:
            return _INTERRUPTED
        return 1 if outcome.losses or outcome.findings else 2 if outcome.stopped else 0

    def _write(self, made: LabRun, report: Report) -> None:
        if self.output_format not in {"full", "json", "concise"} and made.outcome.losses:
            complain(verdict(made, report))
        write_report(
            report,
            self.output_format,
            verdict(made, report),
            screen=lambda *where: screen(made, report, *where),
            document=lambda stream: document(made, report, stream),
        )

    def _searched(
        self, judged: Judged, options: Options, trial: Callable[[Options], Outcome]
    ) -> tuple[Options, str]:
        """Return the options of the smallest failing run, or of the run without faults, and what the search did."""
        end = time.monotonic() + self.limit

        def fails(faults: Plan, seed: int) -> bool:
            left = max(1.0, end - time.monotonic())
            outcome = trial(replace(options, plan=faults, seed=seed, limit=left))
            if outcome.interrupted:
                raise KeyboardInterrupt
            return bool(outcome.losses or outcome.findings)

        draw = partial(
            random_plan,
            bolts=[node.id for node in judged.topology.nodes if node.role == "bolt"],
            timeout_s=timeout_of(judged),
            has_acker=ackers_of(judged) > 0,
        )
        with progress("searching") as show:
            found = search(
                fails, self.search, self.seed, draw, is_late=lambda: time.monotonic() > end, progress=show
            )
        tried = counted(found.tried, "random plan")
        if found.plan is None:
            early = f" of {self.search} in {self.limit:g} s" if found.tried < self.search else ""
            return options, f"search: {tried}{early}, none loses a message; this is the run without faults"
        if self.write_test is not None:
            _write_test(self.write_test, self._command(found.plan), judged.topology.name)
        smallest = f"the smallest that fails: {found.plan} --seed {found.seed}"
        return replace(options, plan=found.plan), f"search: {tried}; {smallest}"

    def _command(self, faults: Plan) -> list[str]:
        """Return the arguments of a run with these faults, from the directory of the topology."""
        values = {
            "--seconds": [f"{self.seconds:g}"],
            "--rate": [f"{self.rate:g}"],
            "--seed": [str(self.seed)],
            "--stub": self.stub or [],
            "--conf": self.conf or [],
            "--project": [str(self.project.resolve())] if self.project else [],
            "--acker-version": [self.acker_version] if self.acker_version else [],
        }
        words = [str(self.topology.resolve()), *([self.name] if self.name else [])]
        options = [word for option, each in values.items() for value in each for word in (option, value)]
        return [*words, *options, *(str(faults).split() if faults != Plan() else [])]

    def _judged(self) -> tuple[Judged, Path]:
        """Return the topology as lint reads it, and the directory that its paths start from."""
        file = self.topology
        if not file.is_file():
            raise UsageError(f"TOPOLOGY: {file} is {'a directory' if file.is_dir() else 'no file'}")
        folder = file.resolve().parent
        above = folder.parent if folder.name == _STREAMPARSE_FOLDER else folder
        project = self.project.resolve() if self.project is not None else above
        if not project.is_dir() or not file.resolve().is_relative_to(project):
            raise UsageError(f"--project: {file} is not below {project}")
        with progress("reading the topology") as show:
            found = lint([project], Settings(directory=project), root=project, progress=show).topologies
        own = str(file.resolve().relative_to(project))
        here = [judged for judged in found if judged.topology.place.path == own]
        names = sorted({judged.topology.name for judged in here})
        if not here:
            raise UsageError(f"{file}: no topology; looked for Python or YAML that wires a spout to a bolt")
        if self.name is None and len(names) > 1:
            raise UsageError(f"{file} has {len(names)} topologies; name one: {', '.join(names)}")
        chosen = [judged for judged in here if self.name in (None, judged.topology.name)]
        if not chosen:
            raise UsageError(f"NAME: no topology is called `{self.name}`{nearest(self.name or '', names)}")
        if branch := chosen[0].topology.branch:
            complain(f"{file}: the topology depends on {branch}; this run takes that branch")
        return chosen[0], project

    def _options(self, project: Path, faults: Plan) -> Options:
        version = acker_option(self.acker_version, profile, NEWEST) if self.acker_version else None
        return Options(
            project=project,
            plan=faults,
            seed=self.seed,
            seconds=self.seconds,
            rate=self.rate,
            limit=self.limit,
            profile=version,
            conf=_settings(self.conf or ()),
            component_options=_options_of(self.topology),
            folder=str(Path.cwd()),
        )


def _try(
    judged: Judged,
    stubs: Sequence[Stub],
    options: Options,
    show: Callable[[int, int], None] | None = None,
) -> Outcome:
    """Import the components afresh, and run them."""
    with options.slept.replacing_sleep(), imported(judged, options.project, stubs) as classes:
        return run(judged, classes, options, observing, show)


def _write_test(file: Path, arguments: Sequence[str], name: str) -> None:
    test = re.sub(r"\W+", "_", name).strip("_").lower() or "topology"
    text = _TEST.format(name=test, arguments="".join(f"    {word!r},\n" for word in arguments))
    with destination(file, "--write-test") as stream:
        stream.write(text)


@contextmanager
def observing(ledger: Ledger) -> Iterator[None]:
    """Trace the components of this process for a time."""
    installation = install(ledger)
    try:
        yield
    finally:
        installation.undo()


def _stubs(values: Sequence[str]) -> list[Stub]:
    try:
        return [Stub.parse(value) for value in values]
    except ValueError as error:
        raise UsageError(f"--stub: {error}") from None


def _settings(values: Sequence[str]) -> Mapping[str, object]:
    found: dict[str, object] = {}
    for value in values:
        key, equals, text = value.partition("=")
        if not key or not equals:
            raise UsageError(f"--conf: {value!r} is not KEY=VALUE")
        try:
            found[key] = json.loads(text)
        except ValueError:
            found[key] = text
    return found


def _options_of(file: Path) -> Mapping[str, Value]:
    """Return the `options` of each component of a YAML file that lists spouts and bolts, by component id."""
    document = read_yaml(str(file), file.read_bytes()) if file.suffix in {".yaml", ".yml"} else None
    if document is None or isinstance(document, Gap):
        return {}
    entries = document.root.items_of("topology")
    components = [entry.get(kind) for entry in entries for kind in ("spout", "bolt")]
    found = [(each.text_of("name"), each.get("options")) for each in components if each is not None]
    return {name: options.value for name, options in found if options is not None}

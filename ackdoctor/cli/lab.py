"""`ackdoctor lab`: what Storm does with messages when its parts fail, in a simulator.

`study` and `scenes` are published and short experiments, `run` a topology of the user's own components.
"""

import json
import os
import re
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timezone
from functools import partial
from math import isnan
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from ackdoctor.acker.versions import NEWEST, Profile, profile
from ackdoctor.cli.commands import (
    OutputFile,
    acker_option,
    callback_of,
    complete_words,
    formats_option,
    path_parser,
    seconds_option,
)
from ackdoctor.cli.output import (
    complain,
    context_for,
    destination,
    escaping,
    progress,
    require_not_an_input,
    require_writable,
    write_report,
)
from ackdoctor.config import FORMATS, nearest
from ackdoctor.lab import scenes, study
from ackdoctor.lab.faults import Plan, plan, random_plan, search
from ackdoctor.lab.loader import Stub
from ackdoctor.lab.run import Options
from ackdoctor.lab.stage import Setting
from ackdoctor.lab.wired import ackers_of, timeout_of
from ackdoctor.model import UsageError
from ackdoctor.model.acker import Engine
from ackdoctor.model.finding import Report, counted
from ackdoctor.reporters import scenes as stories
from ackdoctor.reporters import study as reports
from ackdoctor.reporters.lab_run import LabRun, document, screen
from ackdoctor.trial import Trial, read

_FORMATS = ("full", "json")

lab = typer.Typer(
    help="Try what Storm guarantees when its parts fail, in a simulator.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_MARK = '"""Written by `ackdoctor lab run --search`'
_TEST = (
    _MARK
    + ''': the smallest faults found that the topology does not survive."""

from pathlib import Path

from ackdoctor.lab.faults import plan
from ackdoctor.trial import run_topology

HERE = Path(__file__).parent


def test_{name}_survives_these_faults():
    outcome = run_topology(
        {arguments},
    )
    assert outcome.survived, outcome.summary
'''
)
_INTERRUPTED = 130

Seed: TypeAlias = Annotated[
    int, typer.Option(min=0, metavar="N", help="Decides ids, and the order and times of events.")
]

LabVersion: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--acker-version",
        "--profile",
        metavar="VERSION",
        help="The version to simulate: 1.1.0, storm-2.8.8, jstorm-2.4.0, heron. Default: the newest one.",
    ),
]


@dataclass(slots=True, kw_only=True)
class Study:
    """Compare the published study of Storm's guarantees with the same experiments in the simulator.

    Bolts, ackers and spouts die; each row shows what the study published, what the law says and what the simulator
    measures. At scale 1 the window is as large as in the study, 2000 tuples, and the run takes about half a minute.
    Exit code: 0 every law holds; 1 a law does not hold; 2 a wrong argument.
    """

    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROW",
            help="Run only this row or experiment: acker-2, acker; repeat it for more.",
            autocompletion=complete_words(*study.row_names()),
        ),
    ] = None
    scale: Annotated[
        float,
        typer.Option(min=0.01, max=1, metavar="FACTOR", help="Shrink windows, rates and numbers: 0.01 to 1."),
    ] = 1.0
    seed: Seed = 0
    acker_version: LabVersion = None
    output_format: Annotated[str, formats_option(*_FORMATS)] = "full"
    output_file: OutputFile = None

    def __post_init__(self) -> None:
        """Raise UsageError for `nan`, which every range accepts."""
        if isnan(self.scale):
            raise UsageError("--scale: nan is not a factor")

    def run(self) -> int:
        """Simulate, write the tables and return the exit code."""
        require_writable(self.output_file)
        try:
            chosen = study.choose(self.only or ())
        except KeyError as error:
            (name,) = error.args
            hint = (
                nearest(name, study.row_names()) or f"; experiments are {', '.join(study.experiment_names())}"
            )
            raise UsageError(f"--only: no row is called `{name}`{hint}") from None
        version = _acker(self.acker_version, "neither ackers nor Trident, which the study kills")
        setting = study.Setting(self.scale, self.seed, version)
        with progress("simulating") as show:
            results = study.run(chosen, setting, show)
        with destination(self.output_file) as stream, escaping(stream, self.output_format) as text:
            context = context_for(stream)
            if self.output_format == "json":
                reports.document(results, setting, text)
            else:
                reports.screen(results, setting, text, context)
        return 1 if any(result.broken for result in results) else 0


@dataclass(slots=True, kw_only=True)
class Scenes:
    """Show what Storm does when a part fails or tracking is off, each as a short story with the pending map.

    Each scene has a law, and what the simulator measures is compared with it.
    Exit code: 0 every law holds; 1 a law does not hold; 2 a wrong argument.
    """

    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="The scenes to show. Default: all.",
            show_default=False,
            autocompletion=complete_words(*scenes.scene_names()),
        ),
    ] = None
    list_scenes: Annotated[
        bool, typer.Option("--list", help="List the names of the scenes, and run none.")
    ] = False
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Decides ids, and the order of events.")] = 0
    acker_version: LabVersion = None
    output_format: Annotated[str, formats_option(*_FORMATS)] = "full"
    output_file: OutputFile = None

    def run(self) -> int:
        """Simulate, write the stories and return the exit code."""
        require_writable(self.output_file)
        try:
            chosen = scenes.choose(self.names or ())
        except KeyError as error:
            (name,) = error.args
            hint = nearest(name, scenes.scene_names()) or f"; scenes are {', '.join(scenes.scene_names())}"
            raise UsageError(f"no scene is called `{name}`{hint}") from None
        version = _acker(self.acker_version, "no ackers, which the scenes show")
        if not version.spout_ticks:
            raise UsageError("--acker-version: the scenes need message timeouts")
        setting = Setting(self.seed, version)
        played = [] if self.list_scenes else [(scene, scene.play(setting)) for scene in chosen]
        with destination(self.output_file) as stream, escaping(stream, self.output_format) as text:
            context = context_for(stream)
            if self.output_format == "json":
                stories.document(played or [(scene, ()) for scene in chosen], setting, text)
            elif self.list_scenes:
                stories.listing(chosen, text, context)
            else:
                stories.screen(played, setting, text, context)
        return 1 if stories.broken_runs(played) else 0


def _acker(name: str | None, heron_has: str) -> Profile:
    """Return the version that --acker-version names; raise UsageError for Heron, which has no ackers."""
    version = acker_option(name, profile, NEWEST)
    if version.engine is Engine.HERON:
        raise UsageError(f"--acker-version: Heron has {heron_has}")
    return version


# ---- the user's own topology ----


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
    acker_version: LabVersion = None
    output_format: Annotated[str, formats_option(*FORMATS, "html")] = "full"
    output_file: OutputFile = None

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
            if self.write_test.is_file() and not _is_ours(self.write_test):
                raise UsageError(
                    f"--write-test: {self.write_test} exists, and no search wrote it; choose another file"
                )

    def run(self) -> int:
        """Run the topology, write the report and return the exit code."""
        require_writable(self.output_file)
        faults = plan(self.kill or (), self.raises or (), [self.drop] if self.drop else (), self.slow or ())
        for kill in faults.kills:
            if max(kill.moments(self.seconds), default=0) > self.seconds:
                raise UsageError(
                    f"{kill}: the faults end after {self.seconds:g} s; --seconds makes them last longer"
                )
        trial = self._trial()
        require_not_an_input(self.output_file, _files_of(trial))
        ids = {node.id: node.role for node in trial.judged.topology.nodes}
        faults.check(*([name for name in ids if ids[name] == role] for role in ("spout", "bolt")))
        options, note = self._options(trial, faults), ""
        if self.search:
            options, note = self._searched(trial, options)
        with progress("simulating") as show:
            outcome = trial.run(options, show)
        made = LabRun(
            judged=trial.judged,
            options=options,
            outcome=outcome,
            command=shlex.join(["ackdoctor", "lab", "run", *self._command(options)]),
        )
        report = Report(
            findings=outcome.findings,
            files=(str(self.topology),),
            components=len(ids),
            notes=(note,) if note else (),
        )
        self._write(made, report)
        if outcome.interrupted:
            return _INTERRUPTED
        return 0 if outcome.survived else 1 if outcome.losses or outcome.findings else 2

    def _write(self, made: LabRun, report: Report) -> None:
        verdict = made.outcome.verdict
        if self.output_format == "html":
            from ackdoctor.reporters.lab_html import page  # imports Jinja2

            with destination(self.output_file) as stream:
                page(made, report, stream, inputs=[str(self.topology)], made=datetime.now(timezone.utc))
            return
        if self.output_format not in {"full", "json", "concise"} and made.outcome.losses:
            complain(verdict)
        write_report(
            report,
            self.output_format,
            verdict,
            screen=lambda *where: screen(made, report, *where),
            document=lambda stream: document(made, report, stream),
            file=self.output_file,
        )

    def _searched(self, trial: Trial, options: Options) -> tuple[Options, str]:
        """Return the options of the smallest failing run, or of the run without faults, and what the search did."""
        end = time.monotonic() + self.limit

        def fails(faults: Plan, seed: int) -> bool:
            left = max(1.0, end - time.monotonic())
            outcome = trial.run(replace(options, plan=faults, seed=seed, limit=left))
            if outcome.interrupted:
                raise KeyboardInterrupt
            return bool(outcome.losses or outcome.findings)

        draw = partial(
            random_plan,
            bolts=[node.id for node in trial.judged.topology.nodes if node.role == "bolt"],
            timeout_s=timeout_of(trial.judged),
            has_acker=ackers_of(trial.judged) > 0,
        )
        with progress("searching") as show:
            found = search(
                fails, self.search, self.seed, draw, is_late=lambda: time.monotonic() > end, progress=show
            )
        tried = counted(found.tried, "random plan")
        if found.plan is None:
            early = f" of {self.search} in {self.limit:g} s" if found.tried < self.search else ""
            return options, f"search: {tried}{early}, none loses a message; this is the run without faults"
        options = replace(options, plan=found.plan, seed=found.seed)
        if self.write_test is not None:
            self._write_test(self.write_test, options, trial.judged.topology.name)
        if not found.plan.faults:
            return options, f"search: it fails without faults, with --seed {found.seed}"
        return options, f"search: {tried}; the smallest that fails: {found.plan} --seed {found.seed}"

    def _given(self) -> Mapping[str, object]:
        """The options besides the faults and the seed, by the arguments of `run_topology`, if they are not the defaults."""
        values = {
            "name": self.name,
            "project": self.project,
            "stubs": self.stub,
            "conf": _settings(self.conf or ()),
            "seconds": self.seconds,
            "rate": self.rate,
            "profile": self.acker_version,
        }
        defaults = {each.name: each.default for each in fields(self)}
        return {name: value for name, value in values.items() if value and value != defaults.get(name)}

    def _command(self, options: Options) -> list[str]:
        """Return the arguments that make this run again."""
        given = self._given()
        values: dict[str, Sequence[object]] = {
            "--seed": [options.seed] if options.seed else [],
            **{f"--{name}": [given[name]] for name in ("seconds", "rate", "project") if name in given},
            "--stub": self.stub or [],
            "--conf": self.conf or [],
            "--acker-version": [self.acker_version] if self.acker_version else [],
        }
        more = [word for option, each in values.items() for value in each for word in (option, _text(value))]
        return [str(self.topology), *([self.name] if self.name else []), *options.plan.words(), *more]

    def _write_test(self, file: Path, options: Options, name: str) -> None:
        """Write a pytest test that makes this run again, with paths from its own directory."""

        def from_here(path: Path) -> str:
            return f"HERE / {Path(os.path.relpath(path.resolve(), file.resolve().parent)).as_posix()!r}"

        given = {**self._given(), "seed": options.seed}
        if self.project is not None:
            given["project"] = self.project
        arguments = [
            from_here(self.topology),
            f"plan({', '.join(f'{key}={value!r}' for key, value in options.plan.arguments().items())})",
            *(
                f"{key}={from_here(value) if isinstance(value, Path) else repr(value)}"
                for key, value in given.items()
            ),
        ]
        test = re.sub(r"\W+", "_", name).strip("_").lower() or "topology"
        with destination(file, "--write-test") as stream:
            stream.write(_TEST.format(name=test, arguments=",\n        ".join(arguments)))

    def _trial(self) -> Trial:
        """Return the topology as lint reads it."""
        stubs = [Stub.parse(each) for each in self.stub or ()]
        conf = _settings(self.conf or ())
        with progress("reading the topology") as show:
            trial = read(self.topology, self.name, self.project, stubs=stubs, conf=conf, progress=show)
        if branch := trial.judged.topology.branch:
            complain(f"{self.topology}: the topology depends on {branch}; this run takes that branch")
        return trial

    def _options(self, trial: Trial, faults: Plan) -> Options:
        version = acker_option(self.acker_version, profile, NEWEST) if self.acker_version else None
        return trial.options(
            faults, seed=self.seed, seconds=self.seconds, rate=self.rate, limit=self.limit, profile=version
        )


def _files_of(trial: Trial) -> list[Path]:
    topology = trial.judged.topology
    places = (topology.place, *(node.code for node in topology.nodes if node.code is not None))
    return [trial.project / place.path for place in places]


def _is_ours(file: Path) -> bool:
    """Whether a search wrote the file, which another one may replace."""
    first = file.read_bytes()[: len(_MARK)]
    return not first or first == _MARK.encode()


def _text(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _settings(values: Sequence[str]) -> dict[str, object]:
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


lab.command("study")(callback_of(Study))
lab.command("run")(callback_of(Run))
lab.command("scenes")(callback_of(Scenes))

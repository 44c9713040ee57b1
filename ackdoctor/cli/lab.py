"""`ackdoctor lab`: what Storm does with messages when its parts fail, in a simulator."""

from dataclasses import dataclass
from math import isnan
from typing import Annotated

import typer

from ackdoctor.acker.versions import NEWEST, Profile, profile
from ackdoctor.cli.commands import OutputFile, acker_option, callback_of, complete_words, formats_option
from ackdoctor.cli.lab_run import LabVersion, Run, Seed
from ackdoctor.cli.output import context_for, destination, escaping, require_writable
from ackdoctor.cli.progress import progress
from ackdoctor.config import nearest
from ackdoctor.lab import scenes, study
from ackdoctor.lab.stage import Setting
from ackdoctor.model import UsageError
from ackdoctor.model.acker import Engine
from ackdoctor.reporters import scenes as stories
from ackdoctor.reporters import study as reports

_FORMATS = ("full", "json")

lab = typer.Typer(
    help="Try what Storm guarantees when its parts fail, in a simulator.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
                reports.screen(results, setting, text, context, context.width)
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
                stories.screen(played, setting, text, context, context.width)
        return 1 if stories.broken_runs(played) else 0


def _acker(name: str | None, heron_has: str) -> Profile:
    """Return the version that --acker-version names; raise UsageError for Heron, which has no ackers."""
    version = acker_option(name, profile, NEWEST)
    if version.engine is Engine.HERON:
        raise UsageError(f"--acker-version: Heron has {heron_has}")
    return version


lab.command("study")(callback_of(Study))
lab.command("run")(callback_of(Run))
lab.command("scenes")(callback_of(Scenes))

"""The commands, each in a module of its own; what they do is imported when they run."""

from typing import Annotated

import typer

from ackdoctor import __version__
from ackdoctor.cli.analyze import analyze
from ackdoctor.cli.diagnose import diagnose
from ackdoctor.cli.explain import explain
from ackdoctor.cli.heap import heap
from ackdoctor.cli.lint import lint
from ackdoctor.cli.rules import rules
from ackdoctor.cli.trace import trace
from ackdoctor.cli.watch import watch

__all__ = ["app"]

# No rich in help and errors: importing it would cost a third of a whole run on one file.
app = typer.Typer(
    help="Finds where and why Storm-style topologies break the acking protocol.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(lint)
app.command()(rules)
app.command(context_settings={"ignore_unknown_options": True})(explain)  # a root may begin with a minus
app.add_typer(trace, name="trace")
app.command()(analyze)
app.command()(watch)
app.add_typer(heap, name="heap")
app.command()(diagnose)


def _version(asked: bool) -> None:  # noqa: FBT001 -- the shape of an option's callback
    if asked:
        typer.echo(f"ackdoctor {__version__}")
        raise typer.Exit


@app.callback()
def start(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Finds where and why Storm-style topologies break the acking protocol."""
    del version  # answered by its callback

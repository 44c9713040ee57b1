"""The commands, each in a module of its own that is imported when somebody asks for it; so is what they do."""

from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup
from typer.main import get_group

from ackdoctor import __version__

if TYPE_CHECKING:
    from typer._click import Command, Context

__all__ = ["app"]

_MINUS = {"ignore_unknown_options": True}  # a root may begin with a minus
_COMMANDS = {
    "lint": None,
    "rules": None,
    "explain": _MINUS,
    "trace": None,
    "analyze": None,
    "watch": None,
    "heap": None,
    "diagnose": None,
}


class _Commands(TyperGroup):
    """Makes a command when it is asked for: the options of all of them cost as much as a file's analysis."""

    def list_commands(self, ctx: "Context") -> list[str]:  # noqa: ARG002  # typer's signature
        """All of them, in the order of the help."""
        return list(_COMMANDS)

    def get_command(self, ctx: "Context", cmd_name: str) -> "Command | None":
        """One of them; for an unknown name all are made, so that a near one can be suggested."""
        for name in [cmd_name] if cmd_name in _COMMANDS else _COMMANDS:
            if name not in self.commands:
                self.commands[name] = _command(name)
        return super().get_command(ctx, cmd_name)


def _command(name: str) -> "Command":
    """The command of the module that is called so."""
    found = getattr(import_module(f"ackdoctor.cli.{name}"), name)
    alone = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        alone.command(context_settings=_COMMANDS[name])(found)
    return get_group(alone).commands[name]


# No rich in help and errors: importing it would cost a third of a whole run on one file.
app = typer.Typer(
    cls=_Commands,
    help="Finds where and why Storm-style topologies break the acking protocol.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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

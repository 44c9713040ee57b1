"""The commands.  A command's module is imported only when the command is used."""

from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup
from typer.main import get_group

from ackdoctor import __version__
from ackdoctor.cli.inputs import callback_of

if TYPE_CHECKING:
    from typer._click import Command, Context

__all__ = ["app"]

_MINUS = {"ignore_unknown_options": True}  # a root may begin with a minus
_COMMANDS = {  # module and class, or module and group of commands
    "lint": ("lint", "Lint"),
    "rules": ("rules", "Rules"),
    "explain": ("explain", "Explain"),
    "trace": ("trace", "trace"),
    "analyze": ("analyze", "Analyze"),
    "watch": ("watch", "Watch"),
    "heap": ("heap", "heap"),
    "diagnose": ("diagnose", "Diagnose"),
}


class _Commands(TyperGroup):
    """Builds a command on demand: building all of them takes as long as linting a file."""

    def list_commands(self, ctx: "Context") -> list[str]:  # noqa: ARG002  # typer's signature
        """Return the commands in the order of the help."""
        return list(_COMMANDS)

    def get_command(self, ctx: "Context", cmd_name: str) -> "Command | None":
        """Return a command; for an unknown name build all, so that typer can suggest one."""
        for name in [cmd_name] if cmd_name in _COMMANDS else _COMMANDS:
            if name not in self.commands:
                self.commands[name] = _command(name)
        return super().get_command(ctx, cmd_name)


def _command(name: str) -> "Command":
    module, attribute = _COMMANDS[name]
    found = getattr(import_module(f"ackdoctor.cli.{module}"), attribute)
    parent = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    if isinstance(found, typer.Typer):
        parent.add_typer(found, name=name)
    else:
        settings = _MINUS if name == "explain" else None
        parent.command(name, context_settings=settings)(callback_of(found))
    return get_group(parent).commands[name]


# Help and errors without rich: importing it takes a third of a run on one file.
app = typer.Typer(
    cls=_Commands,
    help="Find where and why Storm-style topologies break the acking protocol.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(requested: bool) -> None:  # noqa: FBT001 -- the shape of an option's callback
    if requested:
        typer.echo(f"ackdoctor {__version__}")
        raise typer.Exit


@app.callback()
def start(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Find where and why Storm-style topologies break the acking protocol."""
    del version  # its callback prints it

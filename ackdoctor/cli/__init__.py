"""The command line: arguments in, exit code out.  0: nothing found.  1: findings.  2: the work could not be done.

Each command has its module, and is a class there: its fields are the arguments, `run` does the work.
"""

import errno
import os
import sys
from typing import Any

from ackdoctor.model import AckdoctorError

__all__ = ["main"]

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}  # of a stream, which has no file name
_NO_ACCESS = {errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP}
_KINDS = {"a valid int range": "a whole number", "a valid float range": "a number"}  # typer's words: ours
_MAX_NAME = 300  # characters of a name that are printed


def main() -> None:
    """Run the `ackdoctor` command and exit; every error is one line on standard error, not a traceback."""
    _replace_closed_streams()
    try:
        from ackdoctor.cli.commands import app

        sys.exit(app(prog_name="ackdoctor", standalone_mode=False))
    except AckdoctorError as error:
        _print_error(str(error))
    except KeyboardInterrupt:  # before typer could handle it
        sys.exit(130)
    except Exception as error:
        if hasattr(error, "format_message"):
            _print_usage_error(error)
            sys.exit(2)
        if os.environ.get("ACKDOCTOR_TRACEBACK"):
            raise
        if isinstance(error, OSError) and error.errno in _NO_SPACE and not error.filename:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the interpreter would try again at exit
            _print_error(f"standard output cannot be written: {error.strerror}")
            sys.exit(2)
        if isinstance(error, FileNotFoundError) and not error.filename and not _has_directory():
            _print_error("the current directory does not exist any more; change to another one")
            sys.exit(2)
        if (
            isinstance(error, OSError)
            and error.errno in _NO_ACCESS
            and isinstance(error.filename, (str, bytes))
        ):
            _print_error(f"{os.fsdecode(error.filename)[:_MAX_NAME]}: {error.strerror}")
            sys.exit(2)
        _print_error(f"internal error: {type(error).__name__}: {error}")
        _print_error("please report it, with the traceback that ACKDOCTOR_TRACEBACK=1 shows")
    sys.exit(2)


def _replace_closed_streams() -> None:
    """Open /dev/null for each standard stream that the caller has closed (`>&-`), which Python sets to None.

    Otherwise the next file that is opened would take the stream's number.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  # open to the end


def _has_directory() -> bool:
    """Return whether the current directory still exists."""
    from pathlib import Path  # needed only for errors

    try:
        return bool(Path.cwd())
    except OSError:
        return False


def _print_usage_error(error: Any) -> None:
    """Print what typer cannot parse as other errors: the fault, the place, the next step."""
    import typer

    text, parameter, context = error.format_message(), getattr(error, "param", None), error.ctx
    if "\n" in text:  # the help of a command that needs arguments
        error.show()
        return
    if isinstance(error, typer.BadParameter) and parameter is not None and error.message:
        text = f"{parameter.opts[0] if parameter.opts[0].startswith('-') else parameter.metavar}: {error.message}"
    else:
        text = text[:1].lower() + text[1:]
    for theirs, ours in _KINDS.items():
        text = text.replace(theirs, ours)
    help_ = f"; `{context.command_path} --help` shows the usage" if context is not None else ""
    _print_error(f"{text.rstrip('.')}{help_}")


def _print_error(text: str) -> None:
    from ackdoctor.cli.output import complain  # needed only for errors

    complain(" ".join(text.splitlines()))

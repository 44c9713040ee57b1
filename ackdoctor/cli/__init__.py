"""The command line: arguments in, exit code out.  0 clean, 1 findings, 2 could not do its work.

The module that is called like a command declares its arguments.  What the command does stands beside it: of `lint` in
`run`, of `trace` in `recording`, of `analyze` in `examining`, of `watch` in `watching`, of `heap` in `autopsy`, of `diagnose`
in `consulting`.
"""

import errno
import os
import sys

from ackdoctor.model.errors import AckdoctorError

__all__ = ["main"]

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}  # of a stream; what fails to open has a name
_NO_ACCESS = {errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP}
_LONGEST = 300  # characters of a name that is itself too long


def main() -> None:
    """The `ackdoctor` command, which ends with SystemExit; whatever goes wrong is one line on standard error, never a traceback."""
    _open_what_is_closed()
    try:
        from ackdoctor.cli.app import app

        app(prog_name="ackdoctor")
    except AckdoctorError as error:
        _say(str(error))
    except KeyboardInterrupt:  # before typer was there to take it
        sys.exit(130)
    except Exception as error:
        if os.environ.get("ACKDOCTOR_TRACEBACK"):
            raise
        if isinstance(error, OSError) and error.errno in _NO_ROOM and not error.filename:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or the interpreter tries again at its end
            _say(f"standard output cannot be written: {error.strerror}")
            sys.exit(2)
        if isinstance(error, FileNotFoundError) and not error.filename and not _somewhere():
            _say("the current folder does not exist any more")
            sys.exit(2)
        if (
            isinstance(error, OSError)
            and error.errno in _NO_ACCESS
            and isinstance(error.filename, (str, bytes))
        ):
            _say(f"{os.fsdecode(error.filename)[:_LONGEST]}: {error.strerror}")
            sys.exit(2)
        _say(f"internal error: {type(error).__name__}: {error}")
        _say("please report it, with the traceback that ACKDOCTOR_TRACEBACK=1 shows")
    sys.exit(2)


def _open_what_is_closed() -> None:
    """A standard stream that the caller has closed (`>&-`) is None in Python: nobody reads it, or it is at its end.

    Its number is the next that is given away, so that no file of ours and no child's pipe takes the stream's place.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  # open to the end


def _somewhere() -> bool:
    """Whether there is a current folder: somebody may have removed it under the shell."""
    from pathlib import Path  # only on the way to an error

    try:
        return bool(Path.cwd())
    except OSError:
        return False


def _say(text: str) -> None:
    from ackdoctor.cli.streams import say  # only on the way to an error
    from ackdoctor.reporters.context import escape_commands, printable

    line = escape_commands(printable(" ".join(text.splitlines())))
    say(f"ackdoctor: {line}\n".encode("utf-8", "backslashreplace").decode("utf-8"))

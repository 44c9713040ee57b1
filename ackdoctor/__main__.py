"""`python -m ackdoctor`."""

import sys

if __name__ == "__main__":
    # `python -m` imports from the current directory first: a typer.py in a linted tree would run.
    # Python has already imported `os`.
    import os

    def _remove_current_directory() -> None:
        try:
            current = os.getcwd()  # noqa: PTH109 - pathlib may be in the tree
        except OSError:  # it was removed
            current = ""
        if sys.path and sys.path[0] in ("", current):
            del sys.path[0]

    _remove_current_directory()

    from ackdoctor.cli import main

    main()

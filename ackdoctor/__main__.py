"""`python -m ackdoctor`."""

import sys

if __name__ == "__main__":
    # With -m the first folder that modules are imported from is the current one: a linted tree's typer.py would run.
    # `os` and what it needs are imported long before, and this is done before anything else is.
    import os

    def _forget_current_folder() -> None:
        try:
            here = os.getcwd()  # noqa: PTH109 - pathlib may be the tree's
        except OSError:  # it was removed
            here = ""
        if sys.path and sys.path[0] in ("", here):
            del sys.path[0]

    _forget_current_folder()

    from ackdoctor.cli import main

    main()

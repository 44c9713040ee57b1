"""The start of a process below `ackdoctor trace run`: small, since every Python child imports it."""

import json
import os
from functools import partial
from importlib import import_module
from pathlib import Path

TYPE_CHECKING = False  # typing's own would have to be imported
if TYPE_CHECKING:
    from ackdoctor.tracer.instrument.install import Installation
    from ackdoctor.tracer.ledger.ledger import Ledger
    from ackdoctor.tracer.trace.write import Recorder

__all__ = ["VARIABLE", "begin", "begun"]

VARIABLE = "ACKDOCTOR_TRACE"  # what a process below needs to know, as JSON

begun: "list[tuple[Installation, Recorder]]" = []
"""What traces this process, if anything does: whoever imports `sitecustomize` takes no result."""


def begin() -> str:
    """Wrap the frameworks and write down what passes; the reason why not, '' if all is well."""
    from ackdoctor.tracer.instrument.install import install
    from ackdoctor.tracer.ledger.ledger import Ledger
    from ackdoctor.tracer.levels import Level
    from ackdoctor.tracer.trace.write import Recorder, at_exit

    try:
        said = json.loads(os.environ[VARIABLE])
        recorder = Recorder(
            Path(said["directory"]), run=said["run"], worker=os.uname().nodename, level=said["level"]
        )
        ledger = Ledger(Level.named(said["level"]))
        begun.append((install(ledger, recorder), recorder))
        at_exit(partial(_close, ledger))  # before the recorder is, which was made first
        for name in said.get("observers", ()):
            import_module(name).attach(ledger, recorder.folder)
    except Exception as error:  # noqa: BLE001 - the command must run, whatever is wrong with us
        return f"{type(error).__name__}: {error}"
    return ""


def _close(ledger: "Ledger") -> None:
    """The books' last rows: what was hidden from us."""
    for book in tuple(ledger.books.values()):
        book.close()

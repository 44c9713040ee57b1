"""`ackdoctor server`: the language server for editors."""

import os
import sys
from dataclasses import dataclass
from importlib.util import find_spec

from ackdoctor.model import UsageError


@dataclass(slots=True, kw_only=True)
class Server:
    """Show findings in an editor, as a language server.

    Messages go over standard input and output. Needs the extra ackdoctor[lsp]. The editor starts it; `docs/guide/editors.md` says how.
    Exit code: 0 the editor shut it down; 1 the connection was lost; 2 the extra is missing.
    """

    def run(self) -> int:
        """Serve until the editor leaves."""
        if find_spec("pygls") is None or find_spec("lsprotocol") is None:
            raise UsageError("server needs pygls, which is not installed: pip install 'ackdoctor[lsp]'")
        from ackdoctor.server.features import serve

        with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as stream:
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # only messages go to the editor
            return 0 if serve(stream) else 1

"""The progress of a run in the editor."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from ackdoctor.server.engine import Stopped

_ANSWER_S = 5  # in which a client must allow a progress bar


class CancelledByUser(Stopped):
    """The user has cancelled the run."""


@asynccontextmanager
async def progress_bar(
    server: LanguageServer, title: str, *, token: types.ProgressToken | None = None, wanted: bool = False
) -> AsyncIterator["Progress"]:
    """Yield what moves a progress bar that the user can cancel.

    `token` is that of a request.  Without one the server asks the client for a bar, if it is `wanted`.
    """
    bars = server.work_done_progress
    window = server.client_capabilities.window
    if token is None and wanted and window and window.work_done_progress:
        name = str(uuid.uuid4())
        with suppress(Exception):  # the client refuses, or says nothing: no bar
            await asyncio.wait_for(bars.create_async(name), _ANSWER_S)
            token = name
    if token is None:
        yield Progress(server, None)
        return
    bars.begin(token, types.WorkDoneProgressBegin(title, percentage=0, cancellable=True))
    try:
        yield Progress(server, token)
    finally:
        bars.end(token, types.WorkDoneProgressEnd())
        bars.tokens.pop(token, None)


class Progress:
    """Moves a progress bar, if there is one."""

    def __init__(self, server: LanguageServer, token: types.ProgressToken | None) -> None:
        self._bars = server.work_done_progress
        self._token = token
        self._percent = 0
        self._loop = asyncio.get_running_loop()

    def __call__(self, done: int, total: int) -> None:
        """Show how many parts of all are done, from any thread; raise CancelledByUser if the user cancelled the run."""
        if self._token is None:
            return
        bar = self._bars.tokens.get(self._token)
        if bar is not None and bar.cancelled():
            raise CancelledByUser
        percent = 100 * done // max(total, 1)
        if percent > self._percent:
            self._percent = percent
            report = types.WorkDoneProgressReport(message=f"{done}/{total}", percentage=percent)
            self._loop.call_soon_threadsafe(self._bars.report, self._token, report)

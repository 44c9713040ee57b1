"""The server: what the editor says goes in, diagnostics, hovers and code actions come out.

One task catches up with the changes: it checks the changed buffer first and publishes it, then, unless another change
comes, everything else.  A client that asks for diagnostics gets them at once and is asked to refresh when others change.
"""

import asyncio
import gc
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.workspace import PositionCodec

from ackdoctor import __version__
from ackdoctor.config import FILES
from ackdoctor.lint.discover import is_linted
from ackdoctor.model.finding import Unreadable
from ackdoctor.server.engine import Engine, Stopped
from ackdoctor.server.folder import Job
from ackdoctor.server.options import SECTION, Options, read_options
from ackdoctor.server.progress import CancelledByUser, Progress, progress_bar
from ackdoctor.server.texts import path_of
from ackdoctor.server.views import Checked, View, Views, result_id

_PAUSE_S = 0.2  # of typing, before everything else is checked


class Server(LanguageServer):
    """The language server of ackdoctor."""

    def __init__(self) -> None:
        # pygls counts a form feed as the end of a line, which an incremental change of the editor does not
        super().__init__(SECTION, __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self.views = Views()
        self.engine = Engine()
        self.options = Options()
        self.closed = False  # the editor asked for a shutdown
        self._fault = ""  # of the options
        self._touched: dict[str, None] = {}  # changed buffers
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._logged: set[tuple[str, str]] = set()

    # ---- what the client can do ----

    @property
    def _pulls(self) -> bool:
        text = self.client_capabilities.text_document
        return text is not None and text.diagnostic is not None

    def can(self, *names: str) -> bool:
        """Whether the client has a capability."""
        value: Any = self.client_capabilities
        for name in names:
            value = getattr(value, name, None)
        return bool(value)

    @property
    def codec(self) -> PositionCodec:
        """How the client counts the characters of a line."""
        return self.workspace.position_codec

    # ---- messages ----

    def report_server_error(self, error: Exception, source: object) -> None:
        """Log an error of a handler, or a message that is none; the server goes on."""
        if source is JsonRpcException:
            self.log(f"a message that is no JSON-RPC is ignored: {error}")
            return
        self.log(f"internal error: {type(error).__name__}: {error} ({getattr(source, '__name__', source)})")

    def log(self, message: str, kind: types.MessageType = types.MessageType.Error) -> None:
        """Write a line to the editor's log."""
        self.window_log_message(types.LogMessageParams(kind, message))

    def show_fault(self, view: View) -> None:
        """Show why the settings of a directory cannot be used, once for each reason."""
        fault = view.folder.fault
        if fault and fault != view.fault:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"ackdoctor: {fault}"))
        view.fault = fault

    def _log_crashes(self, unreadable: Iterable[Unreadable]) -> None:
        for each in unreadable:
            if each.internal and (each.path, each.reason) not in self._logged:
                self._logged.add((each.path, each.reason))
                self.log(f"{each.path}: {each.reason}")

    # ---- changes ----

    def start(self) -> None:
        """Take the directories of the editor, and begin to serve."""
        self.take_roots()
        self._task = asyncio.get_running_loop().create_task(self._serve())

    def close(self) -> None:
        """Stop all work."""
        self.closed = True
        self.engine.close()
        if self._task is not None:
            self._task.cancel()

    def take_roots(self) -> None:
        """Take the directories that are open in the editor."""
        uris = [*self.workspace.folders] or [self.workspace.root_uri or ""]
        self.views.set_roots({Path(path): None for uri in uris if (path := path_of(uri))})
        self.configure()

    def set_options(self, raw: object) -> None:
        """Take the options of the editor."""
        self.options, fault = read_options(raw)
        if fault and fault != self._fault:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"ackdoctor: {fault}"))
        self._fault = fault

    def configure(self) -> None:
        """Read all settings again."""
        for view in self.views:
            view.folder.configure(self.options)
            self.show_fault(view)
        self.look_again()

    def look_again(self) -> None:
        """Check everything on the disk again."""
        for view in self.views:
            view.look_again()
        self._changed(self.views.texts)

    def take_text(self, uri: str, text: str) -> None:
        """Take the text of a buffer."""
        path = path_of(uri)
        if not path or not is_linted(path):
            return
        view = self.views.of(path)
        if path not in self.views.texts:
            view.folder.configure(self.options)  # clients without a watch on files say nothing of a new one
            self.show_fault(view)
        self.views.put(uri, text)
        view.version += 1
        self._changed((path,))

    def drop_text(self, uri: str) -> None:
        """Forget a buffer: from now on the file on the disk counts."""
        path = path_of(uri)
        if self.views.texts.pop(path, None) is not None:
            view = self.views.of(path)
            view.look_again()
            view.sent.pop(uri, None)
            self._touched.pop(path, None)
            if not self._pulls:
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
            self._changed(())

    def take_files(self, paths: Iterable[str]) -> None:
        """Take notice of files that changed on the disk."""
        names = {Path(path).name for path in paths if path}
        baselines = {view.folder.settings.baseline for view in self.views}
        if names & {*FILES, *(baseline.name for baseline in baselines if baseline)}:
            self.configure()
        elif names:
            self.look_again()

    def catch_up(self) -> None:
        """Let everything be checked that is not up to date."""
        self._wake.set()

    def edit_of(self, path: str, edits: list[types.TextEdit]) -> types.WorkspaceEdit:
        """Return the edit of a buffer: of this version of it, if the client knows versions."""
        return self.edits_of({path: edits})

    def edits_of(self, edits: Mapping[str, list[types.TextEdit]]) -> types.WorkspaceEdit:
        """Return the edit of several buffers or files, by their absolute paths."""
        by_uri = {self.views.uri(path): group for path, group in edits.items()}
        if not self.can("workspace", "workspace_edit", "document_changes"):
            return types.WorkspaceEdit(changes=by_uri)
        changes = []
        for uri, group in by_uri.items():
            document = self.workspace.text_documents.get(uri)
            version = types.OptionalVersionedTextDocumentIdentifier(
                uri, document.version if document else None
            )
            changes.append(types.TextDocumentEdit(version, [*group]))
        return types.WorkspaceEdit(document_changes=[*changes])

    def _changed(self, paths: Iterable[str]) -> None:
        self._touched.update(dict.fromkeys(paths))
        self.engine.changed()
        self._wake.set()

    # ---- checking ----

    async def check(
        self,
        view: View,
        path: str = "",
        *,
        progress: Progress | None = None,
        in_background: bool = False,
    ) -> Checked:
        """Return an up-to-date report, exact in one file or, without a path, in all of them."""
        known = view.current(path)
        if known is not None:
            return known
        version, texts = view.version, self.views.open_in(view)

        def job(stop: Any) -> tuple[Any, bool]:
            return view.folder.check(texts, Job(stop=stop, progress=progress), focus=path)

        report, is_partial = await self.engine.run(job, until_change=not path, in_background=in_background)
        checked = Checked(version, report, view.folder, texts, self.codec, self.views.uri)
        view.keep(checked, path, is_partial=is_partial)
        self._log_crashes(report.unreadable)
        return checked

    async def _serve(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._catch_up()
            except CancelledByUser:
                continue
            except Stopped:  # by a change, or by a request that must not wait
                await self._is_woken(_PAUSE_S)
                self._wake.set()
            except Exception as error:  # noqa: BLE001  # the next change may be better
                self.log(f"internal error: {type(error).__name__}: {error}")

    async def _is_woken(self, seconds: float) -> bool:
        """Wait, but not longer than until the next change; return whether there is one."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)
        return self._wake.is_set()

    async def _catch_up(self) -> None:
        """Check the changed buffers, then everything."""
        while self._touched and not self._pulls:
            path = next(iter(self._touched))
            del self._touched[path]
            view = self.views.of(path)
            checked = await self.check(view, path)
            if checked.version == view.version:
                self._publish(view, checked, (path,))
        self._touched.clear()
        # the collector would otherwise run while the user waits for the next change
        await self.engine.run(lambda _: gc.collect(), until_change=True, in_background=True)
        for view in list(self.views):
            if view.is_current or not self.views.open_in(view):
                continue
            if await self._is_woken(_PAUSE_S + view.exact_s / 2 if view.exact is not None else 0):
                return
            start = time.monotonic()
            async with progress_bar(self, "ackdoctor: checking", wanted=view.exact is None) as progress:
                checked = await self.check(view, progress=progress, in_background=True)
            view.exact_s = time.monotonic() - start
            if checked.version == view.version:
                await self._spread(view, checked)

    def _publish(self, view: View, checked: Checked, paths: Iterable[str]) -> None:
        for path in paths:
            uri = self.views.uri(path)
            items = checked.diagnostics(path)
            document = self.workspace.text_documents.get(uri)
            view.sent[uri] = result_id(items)
            self.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(uri, items, document.version if document else None)
            )

    async def _spread(self, view: View, checked: Checked) -> None:
        """Bring the diagnostics of all buffers of a view to the editor."""
        stale = [
            path
            for path in checked.texts
            if view.sent.get(self.views.uri(path)) != result_id(checked.diagnostics(path))
        ]
        if not self._pulls:
            self._publish(view, checked, stale)
        elif stale and self.can("workspace", "diagnostics", "refresh_support"):
            await self.workspace_diagnostic_refresh_async(None)

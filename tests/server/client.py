"""An editor for tests: it opens directories and buffers in a server of its own, and waits for what comes back."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from lsprotocol import types
from pygls.uris import from_fs_path
from pytest_lsp import LanguageClient

COMMAND = [sys.executable, "-m", "ackdoctor", "server"]
_WAIT_S = 60

BOLT = """\
from streamparse import Bolt


class CountBolt(Bolt):
    auto_ack = False
    auto_anchor = False
    auto_fail = False

    def process(self, tup):
        if not tup.values:
            return
        self.emit([tup.values[0]], anchors=[tup])
        self.ack(tup)
"""
FIXED = BOLT.replace("            return\n", "            return self.ack(tup)\n")


def uri(path: Path) -> str:
    return from_fs_path(str(path)) or ""


class Editor:
    """A client with one directory more for each test."""

    def __init__(self, client: LanguageClient, root: Path) -> None:
        self.client = client
        self.root = root
        self._versions: dict[str, int] = {}

    def add_root(self) -> None:
        folder = types.WorkspaceFolder(uri(self.root), self.root.name)
        event = types.WorkspaceFoldersChangeEvent([folder], [])
        self.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))

    def remove_root(self) -> None:
        for name in list(self._versions):
            self.close(name)
        folder = types.WorkspaceFolder(uri(self.root), self.root.name)
        event = types.WorkspaceFoldersChangeEvent([], [folder])
        self.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))

    def uri(self, name: str) -> str:
        return uri(self.root / name)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())

    def open(self, name: str, text: str, *, saved: bool = True) -> None:
        if saved:
            self.write(name, text)
        self._versions[name] = 1
        item = types.TextDocumentItem(self.uri(name), _language(name), 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, name: str, text: str) -> None:
        self._versions[name] += 1
        document = types.VersionedTextDocumentIdentifier(self._versions[name], self.uri(name))
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    def close(self, name: str) -> None:
        del self._versions[name]
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(self._document(name)))

    def save(self, name: str, text: str) -> None:
        self.write(name, text)
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(self._document(name)))

    def _document(self, name: str) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri(name))

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until the server has sent what makes that true."""
        for _ in range(_WAIT_S * 100):
            if holds():
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"nothing came: {self.client.diagnostics}, {self.client.messages}")

    async def diagnostics(self, name: str, *codes: str) -> Sequence[types.Diagnostic]:
        """Wait for the diagnostics of a file to have these codes, and return them."""
        await self.until(lambda: self.codes(name) == list(codes))
        return self.client.diagnostics[self.uri(name)]

    async def any_diagnostics(self, name: str) -> Sequence[types.Diagnostic]:
        """Wait for diagnostics of a file, and return them."""
        await self.until(lambda: self.codes(name))
        return self.client.diagnostics[self.uri(name)]

    def set_options(self, options: object) -> None:
        settings = {"ackdoctor": options}
        self.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))

    async def shown(self, text: str) -> None:
        """Wait for a message to the user."""
        await self.until(lambda: any(text in each.message for each in self.client.messages))

    def codes(self, name: str) -> list[str] | None:
        found = self.client.diagnostics.get(self.uri(name))
        return None if found is None else [str(each.code) for each in found]

    async def actions_for(self, name: str, found: types.Diagnostic) -> Sequence[types.CodeAction]:
        return await self.actions(name, found.range.start)

    async def actions(self, name: str, here: types.Position, *only: str) -> Sequence[types.CodeAction]:
        context = types.CodeActionContext([], [*only] or None)
        params = types.CodeActionParams(self._document(name), types.Range(here, here), context)
        found = await self.client.text_document_code_action_async(params)
        return [each for each in found or () if isinstance(each, types.CodeAction)]

    async def hover(self, name: str, line: int, column: int = 10) -> str:
        params = types.HoverParams(self._document(name), types.Position(line - 1, column))
        found = await self.client.text_document_hover_async(params)
        return found.contents.value if found and isinstance(found.contents, types.MarkupContent) else ""


def _language(name: str) -> str:
    return {"py": "python", "java": "java"}.get(name.rpartition(".")[2], "plaintext")


def applied(text: str, action: types.CodeAction) -> str:
    """Return a text with the edits of an action, whose positions count UTF-16 units."""
    assert action.edit is not None
    edits = [edit for group in (action.edit.changes or {}).values() for edit in group]
    for change in action.edit.document_changes or ():
        if isinstance(change, types.TextDocumentEdit):
            edits += (edit for edit in change.edits if isinstance(edit, types.TextEdit))
    units = text.encode("utf-16-le")
    for edit in sorted(edits, key=lambda each: _offset(text, each.range.start), reverse=True):
        start, end = (_offset(text, place) for place in (edit.range.start, edit.range.end))
        units = units[:start] + edit.new_text.encode("utf-16-le") + units[end:]
    return units.decode("utf-16-le")


def _offset(text: str, place: types.Position) -> int:
    before = "".join(f"{line}\n" for line in text.split("\n")[: place.line])
    return len(before.encode("utf-16-le")) + 2 * place.character

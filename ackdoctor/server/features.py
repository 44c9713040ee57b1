"""The requests and notifications that the server answers."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from lsprotocol import types
from pygls.exceptions import JsonRpcRequestCancelled

from ackdoctor.lint.discover import is_linted
from ackdoctor.model.finding import Finding, Fix
from ackdoctor.server.engine import Stopped
from ackdoctor.server.folder import Job
from ackdoctor.server.messages import FIX_ALL, diagnostic, fix_all, hover, ignore_action, quick_fix
from ackdoctor.server.options import SECTION
from ackdoctor.server.progress import progress_bar
from ackdoctor.server.server import Server
from ackdoctor.server.texts import line_edits, path_of
from ackdoctor.server.views import Checked, result_id

_WATCHED = (
    "**/*.{py,java,yaml,yml,json,clj,properties,xml,toml,txt}",
    "**/.gitignore",
)
_KINDS = (types.CodeActionKind.QuickFix, FIX_ALL)


def serve(stream: BinaryIO) -> bool:
    """Serve the editor on standard input and this stream until it leaves; return whether it asked for the shutdown."""
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # `report_server_error` reports them in a sentence
    server = Server()
    _add_lifecycle(server)
    _add_texts(server)
    _add_diagnostics(server)
    _add_help(server)
    server.start_io(None, stream)
    return server.closed


# ---- lifecycle and settings ----


def _add_lifecycle(server: Server) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.set_options(params.initialization_options)

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        server.start()
        if server.can("workspace", "did_change_watched_files", "dynamic_registration"):
            watchers = [types.FileSystemWatcher(glob) for glob in _WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            watch = types.Registration("watch", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await server.client_register_capability_async(types.RegistrationParams([watch]))
        await _ask_for_options(server)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def change_options(params: types.DidChangeConfigurationParams) -> None:
        sent = params.settings.get(SECTION) if isinstance(params.settings, dict) else None
        if sent is not None:
            server.set_options(sent)
            server.configure()
        await _ask_for_options(server)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def change_folders(_: types.DidChangeWorkspaceFoldersParams) -> None:
        server.take_roots()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def change_files(params: types.DidChangeWatchedFilesParams) -> None:
        names = {path_of(change.uri) for change in params.changes}
        server.take_files(names)

    @server.feature(types.SHUTDOWN)
    def shutdown(_: Any) -> None:
        server.close()


async def _ask_for_options(server: Server) -> None:
    """Ask the client for its section of the configuration, if it has one."""
    if server.can("workspace", "configuration"):
        wanted = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
        found = await server.workspace_configuration_async(wanted)
        if found and found[0]:
            server.set_options(found[0])
            server.configure()


# ---- buffers ----


def _add_texts(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.take_text(params.text_document.uri, params.text_document.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.take_text(uri, server.workspace.get_text_document(uri).source)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.drop_text(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.take_files((path_of(params.text_document.uri),))


# ---- diagnostics on request ----


def _add_diagnostics(server: Server) -> None:
    options = types.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=True, identifier=SECTION, work_done_progress=True
    )

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)
    async def of_document(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        uri = params.text_document.uri
        path = path_of(uri)
        items = []
        if path in server.views.texts:
            view = server.views.of(path)
            items = (await server.check(view, path)).diagnostics(path)
            view.sent[uri] = result_id(items)
            server.catch_up()
        found = result_id(items)
        if found == params.previous_result_id:
            return types.RelatedUnchangedDocumentDiagnosticReport(found)
        return types.RelatedFullDocumentDiagnosticReport(items, result_id=found)

    @server.feature(types.WORKSPACE_DIAGNOSTIC)
    async def of_workspace(params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
        known = {each.uri: each.value for each in params.previous_result_ids}
        found: dict[str, list[types.Diagnostic]] = {uri: [] for uri in known}
        for view in list(server.views):
            view.look_again()
            async with progress_bar(server, "ackdoctor: checking", token=params.work_done_token) as progress:
                try:
                    checked = await server.check(view, progress=progress)
                except Stopped:
                    raise JsonRpcRequestCancelled from None
            found.update((server.views.uri(path), checked.diagnostics(path)) for path in checked.paths())
        return types.WorkspaceDiagnosticReport(
            [_of_file(server, uri, items, known.get(uri)) for uri, items in found.items()]
        )


def _of_file(
    server: Server, uri: str, items: list[types.Diagnostic], known: str | None
) -> types.WorkspaceDocumentDiagnosticReport:
    document = server.workspace.text_documents.get(uri)
    version = document.version if document else None
    found = result_id(items)
    if found == known:
        return types.WorkspaceUnchangedDocumentDiagnosticReport(uri, found, version=version)
    return types.WorkspaceFullDocumentDiagnosticReport(uri, items, version=version, result_id=found)


# ---- hovers and code actions ----


def _add_help(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def on_hover(params: types.HoverParams) -> types.Hover | None:
        path = path_of(params.text_document.uri)
        if path not in server.views.texts:
            return None
        checked = await server.check(server.views.of(path), path)
        _, text = checked.text_of(checked.folder.place(path))
        here = types.Range(params.position, params.position)
        findings = [each for each in checked.findings(path) if _meet(text.range(each.site.span), here)]
        formats = server.client_capabilities.text_document
        accepted = formats.hover.content_format if formats and formats.hover else None
        return hover(findings, text, markdown=not accepted or types.MarkupKind.Markdown in accepted)

    kinds = types.CodeActionOptions(code_action_kinds=list(_KINDS))

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    async def on_code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        try:
            return await _actions(server, params)
        except Stopped:  # the text has changed
            return []


async def _actions(server: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    path = path_of(params.text_document.uri)
    if path not in server.views.texts or not is_linted(path):
        return []
    wanted = params.context.only
    checked = await server.check(server.views.of(path), path)
    _, text = checked.text_of(checked.folder.place(path))
    found = checked.findings(path)
    here = [each for each in found if _meet(text.range(each.site.span), params.range)]
    actions: list[types.CodeAction] = []
    if here and _includes(wanted, types.CodeActionKind.QuickFix):
        actions += await _quick_fixes(server, checked, path, here)
    if wanted and _includes(wanted, FIX_ALL):
        before = checked.texts[path]

        def job(stop: Any) -> bytes | None:
            return checked.folder.fixed(found, path, checked.texts, Job(stop=stop))

        after = await server.engine.run(job, until_change=True)
        if after is not None:
            actions.append(fix_all(server.edit_of(path, list(line_edits(before, after, path, text)))))
    return actions


async def _quick_fixes(
    server: Server, checked: Checked, path: str, findings: Sequence[Finding]
) -> list[types.CodeAction]:
    """Return the fixes of findings, and the comments that silence them."""
    folder, unsafe = checked.folder, server.options.unsafe_fixes
    _, text = checked.text_of(folder.place(path))
    shown = {each: diagnostic(each, checked.text_of) for each in findings}

    def job(stop: Any) -> Mapping[Finding, Fix]:
        return folder.fixes(findings, checked.texts, Job(stop=stop), unsafe=unsafe)

    fixes = await server.engine.run(job, until_change=True)
    actions = [
        quick_fix(each, fix, server.edits_of(_by_path(checked, path, fix)), shown[each])
        for each, fix in sorted(fixes.items(), key=lambda item: not item[1].safe)
    ]
    for each in findings:
        edit = folder.suppression(each, checked.texts[path])
        if edit is not None:
            actions.append(ignore_action(each, server.edit_of(path, [text.edit(edit)]), shown[each]))
    return actions


def _by_path(checked: Checked, path: str, fix: Fix) -> Mapping[str, list[types.TextEdit]]:
    """Return the edits of a fix by the absolute paths of their files; those of the finding's file have none."""
    found: dict[str, list[types.TextEdit]] = {}
    for edit in fix.edits:
        place = edit.path or checked.folder.place(path)
        _, text = checked.text_of(place)
        found.setdefault(checked.folder.path(place), []).append(text.edit(edit))
    return found


def _includes(wanted: Sequence[types.CodeActionKind | str] | None, kind: str) -> bool:
    """Whether a client asks for a kind of action, itself or by a kind above it."""
    return not wanted or any(f"{kind}.".startswith(f"{getattr(each, 'value', each)!s}.") for each in wanted)


def _meet(one: types.Range, other: types.Range) -> bool:
    def place(position: types.Position) -> tuple[int, int]:
        return position.line, position.character

    return place(one.start) <= place(other.end) and place(other.start) <= place(one.end)

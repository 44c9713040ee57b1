"""The server with a client that asks for diagnostics, as VS Code and Neovim from 0.10 on are; and faults of ours."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("pytest_lsp")

import pytest_asyncio
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from tests.server.client import BOLT, FIXED, Editor, uri
from tests.server.test_server import BASE, HEIR

pytestmark = pytest.mark.asyncio(loop_scope="module")
ROOT = Path(__file__).parent.parent.parent
FAULTY = ClientServerConfig(
    server_command=[sys.executable, str(Path(__file__).with_name("faulty.py"))],
    server_env={**os.environ, "PYTHONPATH": str(ROOT)},
)


@pytest_lsp.fixture(scope="module", config=FAULTY)
async def client(lsp_client: LanguageClient):
    capabilities = client_capabilities("neovim@v0.11")
    assert capabilities.workspace is not None
    capabilities.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(refresh_support=True)
    await lsp_client.initialize_session(types.InitializeParams(capabilities=capabilities))
    yield
    await lsp_client.shutdown_session()


@pytest_asyncio.fixture(loop_scope="module")
async def editor(client, tmp_path):
    editor = Editor(client, tmp_path)
    editor.add_root()
    yield editor
    editor.remove_root()


async def _pull(editor: Editor, name: str, known: str | None = None):
    document = types.TextDocumentIdentifier(editor.uri(name))
    params = types.DocumentDiagnosticParams(document, previous_result_id=known)
    return await editor.client.text_document_diagnostic_async(params)


async def test_a_buffer_is_checked_when_the_client_asks(editor):
    editor.open("bolt.py", BOLT)
    report = await _pull(editor, "bolt.py")
    assert [each.code for each in report.items] == ["ACK101"]
    same = await _pull(editor, "bolt.py", report.result_id)
    assert isinstance(same, types.RelatedUnchangedDocumentDiagnosticReport)
    editor.change("bolt.py", FIXED)
    assert (await _pull(editor, "bolt.py", report.result_id)).items == ()
    assert editor.codes("bolt.py") is None  # and not sent unasked


async def test_the_client_is_asked_to_refresh_when_another_buffer_changes_a_report(editor):
    editor.write("base.py", BASE)
    editor.open("heir.py", HEIR)
    editor.open("base.py", BASE)
    assert (await _pull(editor, "heir.py")).items == ()
    await _pull(editor, "base.py")
    before = editor.client.diagnostic_refresh_count
    editor.change("base.py", BASE.replace("self.ack(tup)", "pass"))
    await _pull(editor, "base.py")
    await editor.until(lambda: editor.client.diagnostic_refresh_count > before)
    assert [each.code for each in (await _pull(editor, "heir.py")).items] == ["ACK101"]


async def test_the_whole_project_is_checked_with_progress(editor):
    for number in range(3):
        editor.write(f"bolt_{number}.py", BOLT)
    token = "of a test"
    editor.client.progress_reports[token] = []
    params = types.WorkspaceDiagnosticParams([], work_done_token=token)
    report = await editor.client.workspace_diagnostic_async(params)
    mine = {each.uri: each for each in report.items if each.uri.startswith(uri(editor.root))}
    assert {name: [item.code for item in each.items] for name, each in mine.items()} == {
        editor.uri(f"bolt_{number}.py"): ["ACK101"] for number in range(3)
    }
    kinds = [each.kind for each in editor.client.progress_reports[token]]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    known = [types.PreviousResultId(each.uri, each.result_id) for each in mine.values()]
    editor.write("bolt_1.py", FIXED)
    again = await editor.client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams(known))
    answers = {each.uri: each.kind for each in again.items if each.uri in mine}
    assert [answers[editor.uri(f"bolt_{number}.py")] for number in range(3)] == [
        "unchanged",
        "full",
        "unchanged",
    ]
    (fixed,) = [each for each in again.items if each.uri == editor.uri("bolt_1.py")]
    assert fixed.items == ()


async def test_a_cancelled_request_ends(editor):
    for number in range(20):
        editor.write(f"slow_{number}.py", BOLT.replace("CountBolt", f"Slow{number}"))
    params = types.WorkspaceDiagnosticParams([])
    send = editor.client.protocol.send_request_async
    request = asyncio.ensure_future(send(types.WORKSPACE_DIAGNOSTIC, params, msg_id="slow"))
    await asyncio.sleep(0.1)
    editor.client.cancel_request(types.CancelParams("slow"))
    with pytest.raises(JsonRpcException):
        await request
    editor.open("bolt.py", BOLT)
    assert [each.code for each in (await _pull(editor, "bolt.py")).items] == ["ACK101"]


async def test_a_crash_is_a_line_in_the_log_and_costs_one_component(editor):
    editor.open("crash.py", BOLT.replace("CountBolt", "Crash"))
    (found,) = (await _pull(editor, "crash.py")).items
    assert (
        found.message == "not checked to the end: internal error in Crash: ZeroDivisionError: a fault of ours"
    )
    await editor.until(
        lambda: any("crash.py: internal error" in each.message for each in editor.client.log_messages)
    )
    editor.open("bolt.py", BOLT)
    assert [each.code for each in (await _pull(editor, "bolt.py")).items] == ["ACK101"]

"""The server with a real client over pipes, a push client as Neovim before 0.10 is."""

import pytest

pytest.importorskip("pytest_lsp")

import pytest_asyncio
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from tests.server.client import BOLT, COMMAND, Editor

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_lsp.fixture(scope="module", config=ClientServerConfig(server_command=COMMAND))
async def client(lsp_client: LanguageClient):
    capabilities = client_capabilities("neovim@v0.9")
    await lsp_client.initialize_session(types.InitializeParams(capabilities=capabilities))
    yield
    await lsp_client.shutdown_session()


@pytest_asyncio.fixture(loop_scope="module")
async def editor(client, tmp_path):
    editor = Editor(client, tmp_path)
    editor.add_root()
    yield editor
    editor.remove_root()


async def test_a_finding_comes_on_open_and_goes_with_the_change(editor):
    editor.open("bolt.py", BOLT)
    (found,) = await editor.diagnostics("bolt.py", "ACK101")
    assert found.source == "ackdoctor"
    assert found.severity is types.DiagnosticSeverity.Error
    assert found.code_description.href.endswith("/ACK101-missing-ack/")
    assert [each.location.uri for each in found.related_information] == [editor.uri("bolt.py")] * len(
        found.related_information
    )
    editor.change("bolt.py", BOLT.replace("            return\n", "            return self.ack(tup)\n"))
    await editor.diagnostics("bolt.py")

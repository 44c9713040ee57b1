"""The server with a real client over pipes, one that waits for diagnostics, as Neovim before 0.10 is."""

import pytest

pytest.importorskip("pytest_lsp")

import pytest_asyncio
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

from tests.server.client import BOLT, COMMAND, FIXED, Editor, applied

pytestmark = pytest.mark.asyncio(loop_scope="module")

BASE = """\
from streamparse import Bolt


class Base(Bolt):
    auto_ack = False
    auto_anchor = False
    auto_fail = False

    def finish(self, tup):
        self.ack(tup)
"""
HEIR = """\
from base import Base


class Heir(Base):
    def process(self, tup):
        self.finish(tup)
"""
UNANCHORED = """\
from streamparse import Bolt


class CountBolt(Bolt):
    auto_ack = False
    auto_anchor = False
    auto_fail = False

    def process(self, tup):
        self.emit([tup.values[0]])
        self.ack(tup)
"""
FLUX = """\
name: words
spouts:
  - id: s
    className: com.example.S
bolts:
  - id: b
    className: com.example.B
streams:
  - from: nowhere
    to: b
    grouping: {type: SHUFFLE}
"""


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
    client.messages.clear()


async def test_a_finding_comes_on_open_and_goes_with_the_change(editor):
    editor.open("bolt.py", BOLT)
    (found,) = await editor.diagnostics("bolt.py", "ACK101")
    assert found.source == "ackdoctor"
    assert found.severity is types.DiagnosticSeverity.Error
    assert found.code_description.href.endswith("/ACK101-missing-ack/")
    steps = [(each.location.uri, each.location.range.start.line) for each in found.related_information]
    assert (editor.uri("bolt.py"), 10) in steps
    editor.change("bolt.py", FIXED)
    await editor.diagnostics("bolt.py")


async def test_a_change_of_an_unsaved_base_class_reaches_the_open_heirs(editor):
    editor.write("base.py", BASE)
    editor.open("heir.py", HEIR)
    await editor.diagnostics("heir.py")
    editor.open("base.py", BASE)
    editor.change("base.py", BASE.replace("self.ack(tup)", "pass"))
    await editor.diagnostics("heir.py", "ACK101")
    editor.close("base.py")  # without saving
    await editor.diagnostics("heir.py")


async def test_a_buffer_that_is_no_file_yet_is_checked(editor):
    editor.open("new.py", BOLT, saved=False)
    await editor.diagnostics("new.py", "ACK101")


async def test_a_file_keeps_the_uri_that_the_editor_gave_it(editor, client):
    folder = editor.root / "a b@c\N{LATIN SMALL LETTER E WITH ACUTE}"
    folder.mkdir()
    (folder / "bolt.py").write_text(BOLT, encoding="utf-8")
    uri = editor.uri("a b@c\N{LATIN SMALL LETTER E WITH ACUTE}/bolt.py").replace("@", "%40")
    item = types.TextDocumentItem(uri, "python", 1, BOLT)
    client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    await editor.until(lambda: client.diagnostics.get(uri))
    (found,) = client.diagnostics[uri]
    assert {each.location.uri for each in found.related_information} == {uri}


async def test_java_is_checked(editor):
    source = (
        "import org.apache.storm.task.OutputCollector;\n"
        "import org.apache.storm.topology.base.BaseRichBolt;\n"
        "import org.apache.storm.tuple.Tuple;\n\n"
        "public class A extends BaseRichBolt {\n"
        "    private OutputCollector collector;\n"
        "    public void execute(Tuple input) {\n"
        '        String text = "\\uD83D";\n'
        "    }\n}\n"
    )
    editor.open("A.java", source)
    await editor.diagnostics("A.java", "ACK101")


async def test_an_unsaved_topology_file_is_judged(editor):
    editor.open("words.yaml", FLUX)
    await editor.diagnostics("words.yaml", "ACK506", "ACK506")
    editor.change("words.yaml", FLUX.replace("nowhere", "s"))
    await editor.diagnostics("words.yaml")


async def test_positions_count_utf16_units_and_all_line_ends(editor):
    text = BOLT.replace("import Bolt\n", "import Bolt\n\f\n").replace(
        "anchors=[tup])", "anchors=[tup])  # \u2028 ends no line"
    )
    text = text.replace("self.ack(tup)", "note = '\U0001f600\té'; self.emit([1]); self.ack(tup)").replace(
        "\n", "\r\n"
    )
    editor.open("bolt.py", text)
    found = await editor.diagnostics("bolt.py", "ACK101", "ACK201")
    lines = text.split("\r\n")
    marked = [_marked(lines[each.range.start.line], each.range) for each in found]
    assert (marked[0][:6], marked[1]) == ("return", "self.emit([1])")


def _marked(line: str, place: types.Range) -> str:
    units = line.encode("utf-16-le")
    return units[2 * place.start.character : 2 * place.end.character].decode("utf-16-le")


async def test_a_hover_shows_the_page_of_the_rule(editor):
    editor.open("bolt.py", BOLT)
    (found,) = await editor.diagnostics("bolt.py", "ACK101")
    page = await editor.hover("bolt.py", found.range.start.line + 1, found.range.start.character)
    assert page.startswith("# missing-ack (ACK101)")
    assert await editor.hover("bolt.py", 1, 0) == ""


async def test_the_safe_fix_comes_first_and_repairs_the_buffer(editor):
    editor.open("bolt.py", UNANCHORED)
    (found,) = await editor.diagnostics("bolt.py", "ACK201")
    fix, ignore = await editor.actions_for("bolt.py", found)
    assert fix.is_preferred
    assert [*fix.diagnostics] == [found]
    assert "anchors=[tup]" in applied(UNANCHORED, fix)
    assert ignore.title == "Ignore ACK201 on this line"
    editor.change("bolt.py", applied(UNANCHORED, fix))
    await editor.diagnostics("bolt.py")


async def test_an_unsafe_fix_says_so_and_is_not_in_the_fix_of_all(editor):
    text = UNANCHORED + BOLT.replace("CountBolt", "Other").partition("\n\n")[2]
    editor.open("bolt.py", text)
    found = await editor.diagnostics("bolt.py", "ACK201", "ACK101")
    fixes = await editor.actions_for("bolt.py", found[1])
    assert [each.title.endswith("(unsafe)") for each in fixes if each.title.startswith("ACK101:")] == [True]
    (everything,) = await editor.actions("bolt.py", types.Position(0, 0), "source.fixAll")
    assert everything.kind == "source.fixAll.ackdoctor"
    assert applied(text, everything) == text.replace(
        "self.emit([tup.values[0]])", "self.emit([tup.values[0]], anchors=[tup])"
    )


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
async def test_a_comment_silences_a_finding(editor, newline):
    text = BOLT.replace("\n", newline)
    editor.open("bolt.py", text)
    (found,) = await editor.diagnostics("bolt.py", "ACK101")
    (ignore,) = [
        each for each in await editor.actions_for("bolt.py", found) if each.title.startswith("Ignore")
    ]
    editor.change("bolt.py", applied(text, ignore))
    assert applied(text, ignore).count("# ackdoctor: ignore[ACK101] TODO: say why") == 1
    await editor.diagnostics("bolt.py")


async def test_a_changed_settings_file_counts(editor):
    editor.open("bolt.py", BOLT)
    await editor.diagnostics("bolt.py", "ACK101")
    editor.save("ackdoctor.toml", 'ignore = ["ACK101"]\n')
    await editor.diagnostics("bolt.py")


async def test_broken_settings_are_shown_once(editor, client):
    editor.open("bolt.py", BOLT)
    await editor.diagnostics("bolt.py", "ACK101")
    editor.save("ackdoctor.toml", "selec = []\n")
    await editor.until(lambda: client.messages)
    editor.save("ackdoctor.toml", "selec = []\n")
    editor.change("bolt.py", FIXED)
    await editor.diagnostics("bolt.py")
    (shown,) = client.messages
    assert "ackdoctor.toml:1: unknown key `selec`; did you mean `select`?" in shown.message


async def test_options_of_the_editor_override_the_settings_file(editor, client):
    editor.write("ackdoctor.toml", 'ignore = ["ACK101"]\n')
    editor.open("bolt.py", BOLT)
    await editor.diagnostics("bolt.py")
    editor.set_options({"select": ["ACK101"]})
    await editor.diagnostics("bolt.py", "ACK101")
    editor.set_options({"select": ["ACK999"], "wrong": 1})
    await editor.shown("unknown option `wrong`")
    await editor.shown("the editor's option `select`: no rule is called `ACK999`")
    editor.set_options({})


async def test_a_syntax_error_is_not_silence(editor):
    editor.open("bolt.py", BOLT)
    await editor.diagnostics("bolt.py", "ACK101")
    editor.change("bolt.py", BOLT + "def (\n")
    await editor.until(
        lambda: [each.code for each in editor.client.diagnostics[editor.uri("bolt.py")]] == [None]
    )
    (found,) = editor.client.diagnostics[editor.uri("bolt.py")]
    assert found.message.startswith("not checked: ")
    editor.change("bolt.py", BOLT)
    await editor.diagnostics("bolt.py", "ACK101")


async def test_an_excluded_file_has_no_findings(editor):
    editor.open("build/bolt.py", BOLT)
    await editor.diagnostics("build/bolt.py")


async def test_the_last_of_many_changes_wins(editor):
    editor.open("bolt.py", BOLT)
    for _ in range(20):
        editor.change("bolt.py", FIXED)
        editor.change("bolt.py", BOLT)
    editor.change("bolt.py", FIXED)
    await editor.diagnostics("bolt.py")


async def test_nothing_of_the_tree_is_imported(editor):
    editor.write("streamparse.py", "open('imported', 'w')\n")
    editor.write("conftest.py", "open('imported', 'w')\n")
    editor.open("bolt.py", "open('imported', 'w')\n" + BOLT)
    await editor.diagnostics("bolt.py", "ACK101")
    assert not (editor.root / "imported").exists()

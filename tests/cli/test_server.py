"""`ackdoctor server` without its extra."""

import subprocess
import sys

import pytest


def test_without_the_extra_one_sentence_says_what_to_install(shell, monkeypatch):
    monkeypatch.setattr("ackdoctor.cli.server.find_spec", lambda _: None)
    outcome = shell("server")
    assert outcome.code == 2
    assert (
        outcome.err == "ackdoctor: server needs pygls, which is not installed: pip install 'ackdoctor[lsp]'\n"
    )
    assert outcome.out == ""


@pytest.mark.parametrize("sent", [b"", b"Content-Length: 2\r\n\r\n[]", b"Content-Length: 1\r\n\r\n{"])
def test_a_lost_connection_is_exit_code_1_without_a_traceback(sent):
    ended = subprocess.run(
        [sys.executable, "-m", "ackdoctor", "server"],
        input=sent,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (1, b"")
    assert (b"no JSON-RPC" in ended.stdout) == bool(sent)

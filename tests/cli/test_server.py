"""`ackdoctor server` without its extra."""


def test_without_the_extra_one_sentence_says_what_to_install(shell, monkeypatch):
    monkeypatch.setattr("ackdoctor.cli.server.find_spec", lambda _: None)
    outcome = shell("server")
    assert outcome.code == 2
    assert (
        outcome.err == "ackdoctor: server needs pygls, which is not installed: pip install 'ackdoctor[lsp]'\n"
    )
    assert outcome.out == ""

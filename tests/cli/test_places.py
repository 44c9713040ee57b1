"""`ackdoctor lint` in a repository with several projects, links and settings."""

from pathlib import Path

from tests.engine.project import BOLT, write


def test_settings_count_where_a_project_is_reached_by_a_link(shell):
    settings = 'extend-exclude = ["gen/**"]\n[per-file-ignores]\n"old/**" = ["ACK103"]\n'
    write(Path("real"), {"ackdoctor.toml": settings, "gen/a.py": BOLT, "old/b.py": BOLT, "c.py": BOLT})
    Path("link").symlink_to("real")
    for name in ("real", "link"):
        outcome = shell("lint", "--output-format", "concise", name)
        assert [line.split()[0] for line in outcome.out.splitlines()] == [f"{name}/c.py:9:9:", "1"]
        assert outcome.err == ""


def test_a_baseline_in_the_settings_counts_where_the_project_is_reached_by_a_link(shell):
    write(Path("real"), {"ackdoctor.toml": 'baseline = "known.json"\n', "a.py": BOLT})
    Path("link").symlink_to("real")
    assert (
        shell("lint", "--write-baseline", "real").err
        == "ackdoctor: known.json: 1 accepted, 1 of them new, 0 fixed\n"
    )
    assert shell("lint", "link") == (0, "no findings in 1 file, 1 component · 1 in the baseline\n", "")

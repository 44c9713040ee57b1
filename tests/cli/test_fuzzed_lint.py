"""Damaged sources, settings and baselines cause no internal error and no hang, and the exit code is right."""

import json
import random
import resource
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import Shell
from tests.lint.hostile.mutations import damaged

FIXTURES = Path(__file__).parents[2] / "fixtures"
SHORT, LONG = 40, 1_500  # inputs of each kind
SLOWEST = 10  # seconds for one
MOST_MEMORY = 500_000  # kB that a round may add
FORMS = ("full", "concise", "json", "json-lines", "sarif", "github")

SETTINGS = [
    b'select = ["ACK1", "unanchored-emit"]\nignore = ["ACK101"]\nmin-severity = "error"\n',
    b'extend-exclude = ["src/**", "*_pb2.py", "[a-z]*/x"]\noutput-format = "json"\nfatal-unreadable = true\n',
    b'[per-file-ignores]\n"tests/**" = ["ACK1"]\n"*.py" = ["ACK2", "double-ack"]\n',
    b'[extra-bases]\n"acme.Bolt" = "streamparse.Bolt"\n[dialect-version]\nstreamparse = "2.1"\nstorm_java = "1.0"\n',
    b'[extra-bases]\nBase = "pystorm.Bolt"\n',
]
ENTRY = {"path": "bolt.py", "code": "ACK103", "where": "CountBolt.process", "fingerprint": "0123456789abcdef"}
BASELINES = [
    json.dumps({"version": 1, "findings": [ENTRY, {**ENTRY, "code": "ACK101"}]}, indent=1).encode(),
    b'{"version": 1, "findings": []}\n',
    b'{"version": 2, "findings": {"a": [1e5, null, true, "\\u00e9\\ud800"]}}',
]
BOLT = (FIXTURES / "topologies/streamparse/first-steps-sick/store.py").read_bytes()


@pytest.fixture
def rounds(shell) -> Callable[..., None]:
    """Lint the inputs in turn, each with the next output format."""

    def go(seed: int, amount: int, inputs: list[tuple[str, bytes]], *arguments: str) -> None:
        chance = random.Random(seed)
        begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        texts = [text for _, text in inputs]
        codes = set()
        for number in range(amount):
            name, text = chance.choice(inputs)
            mutated = damaged(text, texts, chance)
            Path(name).write_bytes(mutated)
            codes.add(checked(shell, mutated, FORMS[number % len(FORMS)], *arguments))
            Path(name).unlink()
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begun < MOST_MEMORY
        assert len(codes) > 1  # some inputs are refused and some are read

    return go


def checked(shell: Shell, text: bytes, form: str, *arguments: str) -> int:
    begun = time.process_time()
    outcome = shell("lint", "--no-cache", "--jobs", "1", "--output-format", form, *arguments)
    assert "internal error" not in outcome.err + outcome.out, text
    assert "Traceback" not in outcome.err, text
    assert time.process_time() - begun < SLOWEST, text
    assert outcome.code in {0, 1, 2}, text
    assert outcome.code != 2 or outcome.err, text
    return outcome.code


def sources(suffix: str) -> list[tuple[str, bytes]]:
    paths = sorted(path for path in FIXTURES.rglob(f"*{suffix}") if path.stat().st_size < 30_000)
    return [(f"x{suffix}", path.read_bytes()) for path in paths]


def chosen(suffix: str) -> tuple[str, ...]:
    """A damaged Java file is read in part, so that naming it would always exit with 2."""
    return (f"x{suffix}",) if suffix == ".py" else (".",)


def settings(name: str) -> list[tuple[str, bytes]]:
    head = b"[tool.ackdoctor]\n" if name == "pyproject.toml" else b""
    own = [text.replace(b"[", b"[tool.ackdoctor.", 1) if head else text for text in SETTINGS[2:]]
    return [(name, text) for text in (*(head + text for text in SETTINGS[:2]), *own)]


@pytest.mark.parametrize("suffix", [".py", ".java"])
def test_some_damaged_sources(rounds, suffix):
    rounds(27, SHORT, sources(suffix), *chosen(suffix))


@pytest.mark.parametrize("name", ["ackdoctor.toml", "pyproject.toml"])
def test_some_damaged_settings(rounds, name):
    Path("bolt.py").write_bytes(BOLT)
    rounds(28, SHORT, settings(name), "bolt.py")


def test_some_damaged_baselines(rounds):
    Path("bolt.py").write_bytes(BOLT)
    rounds(29, SHORT, [("known.json", text) for text in BASELINES], "--baseline", "known.json", "bolt.py")


@pytest.mark.minutes
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("suffix", [".py", ".java"])
def test_many_damaged_sources(rounds, suffix, seed):
    rounds(seed, LONG, sources(suffix), *chosen(suffix))


@pytest.mark.minutes
@pytest.mark.parametrize("name", ["ackdoctor.toml", "pyproject.toml"])
def test_many_damaged_settings(rounds, name):
    Path("bolt.py").write_bytes(BOLT)
    rounds(1, LONG, settings(name), "bolt.py")


@pytest.mark.minutes
def test_many_damaged_baselines(rounds):
    Path("bolt.py").write_bytes(BOLT)
    rounds(1, LONG, [("known.json", text) for text in BASELINES], "--baseline", "known.json", "bolt.py")

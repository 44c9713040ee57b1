"""Fixed Java files on a JVM: javac and Storm's own jar say whether they compile, a recording collector what they do."""

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["Bench", "write_sources"]

_BENCH = Path(__file__).parent / "java" / "FixBench.java"
_NAMES = (  # of Heron and of Storm before 1.0, as Storm has them
    (r"\bbacktype\.storm\b", "org.apache.storm"),
    (r"\borg\.apache\.heron\.api\.topology\.TopologyContext\b", "org.apache.storm.task.TopologyContext"),
    (r"\borg\.apache\.heron\.api\.bolt\.OutputCollector\b", "org.apache.storm.task.OutputCollector"),
    (
        r"\borg\.apache\.heron\.api\.bolt\.BasicOutputCollector\b",
        "org.apache.storm.topology.BasicOutputCollector",
    ),
    (r"\borg\.apache\.heron\.api\.(?:bolt|spout)\.(Base\w+)\b", r"org.apache.storm.topology.base.\1"),
    (r"\borg\.apache\.heron\.api\.bolt\.(I\w+)\b", r"org.apache.storm.topology.\1"),
    (r"\borg\.apache\.heron\.api\.exception\.FailedException\b", "org.apache.storm.topology.FailedException"),
    (r"\borg\.apache\.heron\.api\.HeronSubmitter\b", "org.apache.storm.StormSubmitter"),
    (r"\bHeronSubmitter\b", "StormSubmitter"),
    (r"\borg\.apache\.heron\.api\b", "org.apache.storm"),
)


def as_storm(text: str) -> str:
    """Return a source with the packages of Storm 2."""
    for pattern, name in _NAMES:
        text = re.sub(pattern, name, text)
    return text


class Bench:
    """One JVM that answers a list of requests."""

    def __init__(self, jars: str) -> None:
        self._jars = jars

    def ask(self, requests: Sequence[Sequence[str]]) -> list[list[str]]:
        """Return the lines of each answer."""
        done = subprocess.run(
            ["java", "-XX:+UseSerialGC", "-cp", self._jars, str(_BENCH)],
            input="".join("\t".join(each) + "\n" for each in requests),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=500,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        answers: list[list[str]] = [[]]
        for line in done.stdout.splitlines():
            if line == ".":
                answers.append([])
            else:
                answers[-1].append(line)
        return answers[:-1]

    def errors(self, projects: Mapping[str, Path]) -> dict[str, list[str]]:
        """Compile folders; return the errors of each, without their places."""
        answers = self.ask([("compile", str(folder)) for folder in projects.values()])
        return dict(zip(projects, answers, strict=True))


def public_name(text: str) -> str:
    """Return the file name that javac asks for."""
    found = re.search(r"^public\s+(?:\w+\s+)*?(?:class|interface|enum|record)\s+(\w+)", text, re.MULTILINE)
    return f"{found[1] if found else 'Case'}.java"


def write_sources(folder: Path, files: Mapping[str, str]) -> Path:
    """Write Java files where javac looks for them."""
    for name, text in files.items():
        place = (folder / name).with_name(public_name(text))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(as_storm(text).encode())
    return folder

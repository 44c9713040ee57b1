"""Small projects on disk, and what lint makes of them."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from ackdoctor.config import Settings
from ackdoctor.dialects import load
from ackdoctor.lint.discover import LANGUAGES, discover, language_of
from ackdoctor.lint.files import Files, framework_names
from ackdoctor.lint.project import Project
from ackdoctor.lint.run import lint
from ackdoctor.model.finding import Report

__all__ = [
    "BASE",
    "BOLT",
    "CLEAN",
    "HEIR",
    "JAVA_BOLT",
    "clusters_of",
    "java",
    "lines",
    "lint_project",
    "output_of",
    "unreadable_lines",
    "write",
]

BOLT = """\
from streamparse import Bolt


class CountBolt(Bolt):
    auto_ack = False

    def process(self, tup):
        self.ack(tup)
        self.ack(tup)
"""  # ACK103 in line 9
CLEAN = BOLT.replace("        self.ack(tup)\n", "", 1)
BASE = "from streamparse import Bolt\n\n\nclass Base(Bolt):\n    auto_ack = False\n"  # in shared/base.py
HEIR = BOLT.replace("from streamparse import Bolt", "from shared.base import Base").replace(
    "(Bolt)", "(Base)"
)
JAVA_BOLT = """\
package bolts;

import java.util.Map;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;

public class CountBolt extends BaseRichBolt {
    private OutputCollector collector;

    @Override
    public void prepare(Map conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
    }

    @Override
    public void execute(Tuple tuple) {
        collector.ack(tuple);
        collector.ack(tuple);
    }
}
"""  # ACK103 in line 20


def java(package: str, *body: str) -> str:
    """Return a Java file that imports the framework's base classes."""
    imports = (
        "import org.apache.storm.topology.base.BaseRichBolt;",
        "import org.apache.storm.topology.IRichBolt;",
    )
    return "\n".join((package, *imports, *body, ""))


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files under a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def lint_project(root: Path, *paths: str, settings: Settings | None = None, **more: object) -> Report:
    """Lint some paths of a project, all of it by default."""
    chosen = [root / path for path in paths or (".",)]
    return lint(chosen, settings or Settings(), root=root, **more)  # type: ignore[arg-type]


def output_of(root: Path, script: str) -> str:
    """Return the output of a script that runs in a process of its own."""
    begin = (
        "import sys; from pathlib import Path; from ackdoctor.config import Settings;"
        "from ackdoctor.lint.run import lint; root = Path(sys.argv[1]);"
    )
    answer = subprocess.run(
        [sys.executable, "-c", begin + script, root],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
    )
    return answer.stdout.decode()


def lines(report: Report) -> list[str]:
    """Return every finding as path, line and code."""
    return [f"{f.site.path}:{f.site.span.line} {f.code}" for f in report.findings]


def unreadable_lines(report: Report) -> list[str]:
    """Return every unreadable input as path, line, column and reason."""
    return [f"{u.path}:{u.line}:{u.column} {u.reason}" for u in report.unreadable]


def clusters_of(
    root: Path,
    *paths: str,
    settings: Settings | None = None,
    language: str = "python",
    by: Literal["module", "display_path"] = "module",
) -> list[str]:
    """Return every cluster as "own files <- context files", by the names of their modules or their paths."""
    settings = settings or Settings()
    found = discover([root / path for path in paths or (".",)], settings, root)
    files = [file for file in found.files if language_of(file.path).name == language]
    names = framework_names(load(settings.dialect_version), settings.extra_bases, LANGUAGES[language])
    project = Project(Files(files, LANGUAGES[language], names, str(root), {}))
    return [
        " ".join(getattr(source, by) for source in cluster.own)
        + "".join(f" <- {getattr(source, by)}" for source in cluster.context)
        for cluster in project.clusters()
    ]

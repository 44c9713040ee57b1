"""`ackdoctor init` shows what it would write, and writes only what works."""

import re
from pathlib import Path

import pytest
import typer
import yaml

from ackdoctor import __version__
from ackdoctor.cli import init
from tests.cli.running import BOLT, CLEAN

UNKNOWN = """from mylib.base import Base


class CountBolt(Base):
    auto_ack = False

    def process(self, tup):
        self.ack(tup)
"""
SPEC = "git+https://example.org/tools@1"
WRITE = ("init", "--write", "--ci", "github", "--install", SPEC)


@pytest.fixture
def project(shell, tmp_path: Path) -> Path:  # the shell is in the directory
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "bolt.py").write_text(BOLT, encoding="utf-8")
    (tmp_path / "src" / "count.py").write_text(UNKNOWN, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    return tmp_path


def _files() -> dict[str, str]:
    return {str(path): path.read_text(encoding="utf-8") for path in Path().rglob("*") if path.is_file()}


def test_it_shows_everything_and_writes_nothing(shell, project):
    before = _files()
    outcome = shell("init", "--ci", "github", "--install", SPEC)
    assert outcome.code == 0
    assert _files() == before
    found, unknown, *_ = outcome.out.splitlines()
    assert found == "found 1 component in 2 files, 1 finding"
    assert unknown.startswith("src/count.py:4: CountBolt has process(self, tup) and was not analysed")
    assert '"mylib.base.Base" = "streamparse.Bolt"' in unknown
    assert outcome.err.endswith("nothing is written; `ackdoctor init --write` writes these files\n")
    assert re.findall(r"^\+\+\+ (.*)$", outcome.out, re.MULTILINE) == [
        "ackdoctor-baseline.json",
        "ackdoctor.toml",
        ".pre-commit-config.yaml",
        ".github/workflows/ackdoctor.yml",
    ]


@pytest.mark.parametrize("project_file", [None, '[project]\nname = "x"', "[project]\r\nname = 'x'\r\n"])
def test_lint_runs_with_the_written_settings(project_file, shell, project):
    if project_file is not None:
        (project / "pyproject.toml").write_text(project_file, encoding="utf-8", newline="")
    assert shell(*WRITE).code == 0
    outcome = shell("lint")
    assert (outcome.code, outcome.out.splitlines()[0]) == (
        0,
        "no findings in 2 files, 1 component · 1 in the baseline",
    )
    settings = project / ("pyproject.toml" if project_file else "ackdoctor.toml")
    text = settings.read_text(encoding="utf-8")
    assert text.startswith(project_file.replace("\r\n", "\n") if project_file else "# lint reports")
    settings.write_text(re.sub(r'(?m)^# (?=\[|")', "", text), encoding="utf-8")  # as the comment says
    outcome = shell("lint")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("no findings in 2 files, 2 components")


def test_the_hook_and_the_jobs_run_lint(shell, project):
    shell(*WRITE)
    [hook] = yaml.safe_load(Path(".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    steps = yaml.safe_load(Path(".github/workflows/ackdoctor.yml").read_text())["jobs"]["ackdoctor"]["steps"]
    shell("init", "--write", "--ci", "gitlab", "--install", "a b#c: 'd'")
    job = yaml.safe_load(Path(".gitlab-ci.yml").read_text())["ackdoctor"]
    assert steps[2]["run"] == f"pip install {SPEC}"
    assert job["script"][0] == """pip install 'a b#c: '"'"'d'"'"''"""
    for command in (hook["entry"], steps[-1]["run"], job["script"][-1]):
        program, *arguments = command.split()
        assert program == "ackdoctor"
        assert shell(*arguments).code == 0
    assert Path(job["artifacts"]["reports"]["codequality"]).read_text() == "[]\n"


def test_existing_files_stay_as_they_are(shell, project):
    for name, text in {
        "ackdoctor.toml": 'extend-exclude = ["gen"]\n',
        ".pre-commit-config.yaml": "repos: []\n",
        ".gitlab-ci.yml": "test:\n  script: [make]\n",
    }.items():
        (project / name).write_text(text, encoding="utf-8")
    before = _files()
    outcome = shell("init", "--write", "--install", SPEC)
    assert outcome.code == 0
    assert "ackdoctor.toml: the settings stay as they are" in outcome.err
    assert ".gitlab-ci.yml: add `include: .gitlab/ackdoctor.yml`" in outcome.err
    after = _files()
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == {".gitlab/ackdoctor.yml"}
    again = shell("init", "--write", "--install", SPEC)
    assert "nothing to write" in again.err
    assert _files() == after


def test_a_file_created_meanwhile_is_not_overwritten(shell, project, monkeypatch):
    def created(_count: int) -> bool:
        Path("ackdoctor.toml").write_text("ignore = []\n")
        return True

    monkeypatch.setattr(init, "_confirmed", created)
    outcome = shell("init")
    assert outcome.code == 2
    assert "ackdoctor.toml: the file has been created meanwhile; run the command again" in outcome.err
    assert not Path("ackdoctor-baseline.json").exists()
    assert Path("ackdoctor.toml").read_text() == "ignore = []\n"


@pytest.mark.parametrize(("answer", "code", "written"), [("n", 0, False), ("y", 0, True), ("", 130, False)])
def test_a_terminal_is_asked(answer, code, written, shell, project, monkeypatch):
    def ask(*_: object, **_options: object) -> bool:
        if not answer:
            raise typer.Abort
        return answer == "y"

    for stream in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    monkeypatch.setattr("ackdoctor.cli.init.typer.confirm", ask)
    outcome = shell("init", "--ci", "none")
    assert (outcome.code, Path("ackdoctor.toml").exists()) == (code, written)
    assert "internal error" not in outcome.err


def test_a_directory_that_leads_out_of_the_project_is_not_written(shell, project, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (project / ".github").symlink_to(elsewhere)
    outcome = shell(*WRITE)
    assert (outcome.code, list(elsewhere.iterdir())) == (2, [])
    assert "its directory is a link that leads out of" in outcome.err
    assert not Path("ackdoctor.toml").exists()


def test_a_clean_project_needs_no_settings(shell, tmp_path):
    Path("bolt.py").write_text(CLEAN, encoding="utf-8")
    outcome = shell("init", "--write", "--ci", "none")
    assert (outcome.code, outcome.out) == (0, "found 1 component in 1 file, 0 findings\n")
    assert outcome.err == "ackdoctor: nothing to write\n"


def test_a_hostile_name_stays_in_its_comment(shell, project):
    (project / "src" / "x\n[tool.ackdoctor]\n.py").write_text(UNKNOWN.replace("mylib", "other"))
    shell(*WRITE)
    assert shell("lint").code == 0
    assert "\n[tool.ackdoctor]" not in Path("ackdoctor.toml").read_text()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["nowhere"], "nowhere: no such directory"),
        (["src/bolt.py"], "src/bolt.py: not a directory"),
        (["--ci", "gitlap"], "--ci: 'gitlap' is not one of github, gitlab, none; did you mean `gitlab`?"),
        (["--install", " "], "--install: ' ' is not a requirement of pip"),
    ],
)
def test_a_wrong_argument_is_named(arguments, error, shell, project):
    assert shell("init", *arguments) == (2, "", f"ackdoctor: {error}\n")


def test_a_directory_without_components_is_an_error(shell):
    Path("a.py").write_text("x = 1\n")
    assert shell("init") == (2, "", "ackdoctor: no component and no topology under .\n")


@pytest.mark.parametrize(
    ("origin", "spec"),
    [
        (None, f"ackdoctor=={__version__}"),
        ('{"url": "file:///work", "dir_info": {"editable": true}}', ""),
        (
            '{"url": "https://example.org/x", "vcs_info": {"vcs": "git", "commit_id": "abc"}}',
            "git+https://example.org/x@abc",
        ),
        ('{"url": "https://example.org/x.whl", "archive_info": {}}', "https://example.org/x.whl"),
    ],
)
def test_ci_installs_what_is_installed_here(origin: str | None, spec, monkeypatch):
    class Distribution:
        def read_text(self, _name: str) -> str | None:
            return origin

    monkeypatch.setattr(init, "distribution", lambda _name: Distribution())
    assert init._installed_from() == spec


def test_the_hooks_of_this_repository_lint():
    root = Path(__file__).parent.parent.parent
    hooks = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text())
    assert {hook["id"]: (hook["pass_filenames"], "yaml" in hook["types_or"]) for hook in hooks} == {
        "ackdoctor": (True, False),
        "ackdoctor-project": (False, True),
    }
    assert all(hook["entry"].startswith("ackdoctor lint") for hook in hooks)

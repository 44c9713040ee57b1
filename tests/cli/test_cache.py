"""lint neither trusts nor writes a cache in a linted tree, and runs no modules of the current folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ackdoctor
from tests.lint.project import BASE, BOLT, CLEAN, HEIR, JAVA_BOLT, write

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there is no cache on this system")

LINT = ("lint", "--output-format", "concise")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "tree"
    write(root, {"bolts/a.py": BOLT, "bolts/heir.py": HEIR, "shared/base.py": BASE, "B.java": JAVA_BOLT})
    monkeypatch.chdir(root)
    return root


def contents(folder: Path) -> dict[str, bytes | str]:
    """Return the content of a folder; links are followed."""
    return {
        str(path.relative_to(folder)): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def test_a_cache_in_the_tree_is_neither_read_nor_written(tree, shell, cache, monkeypatch):
    monkeypatch.chdir(tree)
    want = shell(*LINT, "--no-cache")
    precious = tree.parent / "home" / ".bashrc"
    write(tree.parent, {"home/.bashrc": "alias precious=1\n"})
    cache = tree / ".ackdoctor_cache"
    cache.mkdir()
    for number in range(300):
        (cache / f"lint.json.{os.getpid() + number}").symlink_to(precious)
    for name in ("lint.json", "run.json", "answer", ".gitignore", "CACHEDIR.TAG"):
        (cache / name).symlink_to(f"../../home/new-{name}")
    before = contents(tree.parent)
    for _ in range(3):
        assert shell(*LINT) == want
    assert contents(tree.parent) == before


@pytest.mark.parametrize("target", [".", "../other", "../nowhere"])
def test_a_cache_folder_in_the_tree_that_is_a_link_is_ignored(tree, shell, cache, monkeypatch, target):
    monkeypatch.chdir(tree)
    want = shell(*LINT, "--no-cache")
    write(tree.parent, {"other/lint.json": '{"eslint": "mine"}'})
    (tree / ".ackdoctor_cache").symlink_to(target)
    before = contents(tree.parent)
    for _ in range(3):
        assert shell(*LINT) == want
    assert contents(tree.parent) == before


@pytest.mark.parametrize("place", [".", "cache", "bolts/cache"])
@pytest.mark.parametrize("arguments", [(), ("../bolts",)])
def test_a_cache_root_inside_the_tree_is_not_used(tree, shell, monkeypatch, place, arguments):
    """A repository could contain such a cache."""
    write(tree, {".git/HEAD": "", "bolts/ackdoctor.toml": ""})
    monkeypatch.chdir(tree / "bolts")
    monkeypatch.setenv("XDG_CACHE_HOME", os.path.normpath(tree / place))
    before = contents(tree)
    outcome = shell(*LINT, "--verbose", *arguments)
    assert outcome.code == 1
    assert "ackdoctor: no cache: " in outcome.err
    assert "it is in the linted tree" in outcome.err
    assert contents(tree) == before


def test_verbose_says_why_there_is_no_cache(tree, shell, cache, monkeypatch):
    monkeypatch.chdir(tree)
    with_cache = shell(*LINT, "--verbose")
    assert "cache" not in with_cache.err
    assert shell(*LINT, "--verbose", "--no-cache") == with_cache
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    assert shell(*LINT, "--no-cache") == shell(*LINT)
    assert "no cache: neither HOME nor XDG_CACHE_HOME is an absolute path\n" in shell(*LINT, "--verbose").err


def test_a_class_with_an_unknown_base_is_named_again(tmp_path, shell, cache):
    write(
        tmp_path,
        {"a.py": BASE.replace("streamparse import Bolt", "corp import Bolt") + CLEAN.partition("\n\n")[2]},
    )
    want = shell("lint", "--no-cache")
    assert "was not analysed: its base corp.Bolt is unknown" in want.out
    assert (shell("lint"), shell("lint")) == (want, want)
    assert len(list(cache.iterdir())) == 1


def test_a_file_that_is_read_beside_the_tree_is_not_overwritten(tree, shell, monkeypatch):
    monkeypatch.chdir(tree)
    write(tree, {".git/HEAD": "", ".gitignore": "x\n", "ackdoctor.toml": 'baseline = "accepted.json"\n'})
    shell("lint", "bolts", "--write-baseline")
    before = contents(tree)
    for name in ("shared/base.py", ".gitignore", "ackdoctor.toml", "accepted.json", "bolts/a.py"):
        outcome = shell("lint", "bolts", "--output-file", name)
        assert (outcome.code, outcome.err) == (
            2,
            f"ackdoctor: --output-file: {name} is an input; choose another file\n",
        )
    assert contents(tree) == before


def started(tree: Path, *command: str, **variables: str) -> "subprocess.Popen[bytes]":
    """Run the installed ackdoctor in its own process."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
    environment["PYTHONPATH"] = str(Path(ackdoctor.__file__).parents[1])
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, *command], cwd=tree, env={**environment, **variables}, stdout=pipe, stderr=pipe
    )


@pytest.mark.minutes
def test_runs_at_the_same_time_share_a_cache(tree, cache):
    write(tree, {f"bolts/b{number}.py": (BOLT, CLEAN)[number % 2] for number in range(20)})
    first, err = started(tree, "-m", "ackdoctor", *LINT, "--no-cache").communicate()
    assert first.count(b"ACK103") == 13
    together = [started(tree, "-m", "ackdoctor", *LINT, "--jobs", "1") for _ in range(4)]
    assert {process.communicate() for process in together} == {(first, err)}
    assert started(tree, "-m", "ackdoctor", *LINT).communicate() == (first, err)
    assert len(list(cache.iterdir())) == 23


# ---- modules in the current folder ----

SHADOWS = (
    "typer", "rich", "libcst", "json", "typing", "pathlib", "dataclasses", "platformdirs", "hashlib", "tree_sitter",
    "concurrent", "multiprocessing", "pickle", "subprocess", "tomllib", "tomli", "errno", "signal", "random",
    "importlib_metadata", "click", "re", "ast", "tempfile", "logging", "socket", "threading", "queue", "struct",
)  # fmt: skip


@pytest.fixture
def shadowed(tree: Path) -> Path:
    """A tree with modules that report when they run."""
    for name in SHADOWS:
        write(tree, {f"{name}.py": f"open('RAN-{name}', 'w').close()\nraise SystemExit(9)\n"})
    return tree


def run_in(tree: Path) -> list[str]:
    return sorted(path.name for path in tree.glob("RAN-*"))


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("lint", "bolts"), 1),
        (("lint", "bolts", "--no-cache", "--output-format", "json"), 1),
        (("rules",), 0),
        (("explain", "ACK101"), 0),
        (("diagnose", "empty.log"), 2),
        (("heap", "hist", "empty.log"), 2),
        (("trace", "report", "."), 2),
        (("--help",), 0),
        (("nonsense",), 2),
    ],
)
def test_python_m_runs_no_module_of_the_current_folder(shadowed, cache, command, code):
    write(shadowed, {"empty.log": ""})
    process = started(shadowed, "-m", "ackdoctor", *command)
    out, err = process.communicate()
    assert run_in(shadowed) == []
    assert process.returncode == code, (out, err)
    assert b"Traceback" not in err


def test_a_folder_that_is_removed_is_a_clear_error(tmp_path):
    """The module path then begins with an empty entry."""
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"import os, sys; os.rmdir({str(gone)!r}); os.execv(sys.executable, [sys.executable, '-m', 'ackdoctor', 'lint'])"
    process = started(gone, "-c", code)
    assert process.communicate() == (
        b"",
        b"ackdoctor: the current directory does not exist any more; change to another one\n",
    )
    assert process.returncode == 2


@pytest.mark.skipif(sys.version_info < (3, 11), reason="workers are not spawned there")
@pytest.mark.slow
def test_spawned_workers_run_no_module_of_the_current_folder(shadowed):
    write(shadowed, {f"bolts/b{number}.py": BOLT for number in range(6)})
    script = (
        "import os, sys\n"
        "here = os.getcwd()\n"
        "sys.path[:] = [path for path in sys.path if path not in ('', here)]\n"
        "from pathlib import Path\n"
        "from ackdoctor.config import Settings\n"
        "from ackdoctor.lint.run import lint\n"
        "from ackdoctor.lint import analysis\n"
        "analysis._WORTH_WORKERS = 0\n"
        "analysis._start_method = lambda: 'spawn'\n"
        "report = lint([Path('bolts')], Settings(), root=Path(here), jobs=2)\n"
        "print(len(report.findings), len(report.unreadable), os.environ.get('PYTHONSAFEPATH'))\n"
    )
    out, err = started(shadowed, "-c", script).communicate()
    assert (out, err) == (b"8 0 None\n", b"")
    assert run_in(shadowed) == []


def test_a_traced_command_still_imports_from_its_own_folder(tree):
    write(tree, {"mine.py": "WORD = 'mine'\n", "main.py": "import mine; print(mine.WORD)\n"})
    for command in (("main.py",), ("-m", "main"), ("-c", "import main")):
        process = started(tree, "-m", "ackdoctor", "trace", "run", "--", sys.executable, *command)
        assert process.communicate()[0] == b"mine\n"

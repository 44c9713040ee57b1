"""Hostile inputs: lint reports each in a clear line and lints the rest."""

import errno
import os
import signal
import socket
from pathlib import Path

import pytest

from ackdoctor import checks
from ackdoctor.frontends import python
from ackdoctor.lint import analysis
from ackdoctor.model import source
from tests.lint.project import BOLT, lines, lint_project, unreadable_lines, write

HEAD = (
    "from streamparse import Bolt\n\n\nclass B(Bolt):\n    auto_ack = False\n\n    def process(self, tup):\n"
)
GOOD = ["good.py:9 ACK103"]

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a POSIX file system")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one ordinary bolt: lint reports its finding, whatever else is in the project."""
    write(tmp_path, {"good.py": BOLT})
    return tmp_path


# ---- what the file system can do ----


def test_lint_does_not_wait_for_a_named_pipe(project):
    os.mkfifo(project / "pipe.py")
    os.mkfifo(project / ".gitignore")
    report = lint_project(project)
    assert unreadable_lines(report) == ["pipe.py:0:0 a named pipe, not a file"]
    assert lines(report) == GOOD
    assert unreadable_lines(lint_project(project, "pipe.py")) == ["pipe.py:0:0 a named pipe, not a file"]


def test_a_socket_and_a_device_are_no_files(project, monkeypatch):
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(project)  # a socket's own path may not be long
        listener.bind("socket.py")
        (project / "null.py").symlink_to("/dev/null")
        report = lint_project(project)
    assert unreadable_lines(report) == [
        "null.py:0:0 a device, not a file",
        "socket.py:0:0 a socket, not a file",
    ]
    assert lines(report) == GOOD


def test_broken_links_and_loops_of_links_are_reported(project):
    (project / "gone.py").symlink_to("nowhere")
    (project / "gone.txt").symlink_to("nowhere")
    (project / "self.py").symlink_to("self.py")
    (project / "sub").mkdir()
    (project / "sub" / "up").symlink_to("..")
    report = lint_project(project)
    assert unreadable_lines(report) == [
        "gone.py:0:0 a broken symbolic link",
        "self.py:0:0 a symbolic link that leads back to itself",
        "sub/up:0:0 a symbolic link that leads back to a directory above it",
    ]
    assert lines(report) == GOOD
    assert unreadable_lines(lint_project(project, "gone.py")) == ["gone.py:0:0 a broken symbolic link"]


def test_a_file_of_fifty_megabytes_is_not_read(project):
    with (project / "huge.py").open("wb") as file:
        file.truncate(50_000_000)
    report = lint_project(project)
    assert unreadable_lines(report) == ["huge.py:0:0 larger than 10 MB (50,000,000 bytes)"]
    assert lines(report) == GOOD
    assert unreadable_lines(lint_project(project, "good.py", stdin=("x.py", b"#" * 10_000_001))) == [
        "x.py:0:0 larger than 10 MB (10,000,001 bytes)"
    ]


def test_a_folder_without_permission_is_reported(project, monkeypatch):
    (project / "secret").mkdir()
    original = os.scandir

    def scandir(path):
        if str(path).endswith("secret"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return original(path)

    monkeypatch.setattr(os, "scandir", scandir)
    report = lint_project(project)
    assert unreadable_lines(report) == ["secret:0:0 cannot list this directory: permission denied"]
    assert lines(report) == GOOD


def test_a_file_without_permission_is_reported(project, monkeypatch):
    write(project, {"secret.py": BOLT})
    original = os.open

    def refuse(path, *rest):
        if str(path).endswith("secret.py"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return original(path, *rest)

    monkeypatch.setattr(os, "open", refuse)
    report = lint_project(project)
    assert unreadable_lines(report) == ["secret.py:0:0 permission denied"]
    assert lines(report) == GOOD


def test_a_file_that_disappears_during_the_run_is_reported(project, monkeypatch):
    write(project, {"gone.py": BOLT})
    original = source.read_file

    def read_file(path, limit):
        if path.endswith("gone.py"):
            Path(path).unlink(missing_ok=True)
        return original(path, limit)

    monkeypatch.setattr("ackdoctor.lint.analysis.read_file", read_file)
    report = lint_project(project)
    assert unreadable_lines(report) == ["gone.py:0:0 it disappeared during the run"]
    assert lines(report) == GOOD


def test_an_empty_project_is_an_empty_report(tmp_path):
    report = lint_project(tmp_path)
    assert (report.files, report.findings, report.unreadable) == ((), (), ())


def test_empty_files_are_files(tmp_path):
    write(tmp_path, {"a.py": "", "pkg/__init__.py": b"\xef\xbb\xbf"})
    assert lint_project(tmp_path).files == ("a.py", "pkg/__init__.py")
    assert lint_project(tmp_path, "a.py", "pkg/__init__.py").unreadable == ()


# ---- contents of a file ----


def test_bytes_that_are_no_text_are_reported_with_their_place(project):
    write(
        project,
        {
            "byte.py": HEAD.encode() + b"        self.ack(tup)  # \xff\n",
            "nul.py": HEAD.encode() + b"        self.ack(tup)\n\0\n",
            "cookie.py": b"# -*- coding: no-such-thing -*-\n" + HEAD.encode(),
        },
    )
    report = lint_project(project)
    assert unreadable_lines(report) == [
        "byte.py:8:26 byte 0xff cannot be decoded as utf-8: invalid start byte",
        "cookie.py:1:1 Python reads no source files in this encoding: no-such-thing",
        "nul.py:9:1 a NUL byte: not source text",
    ]
    assert lines(report) == GOOD


def test_random_bytes_are_reported_in_a_named_file_and_in_a_walk(project):
    write(project, {"noise.py": b"\x00\x01\xfe", "utf16.py": "x = 1\n".encode("utf-16")})
    come_upon = [line.partition(":")[0] for line in unreadable_lines(lint_project(project))]
    named = [
        line.partition(":")[0] for line in unreadable_lines(lint_project(project, "noise.py", "utf16.py"))
    ]
    assert come_upon == named == ["noise.py", "utf16.py"]


def test_a_declared_encoding_is_read(project):
    source = b"# -*- coding: latin-1 -*-\n" + BOLT.replace("CountBolt", "C\xe9").encode("latin-1")
    write(project, {"latin.py": source})
    assert lines(lint_project(project)) == [*GOOD, "latin.py:10 ACK103"]


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 20_000 + "1" + ")" * 20_000,
        "[" * 3_000 + "1" + "]" * 3_000,
        "-" * 50_000 + "1",
        "not " * 20_000 + "1",
        "a" + ".b" * 20_000,
        "a" + "()" * 20_000,
        "lambda: " * 5_000 + "1",
        "+".join(["a"] * 5_000),
        " and ".join(["a"] * 5_000),
        "1 if a else " * 5_000 + "2",
        " ".join(["'a'"] * 20_000),
    ],
    ids=lambda text: text[:8].strip(),
)
def test_deep_nesting_is_linted_or_reported(project, expression):
    write(
        project,
        {"deep.py": f"{HEAD}        self.ack(tup)\n        self.ack(tup)\n        x = {expression}\n"},
    )
    report = lint_project(project)
    complaints = [line for line in unreadable_lines(report) if "nested too deeply" not in line]
    assert complaints == []
    assert [line for line in lines(report) if line.startswith("good")] == GOOD
    assert len(report.findings) + len(report.unreadable) == 2


@pytest.mark.minutes
def test_three_thousand_branches_do_not_crash_lint(project):
    chain = "        if x:\n            pass\n" + "".join(
        f"        elif x == {number}:\n            pass\n" for number in range(3_000)
    )
    write(project, {"elifs.py": HEAD + chain})
    assert [line for line in lines(lint_project(project)) if line.startswith("good")] == GOOD


def test_a_syntax_error_is_reported_and_costs_one_file(project):
    write(
        project,
        {"open.py": "from streamparse import Bolt\n\n\nclass B(Bolt:\n    pass\n", "data.py": "x = = 1\n"},
    )
    report = lint_project(project)
    assert [line.split(" ")[0] for line in unreadable_lines(report)] == ["open.py:4:13"]
    assert lines(report) == GOOD


def test_a_cycle_of_base_classes_terminates(project):
    write(
        project,
        {
            "a.py": "import storm\nfrom b import B\nclass A(B):\n    def process(self, tup):\n        pass\n",
            "b.py": "import storm\nfrom a import A\nclass B(A):\n    def process(self, tup):\n        pass\n",
            "me.py": "import me\nfrom me import *\nfrom streamparse import Bolt\nclass Me(me.Me, Bolt):\n    pass\n",
        },
    )
    report = lint_project(project)
    assert unreadable_lines(report) == []
    assert [line for line in lines(report) if line.startswith("good")] == GOOD


# ---- what can happen inside ----


def test_a_crash_in_a_component_costs_that_component(project, monkeypatch):
    write(project, {"bad.py": BOLT.replace("CountBolt", "BadBolt")})
    original = checks.check_component

    def check_component(context, failed):
        if context.component.name == "BadBolt":
            raise KeyError("state")
        return original(context, failed)

    monkeypatch.setattr(checks, "check_component", check_component)
    report = lint_project(project)
    assert unreadable_lines(report) == ["bad.py:4:0 internal error in BadBolt: KeyError: 'state'"]
    assert lines(report) == GOOD


def test_a_crash_of_the_frontend_costs_one_file(project, monkeypatch):
    write(project, {"bad.py": BOLT})
    original = python.lower_source

    def lower_source(*, path, **rest):
        if path == "bad.py":
            raise RuntimeError
        return original(path=path, **rest)

    monkeypatch.setattr("ackdoctor.frontends.python.lower_source", lower_source)
    report = lint_project(project)
    assert unreadable_lines(report) == ["bad.py:0:0 internal error: RuntimeError"]
    assert lines(report) == GOOD


def test_a_worker_that_dies_costs_one_file(project, monkeypatch):
    write(project, {f"b{number}.py": BOLT for number in range(6)})
    original = python.lower_source
    parent = os.getpid()

    def lower_source(*, path, **rest):
        if path == "b3.py" and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(path=path, **rest)

    monkeypatch.setattr("ackdoctor.frontends.python.lower_source", lower_source)
    monkeypatch.setattr(analysis, "_WORTH_WORKERS", 0)
    monkeypatch.setattr(analysis, "_start_method", lambda: "fork")  # other tests may have left threads here
    report = lint_project(project, jobs=2)
    assert unreadable_lines(report) == ["b3.py:0:0 internal error: the process that analysed it died"]
    assert lines(report) == [f"b{number}.py:9 ACK103" for number in (0, 1, 2, 4, 5)] + GOOD

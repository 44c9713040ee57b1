"""The user's cache folder: when a run uses it, and that it never follows a link."""

import os
import stat
from pathlib import Path

import pytest

from ackdoctor.cache_folder import CacheFolder, NoCacheError

pytestmark = pytest.mark.skipif(os.name != "posix", reason="this system has no cache")
as_root = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can change an owner")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache root; it does not exist yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_new_folders_are_private(root):
    folder = CacheFolder("lint")
    assert folder.path == root / "ackdoctor" / "lint"
    assert [mode(path) for path in (root, root / "ackdoctor", folder.path)] == [0o700] * 3
    folder.write("entry", b"text")
    assert mode(folder.path / "entry") == 0o600
    assert folder.read("entry", 4) == b"text"
    assert folder.read("entry", 3) is None
    assert folder.read("other", 4) is None
    assert [path.name for path in folder.path.iterdir()] == ["entry"]


def test_without_a_variable_the_cache_is_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "Library/Caches").mkdir(parents=True)  # macOS
    assert CacheFolder("lint").path.is_relative_to(tmp_path)


def test_the_cache_root_may_be_a_link_of_the_user(root, tmp_path):
    (tmp_path / "scratch").mkdir()
    root.symlink_to("scratch")
    CacheFolder("lint").write("entry", b"text")
    assert (tmp_path / "scratch/ackdoctor/lint/entry").read_bytes() == b"text"


@pytest.mark.parametrize("link", ["ackdoctor", "ackdoctor/lint"])
@pytest.mark.parametrize("dangling", [False, True])
def test_a_link_below_the_root_is_rejected(root, tmp_path, link, dangling):
    target = tmp_path / "target"
    if not dangling:
        (target / "lint").mkdir(parents=True)
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(target)
    with pytest.raises(NoCacheError, match=link):
        CacheFolder("lint")
    assert not dangling or not target.exists()


@pytest.mark.parametrize("folder", ["ackdoctor", "ackdoctor/lint"])
@pytest.mark.parametrize("bits", [0o720, 0o702, 0o777])
def test_a_folder_that_others_can_write_to_is_rejected(root, folder, bits):
    CacheFolder("lint")
    (root / folder).chmod(bits)
    with pytest.raises(NoCacheError, match="other users can write to it"):
        CacheFolder("lint")


def test_a_folder_that_others_can_read_is_made_private(root):
    (root / "ackdoctor" / "lint").mkdir(parents=True)
    (root / "ackdoctor").chmod(0o755)
    assert mode(CacheFolder("lint").path.parent) == 0o700


@as_root
@pytest.mark.parametrize("folder", ["", "ackdoctor", "ackdoctor/lint"])
def test_a_folder_of_another_user_is_rejected(root, folder):
    CacheFolder("lint")
    os.chown(root / folder, 1, -1)
    with pytest.raises(NoCacheError, match="belongs to another user"):
        CacheFolder("lint")


@as_root
def test_nothing_is_created_in_the_home_of_another_user(root):
    os.chown(root.parent, 1, -1)
    with pytest.raises(NoCacheError, match="belongs to another user"):
        CacheFolder("lint")
    assert not root.exists()


@pytest.mark.parametrize(
    ("xdg", "home"),
    [
        ("", ""),
        (None, None),
        (".", "/root"),
        ("~/.cache", "/root"),
        (" ", "/root"),
        (None, "home"),
        (None, "~"),
    ],
)
def test_without_an_absolute_path_there_is_no_cache(tmp_path, monkeypatch, xdg, home):
    monkeypatch.chdir(tmp_path)
    for name, value in (("XDG_CACHE_HOME", xdg), ("HOME", home)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    with pytest.raises(NoCacheError, match="absolute path"):
        CacheFolder("lint")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["/dev/null", "/dev/null/cache", "/nonexistent/home/.cache", "/proc"])
def test_without_a_writable_root_there_is_no_cache(monkeypatch, place):
    monkeypatch.setenv("XDG_CACHE_HOME", place)
    with pytest.raises(NoCacheError):
        CacheFolder("lint")


def test_a_cache_inside_the_tree_is_rejected(root, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    CacheFolder("lint", outside=[tmp_path / "project"])
    for tree in (tmp_path, root, Path("/"), tmp_path / "link"):
        with pytest.raises(NoCacheError, match="is in the linted tree"):
            CacheFolder("lint", outside=[tmp_path / "project", tree])


@as_root
def test_a_file_of_another_user_is_not_read(root):
    folder = CacheFolder("lint")
    folder.write("entry", b"text")
    os.chown(folder.path / "entry", 1, -1)
    assert folder.read("entry", 10) is None


def test_links_are_neither_read_nor_written(root, tmp_path):
    folder = CacheFolder("lint")
    (tmp_path / "precious").write_text("mine")
    (folder.path / "entry").symlink_to(tmp_path / "precious")
    assert folder.read("entry", 10) is None
    folder.write("entry", b"text")
    assert (tmp_path / "precious").read_text() == "mine"
    assert folder.read("entry", 10) == b"text"


def test_an_existing_temporary_file_is_not_overwritten(root, tmp_path, monkeypatch):
    folder = CacheFolder("lint")
    (folder.path / f".part-{'00' * 8}").symlink_to(tmp_path / "created")
    monkeypatch.setattr(os, "urandom", bytes)
    with pytest.raises(FileExistsError):
        folder.write("entry", b"text")
    assert not (tmp_path / "created").exists()


def test_a_pipe_or_a_folder_is_not_read(root):
    folder = CacheFolder("lint")
    os.mkfifo(folder.path / "pipe")
    (folder.path / "folder").mkdir()
    assert folder.read("pipe", 10) is None
    assert folder.read("folder", 10) is None
    with pytest.raises(OSError, match="directory"):
        folder.write("folder", b"text")
    assert sorted(path.name for path in folder.path.iterdir()) == ["folder", "pipe"]


def test_a_link_that_replaces_the_folder_is_not_followed(root, tmp_path):
    folder = CacheFolder("lint")
    folder.path.rename(tmp_path / "moved")
    (tmp_path / "target").mkdir()
    folder.path.symlink_to(tmp_path / "target")
    folder.write("entry", b"text")
    assert list((tmp_path / "target").iterdir()) == []
    assert folder.read("entry", 10) == b"text"


def old(path: Path, days: float) -> None:
    then = path.stat().st_mtime - days * 86_400
    os.utime(path, (then, then))


def test_unused_files_are_pruned(root):
    folder = CacheFolder("lint")
    for name, days in (("used", 29), ("unused", 31), ("read", 31), (".part-new", 0.01), (".part-old", 0.1)):
        folder.write(name, b"text")
        old(folder.path / name, days)
    folder.read("read", 10)
    folder.prune(days=30, files=10, size=1000)
    assert sorted(path.name for path in folder.path.iterdir()) == [".part-new", "read", "used"]


@pytest.mark.parametrize(("files", "size"), [(100, 35), (3, 1000)])
def test_the_oldest_files_are_pruned_if_there_are_too_many_or_too_large_ones(root, files, size):
    folder = CacheFolder("lint")
    for number in range(10):
        folder.write(str(number), b"x" * 10)
        old(folder.path / str(number), number)
    folder.prune(days=30, files=files, size=size)
    assert sorted(path.name for path in folder.path.iterdir()) == ["0", "1", "2"]


def test_pruning_keeps_the_targets_of_links(root, tmp_path):
    folder = CacheFolder("lint")
    (tmp_path / "precious").write_text("mine")
    (folder.path / "entry").symlink_to(tmp_path / "precious")
    os.utime(folder.path / "entry", (0, 0), follow_symlinks=False)
    folder.prune(days=1, files=10, size=1000)
    assert (tmp_path / "precious").read_text() == "mine"
    assert list(folder.path.iterdir()) == []


def test_a_failed_write_leaves_no_file(root, monkeypatch):
    folder = CacheFolder("lint")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(OSError, match="No space"):
            folder.write("entry", b"text")
    assert list(folder.path.iterdir()) == []

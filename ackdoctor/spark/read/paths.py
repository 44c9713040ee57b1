"""Which file is meant: of what a user says, and how Spark is told, which takes each path for a pattern."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["ZIPPED", "inside", "literal", "literally", "local", "near", "unescaped", "unzipped"]

ZIPPED = ".gz"

_LOCAL = re.compile("^file:/+")
_SPECIAL = re.compile(r"[][*?{}\\]")


def literal(path: str) -> str:
    """The path as a pattern that matches nothing else.

    Spark's `__globPaths__` would spare that, and reads each of n such files n times.
    """
    return _SPECIAL.sub(r"\\\g<0>", path)


def literally(paths: Iterable[str]) -> list[str]:
    """The same of many."""
    return list(map(literal, paths))


def inside(place: str, folders: Iterable[str]) -> str | None:
    """The first of the folders that the place lies in, or is; of addresses as far as they are written alike."""
    there = local(place)
    for folder in folders:
        around = local(folder)
        if there is None and around is None and f"{place}/".startswith(f"{folder.rstrip('/')}/"):
            return folder
        if there is None or around is None or not around.is_dir():
            continue
        if Path(os.path.realpath(there)).is_relative_to(os.path.realpath(around)):
            return folder
    return None


def local(given: str) -> Path | None:
    """The path, unless it is an address that only Spark reads."""
    scheme = urlsplit(given).scheme
    if scheme and scheme != "file" and "://" in given:
        return None
    return Path(unquote(urlsplit(given).path) if scheme == "file" else given)


def near(said: str, folder: str) -> str:
    """A path, or words with one, as from the folder where the user stands, if it lies below."""
    return f" {said}".replace(f" {folder.rstrip('/')}/", " ")[1:]


def unescaped(uri: str) -> str:
    """The path, or the address, of a file that Spark names beside its rows."""
    return unquote(_LOCAL.sub("/", uri))


def unzipped(path: Path) -> Path:
    """The path under which the file would stand unzipped."""
    return path.with_name(path.name.removesuffix(ZIPPED))

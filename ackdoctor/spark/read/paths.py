"""Paths and addresses: as the user gives them, as Spark takes them for patterns, as a report shows them."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["ZIPPED", "inside", "literal", "literally", "local", "shorten", "unescaped", "unzipped"]

ZIPPED = ".gz"

_LOCAL = re.compile("^file:/+")
_SPECIAL = re.compile(r"[][*?{}\\]")


def literal(path: str) -> str:
    """Return the path as a pattern that matches nothing else.

    Spark's `__globPaths__` option would do without that, and reads each of n such files n times.
    """
    return _SPECIAL.sub(r"\\\g<0>", path)


def literally(paths: Iterable[str]) -> list[str]:
    """Return the paths as such patterns."""
    return list(map(literal, paths))


def inside(place: str, folders: Iterable[str]) -> str | None:
    """Return the first of the folders that the place is in, or is; addresses are compared as text."""
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


def local(argument: str) -> Path | None:
    """Return the path, unless it is an address that only Spark reads."""
    scheme = urlsplit(argument).scheme
    if scheme and scheme != "file" and "://" in argument:
        return None
    return Path(unquote(urlsplit(argument).path) if scheme == "file" else argument)


def shorten(text: str, folder: str) -> str:
    """Make paths below the folder relative to it, in a path or a sentence."""
    return f" {text}".replace(f" {folder.rstrip('/')}/", " ")[1:]


def unescaped(uri: str) -> str:
    """Return the path, or the address, of a file as Spark names it beside its rows."""
    return unquote(_LOCAL.sub("/", uri))


def unzipped(path: Path) -> Path:
    """Return the path without `.gz`."""
    return path.with_name(path.name.removesuffix(ZIPPED))

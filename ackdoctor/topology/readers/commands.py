"""The command lines of scripts: which files they pass to the class that submits a topology."""

import re
from collections.abc import Iterator
from posixpath import basename
from typing import NamedTuple

from ackdoctor.model.topology import Place
from ackdoctor.topology.texts import Texts

_CONTINUED = re.compile(r"\\\r?\n[ \t]*")
_WORD = re.compile(r"""[^\s"';|&]+""")
_PROPERTY = re.compile(r"([^#!\s=:][^\s=:]*)\s*[=:]?\s*(.*)")
_VARIABLE = re.compile(r"^(?:\$\{?\w+\}?/+)+")
_FILTERS = ("--filter", "-f", "--props")


class Command(NamedTuple):
    """One command line, as words, and where it begins."""

    words: tuple[str, ...]
    place: Place

    def given(self, *options: str) -> Iterator[str]:
        """The values of an option: `-conf a.yaml`, `--filter=a.properties`."""
        for at, word in enumerate(self.words):
            name, equals, value = word.partition("=")
            if name in options and equals:
                yield value
            elif word in options and at + 1 < len(self.words):
                yield self.words[at + 1]


def commands(texts: Texts) -> Iterator[Command]:
    """The command lines of all scripts."""
    for path in texts:
        if path.endswith(".sh") or basename(path) == "Makefile":
            text = texts[path].decode("utf-8", "replace")
            text = _CONTINUED.sub(lambda match: "\0" * match[0].count("\n"), text)
            number = 1
            for line in text.split("\n"):
                words = tuple(_WORD.findall(line.replace("\0", " ")))
                if words and not words[0].startswith("#"):
                    yield Command(words, Place(path, number))
                number += 1 + line.count("\0")


def filter_of(path: str, texts: Texts) -> dict[str, str]:
    """The values that scripts give for the `${name}` of a file; {} if none does, or if they disagree about the file."""
    named = {
        file
        for command in commands(texts)
        if any(_means(word, path, texts) for word in command.words)
        for name in command.given(*_FILTERS)
        for file in texts.from_directory(path, _relative(name))[:1] or (name,)
    }
    if len(named) != 1 or (file := named.pop()) not in texts:
        return {}
    lines = _CONTINUED.sub("", texts[file].decode("utf-8", "replace")).splitlines()
    return {match[1]: match[2] for line in lines if (match := _PROPERTY.match(line.strip()))}


def _means(word: str, path: str, texts: Texts) -> bool:
    """Whether a word of a command is the name of a file: a bare name must be the only one."""
    if basename(word) != basename(path):
        return False
    tail = _relative(word)
    return f"/{path}".endswith(f"/{tail}") and ("/" in tail or len(texts.named(tail)) == 1)


def _relative(name: str) -> str:
    """A name without a leading `$HOME/`, which is not known."""
    return _VARIABLE.sub("", name).lstrip("./")

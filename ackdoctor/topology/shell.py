"""Components in other processes: which script a multilang command runs.

Storm starts the command of a `ShellBolt` or `ShellSpout` in the resources of the jar, so a script is a file name that says
nothing about where the project keeps it.
"""

from collections.abc import Iterator, Sequence

from ackdoctor.flow.expressions import last_name
from ackdoctor.topology.objects import Data, Obj

SHELL_CLASSES = frozenset(
    "ShellBolt ShellSpout RichShellBolt RichShellSpout FluxShellBolt FluxShellSpout".split()
)
_LANGUAGES = {
    ".js": "JavaScript",
    ".rb": "Ruby",
    ".php": "PHP",
    ".pl": "Perl",
    ".sh": "shell",
    ".R": "R",
    ".lua": "Lua",
}
_SCRIPTS = (".py", ".pex", *_LANGUAGES)
_RUNNERS = frozenset({"streamparse_run", "streamparse.run", "pystorm.run"})  # a later word is a class
_CONSTRUCTOR = "super"  # the interpreter's name for the call of a library's constructor


def script_of(words: Sequence[str]) -> str:
    """The script, module or class that a command runs: "count.py" of `python -u count.py`; "" if there is none.

    A class is one that a runner of streamparse is given: "bolts.count.CountBolt" of `streamparse_run bolts.count.CountBolt`.
    """
    parts = [part for word in words for part in word.split()]
    for index, part in enumerate(parts):
        following = parts[index + 1] if index + 1 < len(parts) else ""
        if part.rpartition("/")[2] in _RUNNERS:
            return next((word for word in parts[index + 1 :] if "." in word and not word.startswith("-")), "")
        if part == "-m" and following not in _RUNNERS:
            return following
        if part.endswith(_SCRIPTS):
            return part
    return ""


def runs(words: Sequence[str], owner: str) -> tuple[str, str]:
    """The script of a shell component, and why its code is not known; `owner` is its class."""
    script = script_of(words)
    if not script:
        return owner, f"the command of {owner} names no script"
    language = next((name for suffix, name in _LANGUAGES.items() if script.endswith(suffix)), "")
    return script, f"{script} is written in {language}, which ackdoctor does not read" if language else ""


def command_of(obj: Obj) -> tuple[str, ...] | None:
    """The words that an object gives to the constructor of a shell class, as far as they are known; None for others."""
    inherits = obj.cls is not None and any(last_name(base) in SHELL_CLASSES for base in obj.cls.bases)
    if obj.cls is None and obj.names and obj.names[-1].rpartition(".")[2] in SHELL_CLASSES:
        return tuple(_words(obj.args))
    words = tuple(word for call in obj.calls if call.name == _CONSTRUCTOR for word in _words(call.args))
    return words if inherits or script_of(words) else None


def _words(arguments: Sequence[Data]) -> Iterator[str]:
    for argument in arguments:
        if isinstance(argument, str):
            yield argument
        elif isinstance(argument, Obj) and isinstance(argument.content, list):
            yield from _words(argument.content)

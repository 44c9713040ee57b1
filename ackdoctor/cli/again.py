"""The very same command gets the very same answer, before anything is imported, while all it rests on is as it was.

A run of `lint` that would come out the same again leaves in its cache's folder what it said and every look that
it took at the disk (`Surroundings`), with a look at each file of ackdoctor's own and at the folders that modules
come from.  The next run compares these first, and whatever else can shape an answer (`_question`).  Where anything
differs, is damaged or is too young to be trusted, the run is an ordinary one.
"""

import os
import sys
import time

import ackdoctor
from ackdoctor.cli.ending import Finished
from ackdoctor.engine.disk.reading import read_file
from ackdoctor.engine.disk.surroundings import Seen, Surroundings, seen

TYPE_CHECKING = False  # typing's own would have to be imported
if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CACHE", "VARIABLES", "Answer", "repeat"]

CACHE = ".ackdoctor_cache"
VARIABLES = (  # that shape what is said
    "NO_COLOR",
    "FORCE_COLOR",
    "TERM",
    "COLUMNS",
    "GITHUB_WORKSPACE",
    "_ACKDOCTOR_COMPLETE",
)
_FILE = "answer"
_LONGEST = 1_000_000  # characters of an answer that is kept
_LARGEST = 1_000_000_000  # bytes of its file
_SEAM = "\0"  # between the fields of the file: no path has one


def repeat() -> None:
    """Ends the run with the answer that is kept for it, if one is and holds."""
    known = _known()
    if known is None:
        return
    code, *texts = known
    try:
        for stream, text in zip((sys.stderr, sys.stdout), texts, strict=True):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
            stream.write(text)
            stream.flush()
    except BrokenPipeError:  # nobody reads any more, which is no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, AttributeError):
        return  # an ordinary run will say what is wrong
    raise Finished(code)


class Answer:
    """What a run says, and all that it rests on; made before the run looks at anything."""

    def __init__(self) -> None:
        self.around = Surroundings()
        self.err = self.out = ""
        self._home = self._held = ""
        self._question = _question(_places())
        self._started = time.time_ns()

    def settle(self, folder: "Path") -> None:
        """Where it will be kept, told before anything is listed: making the cache's folder changes the one it stands in."""
        self._home = os.path.dirname(folder)
        self._held = _held(self._home)

    def keep(self, code: int, folder: "Path") -> None:
        """Leaves it in the cache's folder, if it would come out the same again."""
        from ackdoctor.engine.stored.store import put, trusted

        if not self._question or not self.around.lasting or len(self.err) + len(self.out) > _LONGEST:
            return
        looks = {**self.around.looks, **_installed()}
        if self._held:
            looks.pop(self._home, None)
        times = [time_ns for was in looks.values() if was for time_ns in was[1:3]]
        if all(trusted(time_ns, self._started) for time_ns in times):
            fields = [self._question, str(code), self.err, self.out, self._home, self._held, str(len(looks))]
            fields += (text for path, was in looks.items() for text in (path, str(was)))
            put(folder, _FILE, _SEAM.join(fields).encode("utf-8", "surrogatepass"))


def _known() -> tuple[int, str, str] | None:
    """Exit code, standard error and standard output, from where we are, what is named, or a folder above."""
    if "lint" not in sys.argv[1:]:
        return None
    places = _places()
    question = _question(places)
    folders = list(places) if question else []
    visited = set()
    for folder in folders:
        if folder not in visited:
            visited.add(folder)
            folders.append(os.path.dirname(folder))
            if known := _read(os.path.join(folder, CACHE, _FILE), question):
                return known
    return None


def _read(path: str, question: str) -> tuple[int, str, str] | None:
    """The answer, if it is one to this question and still holds."""
    try:
        if os.stat(path).st_uid != os.geteuid():  # who can write it can make us say anything
            return None
        text = read_file(path, _LARGEST).decode("utf-8", "surrogatepass")
        asked, code, err, out, home, held, count, *rest = text.split(_SEAM)
        looks = dict(zip(rest[::2], rest[1::2], strict=True))
        if (asked, int(count)) != (question, len(looks)):
            return None
        holds = _held(home) == held and all(str(seen(path)) == was for path, was in looks.items())
    except (OSError, ValueError):
        return None
    return (int(code), err, out) if holds else None


def _held(folder: str) -> str:
    """What the folder holds beside the cache, by name and kind; "" where it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            held = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    except OSError:
        return ""
    return repr(sorted(entry for entry in held if entry[0] != CACHE))


def _places() -> list[str]:
    """Where we are and what each word of the command would be, if it was a path: all without links; none if we are nowhere."""
    try:
        return [os.path.realpath(word) for word in ("", *sys.argv[1:])]
    except OSError:
        return []


def _question(places: list[str]) -> str:
    """Who asks what and where, of which Python and ackdoctor, and who listens; "" where nothing is kept."""
    if os.name != "posix" or not places:  # elsewhere times may not tell of every change
        return ""
    streams = [stream for stream in (sys.stdout, sys.stderr) if stream]
    listeners = [(getattr(stream, "encoding", ""), stream.isatty()) for stream in streams]
    facts = (
        (sys.argv[1:], places, os.geteuid(), os.getgroups()),
        (ackdoctor.__file__, sys.version, sys.flags, sys.warnoptions, sys.path, sys.getfilesystemencoding()),
        (listeners, [os.environ.get(name) for name in VARIABLES]),
    )
    return repr(facts)


def _installed() -> dict[str, Seen]:
    """Ackdoctor's own files, and the folders that all else is imported from, except the one where we are."""
    from ackdoctor.rulebook import locate

    paths = [folder for folder in sys.path if folder != os.getcwd()]
    for top in (os.path.dirname(ackdoctor.__file__), locate()):
        for folder, folders, names in os.walk(top):
            folders[:] = [name for name in folders if name != "__pycache__"]
            paths += (folder, *(os.path.join(folder, name) for name in names))
    return {path: seen(path) for path in paths}

"""Thread dumps (jstack): each thread with its state, its frames, and the component whose executor it is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ackdoctor.diagnose.exceptions import Part

__all__ = ["Threads"]

_THREAD = re.compile(
    r'^"(?P<name>[^"]{0,300})"(?= .*(?:\bprio=|\btid=|\bnid=|\bId=|\bcpu=| - Thread t@)|.* - Thread t@)'
)
_STATE = re.compile(r"^\s*java\.lang\.Thread\.State: (?P<state>[A-Z_]+)")
_FRAME = re.compile(r"^\s*at \S.*\(")
_LOCK = re.compile(r"^\s+- (?P<how>waiting to lock|locked|)[^<]*(?P<lock><0x[0-9a-fA-F]+>)?")
_DEADLOCK = re.compile(r"^Found (?:one Java-level deadlock|\d+ deadlocks?)")
_EXECUTOR = re.compile(
    r"^Thread-\d+-(?!disruptor-)(?P<storm>\S+?)-executor\[|^(?P<jstorm>[^:]+):\d+-(?:Bolt|\w*Spout)Executors?|^Thread-\d+-(?!disruptor-|executor)(?P<old>[A-Za-z][\w.-]*)$"
)
_READS = re.compile(r"ShellBolt\$BoltReaderRunnable\.run|ShellProcess\.readShellMsg")
_MOST_FRAMES = 100
_LONGEST = 300  # characters of a frame
_MOST_THREADS = 5_000


@dataclass(slots=True)
class Threads:
    """Follows the dumps in a text; threads with the same frames in several dumps are one."""

    _now: Part | None = None
    _held: dict[str, str] = field(default_factory=dict)  # by which thread
    _wanted: dict[int, str] = field(default_factory=dict)  # by the thread of that line
    _found: dict[tuple[str, str], tuple[Part, str]] = field(default_factory=dict)

    def read(self, number: int, line: str) -> bool:
        """Whether the line belongs to a dump."""
        if line.startswith('"') and (found := _THREAD.match(line)):
            self._close()
            self._now = Part(number, found["name"])
            return True
        if line.startswith("Found ") and _DEADLOCK.match(line):
            self._close()
            self._found.setdefault(("", line), (Part(number, line.strip()), ""))
            return True
        if self._now is None:
            return False
        if state := _STATE.match(line):
            self._now.text += f" {state['state']}"
        elif _FRAME.match(line):
            if len(self._now.frames) < _MOST_FRAMES:
                self._now.frames.append(line[:_LONGEST])
        elif lock := _LOCK.match(line):
            self._lock(self._now, lock["how"], lock["lock"])
        else:
            self._close()
            return not line.strip()
        return True

    def _lock(self, thread: Part, how: str, lock: str | None) -> None:
        if lock and how == "locked" and len(self._held) < _MOST_THREADS:
            self._held.setdefault(lock, thread.text.rpartition(" ")[0])
        elif lock and how:
            self._wanted.setdefault(thread.line, lock)

    def _close(self) -> None:
        now, self._now = self._now, None
        if now is not None and now.frames and len(self._found) < _MOST_THREADS:
            name = now.text.rpartition(" ")[0]
            self._found.setdefault((now.text, "".join(now.frames)), (now, _component(name)))

    @property
    def note(self) -> str:
        """How many threads there are, and which wait for a child, as they do with a healthy one, too."""
        if not self._found:
            return ""
        readers = sum(_READS.search("\n".join(part.frames)) is not None for part, _ in self._found.values())
        waits = (
            f"; {readers} read the next message of a child: py-spy dump --pid CHILD_PID shows whether it hangs"
            if readers
            else ""
        )
        return f"{len(self._found)} threads: none waits for a lock, a full queue or a child that does not read{waits}"

    def parts(self) -> Iterator[tuple[Part, str]]:
        """Each thread as its name and state with its frames, and its component, '' where it is no executor's."""
        self._close()
        for part, whose in self._found.values():
            if holder := self._held.get(self._wanted.get(part.line, "")):
                part.text += f', waits for a lock that "{holder}" holds'
            yield part, whose


def _component(name: str) -> str:
    found = _EXECUTOR.match(name)
    whose = next(filter(None, found.groups()), "") if found else ""
    return "" if whose.startswith("__") else whose

"""Parser for thread dumps (jstack): state, frames and component of each thread."""

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
_READS_FROM_CHILD = re.compile(r"ShellBolt\$BoltReaderRunnable\.run|ShellProcess\.readShellMsg")
_MOST_FRAMES = 100
_LONGEST = 300  # characters of a frame that are kept
_MOST_THREADS = 5_000


@dataclass(slots=True)
class Threads:
    """Collects the threads of the dumps in a text; threads with equal state and frames are one."""

    _current: Part | None = None
    _holders: dict[str, str] = field(default_factory=dict)  # lock -> thread that holds it
    _waiting_for: dict[int, str] = field(default_factory=dict)  # line of a thread -> lock it waits for
    _found: dict[tuple[str, str], tuple[Part, str]] = field(default_factory=dict)

    def read(self, number: int, line: str) -> bool:
        """Read a line; return whether it belongs to a dump."""
        if line.startswith('"') and (found := _THREAD.match(line)):
            self._close()
            self._current = Part(number, found["name"])
            return True
        if line.startswith("Found ") and _DEADLOCK.match(line):
            self._close()
            self._found.setdefault(("", line), (Part(number, line.strip()), ""))
            return True
        if self._current is None:
            return False
        if state := _STATE.match(line):
            self._current.text += f" {state['state']}"
        elif _FRAME.match(line):
            if len(self._current.frames) < _MOST_FRAMES:
                self._current.frames.append(line[:_LONGEST])
        elif lock := _LOCK.match(line):
            self._lock(self._current, lock["how"], lock["lock"])
        else:
            self._close()
            return not line.strip()
        return True

    def _lock(self, thread: Part, how: str, lock: str | None) -> None:
        if lock and how == "locked" and len(self._holders) < _MOST_THREADS:
            self._holders.setdefault(lock, thread.text.rpartition(" ")[0])
        elif lock and how:
            self._waiting_for.setdefault(thread.line, lock)

    def _close(self) -> None:
        current, self._current = self._current, None
        if current is not None and current.frames and len(self._found) < _MOST_THREADS:
            name = current.text.rpartition(" ")[0]
            self._found.setdefault((current.text, "".join(current.frames)), (current, _component(name)))

    @property
    def note(self) -> str:
        """A summary for a dump without symptoms; threads that read from a child are normal, but worth a check."""
        if not self._found:
            return ""
        readers = sum(
            _READS_FROM_CHILD.search("\n".join(part.frames)) is not None for part, _ in self._found.values()
        )
        waits = (
            f"; {readers} read the next message of a child: py-spy dump --pid CHILD_PID shows whether it hangs"
            if readers
            else ""
        )
        return f"{len(self._found)} threads: none waits for a lock, a full queue or a child that does not read{waits}"

    def parts(self) -> Iterator[tuple[Part, str]]:
        """Yield each thread (name, state, frames) with its component, '' if it is not an executor."""
        self._close()
        for part, component in self._found.values():
            if holder := self._holders.get(self._waiting_for.get(part.line, "")):
                part.text += f', waits for a lock that "{holder}" holds'
            yield part, component


def _component(name: str) -> str:
    found = _EXECUTOR.match(name)
    component = next(filter(None, found.groups()), "") if found else ""
    return "" if component.startswith("__") else component

"""Who wrote a line of a log, and when: the kind of process, the component, the time.

    2026-01-01 12:00:00.000 o.a.s.u.Utils Thread-8-count-executor[3, 3] [ERROR] Async loop died!      Storm
    [ERROR 2016-11-28 15:55:26 c.a.j.t.e.BoltExecutors:142 RouteBolt:1-BoltExecutors] bolt execute error   JStorm
    [2018-11-09 00:13:28 +0900] [SEVERE] monitor: Exception propagated to the root monitor!             Heron

Heron gives each component's instance a process and a log of its own, so the file has one component.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath

__all__ = ["Moment", "component_of", "instance_of", "is_logged", "kind_of_line", "kind_of_name", "moment_of"]

_HEAD = re.compile(
    r"\[?(?:\d{4}[-/]\d\d[-/]\d\d|\d\d[./-]\d\d|\d\d:\d\d:\d\d|(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b)|\d{1,12} +\["
)
_MOMENT = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)[T ](?P<time>\d\d:\d\d:\d\d)(?P<part>[.,]\d{1,6})?")
_MOMENT_WITHIN = 80  # characters at the begin of a line
_LONGEST_PATH = 1_000
_COMPONENT = re.compile(
    r"\bpid:\S*, name:(?P<died>\S+)"
    r"|\bThread-\d+-(?!disruptor-)(?P<thread>\S+?)-executor\["
    r"|[ \[(](?P<jstorm>[^\s:\[(]+):\d+-(?:Bolt|\w*Spout)Executors?\b"
    r"|\b(?P<said>[\w.-]+):\d+ (?:bolt|spout) ex\w+ +error"
    r"|\[Thread-\d+-(?!disruptor-|executor\b)(?P<local>[A-Za-z_][\w.-]*)\] "
)
_TELLS = ("-executor[", "pid:", "Executors", " error", "[Thread-")
_INSTANCE = re.compile(
    r"Starting instance \S+ for topology .* for component (?P<component>\S+) with taskId \d+"
)
_INSTANCE_NAME = re.compile(r"container_\d+_(?P<component>.+)_\d+\.log")
_NAMES = {
    "worker": re.compile(r"^worker|-worker-\d+|^container_\d+_"),
    "nimbus": re.compile(r"^nimbus|^heron-tmaster"),
    "supervisor": re.compile(r"^supervisor|^heron-executor"),
    "drpc": re.compile(r"^drpc"),
    "ui": re.compile(r"^(?:ui|logviewer|access-(?:ui|logviewer)|pacemaker)\b"),
    "client": re.compile(r"^client"),
}
_LINES = {  # what only such a process says, with its logger
    "nimbus": re.compile(
        r"\b(?:o\.a\.s|b\.s|backtype\.storm|org\.apache\.storm)\.d(?:aemon)?\.n(?:imbus)?\b"
    ),
    "supervisor": re.compile(
        r"\b(?:o\.a\.s|b\.s|backtype\.storm|org\.apache\.storm)\.d(?:aemon)?\.s(?:upervisor)?\b|SLOT_\d+ \[|\bc\.a\.j\.d\.s\."
    ),
    "drpc": re.compile(r"\b(?:o\.a\.s|b\.s|backtype\.storm|org\.apache\.storm)\.d(?:aemon)?\.drpc\b"),
    "worker": re.compile(
        r"\b(?:o\.a\.s|b\.s|backtype\.storm|org\.apache\.storm)\.(?:d(?:aemon)?\.(?:w(?:orker)?|executor|task)|task|t\.Shell|e(?:xecutor)?)\b"
        r"|Launching worker for |-executor\[|\bc\.a\.j\.(?:t|d\.w)\."
    ),
}


@dataclass(slots=True, frozen=True)
class Moment:
    """A time as the log writes it, and in seconds, which compare within one log."""

    text: str
    seconds: float


def is_logged(line: str) -> bool:
    """Whether the line begins an entry of a log."""
    return _HEAD.match(line) is not None


def moment_of(line: str) -> Moment | None:
    """When the line was written; None where it does not say so, or names no day that there is."""
    found = _MOMENT.search(line, 0, _MOMENT_WITHIN)
    if found is None:
        return None
    try:
        at = datetime.fromisoformat(f"{found['day']}T{found['time']}")
    except ValueError:
        return None
    part = float(f"0.{found['part'][1:]}") if found["part"] else 0.0
    return Moment(f"{found['day']} {found['time']}", (at - datetime(1970, 1, 1)).total_seconds() + part)  # noqa: DTZ001


def component_of(line: str) -> str:
    """The component that a line names as its own, else ''."""
    if not any(map(line.__contains__, _TELLS)):
        return ""
    found = _COMPONENT.search(line)
    return next(filter(None, found.groups()), "") if found else ""


def instance_of(text: str) -> str:
    """The component whose process writes the log, as Heron's first lines or the file's name say, else ''."""
    if found := _INSTANCE.search(text) if "Starting instance" in text else None:
        return found["component"]
    found = (
        _INSTANCE_NAME.search(PurePath(text).name)
        if "container_" in text and len(text) < _LONGEST_PATH
        else None
    )
    return found["component"] if found else ""


def kind_of_name(path: str) -> str:
    """The kind of log that a file's name tells, else ''."""
    name = PurePath(path).name
    return next((kind for kind, form in _NAMES.items() if form.search(name)), "")


def kind_of_line(line: str) -> str:
    """The kind of process that a line's logger tells, else ''."""
    head = line[:200]
    return next((kind for kind, form in _LINES.items() if form.search(head)), "")

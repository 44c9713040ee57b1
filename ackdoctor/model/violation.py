"""Violations seen at run time, before a rule is assigned to them."""

from dataclasses import dataclass
from enum import Enum, unique

from ackdoctor.model.dialect import Misuse

__all__ = ["Access", "AccessKind", "CallSite", "TracedComponent", "Violation"]


@dataclass(slots=True, unsafe_hash=True)
class CallSite:
    """The site of a call; `framework` is true for calls in framework code ("auto ack by Bolt._run").

    `path` is the interpreter's path of the file; `line` counts from 1 and is 0 if unknown.
    """

    path: str
    line: int
    function: str  # qualified, "PerSqlBolt.process"
    framework: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.function}"


@unique
class AccessKind(Enum):
    """An operation on a tuple."""

    RECEIVED = "received"
    ANCHORED = "anchored"
    EMITTED = "emitted"  # an emit without this tuple as anchor while it was current
    ACKED = "acked"
    FAILED = "failed"
    RETURNED = "handler returned"
    LOST = "garbage collected"
    ENDED = "end of the run"


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Access:
    """One recorded operation on a tuple.

    `entry` is the number of the handler call: two accesses with the same `entry` belong to one call.  `thread` is ''
    for the receiving thread.
    """

    kind: AccessKind
    site: CallSite | None = None  # None below level `sites`
    thread: str = ""
    time_ns: int = 0
    entry: int = 0
    in_except: bool = False  # inside an except block


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class TracedComponent:
    """A traced component; `path` and `line` locate its class statement."""

    name: str  # "PerSqlBolt"
    dialect: str  # "pystorm"
    role: str  # name of the dialect's Role
    path: str
    line: int
    task: int = 0
    auto_ack: bool = False
    auto_fail: bool = False
    auto_anchor: bool = False


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Violation:
    """One misuse of one tuple.

    `history` has the recent operations on the tuple in order, the misuse last; `discarded` counts older ones.
    """

    misuse: Misuse
    traced: TracedComponent
    handler: str
    delivery: str
    history: tuple[Access, ...]
    tick: bool = False
    batch: bool = False  # a batch handler received it
    held: str = ""  # the field that still holds the tuple: "self.pending"
    named: str = ""  # the field that still holds the tuple's id
    note: str = ""  # the framework's error text
    test: str = ""
    count: int = 1  # tuples with the same misuse at the same sites
    discarded: int = 0
    root: int | None = None

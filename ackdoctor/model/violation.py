"""What the tracer saw go wrong: the runtime's raw evidence, before a rule names it."""

from dataclasses import dataclass
from enum import Enum, unique

from ackdoctor.model.dialect import Misuse

__all__ = ["Access", "AccessKind", "CallSite", "TracedComponent", "Violation"]


@dataclass(slots=True, unsafe_hash=True)
class CallSite:
    """Where a call was made.  `framework` sites are the framework's own ("auto ack by Bolt._run").

    `path` is as the interpreter knows the file; `line` counts from 1, 0 where it is not known.
    """

    path: str
    line: int
    function: str  # qualified, "PerSqlBolt.process"
    framework: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.function}"


@unique
class AccessKind(Enum):
    """What was done to a tuple."""

    RECEIVED = "received"
    ANCHORED = "anchored"
    EMITTED = "emitted"  # without it as anchor, while it was the current one
    ACKED = "acked"
    FAILED = "failed"
    RETURNED = "handler returned"
    LOST = "garbage collected"
    ENDED = "end of the run"


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Access:
    """One recent access record.

    `entry` counts the handler calls of this component, so two touches with the same `entry` belong to
    one call; `thread` is '' for the thread that receives.
    """

    kind: AccessKind
    site: CallSite | None = None  # None below level `sites`
    thread: str = ""
    time_ns: int = 0
    entry: int = 0
    in_except: bool = False  # made while an exception was being handled


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class TracedComponent:
    """The component that was traced; `path` and `line` are of its class statement."""

    name: str  # "PerSqlBolt"
    dialect: str  # "pystorm"
    role: str  # the name of the dialect's Role
    path: str
    line: int
    task: int = 0
    auto_ack: bool = False
    auto_fail: bool = False
    auto_anchor: bool = False


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Violation:
    """One misuse of one delivery.

    `life` is its recent access records in order, the offending one last; records that were left out
    are counted in `discarded`.
    """

    misuse: Misuse
    traced: TracedComponent
    handler: str
    delivery: str
    life: tuple[Access, ...]
    tick: bool = False
    batch: bool = False  # received by a batch handler
    held: str = ""  # the component's field that still holds the tuple: "self.pending"
    named: str = ""  # the field that still holds no tuple but its id
    note: str = ""  # what else is known: the framework's own error text
    test: str = ""
    count: int = 1  # deliveries with the same misuse at the same sites
    discarded: int = 0
    root: int | None = None

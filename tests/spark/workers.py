"""Logs of the workers of a small topology in the layouts of Storm 2.8 and 0.9: one root per second, with lost messages.

spout[5] -> split[6] by one edge; split -> store[8] and -> audit[3] by one each; one acker, task 1
"""

import random
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

TASKS = {"spout": 5, "split": 6, "store": 8, "audit": 3, "__acker": 1}
_BEGIN = datetime(2026, 11, 21, 20, 0, tzinfo=timezone.utc)
_SAMPLED = " PROC_START_TIME(sampled): null EXEC_START_TIME(sampled): null"


@dataclass
class Topology:
    """The lines about `roots` roots; `lost` maps a root to its message that does not arrive.

    A message is named by its sender and its stream: ("store", "__ack_ack").  `never` are components that do not ack, by root.
    """

    roots: int = 40
    lost: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    never: Mapping[int, str] = field(default_factory=dict)
    old: bool = False
    times_out: bool = True

    def __post_init__(self) -> None:
        self.dice = random.Random(7)
        self.logged: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
        for number in range(self.roots):
            self._root(number)

    def write(self, folder: Path, workers: Mapping[str, Collection[str]], *, since_s: float = 0) -> Path:
        """Write the log of each worker, by its components."""
        folder.mkdir(parents=True, exist_ok=True)
        for worker, components in workers.items():
            lines = sorted(line for name in components for line in self.logged[name] if line[0] >= since_s)
            (folder / f"worker-{worker}.log").write_text("".join(f"{line}\n" for _, line in lines))
        return folder

    def _root(self, number: int) -> None:
        at = float(number)
        root, edge, *children = (self.dice.getrandbits(64) - (1 << 63) for _ in range(4))
        self._send(number, at, "spout", "split", "default", root, edge)
        self._tell_acker(number, at, "spout", "__ack_init", [root, edge, TASKS["spout"]])
        taken = edge
        if self.lost.get(number) != ("spout", "default"):
            for child, name in zip(children, ("store", "audit"), strict=True):
                self._send(number, at + 0.1, "split", name, name, root, child)
            taken ^= self._ack(number, at + 0.2, "split", "spout", "default", root, edge, *children)
            for child, name in zip(children, ("store", "audit"), strict=True):
                if self.lost.get(number) != ("split", name):
                    taken ^= self._ack(number, at + 0.3, name, "split", name, root, child)
        if self.lost.get(number, ("", ""))[1] == "__ack_init":
            taken = 1
        if not taken:
            self._answer(at + 0.4, root, number)
        elif self.times_out and not self.old:
            text = f"SPOUT Failing {root} : TupleInfo[taskId=5,messageId=m{number},stream=default,values=[x],timestamp=0,rootId={root}] REASON: TIMEOUT"
            self._say(at + 45, "spout", "o.a.s.e.s.SpoutExecutor", text)

    def _send(
        self, number: int, at: float, sender: str, receiver: str, stream: str, root: int, edge: int
    ) -> None:
        tuple_ = f"source: {sender}:{TASKS[sender]}, stream: {stream}, id: {{{root}={edge}}}, [x {number}]"
        self._emit(at, sender, receiver, stream, [f"x {number}"], tuple_)
        if self.lost.get(number) != (sender, stream):
            self._receive(at + 0.01, receiver, tuple_)

    def _tell_acker(self, number: int, at: float, sender: str, stream: str, values: list[int]) -> None:
        text = (" " if self.old else ", ").join(map(str, values))
        tuple_ = f"source: {sender}:{TASKS[sender]}, stream: {stream}, id: {{}}, [{text}]"
        self._emit(at, sender, "__acker", stream, values, tuple_)
        if self.lost.get(number) != (sender, stream):
            self._receive(at + 0.01, "__acker", tuple_)

    def _ack(
        self, number: int, at: float, name: str, source: str, stream: str, root: int, *edges: int
    ) -> int:
        """Return the value that the acker receives."""
        if self.never.get(number) == name:
            return 0
        value = 0
        for edge in edges:
            value ^= edge
        self._tell_acker(number, at, name, "__ack_ack", [root, value])
        if not self.old:
            tuple_ = (
                f"source: {source}:{TASKS[source]}, stream: {stream}, id: {{{root}={edges[0]}}}, [x {number}]"
            )
            self._say(
                at,
                name,
                "o.a.s.e.b.BoltOutputCollectorImpl",
                f"BOLT ack TASK: {TASKS[name]} TIME: -1 TUPLE: {tuple_}{_SAMPLED}",
            )
        return 0 if self.lost.get(number) == (name, "__ack_ack") else value

    def _answer(self, at: float, root: int, number: int) -> None:
        if self.old:
            self._say(at, "__acker", "b.s.d.task", f"Emitting direct: 5; __acker __ack_ack [{root}]")
            self._say(at, "spout", "b.s.d.executor", f"Acking message m{number}")
        else:
            self._say(at, "spout", "o.a.s.e.s.SpoutExecutor", f"SPOUT Acking message {root} m{number}")

    def _emit(
        self,
        at: float,
        sender: str,
        receiver: str,
        stream: str,
        values: list[object] | list[int] | list[str],
        tuple_: str,
    ) -> None:
        if self.old:
            text = " ".join(map(str, values))
            self._say(at, sender, "b.s.d.task", f"Emitting: {sender} {stream} [{text}]")
        else:
            self._say(
                at,
                sender,
                "o.a.s.e.ExecutorTransfer",
                f"TRANSFERRING tuple [dest: {TASKS[receiver]} tuple: {tuple_}{_SAMPLED}]",
            )

    def _receive(self, at: float, receiver: str, tuple_: str) -> None:
        if self.old:
            self._say(at, receiver, "b.s.d.executor", f"Processing received message {tuple_}")
        else:
            self._say(
                at,
                receiver,
                "o.a.s.e.Executor",
                f"Processing received TUPLE: {tuple_}{_SAMPLED} for TASK: {TASKS[receiver]} ",
            )

    def _say(self, at: float, name: str, logger: str, text: str) -> None:
        stamp = (_BEGIN + timedelta(seconds=at)).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        task = TASKS[name]
        thread = "" if self.old else f" Thread-9-{name}-executor[{task}, {task}]"
        self.logged[name].append((at, f"{stamp} {logger}{thread} [INFO] {text}"))


def lines_of(topology: Topology) -> Iterator[str]:
    """Return all lines, in time order."""
    for _, line in sorted(line for lines in topology.logged.values() for line in lines):
        yield line

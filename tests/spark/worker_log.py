"""Write the log of a worker of Storm 2.8 with `topology.debug`: lines at some seconds, in time order."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

__all__ = ["ACKER", "WorkerLog"]

BEGIN = datetime(2026, 11, 25, 14, 0, 0)  # noqa: DTZ001 - a log names no zone
ACKER = 1
_SAMPLED = "PROC_START_TIME(sampled): null EXEC_START_TIME(sampled): null"


@dataclass
class WorkerLog:
    """One worker with acker, spout and bolts; `tasks` are the task ids by component."""

    tasks: dict[str, int]
    spout: str = "events"
    lines: list[tuple[float, int, str]] = field(default_factory=list)

    def text(self) -> str:
        return "".join(f"{self._stamp(at)} {line}\n" for at, _, line in sorted(self.lines))

    def start(self, at: float, timeout_s: int | None = None) -> None:
        """Start the worker process, which logs the settings of the topology."""
        if timeout_s is not None:
            self._say(
                at,
                f"o.a.s.d.w.Worker main [INFO] Worker has topology config {{topology.debug=true, topology.message.timeout.secs={timeout_s}, topology.name=t}}",
            )
        for name, task in {"__acker": ACKER, **self.tasks}.items():
            self._say(at, f"o.a.s.e.Executor main [INFO] Loading executor {name}:[{task}, {task}]")

    def tick(self, at: float, timeout_s: int) -> None:
        """Rotate the acker's map."""
        self._receive(at, "__acker", "__system:-1", "__tick", "{}", f"[{timeout_s}]", -2)

    def emit(self, at: float, root: int, edge: int, to: str, by: str | None = None) -> None:
        """Send a tuple to a bolt; a tuple of a spout begins the root."""
        sender = by or self.spout
        self._say(
            at,
            f"o.a.s.e.ExecutorTransfer {self._thread(sender)} [INFO] TRANSFERRING tuple [dest: {self.tasks[to]} tuple: "
            f"source: {sender}:{self.tasks[sender]}, stream: default, id: {{{root}={edge}}}, [x] {_SAMPLED}]",
        )
        if by is None:
            values = f"[{root}, {edge}, {self.tasks[sender]}]"
            self._receive(at, "__acker", f"{sender}:{self.tasks[sender]}", "__ack_init", "{}", values, ACKER)

    def receive(self, at: float, root: int, edge: int, by: str, source: str | None = None) -> None:
        source = source or self.spout
        self._receive(
            at, by, f"{source}:{self.tasks[source]}", "default", f"{{{root}={edge}}}", "[x]", self.tasks[by]
        )

    def ack(
        self, at: float, root: int, edge: int, by: str, value: int | None = None, source: str | None = None
    ) -> None:
        """Log the ack of a bolt and its receipt by the acker; `value` is the XOR of the edge and those of its children."""
        source = source or self.spout
        self._say(
            at,
            f"o.a.s.e.b.BoltOutputCollectorImpl {self._thread(by)} [INFO] BOLT ack TASK: {self.tasks[by]} TIME: -1 TUPLE: "
            f"source: {source}:{self.tasks[source]}, stream: default, id: {{{root}={edge}}}, [x] {_SAMPLED}",
        )
        values = f"[{root}, {edge if value is None else value}]"
        self._receive(at, "__acker", f"{by}:{self.tasks[by]}", "__ack_ack", "{}", values, ACKER)

    def fail(self, at: float, root: int, edge: int, by: str) -> None:
        self._say(
            at,
            f"o.a.s.e.b.BoltOutputCollectorImpl {self._thread(by)} [INFO] BOLT fail TASK: {self.tasks[by]} TIME: -1 TUPLE: "
            f"source: {self.spout}:{self.tasks[self.spout]}, stream: default, id: {{{root}={edge}}}, [x] {_SAMPLED}",
        )
        self._receive(at, "__acker", f"{by}:{self.tasks[by]}", "__ack_fail", "{}", f"[{root}]", ACKER)

    def acked(self, at: float, root: int) -> None:
        """Log the answer to the spout."""
        self._say(
            at,
            f"o.a.s.e.s.SpoutExecutor {self._thread(self.spout)} [INFO] SPOUT Acking message {root} m{root}",
        )

    def failed(self, at: float, root: int, reason: str = "TIMEOUT") -> None:
        task = self.tasks[self.spout]
        self._say(
            at,
            f"o.a.s.e.s.SpoutExecutor {self._thread(self.spout)} [INFO] SPOUT Failing {root} : TupleInfo[taskId={task},messageId=m{root},"
            f"stream=default,values=[x],timestamp=0,rootId={root}] REASON: {reason}",
        )

    def say(self, at: float, line: str) -> None:
        """Log any line after its time stamp."""
        self._say(at, line)

    def _receive(
        self, at: float, by: str, source: str, stream: str, ids: str, values: str, task: int
    ) -> None:
        self._say(
            at,
            f"o.a.s.e.Executor {self._thread(by)} [INFO] Processing received TUPLE: source: {source}, stream: {stream}, id: {ids}, "
            f"{values} {_SAMPLED} for TASK: {task} ",
        )

    def _thread(self, name: str) -> str:
        task = ACKER if name == "__acker" else self.tasks[name]
        return f"Thread-{30 + task}-{name}-executor[{task}, {task}]"

    def _say(self, at: float, line: str) -> None:
        self.lines.append((at, len(self.lines), line))

    def _stamp(self, at: float) -> str:
        return (BEGIN + timedelta(seconds=at)).isoformat(" ", "milliseconds")

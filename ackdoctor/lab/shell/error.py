"""What the JVM says when a component breaks the protocol."""

from ackdoctor.lab.component import WorkerDiedError

__all__ = ["HALTED", "SUICIDE", "ShellError"]

HALTED = 11  # ShellBolt.die, ShellSpout.die: System.exit(11)
SUICIDE = 1  # an exception that leaves an executor: Utils.mkSuicideFn, "Worker died"


class ShellError(WorkerDiedError):
    """The worker has died of its component.

    `kind` is the Java class of the exception ("java.lang.RuntimeException"), `message` its text as the
    worker's log has it, `exit_code` the worker's (11: ShellBolt halted it).  What the component raised,
    if it did, is the `__cause__`.
    """

    def __init__(self, kind: str, message: str, *, exit_code: int = HALTED) -> None:
        super().__init__(f"{kind}: {message}" if message else kind)
        self.kind = kind
        self.message = message
        self.exit_code = exit_code

"""ShellSpout: the JVM's side of a spout that speaks multilang.

Read: apache/storm storm-client/src/jvm/org/apache/storm/spout/ShellSpout.java @ v2.8.8.
One command at a time: the component answers with emits, logs, errors, metrics and then exactly one sync.
Anything else is an exception that leaves the executor: the worker dies with exit code 1.  A component that
neither syncs nor says anything is halted with exit code 11 when its heartbeat is lost; here, at once.
"""

from ackdoctor.lab.component import Context, Spout, SpoutOutputCollector
from ackdoctor.lab.shell.error import SUICIDE, ShellError
from ackdoctor.lab.shell.java import RUNTIME, ShellMsg
from ackdoctor.lab.shell.shell import HEARTBEAT_LOST, Shell

__all__ = ["ShellSpout"]


class ShellSpout(Shell, Spout):
    """One component class behind ShellSpout's rules; message ids are JSON values."""

    def open(self, context: Context, collector: SpoutOutputCollector) -> None:
        """Launch the component; ShellError if it does not survive its constructor."""
        super().open(context, collector)
        try:
            self._process.launch(self._setup, context)
        except ShellError as error:
            self._halt(error)
            raise

    def activate(self) -> None:
        """Storm 1.1 and later."""
        self._query("activate", "")

    def deactivate(self) -> None:
        """As `activate`."""
        self._query("deactivate", "")

    def next_tuple(self) -> None:
        """Ask for tuples."""
        self._query("next", "")

    def ack(self, msg_id: object) -> None:
        """Tell the component that a tree is complete."""
        self._query("ack", msg_id)

    def fail(self, msg_id: object) -> None:
        """Tell the component that a tree failed or timed out."""
        self._query("fail", msg_id)

    def close(self) -> None:
        """End the component."""
        self._end()

    def _query(self, command: str, msg_id: object) -> None:
        """ShellSpout.querySubprocess: returns at the first sync, whosever it is."""
        if self._died:
            raise self._died
        self._process.write({"command": command, "id": msg_id})
        try:
            while not self._read_one():
                pass
        except ShellError as error:
            if not self._died:
                self._halt(error)
            raise

    def _read_one(self) -> bool:
        """Heed one message, letting the component run if there is none; True for a sync."""
        text = self._process.take()
        if text is None:
            self._let_it_run()
            text = self._process.take()
        if text is None:
            raise ShellError(RUNTIME, HEARTBEAT_LOST)
        return self._heed(text)

    def _let_it_run(self) -> None:
        """Nothing, if it is itself waiting for us to answer: both wait for ever."""
        child = self._process.child
        if not child.running:
            child.go()
        if self._died:
            raise self._died
        if child.hung:
            raise ShellError(RUNTIME, HEARTBEAT_LOST)

    def _catch_up(self) -> None:
        """The component waits for task ids in the middle of a command: read until it has them."""
        child = self._process.child
        try:
            while child.running and not child.pipe.unread and not self._died:
                text = self._process.take()
                if text is None:
                    return
                self._heed(text)
        except ShellError as error:
            self._halt(error)

    def _heed(self, text: str) -> bool:
        message = self._read(text)
        match message.command:
            case "sync":
                return True
            case "emit":
                self._emit(message)
            case "metrics":
                self._transcript.metric(message, self._setup.metrics)
            case "error":
                self._transcript.error(message)
            case "log":
                pass
            case unknown:
                raise ShellError(RUNTIME, f"Unknown command received: {unknown}", exit_code=SUICIDE)
        return False

    def _emit(self, message: ShellMsg) -> None:
        if message.values is None:
            raise ShellError("java.lang.NullPointerException", "", exit_code=SUICIDE)
        try:
            if message.task is not None:
                self.collector.emit(
                    message.values, msg_id=message.id, stream=message.stream, task=message.task
                )
                return
            tasks = self.collector.emit(message.values, msg_id=message.id, stream=message.stream)
        except ValueError as error:
            raise ShellError("java.lang.IllegalArgumentException", str(error), exit_code=SUICIDE) from None
        if message.need_task_ids:
            self._process.write(list(tasks))

"""What ShellBolt and ShellSpout have in common: a process, what it said, and how it died."""

from ackdoctor.lab.shell.child import Exit
from ackdoctor.lab.shell.error import ShellError
from ackdoctor.lab.shell.java import ShellMsg, parse, shell_msg
from ackdoctor.lab.shell.process import Setup, ShellProcess, heartbeat_timeout
from ackdoctor.lab.shell.transcript import Transcript

__all__ = ["HEARTBEAT_LOST", "Shell"]

HEARTBEAT_LOST = "subprocess heartbeat timeout"


class Shell:
    """One component class behind the JVM's side of multilang.

    Whatever is asked of it, messages that have arrived meanwhile (from a thread of the component's own)
    are heeded first.
    """

    def __init__(self, component_class: type, *, setup: Setup | None = None) -> None:
        self._setup = setup or Setup()
        self._process = ShellProcess(component_class, self._catch_up, self._setup.json)
        self._timeout_ms = heartbeat_timeout(self._setup.conf)
        self._transcript = Transcript()
        self._died: ShellError | None = None
        self._running = True

    @property
    def transcript(self) -> Transcript:
        """What the component has said so far."""
        self._catch_up()
        return self._transcript

    @property
    def died(self) -> ShellError | None:
        """Why the worker is dead, or None."""
        self._catch_up()
        return self._died

    @property
    def ended(self) -> Exit | None:
        """How the component's process has ended, whether Storm has noticed or not; None while it runs."""
        return self._process.child.ended

    @property
    def component(self) -> object:
        """The author's object; None before it is made."""
        return self._process.child.component

    def _catch_up(self) -> None:
        """Heed what the component has said; called when it reads and nothing is there, as well."""
        raise NotImplementedError

    def _check(self) -> None:
        """ShellError if the worker is dead."""
        self._catch_up()
        if self._died:
            raise self._died

    def _halt(self, error: ShellError) -> None:
        """The worker dies: nobody heeds what the component still says, and it soon meets a broken pipe."""
        self._died = error
        pipe = self._process.child.pipe
        pipe.broken = True
        while (text := pipe.take()) is not None:
            self._transcript.note(text)

    def _read(self, text: str) -> ShellMsg:
        """One message, noted before it can fail."""
        self._transcript.note(text)
        return shell_msg(parse(text, self._setup.json), self._setup.json)

    def _end(self) -> None:
        self._catch_up()
        self._running = False
        self._process.child.close()

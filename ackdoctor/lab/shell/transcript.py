"""What a component said, for a test to read."""

import json
from collections.abc import Collection
from typing import Any

from ackdoctor.lab.shell.error import ShellError
from ackdoctor.lab.shell.java import RUNTIME, ShellMsg, java_text

__all__ = ["Transcript"]


class Transcript:
    """Every frame that a component wrote after the handshake, in order.

    `messages` are those that are JSON objects, as dicts; `texts` all of them; `errors` and `metrics` what the
    JVM has reported: nothing dies of an error.  What it wrote after the
    worker's death is kept as well: nobody heeded it.
    """

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.texts: list[str] = []
        self.errors: list[str] = []
        self.metrics: list[tuple[str, object]] = []

    def error(self, message: ShellMsg) -> None:
        """handleError: it is reported."""
        self.errors.append(java_text(message.msg))

    def note(self, text: str) -> None:
        """Keep one frame."""
        self.texts.append(text)
        try:
            message = json.loads(text)
        except json.JSONDecodeError:
            return
        if isinstance(message, dict):
            self.messages.append(message)

    def say(self, **message: object) -> None:
        """Keep what a component did that has no pipe."""
        self.messages.append(message)

    def metric(self, message: ShellMsg, registered: Collection[str]) -> None:
        """handleMetrics: only what the JVM's side has registered can be reported."""
        if message.metric is None:
            raise ShellError("java.lang.NullPointerException", "")
        if not message.metric:
            raise ShellError(RUNTIME, "Receive Metrics name is empty")
        if message.metric not in registered:
            raise ShellError(RUNTIME, f"Could not find metric by name[{message.metric}] ")
        self.metrics.append((message.metric, message.params))

    def of(self, *commands: str) -> list[dict[str, Any]]:
        """The messages with one of these commands."""
        return [message for message in self.messages if message.get("command") in commands]

    @property
    def commands(self) -> list[str]:
        """The commands alone, logs and metrics left out: "emit", "ack"."""
        return [
            message["command"]
            for message in self.messages
            if message.get("command") not in ("log", "metrics")
        ]

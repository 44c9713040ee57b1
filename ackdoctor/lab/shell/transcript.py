"""What a component said, for a test to read."""

import json
from collections.abc import Collection
from typing import Any

from ackdoctor.lab.shell.error import ShellError
from ackdoctor.lab.shell.java import RUNTIME, ShellMsg, java_text

__all__ = ["Transcript"]


class Transcript:
    """Every frame that a component wrote after the handshake, in order.

    `errors` and `metrics` are what the JVM has reported: nothing dies of an error.  What the component wrote after
    the worker's death is kept as well: nobody heeded it.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.errors: list[str] = []
        self.metrics: list[tuple[str, object]] = []
        self._messages: list[dict[str, Any]] = []
        self._parsed = 0  # so many texts are in `_messages`

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The texts that are JSON objects."""
        unread, self._parsed = self.texts[self._parsed :], len(self.texts)
        self._messages += filter(None, map(_parsed, unread))
        return self._messages

    def error(self, message: ShellMsg) -> None:
        """handleError: it is reported."""
        self.errors.append(java_text(message.msg))

    def note(self, text: str) -> None:
        """Keep one frame."""
        self.texts.append(text)

    def say(self, **message: object) -> None:
        """Keep what a component did that has no pipe."""
        self._messages.append(message)

    def metric(self, message: ShellMsg, registered: Collection[str]) -> None:
        """handleMetrics: only what the JVM's side has registered can be reported."""
        if message.metric is None:
            raise ShellError("java.lang.NullPointerException", "")
        if not message.metric:
            raise ShellError(RUNTIME, "Receive Metrics name is empty")
        if message.metric not in registered:
            raise ShellError(RUNTIME, f"Could not find metric by name[{message.metric}] ")
        self.metrics.append((message.metric, message.params))


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        message = json.loads(text)
    except json.JSONDecodeError:
        return None
    return message if isinstance(message, dict) else None

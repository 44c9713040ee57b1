"""What a component's process has to itself and a test process shares: standard streams, arguments, log handlers.

Only one side runs at a time, so they can be exchanged whenever the component's turn comes, and back.
"""

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

__all__ = ["Surroundings"]


class Surroundings:
    """One component's own `sys.stdin`, `sys.stdout`, `sys.argv` and handlers of the root logger.

    `sys.stderr` stays the test's, where a component's last words are wanted, unless the component itself replaces it.
    """

    def __init__(self, *, stdin: TextIO, stdout: TextIO, argv: Sequence[str] = ("component",)) -> None:
        self.own: dict[str, Any] = {"stdin": stdin, "stdout": stdout, "argv": list(argv)}
        self._handlers: list[logging.Handler] = []

    def add_arguments(self, arguments: Sequence[str]) -> None:
        """Before its first turn."""
        self.own["argv"] += arguments

    @contextmanager
    def entered(self) -> Iterator[None]:
        """The component's turn."""
        root = logging.getLogger()
        shared_handlers = list(root.handlers)
        shared = {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr", "argv")}
        for name, value in self.own.items():
            setattr(sys, name, value)
        for handler in self._handlers:
            root.addHandler(handler)
        try:
            yield
        finally:
            self._handlers = [handler for handler in root.handlers if handler not in shared_handlers]
            for handler in self._handlers:
                root.removeHandler(handler)
            for name, value in shared.items():
                if name in self.own or getattr(sys, name) is not value:
                    self.own[name] = getattr(sys, name)
                setattr(sys, name, value)

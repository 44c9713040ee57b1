"""Notices when a framework is imported, however late, without touching its loader for longer than that."""

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from threading import get_ident
from types import ModuleType
from typing import Any

__all__ = ["Arrivals"]


class Arrivals:
    """A finder that finds nothing itself: it asks the others and waits for the module to be executed."""

    def __init__(self, wanted: Callable[[str], bool], arrived: Callable[[ModuleType], None]) -> None:
        self._wanted = wanted
        self._arrived = arrived
        self._asking: set[tuple[int, str]] = set()

    def begin(self) -> None:
        """Goes first among the finders."""
        sys.meta_path.insert(0, self)

    def end(self) -> None:
        """Leaves the finders."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The import system's question; None is "ask the next finder"."""
        question = (get_ident(), fullname)
        if question in self._asking or not self._wanted(fullname):
            return None
        self._asking.add(question)
        try:
            for finder in list(sys.meta_path):
                find = getattr(finder, "find_spec", None)
                spec: ModuleSpec | None = (
                    find(fullname, path, target) if find and finder is not self else None
                )
                if spec is not None:
                    self._listen(fullname, spec.loader)
                    return spec
        finally:
            self._asking.discard(question)
        return None

    def _listen(self, name: str, loader: Any) -> None:
        """Lets the loader's `exec_module` tell us, once; built-in loaders are classes and stay as they are."""
        execute = getattr(loader, "exec_module", None)
        if execute is None or isinstance(loader, type) or not hasattr(loader, "__dict__"):
            return

        def exec_module(module: ModuleType) -> None:
            if module.__name__ == name:
                vars(loader).pop("exec_module", None)
            execute(module)
            if module.__name__ == name:
                self._arrived(module)

        loader.exec_module = exec_module

"""Import the modules of a fixture unchanged, and remove them afterwards.

`tests.agreement.stand_ins` replaces their business modules.  Python 2 is translated as the linter does it.  A script ends
by starting its component; here the bench starts it.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, cast
from unittest import mock

from ackdoctor.frontends.python.source import translate

__all__ = ["components_of", "import_fixture", "module_names"]


class _Loader(SourceFileLoader):
    """Writes no bytecode."""

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        """Do not write."""


class _Python2Loader(_Loader):
    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        translation = translate(bytes(data).decode())
        return super().source_to_code(translation.text.encode() if translation else data, path)


class _Finder:
    """Finds the modules below one directory before any other finder."""

    def __init__(self, root: Path, loader: type[_Loader]) -> None:
        self._root = root
        self._loader = loader

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        place = self._root.joinpath(*fullname.split("."))
        package = place / "__init__.py"
        file = package if package.exists() else place.with_suffix(".py")
        if not file.exists():
            return None
        return spec_from_file_location(fullname, file, loader=self._loader(fullname, str(file)))


@contextmanager
def import_fixture(
    root: Path, stand_ins: Mapping[str, object], scripts: Iterable[type] = ()
) -> Iterator[Mapping[str, ModuleType]]:
    """The modules below `root`, by name.

    With `scripts`, the files are Python 2 and end with a `run` of one of these classes.
    """
    finder = _Finder(root, _Python2Loader if scripts else _Loader)
    ours = {*module_names(root), *stand_ins}
    assert not ours & set(sys.modules)
    sys.meta_path.insert(0, finder)
    sys.modules.update(cast("Mapping[str, ModuleType]", stand_ins))
    try:
        with ExitStack() as patches:
            for script in scripts:
                patches.enter_context(mock.patch.object(script, "run"))
            modules = {name: import_module(name) for name in module_names(root)}
        yield modules
    finally:
        sys.meta_path.remove(finder)
        for name in ours:
            sys.modules.pop(name, None)


def module_names(root: Path) -> list[str]:
    """The names of the modules below a directory, without `topology.py`, which Heron's client runs."""
    files = (
        path.relative_to(root).with_suffix("") for path in root.rglob("*.py") if path.name != "topology.py"
    )
    names = (".".join(file.parts).removesuffix(".__init__") for file in files)
    return sorted(names)


def components_of(modules: Mapping[str, ModuleType]) -> set[str]:
    """The component classes of a topology that no other class extends, as "bolts.split SplitBolt"."""
    from ackdoctor.tracer.components import belongs

    classes = [
        value
        for name, module in modules.items()
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == name and belongs(value)
    ]
    bases = {base for cls in classes for base in cls.__mro__[1:]}
    return {f"{cls.__module__} {cls.__qualname__}" for cls in classes if cls not in bases}

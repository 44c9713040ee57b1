"""Import the modules of a fixture unchanged, and remove them afterwards.

`tests.agreement.stand_ins` replaces their business modules.  Python 2 is translated as the linter does it.  A script ends
by starting its component; here the bench starts it.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import cast
from unittest import mock

from ackdoctor.lab.loader import SourceFinder

__all__ = ["components_of", "import_fixture", "module_names"]


@contextmanager
def import_fixture(
    root: Path, stand_ins: Mapping[str, object], scripts: Iterable[type] = ()
) -> Iterator[Mapping[str, ModuleType]]:
    """The modules below `root`, by name.

    With `scripts`, the files are Python 2 and end with a `run` of one of these classes.
    """
    finder = SourceFinder([root])
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

"""Which files tell only what another one tells: the same part in another form, the same bytes, or the beginning of a log."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ackdoctor.spark.read.paths import ZIPPED, unzipped
from ackdoctor.spark.read.sorts import Sort
from ackdoctor.tracer.trace.files import Stem

__all__ = ["Found", "copies", "forms"]

Place = tuple[str, str]  # the folder, and the name in it

_BEST_FIRST = (".parquet", ".jsonl", ".jsonl.gz")
_HEAD = 1 << 12  # bytes that two logs are first compared by
_BLOCK = 1 << 20


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Found:
    """A file that can be read."""

    path: Path
    size: int
    sort: Sort

    def blocks(self) -> Iterator[bytes]:
        """All its bytes."""
        with self.path.open("rb") as opened:
            while block := opened.read(_BLOCK):
                yield block

    def head(self) -> bytes:
        """Its first bytes."""
        with self.path.open("rb") as opened:
            return opened.read(_HEAD)


def copies(found: Iterable[Found]) -> dict[Path, str]:
    """The files that need not be read, and why."""
    rest, told = list(found), dict[Path, str]()
    rules: tuple[Callable[[Sequence[Found]], Iterator[tuple[Found, str]]], ...] = (
        _in_another_form,
        _same_bytes,
        _begun,
    )
    for rule in rules:
        told |= {each.path: why for each, why in rule(rest)}
        rest = [each for each in rest if each.path not in told]
    return told


def _in_another_form(found: Sequence[Found]) -> Iterator[tuple[Found, str]]:
    parts = {(str(each.path.parent), each.path.name): each for each in found if each.sort is not Sort.LOG}
    yield from ((parts[other], f"the same part as {parts[best].path}") for other, best in forms(parts))


def forms(parts: Iterable[Place]) -> Iterator[tuple[Place, Place]]:
    """Each part of a trace beside which the same part stands in a better form, with the best."""
    alike: defaultdict[tuple[str, Stem], list[Place]] = defaultdict(list)
    for folder, name in parts:
        if _form(name) in _BEST_FIRST:
            with suppress(ValueError):  # it is called otherwise than a part
                alike[folder, Stem.of(unzipped(Path(name)))].append((folder, name))
    for places in alike.values():
        best, *others = sorted(places, key=lambda place: _BEST_FIRST.index(_form(place[1])))
        yield from ((other, best) for other in others)


def _form(name: str) -> str:
    return "".join(Path(name).suffixes)


def _same_bytes(found: Sequence[Found]) -> Iterator[tuple[Found, str]]:
    """Parts of a trace; of logs their rows are compared, when they have been read."""
    by_size: defaultdict[int, list[Found]] = defaultdict(list)
    for each in found:
        if each.sort is not Sort.LOG:
            by_size[each.size].append(each)
    for alike in by_size.values():
        first: dict[bytes, Found] = {}
        for each in alike if len(alike) > 1 else ():
            with suppress(OSError):
                original = first.setdefault(_digest(each), each)
                if original is not each:
                    yield each, f"holds the same as {original.path}"


def _digest(file: Found) -> bytes:
    digest = hashlib.blake2b()
    for block in file.blocks():
        digest.update(block)
    return digest.digest()


def _begun(found: Sequence[Found]) -> Iterator[tuple[Found, str]]:
    """Logs, not zipped, that go on in a longer one, as a copy does that was made earlier."""
    longer: defaultdict[bytes, list[tuple[Found, bytes]]] = defaultdict(list)  # by their first line
    logs = (each for each in found if each.sort is Sort.LOG and each.path.suffix != ZIPPED)
    for each in sorted(logs, key=lambda log: -log.size):
        with suppress(OSError):
            head = each.head()
            known = longer[head.partition(b"\n")[0]]
            whole = next((log for log, its in known if its.startswith(head) and _goes_on(each, log)), None)
            if whole is None:
                known.append((each, head))
            else:
                yield each, f"only the beginning of {whole.path}"


def _goes_on(short: Found, long: Found) -> bool:
    if short.size == long.size:  # equal blocks would not tell which is the copy
        return False
    return all(mine == its[: len(mine)] for mine, its in zip(short.blocks(), long.blocks(), strict=False))

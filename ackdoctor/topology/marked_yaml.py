"""YAML with the line of every key and value, for files that no one vouches for.

PyYAML composes nodes and constructs nothing.  Size, depth, the number of nodes and what aliases multiply are bounded.
Templates are read before they are filled: `${name}`, `{{ name }}` and `<%= name %>` become a `Gap` as a value.  A line
that only steers a template (`{% if %}`) is dropped and noted, for it decides which other lines exist.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from ackdoctor.model.topology import Gap, Place, Value

MOST_BYTES = 256 * 1024
MOST_NODES = 20_000  # what aliases repeat counts again
DEEPEST = 60
_LONGEST_NUMBER = 60  # characters; numbers to the base 60 take quadratic time

_PLACEHOLDER = re.compile(r"\$\{[^{}\n]{0,200}\}|\{\{[^{}\n]{0,200}\}\}|<%=[^%\n]{0,200}%>")
_STEERING = re.compile(r"^\s*(\{%.*%\}|<%(?!=).*%>)\s*$")
_TEMPLATE = re.compile(r"\{%|<%")
_MARK = re.compile("\ue000([0-9]+)\ue001")
_PLAIN_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_PLAIN_TAG}merge"


class Duplicate(NamedTuple):
    """A key that a mapping has twice: the later one wins."""

    key: str
    first: int
    line: int


@dataclass(slots=True, eq=False)
class Marked:
    """A value with its line: a scalar, a `Gap`, a list or a mapping of marked values."""

    place: Place
    content: "Content"

    def get(self, key: str) -> "Marked | None":
        """The value of a key, if this is a mapping that has it."""
        return self.content[key][1] if isinstance(self.content, dict) and key in self.content else None

    def key_place(self, key: str) -> Place:
        """Where a key of this mapping is written; the mapping's own place if it has no such key."""
        return self.content[key][0] if isinstance(self.content, dict) and key in self.content else self.place

    @property
    def names(self) -> tuple[str, ...]:
        """The keys of a mapping, () of anything else."""
        return tuple(self.content) if isinstance(self.content, dict) else ()

    def items(self) -> tuple["Marked", ...]:
        """The members of a list, () of anything else."""
        return tuple(self.content) if isinstance(self.content, list) else ()

    def items_of(self, key: str) -> tuple["Marked", ...]:
        """The members of the list under a key, () if there is none."""
        found = self.get(key)
        return found.items() if found is not None else ()

    def text_of(self, key: str) -> str:
        """The text of the scalar under a key, "" if there is none."""
        found = self.get(key)
        return found.text if found is not None else ""

    @property
    def text(self) -> str:
        """A scalar as text; "" for anything else, and where the file does not decide it."""
        plain = self.content
        if isinstance(plain, bool):
            return str(plain).lower()
        return str(plain) if isinstance(plain, str | int | float) else ""

    @property
    def value(self) -> Value:
        """The whole as a value of the model."""
        if isinstance(self.content, dict):
            return {key: each.value for key, (_, each) in self.content.items()}
        if isinstance(self.content, list):
            return tuple(each.value for each in self.content)
        return self.content


Content: TypeAlias = "bool | int | float | str | Gap | list[Marked] | dict[str, tuple[Place, Marked]] | None"


@dataclass(slots=True, eq=False)
class Document:
    """A file that parses; `gaps` are the lines with which a template decides which other lines exist."""

    root: Marked
    duplicates: tuple[Duplicate, ...] = ()
    gaps: tuple[Gap, ...] = ()


def read(path: str, data: bytes, known: Mapping[str, str] | None = None) -> Document | Gap:
    """Read one YAML document; the gap says why it cannot be read, and in which line.

    `known` are the values of `${name}`; they are put in as text before the YAML is read, as Flux does.
    """
    if len(data) > MOST_BYTES:
        return Gap(f"the file has more than {MOST_BYTES // 1024} KB, so it is not read", Place(path))
    template = _Template.of(path, data.decode("utf-8", "replace"), known or {})
    yaml = _yaml()
    try:
        node = yaml.bounded(template.text)
    except yaml.error as error:
        return Gap(f"the file does not parse: {_problem(error)}", Place(path, _line(error)))
    except (ValueError, RecursionError) as error:  # a bound, or a character that YAML refuses
        return Gap(f"the file does not parse: {error}", Place(path))
    reader = _Reader(path, template)
    if node is None:
        return Document(Marked(Place(path, 1), None), gaps=tuple(template.gaps))
    try:
        root = reader.marked(node)
    except _TooMuchError as error:
        return Gap(f"the file is not read: {error}", Place(path))
    return Document(root, tuple(reader.duplicates), tuple(template.gaps))


# ---- templates ----


@dataclass(slots=True)
class _Template:
    """A text whose placeholders are replaced by marks that are plain characters for YAML."""

    text: str
    names: list[str] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)

    @classmethod
    def of(cls, path: str, text: str, known: Mapping[str, str]) -> "_Template":
        found = cls(text)
        lines = text.split("\n")
        if _TEMPLATE.search(text):
            for number, line in enumerate(lines, start=1):
                if _STEERING.match(line):
                    found.gaps.append(
                        Gap(f"the template decides at `{line.strip()[:60]}`", Place(path, number))
                    )
                    lines[number - 1] = ""
        found.text = _PLACEHOLDER.sub(lambda match: found._mark(match[0], known), "\n".join(lines))
        return found

    def _mark(self, placeholder: str, known: Mapping[str, str]) -> str:
        name = placeholder[2:-1]
        if placeholder.startswith("$") and name in known:
            return known[name]
        self.names.append(placeholder)
        return f"\ue000{len(self.names) - 1}\ue001"

    def original(self, text: str) -> str:
        """A text with its placeholders as they are written."""
        return _MARK.sub(
            lambda match: self.names[int(match[1])] if int(match[1]) < len(self.names) else "", text
        )


# ---- nodes ----


class _TooMuchError(Exception):
    """A bound is exceeded; the text says which."""


@dataclass(slots=True)
class _Reader:
    """Turns nodes into marked values, and counts what aliases multiply."""

    path: str
    template: _Template
    duplicates: dict[Duplicate, None] = field(default_factory=dict)  # in order; an alias repeats them
    count: int = 0

    def marked(self, node: Any, depth: int = 0) -> Marked:
        self.count += 1
        if self.count > MOST_NODES:
            raise _TooMuchError(f"it has more than {MOST_NODES} values, aliases counted each time")
        if depth > DEEPEST:
            raise _TooMuchError(f"it is nested more than {DEEPEST} levels deep")
        place = Place(self.path, node.start_mark.line + 1)
        if isinstance(node.value, str):
            return Marked(place, self._scalar(node, place))
        if node.id == "sequence":
            return Marked(place, [self.marked(each, depth + 1) for each in node.value])
        return Marked(place, self._mapping(node, depth))

    def _mapping(self, node: Any, depth: int) -> dict[str, tuple[Place, Marked]]:
        own: dict[str, tuple[Place, Marked]] = {}
        merged: dict[str, tuple[Place, Marked]] = {}
        for key, value in node.value:
            if key.tag == _MERGE:
                for source in value.value if value.id == "sequence" else [value]:
                    content = self.marked(source, depth + 1).content
                    if isinstance(content, dict):
                        merged = content | merged
                continue
            name = self.template.original(key.value) if isinstance(key.value, str) else "?"
            place = Place(self.path, key.start_mark.line + 1)
            if name in own:
                twice = Duplicate(name, own.pop(name)[0].line, place.line)
                self.duplicates[twice] = None
            own[name] = (place, self.marked(value, depth + 1))
        return merged | own

    def _scalar(self, node: Any, place: Place) -> "bool | int | float | str | Gap | None":
        text: str = node.value
        if _MARK.search(text):
            return Gap(f"`{self.template.original(text)}` is filled in when the topology is submitted", place)
        kind = node.tag.removeprefix(_PLAIN_TAG)
        if kind == node.tag:
            return Gap(f"`{node.tag}` is a tag of its own", place)
        if len(text) > _LONGEST_NUMBER:
            return text
        try:
            return _yaml().scalars.get(kind, str)(text)
        except (ValueError, TypeError):
            return text


def _problem(error: Any) -> str:
    return (getattr(error, "problem", None) or str(error)).replace("\n", " ")[:160]


def _line(error: Any) -> int:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    return mark.line + 1 if mark else 0


class _Yaml(NamedTuple):
    """What is used of PyYAML, which is imported with the first file."""

    bounded: Callable[[str], Any]
    error: type[Exception]
    scalars: Mapping[str, Callable[[str], "bool | int | float | str | None"]]


@cache
def _yaml() -> _Yaml:
    import yaml

    class Bounded(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML publishes no types
        """Composes nodes, no deeper than allowed."""

        depth = 0
        count = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.depth += 1
            self.count += 1
            if self.count > MOST_NODES:
                raise ValueError(f"it has more than {MOST_NODES} values")
            if self.depth > DEEPEST:
                raise ValueError(f"it is nested more than {DEEPEST} levels deep")
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

    def bounded(text: str) -> Any:
        loader = Bounded(text)
        try:
            return loader.get_single_node()
        finally:
            loader.dispose()

    constructor = yaml.constructor.SafeConstructor()

    def scalar(kind: str) -> Callable[[str], Any]:
        construct = getattr(constructor, f"construct_yaml_{kind}")
        return lambda text: construct(yaml.ScalarNode(f"{_PLAIN_TAG}{kind}", text))

    scalars = {kind: scalar(kind) for kind in ("bool", "int", "float")} | {"null": lambda _: None}
    return _Yaml(bounded, yaml.YAMLError, scalars)


def gaps_of(value: Value) -> Iterator[Gap]:
    """The gaps within a value."""
    if isinstance(value, Gap):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from gaps_of(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from gaps_of(each)

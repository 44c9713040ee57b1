"""Our `dataclass` makes what the standard one makes."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from ackdoctor.model import values

Decorator = Callable[..., Callable[[type], Any]]


def pair(decorator: Decorator, **options: bool) -> tuple[Any, Any]:
    """A class with two fields, and an heir of it with a third."""

    @decorator(slots=True, **options)
    class Name:
        text: str
        line: int = 0

    @decorator(slots=True, **options)
    class Dotted(Name):
        rest: tuple[str, ...] = ()

    return Name, Dotted


@pytest.fixture(params=[values.dataclass, dataclasses.dataclass], ids=["ours", "standard"])
def decorator(request):
    return request.param


def test_equal_fields_of_one_class_are_equal(decorator):
    name, dotted = pair(decorator, unsafe_hash=True)
    assert name("a", 1) == name("a", 1)
    assert hash(name("a", 1)) == hash(name("a", 1))
    assert name("a", 1) != name("a", 2)
    assert name("a", 1) != dotted("a", 1)
    assert name("a", 1) != ("a", 1)
    assert len({name("a"), name("a"), name("b"), dotted("a"), dotted("a", 0, ("b",))}) == 4


@pytest.mark.parametrize("count", [0, 1, 2])
def test_any_number_of_fields_will_do(decorator, count):
    fields = {f"field{number}": int for number in range(count)}
    make = decorator(slots=True, unsafe_hash=True, kw_only=True)
    one, other = (make(type("Values", (), {"__annotations__": fields, "__doc__": ""})) for _ in range(2))
    given = dict.fromkeys(fields, 7)
    assert one(**given) == one(**given)
    assert hash(one(**given)) == hash(one(**given))
    assert one(**given) != other(**given)


def test_it_is_shown_as_it_is_made(decorator):
    _, dotted = pair(decorator, unsafe_hash=True)
    shown = repr(dotted("a", rest=("b",)))
    assert shown == "pair.<locals>.Dotted(text='a', line=0, rest=('b',))"


def test_what_is_compared_but_may_change_has_no_hash(decorator):
    name, _ = pair(decorator)
    assert name("a") == name("a")
    with pytest.raises(TypeError, match="unhashable"):
        hash(name("a"))


def test_without_comparison_each_is_itself(decorator):
    name, _ = pair(decorator, eq=False)
    one = name("a")
    assert {one, name("a")} != {one}


def test_methods_of_the_class_stay(decorator):
    @decorator(slots=True)
    class Loud:
        text: str

        def __repr__(self) -> str:
            return self.text.upper()

    loud: Any = Loud
    assert repr(loud("a")) == "A"


def test_the_standard_functions_know_it(decorator):
    name, _ = pair(decorator, unsafe_hash=True, kw_only=True)
    assert dataclasses.replace(name(text="a"), line=3) == name(text="a", line=3)
    assert [item.name for item in dataclasses.fields(name)] == ["text", "line"]

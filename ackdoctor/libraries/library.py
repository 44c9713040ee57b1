"""The meanings of library calls that differ between languages."""

from collections.abc import Mapping
from typing import NamedTuple


class Wait(NamedTuple):
    """A call that waits until another thread or process sends something, unless an argument limits the time.

    `origin` are prefixes of the qualified name of the object, `needed` the number of arguments that set no limit.
    Another argument does, unless it is one of `endless`.
    """

    name: str
    origin: tuple[str, ...]
    needed: int = 0
    endless: tuple[object, ...] = (True, None)


class Library(NamedTuple):
    """What calls mean in one language; a call is known by the last part of its name."""

    standard: tuple[str, ...]  # prefixes of qualified names: the standard library
    local: tuple[str, ...]  # prefixes of qualified names: objects that live in the process
    remote: tuple[str, ...]  # prefixes, stronger than `local`: objects that talk to another process or a file
    memory: tuple[str, ...]  # prefixes: objects that only compute, such as collections, dates and texts
    threads: frozenset[str]  # run a callable among their arguments on another thread
    schedulers: frozenset[str]  # call a callable among their arguments later
    declared_types: bool = False  # the language declares the type of every object
    memory_types: frozenset[str] = frozenset()  # of these objects, those known by the last part of their name
    shared: tuple[str, ...] = ()  # prefixes, stronger than `memory`: objects that wait for other threads
    waits: tuple[Wait, ...] = ()
    sleeps: Mapping[
        str, float
    ] = {}  # calls that sleep, by the end of the qualified name, with the unit in seconds
    limits: frozenset[str] = frozenset()  # calls that limit the time of all later calls on an object
    executors: tuple[str, ...] = ()  # prefixes of types whose `execute` runs code on another thread
    runners: frozenset[str] = frozenset()  # of `threads`, those that call the `run` of an object
    literals: frozenset[str] = frozenset()  # collections of their arguments
    arrays: frozenset[str] = frozenset()  # of these, those that take one array as all elements
    lazy: frozenset[str] = frozenset()  # run only when the result is iterated
    nonempty: frozenset[str] = frozenset()  # return at least one element if they get a separator
    removals: frozenset[str] = frozenset()  # remove an element, and do not raise without one
    questions: tuple[str, ...] = ()  # beginnings of the names of calls that only read their arguments
    closed_callbacks: bool = (
        False  # code among the arguments of a runner is not passed to other code among them
    )
    array_arguments: bool = False  # one array may stand for all variable arguments

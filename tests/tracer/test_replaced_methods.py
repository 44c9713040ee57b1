"""If a test replaces a method by which a component acks, the component is not observed."""

from functools import update_wrapper
from typing import Any
from unittest import mock

import pytest
from pystorm import Bolt

from ackdoctor.tracer.mocks import Effect, effect
from tests.tracer.driven import build, frame, summaries, traced
from tests.tracer.styles import tup

NEVER = "never completed: 7: received; end of the run"


class Steps(Bolt):
    auto_ack = False

    def process(self, tup):
        self.count()
        self.done(tup)

    def count(self):
        pass

    def done(self, tup):
        self.finish(tup)

    def finish(self, tup):
        self.ack(tup)


class Lost(Steps):
    def finish(self, tup):
        pass


@pytest.mark.parametrize(
    ("component", "name", "unobserved", "violations"),
    [
        (Steps, "done", ("Steps: done is a mock",), []),
        (Steps, "finish", ("Steps: finish is a mock",), []),
        (Steps, "count", (), []),
        (Lost, "count", (), [NEVER]),
    ],
)
def test_a_mocked_ack_helper_of_the_author_hides_a_missing_ack(component, name, unobserved, violations):
    with traced() as run:
        bolt = build(component)
        setattr(bolt, name, mock.Mock())
        bolt.process(tup())
    assert (run.settlement.unobserved, summaries(run.settlement.violations)) == (unobserved, violations)


def test_a_spied_helper_of_the_author_hides_no_violation():
    with traced() as run:
        bolt = build(Steps)
        bolt.done = mock.Mock(wraps=bolt.done)
        bolt.process(tup())
    assert (run.settlement.unobserved, run.settlement.violations) == ((), ())


class Keeps(Bolt):
    """Its `finish` gets no tuple."""

    auto_ack = False

    def process(self, tup):
        self.current = tup
        self.finish()

    def finish(self):
        self.ack(self.current)


def idle(*_: object) -> None:
    pass


@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize(
    ("patch", "is_what"),
    [
        ({}, "a mock"),
        ({"autospec": True}, "a mock"),
        ({"return_value": None}, "a mock"),
        ({"side_effect": idle}, "a mock"),
        ({"new": idle}, "replaced"),
        ({"new": [].clear}, "replaced"),
    ],
    ids=["mock", "autospec", "answers", "acts", "function", "built-in"],
)
@pytest.mark.parametrize("of_the_class", [False, True])
def test_a_method_may_be_replaced_on_the_object_or_on_the_class(of_the_class, patch, is_what, driven):
    new = patch.get("new", idle)
    if of_the_class and new is not idle:
        return  # a built-in is not bound to an object
    with traced() as run:
        bolt = build(Keeps, [frame("7")])
        with mock.patch.object(Keeps if of_the_class else bolt, "finish", **patch):
            bolt._run() if driven else bolt.process(tup())
    assert run.settlement.violations == ()
    assert run.settlement.unobserved == (f"Keeps: finish is {is_what}",)


def test_a_proxy_without_a_target_is_not_read():
    class Proxy:
        def __getattr__(self, name="__class__"):
            raise RuntimeError(name)

        __class__ = property(__getattr__)

        def __call__(self):
            pass

    with traced() as run, mock.patch.object(Keeps, "session", Proxy(), create=True):
        bolt = build(Keeps)
        bolt.registry = Proxy()
        bolt.process(tup())
    assert (run.settlement.violations, run.settlement.notes) == ((), ())


class Heir(Keeps):
    pass


def test_a_replaced_method_may_be_inherited():
    with traced() as run, mock.patch.object(Heir, "finish"):
        build(Heir).process(tup())
    assert (run.settlement.violations, run.settlement.unobserved) == ((), ("Heir: finish is a mock",))


class Static(Keeps):
    def process(self, tup):
        self.finish_it(self, tup)

    @staticmethod
    def finish_it(bolt, tup):
        bolt.ack(tup)


@pytest.mark.parametrize("new", [mock.Mock(return_value=None), staticmethod(idle)])
def test_a_replaced_method_may_be_static(new):
    with traced() as run, mock.patch.object(Static, "finish_it", new):
        build(Static).process(tup())
    is_what = "a mock" if isinstance(new, mock.Mock) else "replaced"
    assert (run.settlement.violations, run.settlement.unobserved) == (
        (),
        (f"Static: finish_it is {is_what}",),
    )
    with traced() as run:
        build(Static).process(tup())
    assert (run.settlement.violations, run.settlement.unobserved) == ((), ())


class Acks(Bolt):
    """Its base class seems to complete its tuples by `check`."""

    def process(self, tup):
        self.check(tup)

    def check(self, tup):
        self.fail(tup)


class Checks(Acks):
    def check(self, tup):
        return tup.values


class Asks(Acks):
    def check(self, tup):
        return super().check(tup)


@pytest.mark.parametrize(("component", "unobserved"), [(Checks, ()), (Asks, ("Asks: check is a mock",))])
def test_an_overridden_method_does_not_count(component, unobserved):
    with traced() as run:
        bolt = build(component)
        bolt.check = mock.Mock()
        bolt.process(tup())
    assert (run.settlement.violations, run.settlement.unobserved) == ((), unobserved)


def test_a_replacement_that_acks_hides_no_violation():
    def twice(bolt: Any) -> None:
        bolt.ack(bolt.current)
        bolt.ack(bolt.current)

    with traced() as run, mock.patch.object(Keeps, "finish", twice):
        build(Keeps).process(tup())
    [violation] = run.settlement.violations
    assert (violation.delivery, run.settlement.unobserved) == ("7", ())


class Stores(Bolt):
    """Wait for two tuples, and forget the one that is "lost"."""

    auto_ack = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.waiting: list[Any] = []

    def process(self, tup):
        self.store(tup)

    def store(self, tup):
        if "lost" in tup.values:
            return
        self.waiting.append(tup)
        if len(self.waiting) > 1:
            for each in self.waiting:
                self.ack(each)


def wraps(method: Any) -> mock.Mock:
    return mock.Mock(wraps=method)


def spies(method: Any) -> mock.Mock:
    """Build a spy as `pytest-mock` does."""

    def wrapper(*args: Any) -> Any:
        return method(*args)

    return mock.Mock(side_effect=update_wrapper(wrapper, method))


@pytest.mark.parametrize(
    ("spy", "expected"), [(spies, ([NEVER], ())), (wraps, ([], ("Stores: store is a mock",)))]
)
def test_a_spy_forwards_every_call_and_one_of_pytest_mock_hides_no_violation(spy, expected):
    with traced() as run:
        bolt = build(Stores)
        bolt.store = spy(bolt.store)
        for number in "12":
            bolt.process(tup(number))
        bolt.process(tup("7", "lost"))
        assert len(bolt.waiting) == 2
    assert (summaries(run.settlement.violations), run.settlement.unobserved) == expected


def nothing(*_: object) -> None:
    pass


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, Effect.NOTHING),
        ({"return_value": mock.Mock()}, Effect.NOTHING),
        ({"return_value": None}, Effect.NOTHING),
        ({"return_value": False}, Effect.ANSWERS),
        ({"side_effect": [1, KeyError]}, Effect.ANSWERS),
        ({"side_effect": dict}, Effect.ANSWERS),
        ({"side_effect": nothing}, Effect.ACTS),
        ({"side_effect": KeyError}, Effect.RAISES),
        ({"side_effect": KeyError(), "return_value": 1}, Effect.RAISES),
        ({"wraps": nothing}, Effect.NOTHING),
        ({"wraps": nothing, "return_value": 1}, Effect.ANSWERS),
        ({"wraps": nothing, "side_effect": KeyError}, Effect.RAISES),
    ],
)
def test_the_configured_result_of_a_mock_is_unchanged(options, expected):
    for made_mock in (mock.Mock(**options), mock.Mock(**{f"of.it.{k}": v for k, v in options.items()}).of.it):
        if "wraps" in options and made_mock._mock_wraps is None:
            continue  # a child of a mock cannot have it
        before = dict(vars(made_mock))
        assert effect(made_mock) is expected
        assert vars(made_mock) == before


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, Effect.NOTHING), ({"return_value": 1}, Effect.ANSWERS), ({"side_effect": KeyError}, Effect.RAISES)],
)
def test_a_mock_that_cannot_be_copied_counts_as_one_that_does_nothing(options, expected):
    class Alone(mock.Mock):
        def __reduce_ex__(self, protocol):
            raise TypeError

    unless_asked = Effect.NOTHING if options == {"return_value": 1} else expected
    assert effect(Alone(**options)) is unless_asked


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, Effect.NOTHING), ({"return_value": 1}, Effect.ANSWERS), ({"side_effect": KeyError}, Effect.RAISES)],
)
def test_an_autospec_function_is_read_too(options, expected):
    assert effect(mock.create_autospec(nothing, **options)) is expected

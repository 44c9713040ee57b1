"""The options of a lab run that name faults."""

import pytest

from ackdoctor.lab.faults import InvalidFaultError, Kill, plan, task_component


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"kills": ["count@100"]}, "--kill count@100"),
        ({"kills": ["a@b@40s", "acker=3"]}, "--kill a@b@40s --kill acker=3"),
        ({"kills": ["count@1.5m"]}, "--kill count@90s"),
        ({"raises": ["count@7"]}, "--raise count@7"),
        ({"drops": ["0.1%"]}, "--drop 0.1%"),
        ({"drops": ["0.001"]}, "--drop 0.1%"),
        ({"slows": ["store=500ms"]}, "--slow store=0.5s"),
        ({}, "none"),
    ],
)
def test_a_plan_is_parsed_and_written(options, text):
    assert str(plan(**options)) == text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kills": ["count"]}, "'count' is not COMPONENT@NUMBER"),
        ({"kills": ["count@soon"]}, "'count@soon' has no time"),
        ({"kills": ["count=0"]}, "'count=0' has no number from 1"),
        ({"kills": ["count@0s"]}, "'count@0s' has no time"),
        ({"raises": ["count@5s"]}, "'count@5s' has no number"),
        ({"raises": ["count=5"]}, "'count=5' is not COMPONENT@NUMBER"),
        ({"drops": ["100%"]}, "'100%' is not a share"),
        ({"drops": ["0"]}, "'0' is not a share"),
        ({"drops": ["nan"]}, "'nan' is not a share"),
        ({"slows": ["store=40"]}, "'store=40' has no time"),
    ],
)
def test_what_is_no_fault_is_refused(options, message):
    with pytest.raises(InvalidFaultError) as error:
        plan(**options)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kills": ["cuont@1"]}, "no component is called `cuont`; did you mean `count`?"),
        ({"raises": ["acker@1"]}, "an acker can only be killed"),
        ({"kills": ["acker@1"]}, "an acker can only be killed at a time"),
        ({"slows": ["words=1s"]}, "`words` is a spout"),
    ],
)
def test_a_fault_must_suit_its_component(options, message):
    with pytest.raises(InvalidFaultError) as error:
        plan(**options).check(["words"], ["count"])
    assert message in str(error.value)


def test_several_deaths_come_at_equal_intervals():
    assert Kill("acker", times=3).moments(60) == (15, 30, 45)
    assert Kill("acker", seconds=7).moments(60) == (7,)
    assert Kill("count", number=7).moments(60) == ()


def test_a_component_may_be_called_acker():
    assert (task_component("acker", ["count"]), task_component("acker", ["acker"])) == ("__acker", "acker")

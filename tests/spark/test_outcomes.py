"""Spark counts what became of messages as the tracer does."""

import random

import pytest

from ackdoctor.model.trace import RELIABLE, Event, EventKind, Outcomes
from ackdoctor.spark import roots
from ackdoctor.tracer.replay import outcomes
from tests.spark.event_tables import events

ANSWERS = (EventKind.COMPLETED, EventKind.COMPLETED, EventKind.GAVE_UP, EventKind.TIMED_OUT)


@pytest.mark.parametrize("seed", range(3))
def test_spark_and_the_tracer_agree(spark, seed):
    draw = random.Random(seed)
    rows: list[Event] = []
    for root in range(1, 60):
        run, task, name = draw.choice("rs"), draw.randrange(1, 3), str(draw.randrange(20))
        rows.append(
            Event(
                EventKind.EMITTED,
                0,
                component="kafka",
                task=task,
                delivery=name,
                root=root,
                flags=RELIABLE,
                run=run,
            )
        )
        if draw.random() < 0.8:
            rows.append(Event(draw.choice(ANSWERS), 0, component="__acker", root=root, run=run))
    answer = Event(EventKind.COMPLETED, 0, component="kafka", task=1, run="r")  # as in logs
    rows += [answer._replace(kind=draw.choice(ANSWERS), delivery=str(n)) for n in range(30, 40)]
    rows = [row._replace(seq=seq, pid=1) for seq, row in enumerate(rows)]
    found = roots.outcomes(events(spark, rows), ["kafka"]).collect()
    assert tuple(Outcomes(**row.asDict()) for row in found) == outcomes(rows)

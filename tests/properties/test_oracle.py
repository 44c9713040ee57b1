"""The engine against real runs: small bolts are executed, and what it said about them must be so.

A search for more: `ACKDOCTOR_SEARCH=2000 pytest tests/properties/test_oracle.py`.  What it may still turn up, and why:

- a field asked about before and after a helper call: the helper might have changed it, so both answers are followed;
- a flag asked about by the handler and, under another name, by a helper it is given to;
- a batch of which the first loop completed some elements and left others: the worst of them stands for all.
"""

from random import Random

import pytest
from hypothesis import given, note

from tests.properties.bolt_settings import BATCH, SETTINGS, Setting
from tests.properties.comparison import disputes
from tests.properties.examples import examples, handlers, seeds
from tests.properties.generator import write

BATCHES = 10
PER_BATCH = 10


@examples(60)
@given(handlers())
def test_what_runs_do_is_what_the_engine_says(made: tuple[str, Setting]) -> None:
    source, setting = made
    note(source)

    assert disputes(source, setting) == []


@pytest.mark.parametrize("batch", seeds(BATCHES))
def test_what_runs_do_is_what_the_engine_says_of_larger_handlers(batch: int) -> None:
    for number in range(PER_BATCH):
        seed = batch * PER_BATCH + number
        setting = SETTINGS[seed % len(SETTINGS)]
        source = write(Random(seed).choice, setting, size=8)

        assert disputes(source, setting) == [], f"seed {seed}\n{source}"


@pytest.mark.parametrize("batch", seeds(3))
def test_what_runs_do_to_a_batch_is_what_the_engine_says(batch: int) -> None:
    for number in range(PER_BATCH):
        source = write(Random(batch * PER_BATCH + number).choice, BATCH, size=6)

        assert disputes(source, BATCH) == [], source

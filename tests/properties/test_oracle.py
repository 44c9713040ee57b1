"""The oracle: generated bolts are executed, and the analysis must agree with the runs.

To search for more: `ACKDOCTOR_SEARCH=2000 pytest tests/properties/test_oracle.py`.  Known imprecision that it may find:

- a field tested before and after a helper call: the helper may change it, so both branches are followed;
- a flag tested by the handler and, under another name, by a helper that receives it;
- a batch whose first loop completes only some elements: the worst state represents all.
"""

from random import Random

import pytest
from hypothesis import given, note

from tests.properties.bolt_settings import BATCH, SETTINGS, Setting
from tests.properties.comparison import disagreements
from tests.properties.examples import examples, handlers, seeds
from tests.properties.generator import write
from tests.sampled import sampled

BATCHES = 10
PER_BATCH = 10


@examples(40)
@given(handlers())
def test_the_analysis_agrees_with_runs(generated: tuple[str, Setting]) -> None:
    source, setting = generated
    note(source)

    assert disagreements(source, setting) == []


@pytest.mark.parametrize("batch", sampled(seeds(BATCHES), range(5)))
def test_the_analysis_agrees_with_runs_of_larger_handlers(batch: int) -> None:
    for number in range(PER_BATCH):
        seed = batch * PER_BATCH + number
        setting = SETTINGS[seed % len(SETTINGS)]
        source = write(Random(seed).choice, setting, size=8)

        assert disagreements(source, setting) == [], f"seed {seed}\n{source}"


@pytest.mark.parametrize("batch", seeds(3))
def test_the_analysis_agrees_with_runs_of_batches(batch: int) -> None:
    for number in range(PER_BATCH):
        source = write(Random(batch * PER_BATCH + number).choice, BATCH, size=6)

        assert disagreements(source, BATCH) == [], source

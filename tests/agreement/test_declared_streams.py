"""Emits that ACK207 reports, on the bench: each ends the worker."""

import pytest

from ackdoctor.lab.bench import Bench
from tests.frameworks import framework

COUNTS = {"default": ["word", "count"]}
BASES = [
    ("pystorm", "Bolt"),
    ("streamparse", "Bolt"),
    ("pyleus.storm", "SimpleBolt"),
    ("heronpy.api.bolt.bolt", "Bolt"),
]
BY_NAME = pytest.mark.parametrize(("module", "base"), BASES)


def death(module: str, base: str, values: list[object], **stream: object) -> str:
    def process(self, tup):
        self.emit(values, **stream)

    cls = type("Emitter", (getattr(framework(module), base),), {"process": process, "process_tuple": process})
    with Bench(cls, outputs=COUNTS) as bench:
        bench.feed("a")
        return str(bench.died)


@BY_NAME
@pytest.mark.parametrize("values", [["a"], ["a", 1, 2]])
def test_another_number_of_values_ends_the_worker(module, base, values):
    text = death(module, base, values)
    assert "wrong number of fields" in text or "Number of fields emitted" in text


@BY_NAME
def test_an_undeclared_stream_ends_the_worker(module, base):
    text = death(module, base, ["a", 1], stream="late")
    assert "Unknown stream ID" in text or "was not declared" in text


@BY_NAME
def test_a_stream_that_is_a_number_ends_the_worker(module, base):
    text = death(module, base, ["a", 1], stream=1)
    assert "cannot be cast to java.lang.String" in text or "was not declared" in text


@BY_NAME
def test_an_emit_as_declared_does_not(module, base):
    assert death(module, base, ["a", 1]) == "None"

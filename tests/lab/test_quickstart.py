"""Bolts from the frameworks' own quickstarts, which kill the worker.

streamparse doc/source/quickstart.rst:215-226, 267-276; pystorm doc/source/quickstart.rst:58-71, 111-120.
"""

import re
from typing import Any

import pytest

from ackdoctor.lab.bench import Bench
from ackdoctor.model.trace import Verdict
from tests.frameworks import framework
from tests.lab.wire import wire


@pytest.fixture(params=["pystorm", "streamparse"])
def bolt(request) -> Any:
    return framework(request.param).Bolt


def test_a_failed_tuple_is_acked_after_return(bolt):
    class SentenceSplitterBolt(bolt):  # type: ignore[valid-type, misc]
        outputs = ("word",)

        def process(self, tup: Any) -> None:
            sentence = tup.values[0]  # extract the sentence
            sentence = re.sub(r"[,.;!\?]", "", sentence)  # get rid of punctuation
            words = [[word.strip()] for word in sentence.split(" ") if word.strip()]
            if not words:
                # no words to process in the sentence, fail the tuple
                self.fail(tup)
                return

            for word in words:
                self.emit([word])
            # tuple acknowledgement is handled automatically

    with Bench(SentenceSplitterBolt) as bench:
        good = bench.feed("a dog.")
        bad = bench.feed("?!")
        assert wire(bench) == ["emit [['a']] <- 1", "emit [['dog']] <- 1", "ack 1", "fail 2", "ack 2"]
        assert (bench.verdict(good), bench.verdict(bad)) == (Verdict.COMPLETE, Verdict.FAILED)
        assert str(bench.died) == (
            "java.lang.RuntimeException: Acked a non-existent or already acked/failed id: 2"
        )


def test_a_failed_tuple_that_falls_through_is_acked(bolt):
    class MyBolt(bolt):  # type: ignore[valid-type, misc]
        auto_ack = False
        auto_fail = False

        def process(self, tup: Any) -> None:
            error = tup.values[0] == "error"
            if error:
                self.fail(tup)  # perform failure manually
            self.ack(tup)  # perform acknowledgement manually

    with Bench(MyBolt) as bench:
        bench.feed("fine")
        bench.feed("error")
        assert wire(bench) == ["ack 1", "fail 2", "ack 2"]
        assert str(bench.died) == (
            "java.lang.RuntimeException: Acked a non-existent or already acked/failed id: 2"
        )

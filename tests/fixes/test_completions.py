"""Completions in the wrong place, in Python: each kind of fix, run with good and bad records."""

import pytest

from tests.fixes.repairing import repaired, run_fixed

pytestmark = pytest.mark.filterwarnings("ignore")

HEAD = """from streamparse import Bolt


class Words(Bolt):
    auto_ack = False

    def initialize(self, conf, ctx):
        self.rows = []

"""


def test_a_helper_that_acks_moves_behind_the_loop(tmp_path) -> None:
    before = f"""{HEAD}    def process(self, tup):
        for word in str(tup.values[0]).split():
            self.emit([word])
            self.done(tup)

    def done(self, tup):
        self.ack(tup)
"""
    lines = ["-            self.done(tup)", "+        self.done(tup)"]
    assert run_fixed(tmp_path, "streamparse", before) == lines


def test_a_helper_with_other_arguments_stays_in_the_loop(tmp_path) -> None:
    before = f"""{HEAD}    def process(self, tup):
        for word in str(tup.values[0]).split():
            self.send(word, tup)

    def send(self, word, tup):
        self.emit([word])
        self.ack(tup)
"""
    assert repaired(tmp_path, {"case.py": before}, unsafe=True)[0] == {}


def test_each_tuple_of_a_field_is_acked(tmp_path) -> None:
    before = f"""{HEAD}    def process(self, tup):
        self.rows.append(tup)
        for row in self.rows:
            self.ack(tup)
        self.rows = []
"""
    assert run_fixed(tmp_path, "streamparse", before) == [
        "-            self.ack(tup)",
        "+            self.ack(row)",
    ]


def test_an_ack_before_a_fail_becomes_its_else(tmp_path) -> None:
    before = f"""{HEAD}    def process(self, tup):
        self.ack(tup)  # at once
        if not tup.values[0]:
            self.log("empty")
            self.fail(tup)
"""
    lines = ["-        self.ack(tup)  # at once", "+        else:", "+            self.ack(tup)"]
    assert run_fixed(tmp_path, "streamparse", before) == lines


def test_a_loop_goes_with_its_only_statement(tmp_path) -> None:
    before = """from pystorm import BatchingBolt


class Words(BatchingBolt):
    def process_batch(self, key, tups):
        self.emit([key, len(tups)])
        for tup in tups:
            self.ack(tup)
"""
    lines = ["-        for tup in tups:", "-            self.ack(tup)"]
    assert run_fixed(tmp_path, "pystorm", before) == lines


def test_an_ack_that_waits_in_a_buffer_stays(tmp_path) -> None:
    before = f"""{HEAD.replace("    auto_ack = False", "    pass")}    def process(self, tup):
        self.rows.append(tup)
        if len(self.rows) == 2:
            for row in self.rows:
                self.ack(row)
            self.rows = []
"""
    assert repaired(tmp_path, {"case.py": before}, unsafe=True)[0] == {}

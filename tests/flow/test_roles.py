"""Class attributes count as constants only if no code assigns them."""

from textwrap import dedent

import pytest

from tests.checks.sources import codes

PAUSED = """
from streamparse import Bolt
from elsewhere import watch

{around}

class Made(Bolt):
    auto_ack = auto_fail = paused = False

    def initialize(self, conf, ctx):
        {begin}

    def process(self, tup):
        if self.paused:
            self.fail(tup)
        self.ack(tup)
"""
PAUSE = "def pause(bolt): bolt.paused = True"


@pytest.mark.parametrize(
    ("begin", "around"),
    [
        ("self.paused = conf['paused']", ""),
        ("Made.paused = conf['paused']", ""),
        ("type(self).paused = conf['paused']", ""),
        ("def pause(): self.paused = True", ""),
        ("self.__dict__.update(conf)", ""),
        ("pause(self)", PAUSE),
    ],
)
def test_a_class_attribute_that_any_code_assigns_is_unknown(begin, around):
    found = codes(dedent(PAUSED).format(begin=begin, around=around))

    assert [code for _, code in found] == ["ACK106"]


def test_a_class_attribute_without_assignments_is_constant():
    assert codes(dedent(PAUSED).format(begin="watch(self)", around="")) == []

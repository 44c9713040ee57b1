"""Paths that leave a tuple or a tick open, in Python: each kind of fix, run with good and bad records."""

import pytest

from tests.fixes.repairing import diff_of, repaired, run_fixed

pytestmark = pytest.mark.filterwarnings("ignore")

BY_HAND = """from streamparse import Bolt


class Words(Bolt):
    outputs = ["word"]
    auto_ack = False
    auto_fail = False

    def process(self, tup):
"""
AUTO = """from streamparse import Bolt

from table import open_table


class Words(Bolt):
    \"\"\"Stores words.\"\"\"

    def initialize(self, conf, ctx):
        self.table = open_table()

    def process(self, tup):
"""
FRAMEWORK = """from heronpy.api.bolt.bolt import Bolt


class Words(Bolt):
    def process(self, tup):
        if not tup.values[0]:
            return
        self.emit([str(tup.values[0])], anchors=[tup])
"""


def _body(text: str) -> str:
    return "".join(f"        {line}\n" if line else "\n" for line in text.strip("\n").split("\n"))


PATHS = {
    "an elif without an else": (
        """
word = tup.values[0]
if not word:
    self.ack(tup)
elif isinstance(word, str):
    self.emit([word])
    self.ack(tup)
""",
        ["+        else:", "+            self.ack(tup)"],
    ),
    "a branch beside one that acks": (
        """
if isinstance(tup.values[0], str):
    self.log("text")
else:
    self.fail(tup)
""",
        ["+            self.ack(tup)"],
    ),
    "both ways of the last branch": (
        """
if not tup.values[0]:
    self.ack(tup)
    return
if tup.values[0] == 1:
    self.log("one")
""",
        ["+        self.ack(tup)"],
    ),
    "the end of a loop": (
        """
for word in str(tup.values[0]).split():
    if word == "stop":
        self.ack(tup)
        return
""",
        ["+        self.ack(tup)"],
    ),
    "an except": (
        """
try:
    word = tup.values[0].lower()
    self.emit([word])
except Exception:
    self.log("no text")
else:
    self.ack(tup)
""",
        ["+            self.fail(tup)"],
    ),
    "a return in an except": (
        """
try:
    word = tup.values[0].lower()
except Exception:
    return
self.emit([word])
self.ack(tup)
""",
        ["+            self.fail(tup)"],
    ),
}


@pytest.mark.parametrize(("body", "expected"), PATHS.values(), ids=PATHS)
def test_an_open_path_is_completed(body, expected, tmp_path) -> None:
    assert run_fixed(tmp_path, "streamparse", BY_HAND + _body(body)) == expected


def test_a_handler_that_completes_nothing_acks_at_each_exit(tmp_path) -> None:
    assert run_fixed(tmp_path, "heronpy", FRAMEWORK) == [
        "+            self.ack(tup)",
        "+        self.ack(tup)",
    ]


def test_an_id_is_no_tuple(tmp_path) -> None:
    before = FRAMEWORK.replace(
        "heronpy.api.bolt.bolt import Bolt", "petrel.emitter import Bolt\nfrom petrel import storm"
    )
    before = before.replace("            return\n", "            storm.ack(tup.id)\n            return\n")
    before = before.replace("self.emit", "storm.emit") + "        storm.ack(tup.id)\n"
    edited, left = repaired(tmp_path, {"case.py": before}, unsafe=True)
    assert edited["case.py"].decode() == before.replace("tup.id", "tup")
    assert left.findings == ()


def test_work_that_waits_in_a_field_is_not_acked(tmp_path) -> None:
    before = BY_HAND + _body(
        """
self.words.append(tup.values[0])
if len(self.words) < 100:
    return
self.ack(tup)
"""
    )
    assert repaired(tmp_path, {"case.py": before}, unsafe=True)[0] == {}


LEAVES = {
    "the result of a write": ("if not self.table.insert(word):", "fail"),
    "a method of the bolt that writes": ("if not self.is_new(word):", "fail"),
    "a field": ("if word in self.known:", "fail"),
    "the input": ("if not word.strip() or len(number) > 3:", "ack"),
    "a local of the input": ("if not isinstance(number, str):", "ack"),
}


@pytest.mark.parametrize(("condition", "verb"), LEAVES.values(), ids=LEAVES)
def test_only_an_input_that_the_bolt_leaves_out_is_acked(condition, verb, tmp_path) -> None:
    body = f"word, number = tup.values\n{condition}\n    return\nself.table.insert(word)\nself.ack(tup)"
    before = BY_HAND + _body(body) + "\n    def is_new(self, word):\n        return self.table.insert(word)\n"
    edited = repaired(tmp_path, {"case.py": before}, unsafe=True)[0]["case.py"].decode()
    assert diff_of(before, edited) == [f"+            self.{verb}(tup)"]


def test_a_write_that_may_fail_is_not_acked_in_an_else(tmp_path) -> None:
    body = "done = self.table.insert(tup.values[0])\nif done:\n    self.ack(tup)"
    before = BY_HAND + _body(body)
    edited = repaired(tmp_path, {"case.py": before}, unsafe=True)[0]["case.py"].decode()
    assert diff_of(before, edited) == ["+        else:", "+            self.fail(tup)"]


def test_a_method_that_is_not_the_frameworks_is_not_called(tmp_path) -> None:
    before = BY_HAND + _body("self.ack(tup)") + "\n    def ack(self, tup):\n        self.log('done')\n"
    assert repaired(tmp_path, {"case.py": before}, unsafe=True)[0] == {}


def test_a_swallowed_failure_is_failed_by_hand(tmp_path) -> None:
    before = AUTO + _body(
        """
try:
    self.table.insert(tup.values)
except Exception:
    self.log("not stored")
"""
    )
    assert run_fixed(tmp_path, "streamparse", before) == [
        "+",
        "+    auto_ack = False",
        "+            self.fail(tup)",
        "+            return",
        "+        self.ack(tup)",
    ]


def test_a_fail_beside_the_frameworks_ack_turns_that_off(tmp_path) -> None:
    before = AUTO.replace("    def initialize", "    outputs = []\n\n    def initialize") + _body(
        """
if not tup.values[0]:
    self.fail(tup)
    return
if tup.values[0] == 1:
    return
self.log("stored")
"""
    )
    tick = "\n    def process_tick(self, tup):\n        self.log('tick')\n"
    assert run_fixed(tmp_path, "streamparse", before + tick) == [
        "+    auto_ack = False",
        "+            self.ack(tup)",
        "+        self.ack(tup)",
        "+        self.ack(tup)",
    ]


TICKS = {
    "a method of its own": (
        "self.log('tick')\nif tup.id:\n    return",
        ["+            self.ack(tup)", "+        self.ack(tup)"],
    ),
    "other tuples are acked": (
        "for old in self.old:\n    self.ack(old)\nself.old = []",
        ["+        self.ack(tup)"],
    ),
}


@pytest.mark.parametrize(("body", "expected"), TICKS.values(), ids=TICKS)
def test_a_tick_is_acked_and_the_fix_is_safe(body, expected, tmp_path) -> None:
    text = (
        BY_HAND
        + _body("self.old.append(tup)")
        + "\n    def initialize(self, conf, ctx):\n        self.old = []\n"
    )
    if "old" not in body:
        text = BY_HAND + _body("self.ack(tup)")
    text += "\n    def process_tick(self, tup):\n" + _body(body)
    assert run_fixed(tmp_path, "streamparse", text) == expected


def test_a_tick_that_must_stay_open_is_left_open(tmp_path) -> None:
    tick = "\n    def process_tick(self, tup):\n        self.log('tick')\n"
    before = (
        FRAMEWORK.replace("            return\n", "            self.ack(tup)\n            return\n")
        + "        self.ack(tup)\n"
    )
    edited, _ = repaired(tmp_path, {"case.py": before + tick + "        self.ack(tup)\n"})
    assert edited["case.py"].decode() == before + tick

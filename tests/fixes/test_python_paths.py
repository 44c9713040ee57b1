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
    self.table.insert(tup.values[0])
except Exception:
    return
self.ack(tup)
""",
        ["+            self.fail(tup)"],
    ),
    "an input that cannot be decoded": (
        """
try:
    word = tup.values[0].lower()
except Exception:
    return
self.emit([word])
self.ack(tup)
""",
        ["+            self.ack(tup)"],
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
    "its result in a local": ("done = self.table.insert(word)\nif done is None:", "fail"),
    "the input": ("if not word.strip() or len(number) > 3:", "ack"),
    "a local of the input": ("if not isinstance(number, str):", "ack"),
    "a limit that only the start sets": ("if len(word) < self.shortest:", "ack"),
    "a key that the bolt has added": ("if word in self.done:", "ack"),
    "a method that only reads the input": ("if self.is_short(word):", "ack"),
    "a field": ("if word in self.known:", ""),
    "a key that is not there yet": ("if word not in self.done:", ""),
    "a field that another method changes": ("if self.paused:", ""),
    "a lookup in a store": ("if self.table.get(word):", ""),
    "a write that takes a key once": ("if not self.table.setnx(word, 1):", ""),
    "a result of a value": ("if not word.generate():", ""),
    "a query without rows": ("if not self.table.query(word):", ""),
    "a write that says yes": ("if self.table.insert(word):", ""),
    "a method of the bolt that writes": ("if not self.is_new(word):", ""),
    "the input or a write": ("if not word or not self.table.insert(word):", ""),
}
LEAVING = """
    def initialize(self, conf, ctx):
        self.table = conf["table"]
        self.shortest = 3
        self.done = set()
        self.paused = False

    def is_new(self, word):
        return self.table.insert(word)

    def is_short(self, word):
        return word.startswith("a") and len(word) < self.shortest

    def pause(self):
        self.paused = True
"""


@pytest.mark.parametrize(("condition", "verb"), LEAVES.values(), ids=LEAVES)
def test_only_an_input_that_the_bolt_leaves_out_is_acked(condition, verb, tmp_path) -> None:
    body = f"word, number = tup.values\n{condition}\n    return\nself.table.insert(word)\nself.done.add(word)\nself.ack(tup)"
    before = BY_HAND + _body(body) + LEAVING
    edited, _ = repaired(tmp_path, {"case.py": before}, unsafe=True)
    after = edited["case.py"].decode() if edited else before
    assert diff_of(before, after) == ([f"+            self.{verb}(tup)"] if verb else [])


def test_a_known_key_is_not_acked_where_its_work_may_have_failed(tmp_path) -> None:
    body = "if tup.values[0] in self.done:\n    return\nself.done.add(tup.values[0])\nif self.table.insert(tup.values[0]):\n    self.ack(tup)\nelse:\n    self.fail(tup)"
    assert repaired(tmp_path, {"case.py": BY_HAND + _body(body) + LEAVING}, unsafe=True)[0] == {}


@pytest.mark.parametrize("verb", ["ack", "fail"])
def test_the_settings_decide_what_completes_a_missing_path(verb, tmp_path) -> None:
    body = """
word = tup.values[0]
if word in self.known:
    return
if not word:
    return
try:
    self.table.insert(word)
except Exception:
    return
self.ack(tup)
"""
    before = BY_HAND + _body(body)
    edited, _ = repaired(tmp_path, {"case.py": before}, unsafe=True, on_missing_path=verb)
    completed = f"+            self.{verb}(tup)"
    assert diff_of(before, edited["case.py"].decode()) == [
        completed,
        completed,
        "+            self.fail(tup)",
    ]


def test_the_settings_complete_no_tuple_whose_work_waits(tmp_path) -> None:
    body = "self.words.append(tup.values[0])\nif len(self.words) < 100:\n    return\nself.ack(tup)"
    files = {"case.py": BY_HAND + _body(body)}
    assert repaired(tmp_path, files, unsafe=True, on_missing_path="ack")[0] == {}


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
        "+    auto_ack = False",
        "+",
        "+",
        "+    def process_tick(self, tick):",
        "+        self.ack(tick)",
        "+            self.fail(tup)",
        "+            return",
        "+        self.ack(tup)",
    ]


def test_a_swallowed_failure_that_returns_is_failed_by_hand(tmp_path) -> None:
    before = AUTO + _body(
        """
try:
    self.table.insert(tup.values)
except Exception:
    self.log("not stored")
    return
self.log("stored")
"""
    )
    assert run_fixed(tmp_path, "streamparse", before) == [
        "+    auto_ack = False",
        "+",
        "+",
        "+    def process_tick(self, tick):",
        "+        self.ack(tick)",
        "+            self.fail(tup)",
        "+        self.ack(tup)",
    ]


def test_a_base_class_of_the_project_may_handle_ticks_so_nothing_is_completed_by_hand(tmp_path) -> None:
    body = "try:\n    self.table.insert(tup.values)\nexcept Exception:\n    self.log('not stored')"
    before = AUTO.replace("(Bolt)", "(Base)") + _body(body)
    base = "\n\nclass Base(Bolt):\n    def process_tick(self, tup):\n        self.flush()\n"
    at = before.index("\n\nclass ")
    assert repaired(tmp_path, {"case.py": before[:at] + base + before[at:]}, unsafe=True)[0] == {}


def test_an_aggregate_is_acked_at_the_end(tmp_path) -> None:
    body = "word = tup.values[0]\nif word in self.counts:\n    self.counts[word] += 1\nelse:\n    self.counts[word] = 1"
    start = "\n    def initialize(self, config, context):\n        self.counts = {}\n"
    text = FRAMEWORK[: FRAMEWORK.index("        if not")] + _body(body)
    edited, _ = repaired(tmp_path, {"case.py": text + start}, unsafe=True)
    assert diff_of(text + start, edited["case.py"].decode()) == ["+        self.ack(tup)"]


UNDECIDED = {
    "a write in a condition": "if self.table.insert(tup.values[0]):\n    self.log('stored')",
    "a field that chooses the work": "if self.ready:\n    self.table.insert(tup.values[0])",
    "a failure that goes on": "try:\n    self.table.insert(tup.values[0])\nexcept ValueError:\n    self.log('no')",
    "a return that a field decides": "if self.ready:\n    return\nself.table.insert(tup.values[0])",
}


@pytest.mark.parametrize("body", UNDECIDED.values(), ids=UNDECIDED)
def test_a_handler_that_may_skip_its_work_is_not_acked(body, tmp_path) -> None:
    text = FRAMEWORK[: FRAMEWORK.index("        if not")] + _body(body)
    assert repaired(tmp_path, {"case.py": text}, unsafe=True)[0] == {}


def test_an_emit_that_a_comment_leaves_unanchored_stays(tmp_path) -> None:
    text = AUTO.replace("streamparse import Bolt", "pystorm import Bolt")
    text = text.replace("    def initialize", "    auto_anchor = False\n\n    def initialize")
    emit = "self.emit([tup.values[0]])"
    assert repaired(tmp_path / "0", {"case.py": text + _body(emit)})[0] != {}
    assert repaired(tmp_path / "1", {"case.py": text + _body(f"# need not be anchored\n{emit}")})[0] == {}


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

"""Spouts in Python: ids, replays with a limit and entries that go with the ack, run on a bench."""

import pytest

from ackdoctor.lab.bench import SpoutBench
from tests.agreement.fixture_modules import import_fixture
from tests.fixes.repairing import repaired, run_fixed

pytestmark = pytest.mark.filterwarnings("ignore")

HEADS = {
    "streamparse": ("from streamparse import Spout\n", "self.emit({})", "tup_id", "next_tuple"),
    "pyleus": ("from pyleus.storm import Spout\n", "self.emit({})", "tup_id", "next_tuple"),
    "storm_py": ("import storm\nfrom storm import Spout\n", "storm.emit({})", "id", "nextTuple"),
    "heronpy": ("from heronpy.api.spout.spout import Spout\n", "self.emit({})", "tup_id", "next_tuple"),
}


def _spout(dialect: str, *, values: str = "[self.number]", more: str = "", rest: str = "") -> str:
    head, emit, _, method = HEADS[dialect]
    return f'''{head}

class Numbers(Spout):
    outputs = ["number"]
    number = 0

    def {method}(self):
        """Emit a number."""
        self.number += 1
        {emit.format(values + more)}
{rest}'''


@pytest.mark.parametrize("dialect", HEADS)
def test_a_spout_without_ids_replays_three_times(dialect, tmp_path) -> None:
    _, emit, keyword, _ = HEADS[dialect]
    init = "" if dialect == "pyleus" else ", conf, context"
    assert run_fixed(tmp_path, dialect, _spout(dialect)) == [
        f"+    def initialize(self{init}):",
        "+        self.pending = {}",
        "+        self.last_id = 0",
        "+",
        f"-        {emit.format('[self.number]')}",
        "+        self.last_id += 1",
        "+        values = [self.number]",
        "+        self.pending[self.last_id] = values, 1",
        f"+        {emit.format(f'values, {keyword}=self.last_id')}",
        "+",
        "+    def ack(self, tup_id):",
        "+        self.pending.pop(tup_id, None)",
        "+",
        "+    def fail(self, tup_id):",
        "+        values, tries = self.pending.pop(tup_id, (None, 3))",
        "+        if tries < 3:",
        "+            self.pending[tup_id] = values, tries + 1",
        f"+            {emit.format(f'values, {keyword}=tup_id')}",
    ]


def test_a_fixed_spout_sends_a_record_three_times_and_forgets_it(tmp_path) -> None:
    edited, _ = repaired(tmp_path, {"case.py": _spout("streamparse")}, unsafe=True)
    (tmp_path / "case.py").write_bytes(edited["case.py"])
    with import_fixture(tmp_path, {}, []) as modules, SpoutBench(modules["case"].Numbers) as bench:
        bench.next_tuple()
        for _ in range(3):
            bench.fail(bench.waiting[0])
        assert [emitted.values for emitted in bench.emitted] == [[1]] * 3
        assert bench.component.pending == {}
        bench.next_tuple()
        bench.ack(bench.waiting[0])
        assert bench.component.pending == {}


def test_the_names_of_a_spout_are_not_taken(tmp_path) -> None:
    rest = "\n    def next_record(self):\n        self.pending, self.last_id, values = 1, 2, 3\n        return values\n"
    lines = run_fixed(tmp_path, "streamparse", _spout("streamparse", rest=rest))
    assert "+        self.in_flight[self.last_message_id] = record, 1" in lines


def test_the_stream_is_kept(tmp_path) -> None:
    spout = _spout("streamparse", more=", stream=stream").replace(
        "        self.number +=", "        stream = 'default'\n        self.number +="
    )
    lines = run_fixed(tmp_path, "streamparse", spout)
    assert "+        self.pending[self.last_id] = values, stream, 1" in lines
    assert "+            self.emit(values, stream=stream, tup_id=tup_id)" in lines


STUBS = "\n    def ack(self, tup_id):\n        pass  # done\n\n    def fail(self, tup_id): pass\n"


def test_callbacks_that_do_nothing_are_filled(tmp_path) -> None:
    lines = run_fixed(tmp_path, "streamparse", _spout("streamparse", rest=STUBS))
    assert lines[-7:] == [
        "+        self.pending.pop(tup_id, None)",
        "-    def fail(self, tup_id): pass",
        "+    def fail(self, tup_id):",
        "+        values, tries = self.pending.pop(tup_id, (None, 3))",
        "+        if tries < 3:",
        "+            self.pending[tup_id] = values, tries + 1",
        "+            self.emit(values, tup_id=tup_id)",
    ]


def test_an_id_without_a_replay_gets_one(tmp_path) -> None:
    lines = run_fixed(tmp_path, "streamparse", _spout("streamparse", more=", tup_id=str(self.number)"))
    assert lines[3:8] == [
        "-        self.emit([self.number], tup_id=str(self.number))",
        "+        tup_id = str(self.number)",
        "+        values = [self.number]",
        "+        self.pending[tup_id] = values, 1",
        "+        self.emit(values, tup_id=tup_id)",
    ]


KEEPS = """from streamparse import Spout


class Numbers(Spout):
    def initialize(self, conf, ctx):
        self.sent = {}
        self.number = 0

    def next_tuple(self):
        self.number += 1
        self.sent[self.number] = [self.number]
        self.emit([self.number], tup_id=self.number)

    def fail(self, tup_id):
        self.emit(self.sent[tup_id], tup_id=tup_id)
"""


def test_an_entry_goes_with_the_ack_and_a_record_is_given_up(tmp_path) -> None:
    assert run_fixed(tmp_path, "streamparse", KEEPS) == [
        "+        self.tries = {}",
        "+        self.tries[tup_id] = self.tries.get(tup_id, 0) + 1",
        "+        if self.tries[tup_id] > 3:",
        "+            self.ack(tup_id)",
        "+            return",
        "+",
        "+    def ack(self, tup_id):",
        "+        self.tries.pop(tup_id, None)",
        "+        self.sent.pop(tup_id, None)",
    ]


def test_the_id_under_which_the_record_waits_is_passed(tmp_path) -> None:
    rest = "\n    def ack(self, tup_id):\n        del self.sent[tup_id]\n"
    before = KEEPS.replace("[self.number], tup_id=self.number", "[self.number]") + rest
    assert "+        self.emit([self.number], tup_id=self.number)" in run_fixed(
        tmp_path, "streamparse", before
    )


def test_a_reliable_spout_calls_the_framework(tmp_path) -> None:
    before = KEEPS.replace("Spout", "ReliableSpout").replace(
        "        self.emit(self.sent[tup_id], tup_id=tup_id)\n", "        self.log('failed')\n"
    )
    before = before.replace("        self.sent[self.number] = [self.number]\n", "")
    edited, _ = repaired(tmp_path, {"case.py": before})
    assert "        super().fail(tup_id)\n        self.log('failed')\n" in edited["case.py"].decode()


UNCHANGED = {
    "others derive from it": (
        "streamparse",
        "",
        "",
        "\n\nclass More(Numbers):\n    def initialize(self, conf, ctx):\n        self.x = 1\n",
    ),
    "the record changes later": (
        "streamparse",
        "",
        "        record.clear()\n",
        "",
    ),
    "two emits": ("streamparse", "", "\n        self.emit([2])", ""),
    "a computed stream": ("streamparse", ", stream=self.stream()", "", ""),
    "the result is used": ("streamparse", "", "", ""),
    "the code of a callback expects a text": (
        "streamparse",
        "",
        "",
        '\n    def fail(self, tup_id):\n        self.log("failed: " + tup_id)\n',
    ),
    "a callback takes no id": ("streamparse", "", "", "\n    @staticmethod\n    def ack():\n        pass\n"),
    "the code of a callback expects its own ids": (
        "streamparse",
        "",
        "",
        "\n    def ack(self, tup_id):\n        self.queue.delete(tup_id)\n",
    ),
}


@pytest.mark.parametrize(("dialect", "more", "then", "rest"), UNCHANGED.values(), ids=UNCHANGED)
def test_a_spout_that_a_fix_could_break_is_left_alone(dialect, more, then, rest, tmp_path, request) -> None:
    before = _spout(dialect, more=more, rest=then + rest)
    if "record" in request.node.callspec.id:
        before = before.replace(
            "self.emit([self.number])", "record = [self.number]\n        self.emit(record)"
        )
    if "result" in request.node.callspec.id:
        before = before.replace("        self.emit", "        self.tasks = self.emit")
    assert repaired(tmp_path, {"case.py": before}, unsafe=True)[0] == {}

"""`ackdoctor lab run`: the user's own components under faults."""

import json
import os
import subprocess
import sys
import time
from textwrap import dedent
from types import ModuleType

import pytest

from tests.cli.lab_project import FILES, STUB, edit, run, write_project
from tests.frameworks import framework
from tests.reporters.pages import Page

framework("streamparse")


@pytest.fixture
def project(tmp_path):
    return write_project(tmp_path)


def test_a_sound_topology_loses_nothing_under_faults(shell, project):
    before, path = set(sys.modules), list(sys.path)
    code, out, err = run(shell, "--kill", "count@20", "--kill", "acker=2", "--drop", "5%", "--seed", "3")
    assert (code, err) == (0, "")
    assert out.startswith("OK: 30 messages, none lost or stuck\n  topology: Words (topology.py:")
    assert "faults: --kill count@20 --kill acker=2 --drop 5%" in out
    assert "killed, as planned" in out
    assert ({"count", "words", "stubs", "shop"} & set(sys.modules), sys.path) == (set(), path)
    assert not {name for name in set(sys.modules) - before if name.startswith("shop")}


def test_a_module_that_was_imported_before_is_set_aside(shell, project, monkeypatch):
    before = ModuleType("count")
    before.__file__ = str(project.resolve() / "count.py")
    monkeypatch.setitem(sys.modules, "count", before)
    assert run(shell).code == 0
    assert sys.modules["count"] is before


def test_equal_seeds_give_equal_runs(shell, project):
    first, second, other = (
        run(shell, "--drop", "20%", "--seed", seed, "--output-format", "json").out for seed in "778"
    )
    assert first == second != other


def test_a_bolt_that_never_acks_is_blamed(shell, project):
    edit(project, "count.py", "def process", "auto_ack = False\n\n    def process")
    code, out, _ = run(shell, "--output-format", "json")
    found = json.loads(out)
    (message,) = found["run"]["messages"]
    assert (code, message["stuck"], message["lost"]) == (1, 30, 0)
    assert [(each["code"], each["path"]) for each in found["findings"]] == [("ACK101", "count.py")]
    assert [each["code"] for each in found["run"]["blamed"]] == ["ACK101"]


def test_a_spout_that_gives_up_loses_what_a_dead_bolt_held(shell, project):
    edit(project, "words.py", "self.source.put(tup_id)", "pass")
    assert run(shell).code == 0
    code, out, _ = run(shell, "--kill", "count@5")
    assert code == 1
    assert "of words lost" in out.splitlines()[0]
    assert "words: words.py:14 ACK302" in out


def test_untracked_tuples_of_a_dead_bolt_are_lost(shell, project):
    edit(project, "words.py", ", tup_id=word", "")
    code, out, _ = run(shell, "--raise", "count@5")
    assert code == 1
    assert "InjectedError: raised by the lab, as planned" in out
    assert "untracked tuples from words to count lost" in out.splitlines()[0]
    assert "ACK301" in out


def test_an_exception_of_a_bolt_is_named_with_its_line(shell, project):
    edit(project, "count.py", "tup.values[0].upper()", "raise LookupError(tup.values[0])")
    code, out, _ = run(shell)
    assert code == 1
    assert "LookupError: word0 (count.py:6)" in " ".join(out.split())


TOPOLOGY = "class Words(Topology):"
GROUPING = 'Grouping.fields("word")'
WRONG_FILES = [
    ("topology.py", TOPOLOGY, "clas Words:", "topology.py:7: syntax error"),
    ("count.py", "class", "clas", "count.py:4: syntax error"),
    (
        "count.py",
        "class",
        "import gone\nclass",
        "count.py:4: ModuleNotFoundError: No module named 'gone'; install",
    ),
    ("count.py", "class", "raise SystemExit(3)\nclass", "count.py:4: SystemExit: 3"),
    ("count.py", "class", "while True: pass\nclass", "count.py:4: the import does not end within 1 s"),
    (
        "words.py",
        'conf["queue"]',
        'conf["host"]',
        "words.py:9: `words` cannot start: KeyError: 'host'; --conf",
    ),
    ("words.py", 'conf["queue"]', "None", "stubs.py:6: `words` cannot start: AssertionError"),
    (
        "topology.py",
        GROUPING,
        'Grouping.custom_object("a.B", [])',
        "by the grouping custom a.B, which the lab does not",
    ),
    ("topology.py", GROUPING, "HOW", "by a grouping that the files do not show"),
    ("topology.py", GROUPING, "Grouping.fields(KEY)", "by fields that the files do not show"),
    ("topology.py", GROUPING, 'Grouping.fields("url")', "by field 'url', which the stream does not declare"),
    ("topology.py", "{words:", "{words[STREAM]:", "topology.py:9: the files do not show to which stream"),
    (
        "topology.py",
        f"{{words: {GROUPING}}}",
        "wire(words)",
        "topology.py:9: `wire(words)` decides what count",
    ),
    (
        "topology.py",
        TOPOLOGY,
        f'{TOPOLOGY}\n    config = {{"topology.acker.executors": int(input())}}',
        "topology.acker.executors is not decided: ",
    ),
    (
        "topology.py",
        TOPOLOGY,
        f'{TOPOLOGY}\n    config = {{"topology.message.timeout.secs": "30"}}',
        "topology.py:8: topology.message.timeout.secs is '30'; Storm wants a number from 1",
    ),
]


@pytest.mark.parametrize(("name", "old", "new", "message"), WRONG_FILES)
def test_what_cannot_run_is_one_sentence(shell, project, name, old, new, message):
    edit(project, name, old, new)
    code, out, err = run(shell, "--limit", "1")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.py",), "nothing.py is no file"),
        ((".",), "TOPOLOGY: . is a directory"),
        (("count.py",), "count.py: no topology"),
        (("broken.py",), "broken.py:1: syntax error"),
        (("topology.py", "Other"), "no topology is called `Other`; the file has Words"),
        (("topology.py", "--kill", "cuont@1"), "did you mean `count`?"),
        (("topology.py", "--raise", "cuont@1"), "did you mean `count`?"),
        (("topology.py", "--slow", "cuont=1s"), "did you mean `count`?"),
        (("topology.py", "--slow", "words=1s"), "--slow: `words` is a spout"),
        (("topology.py", "--drop", "count=5%"), "--drop: 'count=5%' is not a share of the messages"),
        (("topology.py", "--drop", "101%"), "--drop: '101%' is not a share of the messages"),
        (("topology.py", "--kill", "count@90s"), "--kill count@90s: the faults end after 60 s"),
        (("topology.py", "--stub", "shop=stubs"), "--stub: 'shop=stubs' is not MODULE:NAME=MODULE:CLASS"),
        (("topology.py", "--conf", "queue"), "--conf: 'queue' is not KEY=VALUE"),
        (("topology.py", "--project", "/nowhere"), "--project: /nowhere is no directory"),
        (("topology.py", "--project", "/usr"), "topology.py is not below /usr"),
        (("topology.py", "--stub", "shop:Source=stubs:None_"), "has no attribute 'None_'"),
        (
            ("topology.py",),
            "words.py:1: ModuleNotFoundError: No module named 'shop'; install it, or replace it",
        ),
    ],
)
def test_a_wrong_argument_is_one_sentence(shell, project, arguments, message):
    (project / "broken.py").write_text("def (:\n")  # without a name that lint looks for
    code, out, err = shell("lab", "run", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_a_setting_on_the_command_line_decides_what_the_files_leave_open(shell, project):
    edit(project, "topology.py", TOPOLOGY, f'{TOPOLOGY}\n    config = {{"topology.acker.executors": N}}')
    assert run(shell, "--conf", "topology.acker.executors=2").code == 0
    assert "untracked tuples" in run(shell, "--conf", "topology.acker.executors=0", "--kill", "count@5").out


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("stubs.py", "range(30)", "range(0)", "INCOMPLETE: no spout emitted a message\n"),
        (
            "words.py",
            "word = self",
            'raise OSError("no route")\n        word = self',
            "words died of OSError: no route (w",
        ),
    ],
)
def test_a_run_without_messages_is_not_ok(shell, project, name, old, new, message):
    edit(project, name, old, new)
    code, out, _ = run(shell)
    assert (code, message in out) == (2, True)


def test_a_component_that_does_not_return_is_named(shell, project, monkeypatch):
    monkeypatch.setattr("ackdoctor.lab.run.GRACE_S", 0)
    edit(project, "count.py", "tup.values[0].upper()", "Event().wait()")
    edit(project, "count.py", "class", "from threading import Event\n\n\nclass")
    code, out, _ = run(shell, "--limit", "1")
    assert code == 2
    assert out.startswith("INCOMPLETE: `count` did not return within 1 s of real time")


def test_the_version_has_two_options(shell, project):
    for option in ("--acker-version", "--profile"):
        code, out, _ = run(shell, option, "storm-1.1.0")
        assert (code, "with storm-1.1.0\n" in out) == (0, True)


def test_a_fault_that_did_not_happen_is_said(shell, project):
    code, out, _ = run(shell, "--kill", "count@500", "--raise", "count@5")
    assert code == 0
    assert out.startswith("OK: 30 messages, none lost or stuck; --kill count@500 did not happen\n")


EARLY = """
    from streamparse import Bolt


    class CountBolt(Bolt):
        def initialize(self, conf, context):
            self.rows = []

        def process(self, tup):
            self.rows.append(tup.values[0])
            if len(self.rows) == 9:
                with open("rows", "a") as file:
                    file.write(str(self.rows))
                self.rows = []
    """


def test_what_a_dead_bolt_had_acked_is_not_judged(shell, project):
    (project / "count.py").write_text(dedent(EARLY))
    code, out, _ = run(shell, "--kill", "count@5")
    assert code == 0
    assert "not judged: what `count` had acked and still held" in " ".join(out.split())
    assert "\n  count (count.py:" in out


def test_a_topology_that_does_not_settle_is_stopped(shell, project):
    edit(project, "stubs.py", "QUEUE.pop(0) if QUEUE else None", '__import__("time").sleep(0.01)')
    code, out, _ = run(shell, "--limit", "1", "--seconds", "1000000")
    assert code == 2
    assert out.startswith("INCOMPLETE: the topology did not settle within 1 s")


def test_ctrl_c_prints_what_is_known(shell, project):
    edit(
        project,
        "stubs.py",
        "return QUEUE.pop(0)",
        'if QUEUE[0] == "word9": raise KeyboardInterrupt\n        return QUEUE.pop(0)',
    )
    code, out, _ = run(shell)
    assert code == 130
    assert out.startswith("INCOMPLETE: interrupted")
    assert "words" in out


def test_no_input_is_overwritten(shell, project):
    before = {file: file.read_text() for file in project.glob("*.py")}
    for arguments, message in (
        (("--output-format", "html", "--output-file", "count.py"), "--output-file: count.py is an input"),
        (
            ("--search", "2", "--write-test", "count.py"),
            "--write-test: count.py exists, and no search wrote it",
        ),
    ):
        code, _, err = run(shell, *arguments)
        assert (code, message in err) == (2, True)
    assert {file: file.read_text() for file in project.glob("*.py")} == before


def test_the_sleep_of_a_component_takes_simulated_time_only(shell, project):
    edit(project, "stubs.py", "QUEUE = ", "from time import sleep\n\nQUEUE = ")
    edit(project, "stubs.py", "        return QUEUE", "        sleep(3)\n        return QUEUE")
    slept = time.sleep
    code, out, _ = run(shell, "--seconds", "8", "--output-format", "json", "--limit", "5")
    assert (code, json.loads(out)["run"]["messages"][0]["messages"]) == (0, 3)
    assert time.sleep is slept


def test_a_component_that_flushes_by_the_clock_completes_its_tuples(shell, project):
    edit(project, "count.py", "from streamparse", "import time\n\nfrom streamparse")
    edit(
        project,
        "count.py",
        "    def process(self, tup):\n        tup.values[0].upper()",
        "    auto_ack = False\n    last, held = time.time(), []\n\n    def process(self, tup):\n"
        "        self.held.append(tup)\n        while self.held and time.time() - self.last > 0.05:\n"
        "            self.ack(self.held.pop())",
    )
    code, out, _ = run(shell, "--seconds", "2")
    assert (code, out.splitlines()[0]) == (0, "OK: 30 messages, none lost or stuck")


def test_a_message_that_fails_each_time_is_stuck_and_the_report_says_where(shell, project):
    edit(
        project,
        "count.py",
        "tup.values[0].upper()",
        'self.fail(tup) if tup.values[0] == "word7" else self.ack(tup)',
    )
    edit(project, "count.py", "    def process", "    auto_ack = False\n\n    def process")
    edit(project, "words.py", "self.source.put(tup_id)", "self.emit([tup_id], tup_id=tup_id)")
    code, out, _ = run(shell)
    assert (code, out.splitlines()[0]) == (1, "BROKEN: 1 message of words stuck")
    (row,) = (line for line in out.splitlines() if "failed it" in line)
    assert row.split() == ["words", "stuck", "1", "count", "failed", "it", "['word7']"]


def test_deaths_for_one_reason_are_one_row_and_clocks_of_datetime_are_named(shell, project):
    edit(project, "count.py", "tup.values[0].upper()", "self.fail(tup)")
    edit(project, "count.py", "from streamparse", "from datetime import datetime\n\nfrom streamparse")
    edit(project, "count.py", "    def process", "    since = datetime.now()\n\n    def process")
    code, out, _ = run(shell, "--output-format", "json")
    made = json.loads(out)["run"]
    (death,) = made["deaths"]
    assert (code, death["reason"]) == (1, "Acked a non-existent or already acked/failed id: ...")
    assert death["times"] > 1
    assert made["real_times"] == ["count.py:7"]


HERON = """
    from heronpy.api.bolt.bolt import Bolt
    from heronpy.api.spout.spout import Spout
    from heronpy.api.stream import Grouping
    from heronpy.api.topology import Topology


    class Words(Spout):
        outputs = ["word"]
        left = 9

        def initialize(self, config, context):
            pass

        def next_tuple(self):
            if self.left:
                self.left -= 1
                self.emit([self.left], tup_id=self.left)


    class Count(Bolt):
        def initialize(self, config, context):
            pass

        def process(self, tup):
            self.ack(tup)


    class Counted(Topology):
        config = {"topology.reliability.mode": "ATLEAST_ONCE"}
        words = Words.spec(par=1)
        count = Count.spec(par=1, inputs={words: Grouping.SHUFFLE})
    """


def test_a_heron_topology_is_in_the_file_of_its_components(shell, tmp_path, monkeypatch):
    framework("heronpy.api.bolt.bolt")
    monkeypatch.delenv("HERON_OPTIONS", raising=False)
    (tmp_path / "top.py").write_text(dedent(HERON).lstrip())
    code, out, err = shell("lab", "run", "top.py", "--seconds", "1")
    assert (code, out.splitlines()[0], err) == (0, "OK: 9 messages, none lost or stuck", "")
    assert "HERON_OPTIONS" not in os.environ


PYLEUS = {
    "pyleus_topology.yaml": """
        name: words
        topology:
          - spout: {name: words, module: words.spout}
          - bolt: {name: count, module: words.count, groupings: [{shuffle_grouping: words}]}
        """,
    "words/__init__.py": "",
    "words/spout.py": """
        from pyleus.storm import Spout


        class WordSpout(Spout):
            OUTPUT_FIELDS = ["word"]

            def initialize(self):
                self.file = self.options["file"]

            def next_tuple(self):
                self.emit(("word",), tup_id=1)
        """,
    "words/count.py": """
        from pyleus.storm import SimpleBolt


        class CountBolt(SimpleBolt):
            def process_tuple(self, tup):
                pass
        """,
}


def test_a_component_that_reports_its_exception_as_text_is_named_with_its_line(shell, tmp_path):
    framework("pyleus.storm")
    (tmp_path / "words").mkdir()
    for name, text in PYLEUS.items():
        (tmp_path / name).write_text(dedent(text).lstrip())
    assert shell("lab", "run", "pyleus_topology.yaml") == (
        2,
        "",
        "ackdoctor: words/spout.py:8: `words` cannot start: KeyError: 'file'; `options` in its YAML file give it"
        " a setting, --stub replaces a service that it needs\n",
    )


def test_without_an_acker_a_dead_bolt_loses_tuples_and_no_acker_can_die(shell, project):
    edit(
        project,
        "topology.py",
        "class Words(Topology):",
        'class Words(Topology):\n    config = {"topology.acker.executors": 0}',
    )
    code, out, _ = run(shell, "--kill", "count@5")
    assert (code, "untracked tuples from words to count lost" in out) == (1, True)
    code, _, err = run(shell, "--kill", "acker=1")
    assert (code, err) == (2, "ackdoctor: --kill acker: the topology has no acker\n")


def test_what_dies_with_its_spout_is_lost(shell, project):
    code, out, _ = run(shell, "--slow", "count=20ms", "--kill", "words@15")
    assert code == 1
    assert "with the spout)" in out


def test_the_page_begins_with_what_to_do(shell, project):
    edit(project, "words.py", "self.source.put(tup_id)", "pass")
    edit(project, "topology.py", "words = WordSpout.spec()", 'words = WordSpout.spec(name="<b>words")')
    code, out, _ = run(
        shell, "--kill", "count@5", "--seed", "4", "--output-format", "html", "--output-file", "run.html"
    )
    page = Page((project / "run.html").read_text())
    shown = " ".join(page.all("body")[0].text.split())
    assert (code, out) == (1, "")
    assert (
        shown.index("Do this")
        < shown.index("What became of the messages")
        < shown.index("Entries of the acker")
    )
    assert "messages of <b>words lost" in shown
    assert "seed 4, 1.0 s with faults" in shown
    assert "ackdoctor lab run topology.py --kill count@5 --seed 4" in shown
    assert any(
        each.endswith("ACK302-spout-without-replay.html") or "ACK302" in each for each in page.values("href")
    )
    assert [each.text for each in page.all("b") if each.text == "words"] == []
    assert {each.lstrip("#") for each in page.values("href") if each.startswith("#")} <= set(
        page.values("id")
    )


MACHINES = [
    {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
]


@pytest.mark.minutes
def test_the_document_does_not_depend_on_the_machine(project, tmp_path):
    outputs = []
    for number, machine in enumerate(MACHINES):
        folder = tmp_path / f"on machine {number}"
        folder.mkdir()
        for name in FILES:
            (folder / name).write_text((project / name).read_text())
        edit(
            folder,
            "words.py",
            "word = self",
            "import time\n\n        self.now = time.time()\n        word = self",
        )
        edit(folder, "words.py", "self.emit([word]", "self.emit([f'{word} {self.now:.3f}']")
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "ackdoctor",
                "lab",
                "run",
                "topology.py",
                *STUB,
                "--kill",
                "count@5",
                "--drop",
                "5%",
                "--seed",
                "3",
                "--output-format",
                "json",
            ],
            cwd=folder,
            env={**os.environ, **machine, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            check=False,
        )
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1] != b""

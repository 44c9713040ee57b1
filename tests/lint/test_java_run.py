"""Java, alone and with Python, from paths to a report."""

import random
from pathlib import Path

import pytest

from ackdoctor.cache_folder import CacheFolder
from ackdoctor.config import Settings
from ackdoctor.lint import analysis
from ackdoctor.lint.run import lint
from ackdoctor.model.finding import Report
from tests.lint.project import BOLT, CLEAN, JAVA_BOLT, lines, lint_project, output_of, unreadable_lines, write

TOP = Path(__file__).parents[2]
KOTLIN = "import org.apache.storm.topology.base.BaseRichBolt\nclass K : BaseRichBolt()\n"
MIXED = {
    "src/main/java/bolts/CountBolt.java": JAVA_BOLT,
    "src/main/resources/resources/count.py": BOLT,
    "src/main/resources/resources/clean.py": CLEAN,
}
FOUND = ["src/main/java/bolts/CountBolt.java:20 ACK103", "src/main/resources/resources/count.py:9 ACK103"]


def test_python_and_java_are_linted_in_one_run(tmp_path):
    write(tmp_path, MIXED)
    report = lint_project(tmp_path)
    assert lines(report) == FOUND
    assert (report.components, report.files) == (3, tuple(sorted(MIXED)))


def test_a_mixed_report_does_not_depend_on_order_jobs_or_cache(tmp_path, monkeypatch, cache):
    for number in range(6):
        write(tmp_path / f"p{number}", MIXED)
    alone = lint_project(tmp_path)
    assert len(alone.findings) == 12
    names = [f"p{number}/{name}" for number in range(6) for name in MIXED]
    random.Random(1).shuffle(names)
    monkeypatch.setattr(analysis, "_WORTH_WORKERS", 0)
    assert lint_project(tmp_path, *names, jobs=2) == alone
    for _ in range(2):
        assert lint_project(tmp_path, cache=CacheFolder("lint")) == alone


def test_a_cached_result_holds_until_a_file_of_its_cluster_changes(tmp_path, cache):
    analysed: list[int] = []

    def run() -> Report:
        analysed.append(0)
        return lint_project(tmp_path, cache=CacheFolder("lint"), progress=_count(analysed))

    write(tmp_path, MIXED)
    run()
    assert run() == run()
    write(tmp_path, {"src/main/java/bolts/CountBolt.java": JAVA_BOLT.replace("ack(tuple)", "fail(tuple)", 1)})
    assert lines(run())[0] == "src/main/java/bolts/CountBolt.java:20 ACK106"
    assert analysed == [3, 0, 0, 1]


def _count(analysed: list[int]):
    def progress(done: int, _total: int) -> None:
        analysed[-1] = done

    return progress


def test_the_name_makes_standard_input_java(tmp_path):
    report = lint([], Settings(), root=tmp_path, stdin=("src/CountBolt.java", JAVA_BOLT.encode()))
    assert lines(report) == ["src/CountBolt.java:20 ACK103"]
    report = lint([], Settings(), root=tmp_path, stdin=("K.kt", KOTLIN.encode()))
    assert unreadable_lines(report) == ["K.kt:0:0 Kotlin; only Python and Java source is read"]


def test_comments_and_annotations_silence_findings(tmp_path):
    comment = JAVA_BOLT.replace(
        "ack(tuple);\n    }", "ack(tuple); // ackdoctor: ignore[ACK103] counted\n    }"
    )
    annotated = JAVA_BOLT.replace(
        "public void execute", '@SuppressWarnings("ackdoctor:ACK103 counted")\n    public void execute'
    )
    write(tmp_path, {"A.java": comment, "B.java": annotated})
    report = lint_project(tmp_path)
    assert (lines(report), report.suppressed) == ([], 2)


# ---- files that lint does not read ----


def test_files_that_use_a_framework_in_other_languages_are_named_once(tmp_path, cache):
    write(
        tmp_path,
        {"A.java": JAVA_BOLT, "K.kt": KOTLIN, "L.kt": "class L\n", "s/S.scala": KOTLIN, "T.scala": KOTLIN},
    )
    report = lint_project(tmp_path)
    assert report.notes == (
        "not read: 1 Kotlin and 2 Scala files that use a Storm framework: K.kt, T.scala, s/S.scala",
    )
    assert report.files == ("A.java",)
    assert (
        lint_project(tmp_path, cache=CacheFolder("lint"))
        == lint_project(tmp_path, cache=CacheFolder("lint"))
        == report
    )


def test_the_code_around_a_syntax_error_is_linted(tmp_path):
    broken = JAVA_BOLT.replace(
        "this.collector = collector;", "this.collector = collector;\n        int x = (;"
    )
    write(tmp_path, {"A.java": broken})
    report = lint_project(tmp_path)
    assert lines(report) == ["A.java:21 ACK103"]
    assert [(item.path, item.line, item.partial) for item in report.unreadable] == [("A.java", 15, True)]


def test_no_comment_is_unused_in_a_file_with_a_syntax_error(tmp_path):
    broken = JAVA_BOLT.replace("this.collector = collector;", "int x = (; // ackdoctor: ignore[ACK101] why")
    write(tmp_path, {"A.java": broken})
    assert lines(lint_project(tmp_path)) == ["A.java:20 ACK103"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x7fELF\x01\x00\x00org.apache.storm", "A.java:1:5 byte 0x01: not source text"),
        (JAVA_BOLT.encode() + b"\0", "A.java:23:1 byte 0x00: not source text"),
    ],
)
def test_bytes_that_are_no_text_are_reported_with_their_place(tmp_path, content, reason):
    write(tmp_path, {"A.java": content})
    assert unreadable_lines(lint_project(tmp_path)) == [reason]


def test_old_encodings_are_read(tmp_path):
    source = "// Zähler\n" + JAVA_BOLT
    silenced = source.replace("ack(tuple);\n    }", "ack(tuple); // ackdoctor: ignore[ACK103] counted\n    }")
    write(tmp_path, {"A.java": source.encode("latin-1"), "B.java": source.encode("utf-16"), "C.java": source})
    write(tmp_path, {"D.java": silenced.encode("utf-16"), "E.java": silenced.encode("latin-1")})
    report = lint_project(tmp_path)
    assert lines(report) == ["A.java:21 ACK103", "B.java:21 ACK103", "C.java:21 ACK103"]
    assert (unreadable_lines(report), report.suppressed) == ([], 2)


# ---- what is not imported ----


@pytest.mark.parametrize(
    ("content", "parser"), [({"a.py": BOLT}, "libcst"), ({"A.java": JAVA_BOLT}, "tree_sitter")]
)
def test_a_run_on_one_language_loads_no_parser_of_another(tmp_path, content, parser):
    write(tmp_path, content)
    script = (
        "r = lint([root], Settings(), root=root);"
        "print(len(r.findings), *sorted({'libcst', 'tree_sitter'} & set(sys.modules)))"
    )
    assert output_of(tmp_path, script) == f"1 {parser}\n"


@pytest.mark.parametrize(("constants", "codes"), [("OK, RETRY", []), ("OK, RETRY, LATE", ["ACK101"])])
@pytest.mark.parametrize("file", ["Status.java", "Answer.java"])
def test_a_switch_over_an_enum_of_another_file(tmp_path, file, constants, codes):
    bolt = """package a;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
public class SendBolt extends BaseRichBolt {
    private OutputCollector collector;
    private Client client;
    public void execute(Tuple input) {
        Answer answer = client.send(input.getString(0));
        switch (answer.status()) {
            case OK:
                collector.ack(input);
                break;
            case RETRY:
                collector.fail(input);
                break;
        }
    }
}
"""
    files = {"SendBolt.java": bolt, "Answer.java": "package a;\nrecord Answer(Status status) {}\n"}
    files[file] = files.get(file, "package a;\n") + f"enum Status {{ {constants} }}\n"
    write(tmp_path, files)

    assert [finding.code for finding in lint_project(tmp_path).findings] == codes

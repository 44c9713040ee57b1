"""A topology that acks wrongly in a real LocalCluster: its log, replayed, says what the acker answered."""

import re

import pytest

pytest.importorskip("pyspark")

from ackdoctor.spark.events import row_counts
from ackdoctor.spark.file_kinds import FileKind
from ackdoctor.spark.inputs import find_inputs
from ackdoctor.spark.logs import events, lines, quarantine, read_logs
from ackdoctor.spark.replay import acker_version, messages, replay
from ackdoctor.spark.session import Cache
from tests.spark.conftest import a_session, spark  # noqa: F401 - fixtures
from tests.spark.real_logs import answers, replayed, spout_calls, text_of

pytestmark = [
    pytest.mark.java,
    pytest.mark.minutes,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # py4j's sockets
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

WORKER = "%d{yyyy-MM-dd HH:mm:ss.SSS} %c{1.} %t [%p] %msg%n"
CLUSTERS = {
    "1.2.4": ("storm-core", WORKER),
    "2.8.3": ("storm-server", WORKER),
}  # 0.10.2 and 1.1.0 (storm-core) and 2.2.1 (storm-server) start as well; a minute each


@pytest.fixture(scope="module", params=CLUSTERS)
def ran(request, misuse):
    artifact, layout = CLUSTERS[request.param]
    return request.param, misuse(artifact, request.param, layout)


@pytest.mark.parametrize("layout", ["worker.log*", "local.log"])
def test_the_replay_of_a_log_answers_and_keeps_what_the_real_acker_did(ran, layout, spark):  # noqa: F811
    number, folder = ran
    found = find_inputs([str(folder / layout)])
    read, surveyed = read_logs(lines(spark, found.files[FileKind.LOG]), Cache())
    rows = events(read, surveyed)
    entries = replay(messages(rows), acker_version(number)).entries.collect()
    text = text_of(str(path) for path in sorted(folder.glob(layout)))
    assert replayed(entries) == answers(text)
    assert row_counts(surveyed).balanced
    assert quarantine(read, surveyed).count() == 0

    answered = rows.where("kind in (20, 21, 23)").orderBy("worker", "seq").collect()
    printed = (folder / "heard.txt").read_text(encoding="utf-8")
    assert [("ack" if row["kind"] == 20 else "fail", row["delivery"]) for row in answered] == spout_calls(
        printed
    )

    pending = re.search(r"^pending\t(\d+)$", printed, re.MULTILINE)
    assert pending is not None
    if number.startswith("2"):
        assert sum(row["outcome"] == "pending" for row in entries) == int(pending[1])

"""`ackdoctor analyze` on a real HDFS: the same report as for local files, and tables on HDFS."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from tests.cli.running import Shell
from tests.spark.conftest import a_session, spark  # noqa: F401 - fixtures

ROOT = Path(__file__).parent.parent.parent
LOGS = ROOT / "fixtures" / "logs" / "storm-2.8.3"
ODD = "a b [x] {y} 100% ü"

pytestmark = [
    pytest.mark.java,
    pytest.mark.minutes,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # py4j's sockets
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def _drop_ages(part: Any) -> None:
    """Drop what depends on the end: at an address it is the last event of a log, not its last line."""
    for each in part.values() if isinstance(part, dict) else part:
        if isinstance(each, dict | list):
            _drop_ages(each)
    for name in {"end_ms", "seconds", "age_ms", "oldest_ms"} & set(part if isinstance(part, dict) else ()):
        del part[name]


@pytest.fixture(scope="module")
def local_data(tmp_path_factory) -> Path:
    """Logs, parts of a trace, and unreadable files."""
    folder: Path = tmp_path_factory.mktemp("here") / "data"
    shutil.copytree(LOGS, folder / ODD)
    shutil.copytree(ROOT / "fixtures" / "traces" / "statements" / "v1", folder / "v1")
    (folder / "worker.log.3.gz").write_bytes(b"\x1f\x8bjunk")
    (folder / "cut.parquet").write_bytes(b"PAR1")
    (folder / "README").write_text("words\n")
    return folder


@pytest.fixture(scope="module")
def remote_data(hdfs, local_data) -> str:
    """The address of the same folder on HDFS."""
    return f"{hdfs(*local_data.iterdir())}/data"


def report_of(shell: Shell, base: str, below: str, *options: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the report, without the base path, sorted."""
    done = shell("analyze", base + below, "--output-format", "json", *options)
    report = json.loads(done.out.replace(base, ""))
    report["findings"].sort(key=lambda finding: finding["fingerprint"])
    _drop_ages(report)
    del report["analysis"]["passed_over"]  # files at an address are recognized by their names
    report["analysis"]["notes"] = [note for note in report["analysis"]["notes"] if "passed over" not in note]
    return done.code, report


@pytest.mark.parametrize("below", ["", "/a b *", "/v1/run=*"])
def test_the_report_is_the_same_as_for_local_files(shell, spark, local_data, remote_data, below):  # noqa: F811
    code, answer = report_of(shell, remote_data, below)
    expected_code, expected = report_of(shell, str(local_data), below)
    assert code == expected_code
    faults = {fault["path"] for fault in answer.pop("unreadable")}
    assert faults == {fault["path"] for fault in expected.pop("unreadable")}
    figures, expected_figures = answer.pop("analysis"), expected.pop("analysis")
    assert figures.keys() == expected_figures.keys()
    assert {name: value for name, value in figures.items() if value != expected_figures[name]} == {}
    assert answer == expected
    assert answer["findings"]


def test_tables_on_hdfs_overwrite_no_foreign_table(shell, spark, remote_data):  # noqa: F811
    tables = f"{remote_data.removesuffix('/data')}/tables"
    for _ in range(2):
        _, report = report_of(shell, remote_data, "/v1", "--output-dir", tables)
        assert spark.read.parquet(f"{tables}/verdicts").count() == report["analysis"]["roots"] > 0
    spark.createDataFrame([(1,)], ["one"]).write.csv(f"{tables}-of-others/verdicts")
    refused = shell("analyze", f"{remote_data}/v1", "--output-dir", f"{tables}-of-others")
    assert refused.code == 2
    assert "would overwrite another file" in refused.err

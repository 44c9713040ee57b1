"""One Spark session for all tests, with the settings of `ackdoctor analyze` for a small input; skipped without Java or pyspark."""

import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ackdoctor.spark.session import Cache

HERE = Path(__file__).parent
_JIT = "-XX:MetaspaceSize=192m -XX:+UseSerialGC"  # C1 and C2: after 150 CPU s of tests a plan costs a third less than with C1 alone


@pytest.hookimpl(tryfirst=True)  # the groups of tests follow from the markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.java)
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))  # py4j's sockets
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="session")
def a_session(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("there is no Java")
    from ackdoctor.spark.session import session

    settings = {
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": _JIT,
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    spark = session(master="local[2]", settings=settings)
    yield spark
    spark.stop()


@pytest.fixture(scope="module")
def spark(a_session: "SparkSession") -> "Iterator[SparkSession]":
    """Release tables in the JVM after each module, and plans that wait for Python's garbage collector."""
    yield a_session
    a_session.catalog.clearCache()
    gc.collect()


@pytest.fixture
def keep() -> "Iterator[Cache]":
    """Cache tables during the test, as an analysis does."""
    from ackdoctor.spark.session import Cache

    with Cache() as kept:
        yield kept

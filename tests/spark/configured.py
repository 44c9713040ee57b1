"""Change settings of the shared session temporarily."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["COMPILED", "configured"]

COMPILED = {  # as for a large input
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.codegen.aggregate.splitAggregateFunc.enabled": "false",
}


@contextmanager
def configured(spark: "SparkSession", settings: Mapping[str, str]) -> Iterator[None]:
    """Apply these settings, and restore the earlier ones at the end."""
    before = {name: str(spark.conf.get(name)) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)

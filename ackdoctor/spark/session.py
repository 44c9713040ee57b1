"""The Spark session that an analysis runs in."""

from pyspark.sql import SparkSession

__all__ = ["SparkSession"]

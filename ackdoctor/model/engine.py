"""Whose code keeps the roots."""

from enum import Enum, unique

__all__ = ["Engine"]


@unique
class Engine(Enum):
    """The code that keeps the roots."""

    CLOJURE = "acker.clj"
    JAVA = "Acker.java"
    JSTORM = "com.alibaba.jstorm.task.acker.Acker"
    HERON = "stream manager"

"""Frames of a stack: which are the user's own, and which of them are shown.

at com.acme.ParseBolt.execute(ParseBolt.java:40)
File "count.py", line 9, in process
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Frame", "is_own", "shown"]

_MOST = 6
_JAVA = re.compile(r"^\s*at (?:[\w.@-]*/)*(?P<where>[\w$.<>/-]+)\(")
_PYTHON = re.compile(r'^\s*File "(?P<file>[^"]*)", line \d+')
_LIBRARIES = re.compile(
    r"(?:java|javax|jdk|sun|com\.sun|jakarta|scala|kotlin|groovy|clojure|kafka|storm|redis|akka|reactor|rx"
    r"|backtype|org\.(?:apache|slf4j|codehaus|springframework|hibernate|json|jboss|eclipse|elasticsearch|objenesis|joda|w3c|xml|postgresql|mongodb|bson|antlr|objectweb|yaml|jetbrains|spark_project|influxdb|iq80)"
    r"|ch\.qos|io\.(?:netty|grpc|lettuce|micrometer|opentelemetry|confluent|dropwizard)"
    r"|com\.(?:alibaba\.(?:jstorm|fastjson|druid)|amazonaws|codahale|datastax|esotericsoftware|fasterxml|github\.benmanes|google|lmax|microsoft|mongodb|mysql|ning|rabbitmq|squareup|twitter|typesafe|yammer|zaxxer)"
    r"|net\.(?:minidev|sf|bytebuddy)|software\.amazon|okhttp3|oracle|shaded)\."
)
_JAR = re.compile(r"\s+~?\[[^\]]*\]\s*$")  # the jar that log4j and logback put behind a frame
_STARTERS = re.compile(
    r"^storm\.starter\.|^(?:org\.apache|backtype)\.storm\.starter\."
)  # examples are users' code
_PYTHON_LIBRARIES = re.compile(
    r"(?:site|dist)-packages/|/lib(?:64)?/python\d|^<|(?:^|/)(?:pystorm|streamparse|petrel|pyleus|heronpy)/|(?:^|/)storm\.py$"
)


@dataclass(slots=True, frozen=True)
class Frame:
    """One line of a stack as it is written, without its indentation."""

    text: str
    own: bool


def is_own(frame: str) -> bool:
    """Whether the frame is of the user's code, as far as its package or its file tells."""
    if found := _JAVA.match(frame):
        where = found["where"]
        return "." in where and (_STARTERS.match(where) is not None or _LIBRARIES.match(where) is None)
    if found := _PYTHON.match(frame):
        return _PYTHON_LIBRARIES.search(found["file"].replace("\\", "/")) is None
    return False


def shown(stack: Sequence[str], around: Sequence[str] = ()) -> tuple[Frame, ...]:
    """The frames that a reader needs: the user's own nearest to the exception, then the nearest ones in their order.

    Python's innermost frame is its last.  Where a traceback stands in a Java stack its frames are the cause's.  `around` are
    those of what wraps the exception, the nearest first: Java leaves out of the cause's frames what both have.
    """
    python = [each for each in stack if _PYTHON.match(each)]
    frames = python[::-1] or [each for each in stack if _JAVA.match(each)]
    unlike = list(dict.fromkeys(frames))  # recursion repeats a frame
    first = next(filter(is_own, [*unlike, *around]), None)
    chosen = [first] if first is not None else []
    chosen += [each for each in unlike if each != first]
    return tuple(Frame(" ".join(_JAR.sub("", each).split()), is_own(each)) for each in chosen[:_MOST])

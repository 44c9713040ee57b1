r"""What a collector of logs puts before every line of a log: no part of what the worker has said.

    2026-11-21T20:22:17.710123456Z 2026-11-21 20:22:17.710 o.a.s.d.Task Thread-41-source-executor[4, 4] [INFO] ...
    2026-11-21T20:22:17.710123456Z \tat org.apache.storm.daemon.Task.getOutgoingTasks(Task.java:133)

Storm's own stamp can look like a collector's, since a layout of log4j writes whatever its owner wants.  So a time alone
is the collector's only where nothing writes it that logs in Java, in nanoseconds, or where Storm's own stamp comes next.
A worker.xml of somebody's own may put the level first, or the thread, as log4j's manual does; then a ` - ` or a colon ends what
comes before the message, and the parts are put in Storm's order:

    2026-11-21 20:22:17,710 INFO  [Thread-41-source-executor[4, 4]] o.a.s.d.Task - Emitting Tuple: taskId=4
    2026-11-21 20:22:17.710 [Thread-41-source-executor[4, 4]] INFO  o.a.s.d.Task - Emitting Tuple: taskId=4

The patterns mean the same to Python and to Java, which is what Spark asks.
"""

import re

__all__ = ["LEVELS", "OTHER_BEGIN", "OTHER_LAYOUT", "PUT_BEFORE", "REORDERED", "bare"]

LEVELS = "TRACE|DEBUG|INFO|WARN|ERROR|FATAL"

_SECOND = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_ZONE = r"(?:Z|[+-]\d\d:?\d\d)"
_TIME = rf"{_SECOND}(?:\.\d{{1,9}})?{_ZONE}"
_STORMS = r"(?=\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|\d{1,12} +\[)"  # the stamp of a worker, or of a LocalCluster
_WHOSE = (
    r"\[pod/[^ \]]{1,600}\] ",  # kubectl logs --prefix
    r"[A-Za-z][^ |]{0,99} +\| ",  # docker compose logs
)
_WHEN = (
    rf"{_SECOND}\.\d{{7,9}}{_ZONE} (?:std(?:out|err) [FP] )?",  # kubectl logs --timestamps, docker logs -t; a file of CRI
    rf"{_TIME} std(?:out|err) [FP] ",  # a file of containerd, which leaves zeros at the end of a time out
    rf"{_TIME} [^ ]{{1,255}} [^ \[]{{1,99}}\[\d{{1,9}}\]: ",  # journalctl -o short-iso, rsyslog
    r"(?:<\d{1,3}>)?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})? [^ ]{1,255} [^ :\[]{1,99}(?:\[\d{1,9}\])?: ",  # journalctl, syslog
    rf"<\d{{1,3}}>1 {_TIME} (?:[^ ]{{1,255}} ){{4}}- ",  # syslog of RFC 5424, without data of its own
    rf"{_TIME} {_STORMS}",
)
_HOLE = (
    r"\x00{1,1048576}"  # what a file system leaves of what it had not yet written when the machine went down
)
PUT_BEFORE = rf"^(?:{_HOLE})?(?:{'|'.join(_WHOSE)})?(?:{'|'.join(_WHEN)})?(?!^)"  # something, at least

_THREAD = r"Thread-.{1,300}?\[-?\d{1,10},? -?\d{1,10}\]|[^ \[\]]{1,300}"
_LEVEL = rf"\[?(?:{LEVELS})\]?"
# a stamp, and what no logger is called, which is what Storm has there: a level, or a thread in brackets
OTHER_BEGIN = rf"^\[?(\d{{4}}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^ \]]{{0,20}})\]? {{1,9}}(?=\[|(?:{LEVELS}) )"
OTHER_LAYOUT = (
    rf"{OTHER_BEGIN}(?:"
    rf"(?={_LEVEL} )\[?([A-Z]+)\]? +(?:\[?({_THREAD})\]? +)?([^ \[\]]+?)(?: +\[({_THREAD})\])?"
    rf"|\[({_THREAD})\] +(?={_LEVEL} )\[?([A-Z]+)\]? +([^ \[\]]+?)"
    r")(?: -|:) "
)
REORDERED = "$1 $4$8 $3$5$6 [$2$7] "  # as Java writes it
_PUT_BEFORE, _OTHER_LAYOUT = re.compile(PUT_BEFORE), re.compile(OTHER_LAYOUT)
_REORDERED = REORDERED.replace("$", "\\")


def bare(line: str) -> str:
    """The line as the worker wrote it, in Storm's own layout."""
    # a search would look for the line's beginning at each of its places
    if before := _PUT_BEFORE.match(line):
        line = line[before.end() :]
    if other := _OTHER_LAYOUT.match(line):
        return f"{other.expand(_REORDERED)}{line[other.end() :]}"
    return line

"""On what terms `ackdoctor analyze` judges: the acker's version, the message timeout, and when each log ends."""

from dataclasses import dataclass, replace

from ackdoctor.model.acker_versions import NEWEST, AckerVersion
from ackdoctor.spark.deliveries import Life
from ackdoctor.spark.read.logbook import Survey
from ackdoctor.tracer.judge.acker import WORKER_HEAP

__all__ = ["Terms"]


@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class Terms:
    """On what terms to judge.  `window_ms` 0 is as many windows as make a good curve; times in seconds, heap in bytes."""

    version: AckerVersion = NEWEST
    message_timeout_s: int | None = None  # by which ackers rotate, where nothing says when they did
    timeout_s: int | None = None  # the message timeout, as far as it is known
    patience_s: int = 30  # Storm's own message timeout: a root that is younger may still complete
    window_ms: int = 0
    heap: int = WORKER_HEAP
    ackers: int = 1
    timeless: bool = False  # an acker has said that it gets no ticks
    log_ends: tuple[tuple[Life, int], ...] = ()  # `Opened.ends`
    followed: tuple[tuple[Life, int], ...] = ()  # `Lives.followed`
    forgotten: tuple[tuple[str, int, int, int], ...] = ()  # `Lives.forgotten`
    missing: tuple[str, ...] = ()  # `Opened.missing`
    constants: tuple[
        tuple[str, str], ...
    ] = ()  # columns of the roots' key that are the same in every row, as SQL
    folder: str = "."  # where the paths of call sites start
    nowhere: str = "<input>"  # the site of what has no place in the code

    def timed(self, surveyed: Survey, *, only_logs: bool) -> tuple["Terms", tuple[str, ...]]:
        """Return the terms with the message timeout that the logs name, and notes where it is in doubt.

        The logs outweigh the option, unless they name several timeouts.  Ticks that an acker has logged outweigh a schedule.
        """
        known = surveyed.timeouts_s
        said = self.message_timeout_s
        notes = []
        if len(known) == 1:
            timeout_s: int | None = known[0]
            if said not in (None, timeout_s):
                notes.append(
                    f"the logs say topology.message.timeout.secs is {timeout_s}: --message-timeout {said} is not used"
                )
        elif known:
            timeout_s = said or max(known)
            chosen = "the longest" if said is None else f"--message-timeout {said}"
            notes.append(f"the logs say topology.message.timeout.secs is {_listed(known)}: {chosen} is used")
        else:
            timeout_s = said
        return replace(
            self,
            message_timeout_s=None if said is None or (surveyed.ticks_s and only_logs) else timeout_s,
            timeout_s=timeout_s,
            patience_s=timeout_s or self.patience_s,
        ), tuple(notes)


def _listed(seconds: tuple[int, ...]) -> str:
    *others, last = map(str, seconds)
    return f"{', '.join(others)} or {last}" if others else last

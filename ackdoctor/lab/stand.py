"""What a bench stands on: an acker, a spout's pending map and the clock, without any executor between them."""

from collections.abc import Callable, Iterable
from functools import partial

from ackdoctor.acker.acker import Acker, make_acker
from ackdoctor.acker.clock import VirtualClock
from ackdoctor.acker.ids import IdSource
from ackdoctor.acker.spout import Heard, SpoutExecutor
from ackdoctor.acker.versions import Profile, Schedule
from ackdoctor.lab.agenda import Action, Agenda
from ackdoctor.model.message import AckAck, Answer, Message, Tick
from ackdoctor.tracer.traced_acker import TracedAcker

__all__ = ["Stand"]


class Stand:
    """Messages reach the acker, and its answers the spout, at once; both tick when the version says.

    `hear` is told whatever the spout hears, timeouts included.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        clock: VirtualClock,
        ids: IdSource,
        task: int,
        message_timeout_secs: int,
        wrap_acker: Callable[[Acker], Acker] | None,
        hear: Callable[[Heard], None],
    ) -> None:
        acker = make_acker(profile, clock, message_timeout_secs)
        self.acker = wrap_acker(acker) if wrap_acker else acker
        self.answers: list[Answer] = []
        self.observer: Callable[[], None] | None = None  # called after each message
        self.spout = SpoutExecutor(
            profile, tasks=(task,), ids=ids, clock=clock, message_timeout_s=message_timeout_secs
        )
        self._clock = clock
        self._agenda = Agenda()
        self._hear = hear
        for schedule, action in (
            (profile.acker_schedule(message_timeout_secs), partial(self.send, Tick())),
            (profile.spout_schedule(message_timeout_secs), self._expire),
        ):
            if schedule is not None:
                self.every(schedule, action)

    def every(self, schedule: Schedule, action: Action) -> None:
        """From now on."""
        due_ms = self._clock.now_ms() + schedule.first_ms

        def do() -> None:
            nonlocal due_ms
            due_ms += schedule.every_ms
            self._agenda.enter(due_ms, do)
            action()

        self._agenda.enter(due_ms, do)

    def advance(self, seconds: float) -> None:
        """Let time pass, with all that falls into it."""
        end_ms = self._clock.now_ms() + round(seconds * 1000)
        while (due_ms := self._agenda.next_time_ms()) is not None and due_ms <= end_ms:
            self._move_to(due_ms)
            self._agenda.pop()()
        self._move_to(end_ms)

    def _move_to(self, time_ms: int) -> None:
        self._clock.advance((time_ms - self._clock.now_ms()) / 1000)

    def send(self, *messages: Message) -> None:
        """To the acker."""
        for message in messages:
            answer = self.acker.receive(message)
            if self.observer is not None:
                self.observer()
            if answer is None:
                continue
            self.answers.append(answer)
            heard = self.spout.hear(answer)
            if heard is not None:
                self._hear(heard)

    def linked(self, root: int, edge: int, *, delivery: str, component: str, task: int) -> None:
        """A traced acker is told which delivery an edge stands for."""
        if isinstance(self.acker, TracedAcker):
            self.acker.linked(root, edge, delivery=delivery, component=component, task=task)

    def complete(self, messages: Iterable[Message], *, delivery: str, component: str, task: int) -> None:
        """What a bolt says when it acks or fails; a traced acker is told of which delivery."""
        for message in messages:
            if isinstance(self.acker, TracedAcker) and isinstance(message, AckAck):
                self.acker.noted(
                    message.root, message.value, delivery=delivery, component=component, task=task
                )
            self.send(message)

    def _expire(self) -> None:
        for heard in self.spout.tick():
            self._hear(heard)

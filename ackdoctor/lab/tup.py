"""A tuple, as one bolt task is handed it."""

from collections.abc import Sequence

from ackdoctor.acker.collector import MessageId, TupleImpl

__all__ = ["Tup"]


class Tup(TupleImpl):
    """Values with their names and origin, and what acking needs: `message_id` and `ack_val`.

    `delivery` counts the tuples of the run, so that two tuples with equal values can be told apart.
    """

    __slots__ = ("component", "delivery", "fields", "stream", "task", "values")

    def __init__(
        self,
        message_id: MessageId,
        *,
        values: Sequence[object],
        fields: Sequence[str],
        component: str,
        task: int,
        stream: str,
        delivery: int,
    ) -> None:
        super().__init__(message_id)
        self.values = values
        self.fields = fields
        self.component = component  # the source's
        self.task = task  # the source's
        self.stream = stream
        self.delivery = delivery

    def __getitem__(self, name: str) -> object:
        return self.values[self.fields.index(name)]

    def __repr__(self) -> str:
        ids = ", ".join(f"{root}={edge}" for root, edge in self.message_id.items())
        values = ", ".join(map(str, self.values))
        return f"source: {self.component}:{self.task}, stream: {self.stream}, id: {{{ids}}}, [{values}]"

    @property
    def is_tick(self) -> bool:
        """Whether it is a tick tuple, which has no roots."""
        return self.component == "__system" and self.stream == "__tick"

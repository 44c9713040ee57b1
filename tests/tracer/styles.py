"""Bolts of every style, and a tuple to call their handlers with."""

from typing import Any

from pystorm import Bolt
from pystorm.component import Tuple

__all__ = ["AckWithAuto", "Auto", "Forgets", "Manual", "Polite", "tup"]


def tup(delivery: str = "7", *values: Any) -> Any:
    return Tuple(delivery, "spout", "default", 4, values)


class Auto(Bolt):
    def process(self, tup):
        self.emit(["a"])


class AckWithAuto(Bolt):
    def process(self, tup):
        self.ack(tup)


class Manual(Bolt):
    auto_ack = False

    def process(self, tup):
        self.ack(tup)
        if tup.values:
            self.ack(tup)


class Forgets(Bolt):
    auto_ack = False

    def process(self, tup):
        pass


class Polite(Manual):
    """Override every method, and call super."""

    def process(self, tup):
        super().process(tup)

    def ack(self, tup):
        super().ack(tup)

    def emit(self, tup, **kwargs):
        return super().emit(tup, **kwargs)

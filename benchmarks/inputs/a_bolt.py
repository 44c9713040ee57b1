# ruff: noqa: ANN001, ANN201, D100, D102
from streamparse import Bolt as AppendedBase


class AppendedBolt(AppendedBase):
    """Makes any file it is appended to one that must be analysed."""

    def process(self, tup):
        self.emit(tup.values)

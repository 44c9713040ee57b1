"""What a message says about another file."""

from ackdoctor.config import Settings
from ackdoctor.lint.run import lint

SPOUT = """\
from pyleus.storm import Spout

from poller import Poller


class Feed(Spout):
    def initialize(self):
        Poller(self).start()

    def next_tuple(self):
        pass
"""
POLLER = """\
from threading import Thread

from feed import read


class Poller(Thread):
    def __init__(self, spout):
        super().__init__()
        self.spout = spout

    def run(self):
        for record in read():
            self.spout.emit((record.text,))
"""


def test_a_line_in_another_file_is_named_with_its_file(tmp_path):
    (tmp_path / "feed_spout.py").write_text(SPOUT)
    (tmp_path / "poller.py").write_text(POLLER)

    report = lint([tmp_path], Settings(), root=tmp_path)

    (finding,) = (each for each in report.findings if each.code == "ACK108")
    assert finding.site.path == "poller.py"
    assert "on a thread that `start` started on line 8 of feed_spout.py:" in finding.message

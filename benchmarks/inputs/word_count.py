# ruff: noqa: ANN001, ANN201, ARG002, D102, RUF012
"""Counts words and flushes them on a tick."""

from collections import Counter

from streamparse import Bolt


class WordCount(Bolt):
    """Acks by hand, once the counts are out."""

    outputs = ["word", "count"]
    auto_ack = False

    def initialize(self, conf, ctx):
        self.counts = Counter()
        self.held = []
        self.limit = conf.get("wordcount.limit", 100)

    def process(self, tup):
        word = tup.values[0]
        if not word:
            self.fail(tup)
            return
        try:
            self.counts[self.clean(word)] += 1
        except ValueError:
            self.logger.exception("not a word: %r", word)
            self.fail(tup)
            return
        self.held.append(tup)
        if len(self.held) >= self.limit:
            self.flush()

    def process_tick(self, tup):
        self.flush()
        self.ack(tup)

    def clean(self, word):
        if word.isdigit():
            raise ValueError(word)
        return word.strip().lower()

    def flush(self):
        for word, count in self.counts.items():
            self.emit([word, count], anchors=self.held)
        for tup in self.held:
            self.ack(tup)
        self.held = []
        self.counts.clear()

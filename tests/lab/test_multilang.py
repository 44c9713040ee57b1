"""Python components behind ShellBolt in a cluster: the effect of a misuse, and the component in a trace."""

import inspect

from pystorm import Bolt

from ackdoctor.lab.cluster import Cluster
from ackdoctor.lab.component import Feed
from ackdoctor.lab.multilang import ShellBolt
from ackdoctor.lab.topology import Settings, TopologyBuilder
from ackdoctor.model.trace import Event, EventKind
from tests.lab.components import Ack


class Split(Bolt):
    def process(self, tup):
        for word in tup.values[0].split():
            self.emit([word])


class AckPerWord(Bolt):
    auto_ack = False

    def process(self, tup):
        for word in tup.values[0].split():
            self.emit([word], anchors=[tup])
            self.ack(tup)


def _cluster(bolt, **options):
    feed = Feed()
    words: list[object] = []
    builder = TopologyBuilder()
    builder.set_spout("lines", feed, outputs=["line"])
    builder.set_bolt("split", lambda: ShellBolt(bolt), outputs=["word"]).shuffle_grouping("lines")
    builder.set_bolt("words", lambda: Ack(words)).shuffle_grouping("split")
    cluster = Cluster(builder.build(Settings(message_timeout_secs=10)), profile="storm-1.1.0", **options)
    return feed, cluster, words


def test_a_pystorm_bolt_runs_in_a_cluster():
    feed, cluster, words = _cluster(Split)
    feed.put("the cow jumped over the moon", msg_id=1)
    cluster.settle()
    assert sorted(map(str, words)) == ["cow", "jumped", "moon", "over", "the", "the"]
    assert (feed.acked, list(cluster.pending())) == ([1], [])
    cluster.shutdown()


def test_an_ack_per_word_completes_the_tree_early_and_kills_the_worker():
    feed, cluster, words = _cluster(AckPerWord)
    feed.put("the cow", msg_id=1)
    cluster.advance(60)
    assert [death.reason for death in cluster.deaths] == [
        "java.lang.RuntimeException: Anchored onto 1 after ack/fail"
    ]
    assert (words, feed.acked, list(cluster.pending())) == (["the"], [1], [])  # "cow" is lost silently
    cluster.shutdown()


def test_a_trace_names_the_user_s_class_and_no_line_of_ackdoctor():
    rows: list[Event] = []
    feed, cluster, _ = _cluster(Split, record=rows.append)
    feed.put("the cow", msg_id=1)
    cluster.settle()
    cluster.shutdown()
    named = {row.component: (row.site, row.note) for row in rows if row.kind is EventKind.NAMED}
    path, line = inspect.getsourcefile(Split), inspect.getsourcelines(Split)[1]
    assert named["split"] == (f"{path}:{line} Split", "pystorm Bolt auto_ack auto_fail auto_anchor")
    assert named["words"][1] == "storm IRichBolt"
    assert {row.site for row in rows if row.component == "split" and row.kind is EventKind.ACKED} == {""}

"""What the code of a spout shows: what it does with failed messages, and where its messages come from."""

import pytest

from ackdoctor.model.topology import OnFail, SourceAck
from tests.topology.component_sources import java_facts, python_facts

_SPOUT = """
import redis
from streamparse import Spout

class Words(Spout):
    outputs = ["word"]

    def initialize(self, conf, context):
        self.client = redis.Redis()
        self.pending = {}
        self.queue = []
        self.tries = {}

    def next_tuple(self):
        word = self.client.lpop("words")
        if self.queue:
            word = self.queue.pop()
        self.pending[word] = word
        self.emit([word], tup_id=word)
"""


def _spout(fail: str) -> str:
    lines = "\n        ".join(fail.split("\n"))
    return f"{_SPOUT}\n    def fail(self, tup_id):\n        {lines}\n" if fail else _SPOUT


@pytest.mark.parametrize(
    ("fail", "meaning", "line"),
    [
        ("self.emit([self.pending[tup_id]], tup_id=tup_id)", OnFail.REPLAYS, 20),
        ("self.queue.append(self.pending[tup_id])", OnFail.REPLAYS, 20),
        (
            "self.emit([self.pending.pop(tup_id)], tup_id=tup_id)",
            OnFail.BOUNDED,
            21,
        ),  # a second time it is gone
        ("word = self.pending.pop(tup_id)\nself.emit([word], tup_id=tup_id)", OnFail.BOUNDED, 22),
        (
            "word = self.pending.pop(tup_id)\nself.pending[tup_id] = word\nself.emit([word], tup_id=tup_id)",
            OnFail.REPLAYS,
            20,
        ),
        ("self.queue.append(self.pending.pop(tup_id))", OnFail.REPLAYS, 20),
        ("self.logger.info('lost %s', tup_id)", OnFail.NOTHING, 20),
        ("self.pending.pop(tup_id, None)", OnFail.NOTHING, 20),
        ("self.failed += 1", OnFail.NOTHING, 20),
        ("", OnFail.NOTHING, 18),
        ("self.client.rpush('words', tup_id)", OnFail.SOURCE, 20),
        ("self.client.rpush('refused', tup_id)", OnFail.UNKNOWN, 20),  # a list that next_tuple does not read
        ("p = self.client.pipeline()\np.rpush('words', tup_id)\np.execute()", OnFail.SOURCE, 20),
        ("p = self.client.pipeline()\np.rpush('refused', tup_id)\np.execute()", OnFail.UNKNOWN, 20),
        ("if self.tries[tup_id] < 3:\n    self.client.rpush('words', tup_id)", OnFail.BOUNDED, 21),
        ("if tup_id in self.pending:\n    self.client.rpush('words', tup_id)", OnFail.SOURCE, 20),
        ("self.client.rpush('words-dlq', tup_id)", OnFail.DEAD_LETTER, 20),
        ("self.client.basic_reject(tup_id, requeue=True)", OnFail.SOURCE, 20),
        ("self.client.basic_nack(tup_id)", OnFail.SOURCE, 20),
        ("self.pending.pop(tup_id).change_visibility(VisibilityTimeout=0)", OnFail.SOURCE, 20),
        ("self.client.basic_reject(tup_id, requeue=False)", OnFail.UNKNOWN, 20),
        ("self.client.basic_reject(tup_id, requeue=self.requeue)", OnFail.UNKNOWN, 20),
        ("self.client.basic_nack(tup_id, False, self.requeue)", OnFail.UNKNOWN, 20),
        ("self.client.basic_nack(tup_id, False)", OnFail.SOURCE, 20),
        ("self.pending[tup_id].reject()", OnFail.UNKNOWN, 20),
        ("self.pending[tup_id].reject(requeue=True)", OnFail.SOURCE, 20),
        ("self.archive.handle(tup_id)", OnFail.UNKNOWN, 20),
        ("self.inner.fail(tup_id)", OnFail.UNKNOWN, 20),
        ("self.log.rewind(tup_id)", OnFail.UNKNOWN, 20),  # next_tuple reads no log
        ("self.client.put_back(self.pending.pop(tup_id))", OnFail.SOURCE, 20),
        ("self.client.unlock(tup_id)", OnFail.SOURCE, 20),
        ("self.client.back_off(tup_id)", OnFail.UNKNOWN, 20),
        ("self.log.warning(tup_id)", OnFail.NOTHING, 20),
        (
            "if self.tries[tup_id] > 3:\n    self.dead_letters.put(tup_id)\n    return\nself.queue.append(tup_id)",
            OnFail.BURIED,
            21,
        ),
        (
            "if self.tries[tup_id] > 3:\n    self.client.rpush('words:dead', tup_id)\n    return\nself.queue.append(tup_id)",
            OnFail.BURIED,
            21,
        ),
        (
            "if self.tries[tup_id] > 3:\n    self.dead.add(tup_id)\n    return\nself.queue.append(tup_id)",
            OnFail.BOUNDED,
            21,
        ),
        ("super().fail(tup_id)\nself.logger.info('lost')", OnFail.NOTHING, 20),
        (
            "if self.tries[tup_id] > 3:\n    raise RuntimeError(tup_id)\nself.queue.append(tup_id)",
            OnFail.BOUNDED,
            21,
        ),
        (
            "self.tries[tup_id] += 1\nif self.tries[tup_id] < 3:\n    self.emit([tup_id], tup_id=tup_id)",
            OnFail.BOUNDED,
            22,
        ),
    ],
)
def test_what_a_spout_does_with_failed_messages(fail, meaning, line):
    facts = python_facts(_spout(fail))
    assert facts.on_fail is meaning
    assert facts.on_fail_place is not None
    assert facts.on_fail_place.line == line


@pytest.mark.parametrize(
    ("taken", "state", "meaning"),
    [
        ("busy", "'new'", OnFail.REPLAYS),
        ("busy", "'failed'", OnFail.UNKNOWN),
        ("busy", "'done'", OnFail.UNKNOWN),
        ("new", "'new'", OnFail.UNKNOWN),  # next_tuple gives the record this state itself
    ],
)
def test_a_document_that_gets_its_old_state_back(taken, state, meaning):
    source = f"""
        from pymongo import MongoClient
        from streamparse import Spout

        class Jobs(Spout):
            outputs = ["job"]

            def initialize(self, conf, context):
                self.jobs = MongoClient().shop.jobs

            def next_tuple(self):
                job = self.jobs.find_one_and_update({{"state": "new"}}, {{"$set": {{"state": "{taken}"}}}})
                self.emit([job["_id"]], tup_id=job["_id"])

            def ack(self, tup_id):
                self.jobs.update_one({{"_id": tup_id}}, {{"$set": {{"state": "done"}}}})

            def fail(self, tup_id):
                self.jobs.update_one({{"_id": tup_id}}, {{"$set": {{"state": {state}}}}})
        """
    assert python_facts(source).on_fail is meaning


_ROWS = """
public class Made extends BaseRichSpout {{
  private static final String NEW = "NEW";
  private SpoutOutputCollector out; private java.sql.Connection db; private Map<Long, Integer> tries = new HashMap<>();
  public void open(Map c, TopologyContext t, SpoutOutputCollector o) {{ out = o; db = connect(c); }}
  public void nextTuple() {{
    try (java.sql.ResultSet rows = db.createStatement().executeQuery("SELECT id FROM job WHERE {where}")) {{
      while (rows.next()) {{ mark(rows.getLong(1), "BUSY"); out.emit(new Values(rows.getLong(1)), rows.getLong(1)); }}
    }} catch (java.sql.SQLException e) {{ throw new IllegalStateException(e); }}
  }}
  public void ack(Object id) {{ mark((Long) id, "DONE"); }}
  public void fail(Object id) {{ {fail} }}
  private void mark(long id, String state) {{ update("UPDATE job SET state = ? WHERE id = ?", state, id); }}
  public void declareOutputFields(OutputFieldsDeclarer d) {{ }}
}}
"""


@pytest.mark.parametrize(
    ("where", "fail", "meaning"),
    [
        ("state = 'NEW'", 'mark((Long) id, "NEW");', OnFail.REPLAYS),
        ("state = 'NEW'", "mark((Long) id, NEW);", OnFail.REPLAYS),
        ("state IN ('OPEN', 'NEW')", "mark((Long) id, NEW);", OnFail.REPLAYS),
        (
            "state = 'NEW'",
            "if (tries.merge((Long) id, 1, Integer::sum) < 3) mark((Long) id, NEW);",
            OnFail.BOUNDED,
        ),
        ("state = 'NEW'", 'mark((Long) id, "FAILED");', OnFail.UNKNOWN),
        ("state <> 'FAILED'", 'mark((Long) id, "FAILED");', OnFail.UNKNOWN),
        ("state NOT IN ('DONE', 'FAILED')", 'mark((Long) id, "FAILED");', OnFail.UNKNOWN),
    ],
)
def test_a_row_that_gets_its_old_state_back(where, fail, meaning):
    assert java_facts(_ROWS.format(where=where, fail=fail)).on_fail is meaning


@pytest.mark.parametrize(
    ("drain", "meaning"),
    [
        ("", OnFail.NOTHING),
        ("void refill() { while (!failed.isEmpty()) send(failed.poll()); }", OnFail.UNKNOWN),
    ],
)
def test_a_collection_of_failed_messages(drain, meaning):
    source = """
    public class Made extends BaseRichSpout {
      private SpoutOutputCollector out; private final Queue<Object> failed = new LinkedList<>();
      public void open(Map c, TopologyContext t, SpoutOutputCollector o) { out = o; }
      public void nextTuple() { Object n = System.nanoTime(); out.emit(new Values(n), n); }
      public void fail(Object id) { failed.add(id); }
      %s
      public void declareOutputFields(OutputFieldsDeclarer d) { }
    }
    """
    assert java_facts(source % drain).on_fail is meaning


def test_the_source_of_a_spout():
    facts = python_facts(_spout(""))
    assert (facts.source, facts.source_ack) == ("redis", SourceAck.ON_DELIVERY)
    assert [emit.has_id for emit in facts.emits] == [True]
    assert facts.streams == {"default": ("word",)}


def test_a_reliable_spout_gives_up_after_some_attempts():
    source = _SPOUT.replace("import Spout", "import ReliableSpout").replace("(Spout)", "(ReliableSpout)")
    assert python_facts(source).on_fail is OnFail.BOUNDED


def test_a_limit_around_a_helper_that_replays():
    source = (
        _spout("""self.tries[tup_id] += 1
if self.tries[tup_id] > 3:
    return
self.send(tup_id)""")
        + """
    def send(self, word):
        self.emit([word], tup_id=word)
"""
    )
    facts = python_facts(source)
    assert facts.on_fail is OnFail.BOUNDED
    assert facts.on_fail_place is not None
    assert facts.on_fail_place.line == 22


_QUEUE_SPOUT = """
public class Made extends BaseRichSpout {
  SpoutOutputCollector out;
  com.rabbitmq.client.Channel channel;
  Inbox inbox;
  boolean autoAck, requeue;
  public void open(Map conf, TopologyContext context, SpoutOutputCollector out) {
    this.out = out;
    requeue = (Boolean) conf.get("requeue");
    channel.basicConsume("orders", AUTO, inbox);
  }
  public void nextTuple() { Order o = inbox.next(); out.emit(new Values(o.body), o.tag); }
  public void ack(Object id) { settle(id, tag -> channel.basicAck(tag, false)); }
  public void fail(Object id) { settle(id, tag -> channel.basicReject(tag, BACK)); }
  void settle(Object id, Action action) { action.run((long) id); }
}
"""


@pytest.mark.parametrize(
    ("auto", "back", "fails", "acks"),
    [
        ("false", "true", OnFail.SOURCE, SourceAck.ON_ACK),
        ("false", "requeue", OnFail.UNKNOWN, SourceAck.ON_ACK),
        ("autoAck", "true", OnFail.SOURCE, SourceAck.UNKNOWN),
    ],
)
def test_settings_decide_whether_a_queue_gives_a_failed_message_back(auto, back, fails, acks):
    facts = java_facts(_QUEUE_SPOUT.replace("AUTO", auto).replace("BACK", back))
    assert (facts.on_fail, facts.source_ack) == (fails, acks)


def test_an_id_that_may_be_none():
    source = """
    from streamparse import Spout

    class Words(Spout):
        def next_tuple(self):
            number = None if self.fast else 7
            self.emit(["word"], tup_id=number)
    """
    assert [emit.has_id for emit in python_facts(source).emits] == [None]


@pytest.mark.parametrize(
    ("setting", "ack"),
    [("", SourceAck.ON_DELIVERY), (", enable_auto_commit=False", SourceAck.UNKNOWN)],
)
def test_a_kafka_consumer_commits_by_a_timer(setting, ack):
    source = f"""
    from kafka import KafkaConsumer
    from streamparse import Spout

    class Lines(Spout):
        def initialize(self, conf, context):
            self.consumer = KafkaConsumer("lines"{setting})

        def next_tuple(self):
            for message in self.consumer:
                self.emit([message.value])
    """
    facts = python_facts(source)
    assert (facts.source, facts.source_ack) == ("kafka", ack)


def test_a_generated_source():
    source = """
    import random
    from streamparse import Spout

    class Dice(Spout):
        def next_tuple(self):
            self.emit([random.randint(1, 6)])
    """
    facts = python_facts(source)
    assert (facts.source, facts.source_ack) == ("generated", SourceAck.GENERATED)
    assert facts.emits[0].has_id is False


_LISTENER = """
public class Made {bases} {{
  SpoutOutputCollector collector;
  long next;
  public void open(Map conf, TopologyContext context, SpoutOutputCollector collector) {{ this.collector = collector; }}
  public void nextTuple() {{ collector.emit(new Values(next), next++); }}
  public void declareOutputFields(OutputFieldsDeclarer declarer) {{ declarer.declare(new Fields("n")); }}
}}
"""


@pytest.mark.parametrize(
    ("bases", "on_fail"),
    [
        ("extends BaseRichSpout implements com.broker.Callback", OnFail.NOTHING),
        ("extends com.broker.CallbackSpout implements IRichSpout", OnFail.UNKNOWN),
    ],
)
def test_a_library_interface_does_not_hide_fail(bases, on_fail):
    assert java_facts(_LISTENER.format(bases=bases)).on_fail is on_fail


def test_messages_with_one_id_for_all():
    source = _spout("self.emit([self.pending[tup_id]], tup_id=tup_id)")
    assert python_facts(source.replace("tup_id=word", "tup_id='word'")).on_fail is OnFail.UNKNOWN
    assert python_facts(source.replace("tup_id=word", "tup_id='w-' + word")).on_fail is OnFail.REPLAYS

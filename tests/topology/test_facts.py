"""What the code of a component shows: emits, completions, streams, settings, spouts."""

import pytest

from ackdoctor.model.topology import Anchors, OnFail
from tests.topology.component_sources import java_facts, python_facts

_BOLT = """
from pystorm.bolt import Bolt

class Count(Bolt):
    {switches}
    def process(self, tup):
        {body}
"""


def _bolt(body: str, switches: str = "auto_ack = True") -> str:
    return _BOLT.format(body=body.replace("\n", "\n        "), switches=switches)


@pytest.mark.parametrize(
    ("emit", "switches", "anchors"),
    [
        ("self.emit([1])", "pass", Anchors.FRAMEWORK),
        ("self.emit([1])", "auto_anchor = False", Anchors.WAIVED),
        ("self.emit([1], anchors=[])", "pass", Anchors.WAIVED),
        ("self.emit([1], anchors=[tup])", "pass", Anchors.ALL),
        ("self.emit([1], anchors=self.chosen)", "pass", Anchors.UNKNOWN),
        ("self.emit([1], anchors=[self.jobs.pop().tup])", "pass", Anchors.ALL),
    ],
)
def test_anchors_of_a_python_bolt(emit, switches, anchors):
    [found] = python_facts(_bolt(emit, switches)).emits
    assert found.anchors is anchors
    assert found.stream == "default"


def test_a_stream_that_the_code_computes_is_unread():
    facts = python_facts(_bolt("self.emit([1], stream=tup.values[0])\nself.emit([1], stream='late')"))
    assert [emit.stream for emit in facts.emits] == ["?", "late"]
    assert [emit.place.line for emit in facts.emits] == [6, 7]


_JAVA_BOLT = """
public class Made extends BaseRichBolt {
  OutputCollector collector;
  public void prepare(Map conf, TopologyContext context, OutputCollector collector) { this.collector = collector; }
  public void execute(Tuple input) {
    BODY
  }
  public void declareOutputFields(OutputFieldsDeclarer declarer) {
    declarer.declare(new Fields("word", "count"));
    declarer.declareStream("late", new Fields("word"));
  }
  public Map<String, Object> getComponentConfiguration() {
    Config conf = new Config();
    conf.put(Config.TOPOLOGY_TICK_TUPLE_FREQ_SECS, 10);
    conf.put("topology.message.timeout.secs", limit());
    return conf;
  }
}
"""


@pytest.mark.parametrize(
    ("body", "anchors", "completes"),
    [
        ("collector.emit(new Values(1)); collector.ack(input);", Anchors.NONE, True),
        ("collector.emit(input, new Values(1)); collector.ack(input);", Anchors.ALL, True),
        ('collector.emit("late", input, new Values(1));', Anchors.ALL, False),
        (
            "Tuple first = jobs.next(); collector.emit(first, new Values(1)); collector.ack(input);",
            Anchors.ALL,
            True,
        ),
    ],
)
def test_a_java_bolt(body, anchors, completes):
    facts = java_facts(_JAVA_BOLT.replace("BODY", body))
    assert [emit.anchors for emit in facts.emits] == [anchors]
    assert facts.completes is completes
    assert facts.auto_ack is False
    assert facts.streams == {"default": ("word", "count"), "late": ("word",)}


_JOIN = """
    Tuple other = waiting.remove(input.getString(0));
    if (other == null) { waiting.put(input.getString(0), input); return; }
    EMIT
    collector.ack(other); collector.ack(input);
"""


@pytest.mark.parametrize(
    ("emit", "anchors"),
    [
        ("collector.emit(input, new Values(other.getString(1)));", Anchors.SOME),
        ("String left = other.getString(1) + 1; collector.emit(input, new Values(left));", Anchors.SOME),
        ("collector.emit(Arrays.asList(other, input), new Values(other.getString(1)));", Anchors.ALL),
        ("collector.emit(other, new Values(other.getString(1)));", Anchors.ALL),
        ("collector.emit(input, new Values(input.getString(1)));", Anchors.ALL),
    ],
)
def test_a_join_that_anchors_to_one_side(emit, anchors):
    field = "OutputCollector collector; Map<String, Tuple> waiting = new HashMap<>();"
    source = _JAVA_BOLT.replace("OutputCollector collector;", field, 1).replace("BODY", _JOIN)
    assert [each.anchors for each in java_facts(source.replace("EMIT", emit)).emits] == [anchors]


def test_a_join_in_python_that_anchors_to_one_side():
    body = "other = self.waiting.pop(tup.id, None)\nif other is None:\n    self.waiting[tup.id] = tup\n    return\n"
    body += "self.emit([other.values[0]], anchors=[tup])\nself.ack(other)\nself.ack(tup)"
    [emit] = python_facts(_bolt(body, "auto_ack = False")).emits
    assert emit.anchors is Anchors.SOME


@pytest.mark.parametrize(
    "value",
    ["found.country", "found.tuple.getString(0)"],
)
def test_an_emit_that_is_anchored_to_the_tuple_of_an_entry(value):
    body = "ready.add(new Found(input, left));\nFound found;\nwhile ((found = ready.poll()) != null) {\n"
    body += f"collector.emit(found.tuple, new Values({value}));\ncollector.ack(found.tuple);\n}}"
    field = "OutputCollector collector; Queue<Found> ready = new ConcurrentLinkedQueue<>();"
    [emit] = java_facts(
        _JAVA_BOLT.replace("OutputCollector collector;", field, 1).replace("BODY", body)
    ).emits
    assert emit.anchors is Anchors.ALL


@pytest.mark.parametrize(
    ("linger", "seconds"),
    [
        ('props.put("linger.ms", 4500);', 4.5),
        ('props.setProperty(ProducerConfig.LINGER_MS_CONFIG, "60000");', 60.0),
        ('props.put("linger.ms", conf.get("linger"));', None),
        ('props.put("batch.size", 4500);', None),
    ],
)
def test_the_producer_of_a_bolt_lingers(linger, seconds):
    made = f"this.collector = collector; Properties props = new Properties(); {linger}"
    source = _JAVA_BOLT.replace("this.collector = collector;", made)
    sends = "producer.send(input, (data, e) -> { if (e == null) collector.ack(input); else collector.fail(input); });"
    found = java_facts(source.replace("BODY", sends)).linger
    assert (found and found[0]) == seconds
    assert java_facts(source.replace("BODY", "collector.ack(input);")).linger is None


@pytest.mark.parametrize("given", ["linger_ms=50000", "**{'linger.ms': 50000}"])
def test_the_producer_of_a_python_bolt_lingers(given):
    source = _bolt("self.kept.append(tup)", "auto_ack = False")
    source += f"\n    def initialize(self, conf, context):\n        self.producer = KafkaProducer({given})\n"
    found = python_facts(source).linger
    assert found is not None
    assert found[0] == 50.0


def test_a_bolt_that_keeps_tuples_holds_them():
    held = python_facts(_bolt("self.waiting.append(tup)", "auto_ack = False"))
    assert held.holds
    assert not python_facts(_bolt("self.waiting.append(tup.values)")).holds


def test_a_class_with_subclasses_has_facts_of_its_own():
    source = """
    from streamparse import Spout

    class Words(Spout):
        def next_tuple(self):
            self.emit(["word"], tup_id=1)

        def fail(self, tup_id):
            self.log("failed")

    class MoreWords(Words):
        def ack(self, tup_id):
            self.log("done")
    """
    for name in ("Words", "MoreWords"):
        facts = python_facts(source, name)
        assert [emit.has_id for emit in facts.emits] == [True], name
        assert (facts.on_fail, facts.source) == (OnFail.NOTHING, "generated")


def test_a_setting_decides_about_ids():
    source = """
    public class Made extends BaseRichSpout {
      private final boolean ackEnabled;
      private SpoutOutputCollector collector;
      public Made(boolean ackEnabled) { this.ackEnabled = ackEnabled; }
      public void open(Map conf, TopologyContext context, SpoutOutputCollector collector) { this.collector = collector; }
      public void nextTuple() {
        if (ackEnabled) {
          collector.emit(new Values("word"), 1);
        } else {
          collector.emit(new Values("word"));
        }
      }
      public void declareOutputFields(OutputFieldsDeclarer declarer) { declarer.declare(new Fields("word")); }
    }
    """
    assert [emit.has_id for emit in java_facts(source).emits] == [None, None]


# ---- batches ----

_JAVA_BATCH = """
public class Made extends BaseRichBolt {
  private static final int BATCH_SIZE = 1000;
  private OutputCollector collector;
  private List<Tuple> batch = new ArrayList<>();
  public void prepare(Map conf, TopologyContext context, OutputCollector collector) { this.collector = collector; }
  public void execute(Tuple input) {
    STORE
    if (CONDITION) { save(batch); for (Tuple each : batch) { collector.ack(each); } batch.clear(); }
  }
}
"""


@pytest.mark.parametrize(
    ("condition", "size"),
    [
        ("batch.size() == BATCH_SIZE", 1000),
        ("batch.size() >= 500", 500),
        ("batch.size() > 500", 501),
        ("batch.size() >= limit", None),
        ("batch.size() < 500", None),
        ("batch.size() >= 500 || late()", None),
        ("batch.size() >= 500 || System.currentTimeMillis() > last", None),
    ],
)
def test_the_size_of_a_batch_in_java(condition, size):
    source = _JAVA_BATCH.replace("STORE", "batch.add(input);").replace("CONDITION", condition)
    assert java_facts(source).batch_size == size


@pytest.mark.parametrize(
    ("store", "size"),
    [
        ("if (TupleUtils.isTick(input)) { collector.ack(input); return; } batch.add(input);", 500),
        ("for (Object each : input.getValues()) { batch.add(input); }", None),
        ("batch.add(input); if (isSmall(input)) { collector.ack(input); }", None),
    ],
)
def test_a_batch_of_other_things_than_open_tuples_has_no_size(store, size):
    source = _JAVA_BATCH.replace("STORE", store).replace("CONDITION", "batch.size() >= 500")
    assert java_facts(source).batch_size == size


_PYTHON_BATCH = """
from pystorm.bolt import Bolt

SIZE = 1000

class Made(Bolt):
    auto_ack = False
    limit = 700

    def initialize(self, conf, context):
        self.batch = []
        self.chosen = conf.get("size", 10)

    def process(self, tup):
        self.batch.append(tup)
        if {condition}:
            self.flush()

    def flush(self):
        for tup in self.batch:
            self.ack(tup)
        self.batch = []
"""
_TICK_FLUSH = """
    def process_tick(self, tup):
        self.flush()
"""


@pytest.mark.parametrize(
    ("condition", "more", "size"),
    [
        ("len(self.batch) >= SIZE", "", 1000),
        ("len(self.batch) >= self.limit", "", 700),
        ("len(self.batch) >= self.chosen", "", None),
        ("len(self.batch) >= SIZE or tup.values[0]", "", None),
        ("len(self.batch) >= SIZE", _TICK_FLUSH, None),
    ],
)
def test_the_size_of_a_batch_in_python(condition, more, size):
    assert python_facts(_PYTHON_BATCH.format(condition=condition) + more).batch_size == size


@pytest.mark.parametrize(
    ("body", "slept"),
    [
        ("time.sleep(45)", (45, 8)),
        ("time.sleep(2)\nself.pause()", (60, 12)),
        ("time.sleep(tup.values[0])", None),
        ("self.emit([1])", None),
    ],
)
def test_the_longest_sleep_of_a_handler(body, slept):
    helper = "\n    def pause(self):\n        time.sleep(60)\n"
    found = python_facts("import time\n" + _bolt(body) + helper).sleep
    assert (None if found is None else (found[0], found[1].line)) == slept


def test_a_batch_that_the_bolt_builds_from_its_field_is_no_partial_join():
    source = """
    from pystorm.bolt import Bolt

    class Count(Bolt):
        auto_ack = False

        def initialize(self, conf, context):
            self.batches = {}

        def process(self, tup):
            self.batches.setdefault(tup.values[0], []).append(tup)
            for key, tups in list(self.batches.items()):
                self.emit([key, len(tups)], anchors=tups)
                for each in tups:
                    self.ack(each)
                del self.batches[key]
    """
    [emit] = python_facts(source).emits
    assert emit.anchors is not Anchors.SOME


def test_an_anchor_from_a_queue_that_other_threads_fill():
    facts = java_facts("""
    public class Made extends BaseRichBolt {
      OutputCollector collector;
      LinkedList<Object[]> emits = new LinkedList<Object[]>();
      LinkedList<Tuple> done = new LinkedList<Tuple>();
      Fetches fetches = new Fetches();
      public void prepare(Map conf, TopologyContext context, OutputCollector collector) { this.collector = collector; }
      public void execute(Tuple input) {
        synchronized (emits) {
          for (Object[] each : emits) {
            Tuple anchor = (Tuple) each[0];
            Values values = (Values) each[1];
            if (anchor == null) collector.emit(values);
            else collector.emit(Arrays.asList(anchor), values);
          }
          emits.clear();
        }
        for (Tuple each : done) { collector.ack(each); }
        done.clear();
        fetches.add(input);
      }
      class Worker extends Thread {
        public void run() {
          Tuple next = fetches.take();
          emits.add(new Object[] {next, new Values(next.getString(0))});
          done.add(next);
        }
      }
    }
    """)
    assert {emit.anchors for emit in facts.emits} == {Anchors.ALL, Anchors.NONE}

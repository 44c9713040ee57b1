"""What the code of Trident's spouts, states and functions shows."""

from textwrap import dedent

import pytest

from ackdoctor.dialects import load
from ackdoctor.flow.program import Program
from ackdoctor.frontends.java import Lowered, lower_source
from ackdoctor.model.topology import ComponentFacts, OnFail
from ackdoctor.topology.trident_facts import trident_facts

_HEAD = (
    "import redis.clients.jedis.Jedis; "
    "import java.util.*; import org.apache.storm.trident.spout.*; import org.apache.storm.trident.state.*; "
)


def _facts(source: str) -> dict[str, ComponentFacts]:
    """The facts of each class; line 1 is the first of the source."""
    lowered = lower_source(path="Parts.java", data=(_HEAD + dedent(source).lstrip("\n")).encode())
    assert isinstance(lowered, Lowered)
    return {facts.cls: facts for facts in trident_facts(Program([lowered.unit], load()))}


_MAP = """
class Made implements StateFactory {
  public State makeState(Map conf, IMetricsContext metrics, int index, int count) {
    return MAP.build(new Store());
  }
}
class Store implements IBackingMap<TransactionalValue<Long>> {
  public List<TransactionalValue<Long>> multiGet(List<List<Object>> keys) {
    List<TransactionalValue<Long>> found = new ArrayList<>();
    for (List<Object> key : keys) {
      found.add(new TransactionalValue<Long>(ID, 1L));
    }
    return found;
  }
  public void multiPut(List<List<Object>> keys, List<TransactionalValue<Long>> values) { }
}
"""


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("TransactionalMap", "transactional"),
        ("OpaqueMap", "opaque"),
        ("NonTransactionalMap", "non-transactional"),
    ],
)
def test_the_kind_of_a_state_is_that_of_its_map(name, kind):
    facts = _facts(_MAP.replace("MAP", name).replace("ID", "ids.get(key)"))["Made"]
    assert (facts.role, facts.batch, facts.faults) == ("state", kind, ())


@pytest.mark.parametrize(
    ("base", "kind"),
    [("OpaqueMap<Long>", "opaque"), ("NonTransactionalMap<Long>", "non-transactional")],
)
def test_a_state_may_extend_the_map(base, kind):
    source = f"""
    class Counts extends {base} {{
      Counts(IBackingMap<Long> store) {{ super(store); }}
    }}
    class Made implements StateFactory {{
      public State makeState(Map conf, IMetricsContext metrics, int index, int count) {{
        return new Counts(store(conf));
      }}
    }}
    """
    assert _facts(source)["Made"].batch == kind


@pytest.mark.parametrize(
    ("put", "lines"),
    [
        ('rows.put(key, value); LOG.info("put " + key);', [9]),
        ("rows.put(key, value); client.set(key, value);", []),
        ("Client.set(key, value); rows.put(key, value);", []),
        ("client.put(key, value);", []),
    ],
)
def test_a_map_that_only_puts_in_a_field_is_in_memory(put, lines):
    source = f"""
    class Made implements StateFactory {{
      public State makeState(Map conf, IMetricsContext metrics, int index, int count) {{
        return OpaqueMap.build(new Store());
      }}
    }}
    class Store implements IBackingMap<Long> {{
      Map<String, Long> rows = new ConcurrentHashMap<>();
      public void multiPut(List<List<Object>> keys, List<Long> values) {{
        for (int i = 0; i < keys.size(); i++) {{ String key = (String) keys.get(i).get(0); Long value = values.get(i); {put} }}
      }}
    }}
    """
    faults = [fault for fault in _facts(source)["Made"].faults if fault.code == "state-in-memory"]
    assert [fault.place.line for fault in faults] == lines


def test_a_constant_transaction_id_forgets():
    [fault] = _facts(_MAP.replace("MAP", "TransactionalMap").replace("ID", "0L"))["Made"].faults
    assert (fault.code, fault.place.line) == ("state-forgets-txid", 10)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("", "non-transactional"),
        ('LOG.debug("commit {}", id);', "non-transactional"),
        ("this.last = id;", ""),
    ],
)
def test_a_state_that_ignores_the_transaction_id(body, kind):
    source = f"""
    class Rows implements State {{
      public void beginCommit(Long id) {{ {body} }}
      public void commit(Long id) {{ }}
    }}
    class Made implements StateFactory {{
      public State makeState(Map conf, IMetricsContext metrics, int index, int count) {{ return new Rows(); }}
    }}
    """
    facts = _facts(source)
    assert facts["Rows"].batch == facts["Made"].batch == kind
    ignored = [(fault.code, fault.place.line) for fault in facts["Made"].faults]
    assert ignored == ([("state-ignores-txid", 2)] if kind else [])


def test_two_kinds_of_a_factory_are_not_decided():
    source = """
    class Made implements StateFactory {
      public State makeState(Map conf, IMetricsContext metrics, int index, int count) {
        if (opaque) { return OpaqueMap.build(store); }
        return TransactionalMap.build(store);
      }
    }
    """
    assert _facts(source)["Made"].batch == ""


@pytest.mark.parametrize(
    ("interface", "kind"),
    [
        ("IOpaquePartitionedTridentSpout<A, B, C>", "opaque"),
        ("IPartitionedTridentSpout<A, B, C>", "transactional"),
        ("ITridentSpout<A>", "transactional"),
    ],
)
def test_a_spout_has_the_kind_of_its_interface(interface, kind):
    facts = _facts(f"class Made implements {interface} {{ }}")["Made"]
    assert (facts.role, facts.batch) == ("spout", kind)


@pytest.mark.parametrize(
    ("body", "fails"),
    [
        ("collector.emit(new Values(next()));", OnFail.NOTHING),
        ("List<Object> rows = batches.get(id); batches.put(id, rows); collector.emit(rows);", OnFail.REPLAYS),
    ],
)
def test_a_batch_spout_replays_what_it_keeps(body, fails):
    source = f"""
    class Made implements IBatchSpout {{
      public void emitBatch(long id, TridentCollector collector) {{ {body} }}
      public void ack(long id) {{ }}
    }}
    """
    facts = _facts(source)["Made"]
    assert (facts.batch, facts.on_fail) == ("non-transactional", fails)


def test_a_function_that_flushes_later():
    source = """
    class Made extends BaseFunction {
      private redis.clients.jedis.Jedis store;
      private Map<String, Long> counts = new HashMap<>();
      public void execute(TridentTuple tuple, TridentCollector collector) {
        counts.put(tuple.getString(0), 1L);
        if (counts.size() > 100) {
          store.mset(counts);
          counts.clear();
        }
      }
    }
    """
    facts = _facts(source)["Made"]
    assert (facts.role, facts.auto_ack) == ("bolt", True)
    assert facts.acks_early is not None
    assert facts.acks_early.line == 5


def test_classes_outside_trident_have_no_facts():
    assert _facts("class Made extends BaseRichBolt { }") == {}


_FUNCTION = """
class Made extends BaseFunction {
  private Jedis jedis;
  public void execute(TridentTuple tuple, TridentCollector collector) {
    String key = tuple.getString(0).trim();
    BODY
    collector.emit(new Values(key));
  }
  private void note(String key) { new Audit().add(key); }
}
class Audit {
  private Jedis jedis;
  void add(String key) { jedis.incr(key); }
}
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ('jedis.hincrBy("seen", key, 1);', [(True, 5)]),
        ("note(key);", [(True, 12)]),
        ("jedis.touch(key);", [(False, 5)]),
        ("String name = jedis.get(key);", []),
        ("names.put(key, 1);", []),
    ],
)
def test_a_function_that_writes_outside_of_a_state(body, found):
    facts = _facts(_FUNCTION.replace("BODY", body))["Made"]
    assert [(fault.must, fault.place.line) for fault in facts.faults if fault.code == "no-state"] == found


def test_each_lambda_has_the_facts_of_its_line():
    source = """
    class Made {
      Jedis jedis;
      void wire(Stream words) {
        words.map(t -> new Values(t.getString(0).trim()))
          .map(t -> { jedis.incr(t.getString(0)); return t; })
          .each(this::keep);
      }
      void keep(TridentTuple tuple) { jedis.set(tuple.getString(0), "1"); }
    }
    """
    found = {each.place.line: [fault.place.line for fault in each.faults] for each in _facts(source).values()}
    assert (found[4], found[5], found[8]) == ([], [5], [8])

"""Effects that a handler starts and does not await, before the tuple is acked."""

import pytest

from tests.topology.component_sources import java_facts, python_facts

_JAVA = """
import com.datastax.driver.core.Session;
import org.apache.hadoop.hbase.client.*;
import org.apache.kafka.clients.producer.*;
import org.elasticsearch.action.bulk.BulkProcessor;
public class Store extends BaseRichBolt {
    private OutputCollector collector;
    private transient Session session;
    private transient KafkaProducer<String, String> producer;
    private transient BufferedMutator mutator;
    private transient Table table;
    private transient BulkProcessor bulk;
    private transient Publisher publisher;
    private List<String> rows = new ArrayList<>();
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
    }
    public void execute(Tuple tuple) {
        String row = tuple.getString(0);
        BODY
        collector.ack(tuple);
    }
    private void sync() {
        producer.flush();
    }
    public void declareOutputFields(OutputFieldsDeclarer declarer) { }
}
class Publisher {
    private final Producer<String, String> producer = new KafkaProducer<>(new Properties());
    void publish(String row) {
        producer.send(new ProducerRecord<>("rows", row));
    }
    void publishNow(String row) {
        producer.send(new ProducerRecord<>("rows", row));
        producer.flush();
    }
}
"""


@pytest.mark.parametrize(
    ("body", "must"),
    [
        ("session.executeAsync(row);", [True]),
        ('producer.send(new ProducerRecord<>("rows", row));', [True]),
        (
            'producer.send(new ProducerRecord<>("rows", row), (meta, error) -> log.error("lost", error));',
            [True],
        ),
        ('producer.send(new ProducerRecord<>("rows", row), new LogErrors());', [True]),
        ('producer.send(new ProducerRecord<>("rows", row), (meta, error) -> collector.ack(tuple));', []),
        ('producer.send(new ProducerRecord<>("rows", row)).get();', []),
        ('producer.send(new ProducerRecord<>("rows", row)); producer.flush();', []),
        ('producer.send(new ProducerRecord<>("rows", row)); producer.commitTransaction();', []),
        ('producer.send(new ProducerRecord<>("rows", row)); if (row.isEmpty()) producer.flush();', [False]),
        (
            'if (row.isEmpty()) { producer.flush(); return; } producer.send(new ProducerRecord<>("rows", row));',
            [False],
        ),
        ('producer.send(new ProducerRecord<>("rows", row)); sync();', []),
        ('if (row.isEmpty()) { sync(); return; } producer.send(new ProducerRecord<>("rows", row));', [False]),
        ("session.executeAsync(row).exceptionally(e -> { log.warn(e); return null; });", [True]),
        ("session.executeAsync(row).whenComplete((done, e) -> { if (e != null) log.warn(e); });", [True]),
        ("session.executeAsync(row).whenComplete((done, e) -> collector.ack(tuple));", []),
        ("session.executeAsync(row).whenComplete(callback);", []),
        ("session.executeAsync(row).exceptionally(e -> { log.warn(e); return null; }).join();", []),
        ("session.executeAsync(row, result -> collector.ack(tuple));", []),
        ('session.executeAsync("select 1");', []),
        ("session.execute(row);", []),
        ("mutator.mutate(new Put(Bytes.toBytes(row)));", [True]),
        ("mutator.mutate(new Put(Bytes.toBytes(row))); mutator.flush();", []),
        ("table.put(new Put(Bytes.toBytes(row)));", []),
        ('bulk.add(new IndexRequest("rows").source(row));', [True]),
        ("rows.add(row);", []),
        ("publisher.publish(row);", [True]),
        ("publisher.publishNow(row);", []),
    ],
)
def test_a_java_bolt(body: str, must: list[bool]) -> None:
    found = java_facts(_JAVA.replace("BODY", body), "Store").faults
    assert [each.must for each in found if "before its effect" in each.message] == must


@pytest.mark.parametrize(("switch", "count"), [("auto_ack = True", 1), ("auto_ack = False", 0)])
def test_a_python_bolt(switch: str, count: int) -> None:
    facts = python_facts(
        f"""
        from cassandra.cluster import Cluster
        from pystorm.bolt import Bolt

        class Store(Bolt):
            {switch}

            def initialize(self, conf, context):
                self.session = Cluster().connect()

            def process(self, tup):
                self.session.execute_async("insert", tup.values)
        """
    )
    assert len([each for each in facts.faults if "before its effect" in each.message]) == count


@pytest.mark.parametrize(
    ("call", "count"),
    [
        ('self.kafka.send("rows", row)', 1),
        ('self.kafka.send("rows", row).add_errback(self.logger.error)', 1),
        ('self.kafka.send("rows", row).get(timeout=5)', 0),
        ('self.kafka.send("rows", row)\n        self.kafka.flush()', 0),
        ('self.confluent.produce("rows", row)', 1),
        ('self.confluent.produce("rows", row)\n        self.confluent.poll(0)', 1),
        ("self.store.send(row)", 0),
    ],
)
def test_producers_of_kafka_in_python(call: str, count: int) -> None:
    facts = python_facts(
        f"""
import redis
from confluent_kafka import Producer
from kafka import KafkaProducer
from pystorm.bolt import Bolt

class Forward(Bolt):
    def initialize(self, conf, context):
        self.kafka = KafkaProducer()
        self.confluent = Producer({{}})
        self.store = redis.Redis()

    def process(self, tup):
        row = tup.values[0].get("row")
        {call}
"""
    )
    assert len([each for each in facts.faults if "before its effect" in each.message]) == count


@pytest.mark.parametrize(
    ("maker", "count"), [("get_producer()", 1), ("get_producer(sync=True)", 0), ("get_sync_producer()", 0)]
)
def test_a_producer_of_pykafka(maker: str, count: int) -> None:
    facts = python_facts(
        f"""
from pykafka import KafkaClient
from pystorm.bolt import Bolt

class Forward(Bolt):
    def initialize(self, conf, context):
        topic = KafkaClient(hosts=conf["hosts"]).topics[b"done"]
        self.producer = topic.{maker}

    def process(self, tup):
        self.producer.produce(tup.values[0])
"""
    )
    assert len([each for each in facts.faults if "before its effect" in each.message]) == count

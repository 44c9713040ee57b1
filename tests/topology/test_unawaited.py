"""Effects that a handler starts and does not await, before the tuple is acked."""

import pytest

from tests.topology.component_sources import java_facts, python_facts

_JAVA = """
import com.datastax.driver.core.Session;
import org.apache.kafka.clients.producer.*;
public class Store extends BaseRichBolt {
    private OutputCollector collector;
    private transient Session session;
    private transient KafkaProducer<String, String> producer;
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
    }
    public void execute(Tuple tuple) {
        String row = tuple.getString(0);
        BODY
        collector.ack(tuple);
    }
    public void declareOutputFields(OutputFieldsDeclarer declarer) { }
}
"""


@pytest.mark.parametrize(
    ("body", "must"),
    [
        ("session.executeAsync(row);", [True]),
        ('producer.send(new ProducerRecord<>("rows", row));', [True]),
        ('producer.send(new ProducerRecord<>("rows", row), (meta, error) -> log.error("lost", error));', [True]),
        ('producer.send(new ProducerRecord<>("rows", row), new LogErrors());', [True]),
        ('producer.send(new ProducerRecord<>("rows", row), (meta, error) -> collector.ack(tuple));', []),
        ('producer.send(new ProducerRecord<>("rows", row)).get();', []),
        ('producer.send(new ProducerRecord<>("rows", row)); producer.flush();', []),
        ('producer.send(new ProducerRecord<>("rows", row)); producer.commitTransaction();', []),
        ("session.executeAsync(row, result -> collector.ack(tuple));", []),
        ('session.executeAsync("select 1");', []),
        ("session.execute(row);", []),
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

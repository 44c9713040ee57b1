package org.apache.storm.kafka.spout;

import java.util.Map;

import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.utils.Utils;
import world.World;

/** Promises what the real spout promises by default: an offset is committed on ack, and read again on fail or restart. */
public final class KafkaSpout<K, V> extends BaseRichSpout {
    private final KafkaSpoutConfig<K, V> config;
    private transient SpoutOutputCollector collector;
    private transient World.Source source;

    public KafkaSpout(KafkaSpoutConfig<K, V> config) {
        this.config = config;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
        source = World.of(conf).source("kafka");
        source.reconnect();
    }

    @Override
    @SuppressWarnings("unchecked")
    public void nextTuple() {
        Integer offset = source.lock();
        if (offset == null) {
            Utils.sleep(1);
            return;
        }
        Object key = "o" + offset, value = World.amount(offset);
        collector.emit(config.translator.apply(new KafkaSpoutConfig.Record<>((K) key, (V) value)), offset);
    }

    @Override
    public void ack(Object offset) {
        source.delete((Integer) offset);
    }

    @Override
    public void fail(Object offset) {
        source.giveBack((Integer) offset);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(config.fields);
    }
}

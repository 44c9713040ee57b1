
class AppendedBolt extends org.apache.storm.topology.base.BaseBasicBolt {
    @Override
    public void execute(org.apache.storm.tuple.Tuple tuple, org.apache.storm.topology.BasicOutputCollector collector) {
        collector.emit(tuple.getValues());
    }

    @Override
    public void declareOutputFields(org.apache.storm.topology.OutputFieldsDeclarer declarer) {
    }
}

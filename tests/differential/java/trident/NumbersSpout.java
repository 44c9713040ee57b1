import java.util.Map;

import org.apache.storm.task.TopologyContext;
import org.apache.storm.trident.operation.TridentCollector;
import org.apache.storm.trident.spout.ITridentSpout;
import org.apache.storm.trident.topology.TransactionAttempt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import world.World;

/** The numbers 1 to N, a hundred in each batch; transaction t has always the same ones. */
public class NumbersSpout implements ITridentSpout<Long> {
    private static final int SIZE = 100;

    @Override
    public BatchCoordinator<Long> getCoordinator(String id, Map<String, Object> conf, TopologyContext context) {
        World world = World.of(conf);
        return new BatchCoordinator<>() {
            @Override
            public Long initializeTransaction(long txid, Long before, Long current) {
                return txid;
            }

            @Override
            public boolean isReady(long txid) {
                return (txid - 1) * SIZE < world.messages();
            }

            @Override
            public void success(long txid) {}

            @Override
            public void close() {}
        };
    }

    @Override
    public Emitter<Long> getEmitter(String id, Map<String, Object> conf, TopologyContext context) {
        return new Emitter<>() {
            @Override
            public void emitBatch(TransactionAttempt attempt, Long txid, TridentCollector collector) {
                for (long number = (txid - 1) * SIZE + 1; number <= txid * SIZE; number++) collector.emit(new Values(number));
            }

            @Override
            public void success(TransactionAttempt attempt) {}

            @Override
            public void close() {}
        };
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
        return null;
    }

    @Override
    public Fields getOutputFields() {
        return new Fields("number");
    }
}

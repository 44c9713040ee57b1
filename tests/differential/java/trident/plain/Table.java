import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.apache.storm.task.IMetricsContext;
import org.apache.storm.topology.FailedException;
import org.apache.storm.trident.state.State;
import org.apache.storm.trident.state.StateFactory;
import org.apache.storm.trident.state.map.IBackingMap;
import org.apache.storm.trident.state.map.NonTransactionalMap;
import world.World;

/** A table of counts. */
public class Table implements IBackingMap<Long> {
    private final World world;

    private Table(World world) {
        this.world = world;
    }

    public static class Factory implements StateFactory {
        @Override
        public State makeState(Map<String, Object> conf, IMetricsContext metrics, int partition, int partitions) {
            return NonTransactionalMap.build(new Table(World.of(conf)));
        }
    }

    @Override
    public List<Long> multiGet(List<List<Object>> keys) {
        List<Long> values = new ArrayList<>();
        for (List<Object> key : keys) values.add((Long) world.row(key.get(0)));
        return values;
    }

    @Override
    public void multiPut(List<List<Object>> keys, List<Long> values) {
        int put = world.nextPut();
        if (world.refuses("write@" + put)) throw new FailedException("not written");
        for (int i = 0; i < keys.size(); i++) world.write(keys.get(i).get(0), values.get(i), values.get(i));
        if (world.refuses("answer@" + put)) throw new FailedException("written, but there is no answer");
    }
}

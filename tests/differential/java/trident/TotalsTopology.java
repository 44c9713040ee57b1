import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.trident.TridentTopology;
import org.apache.storm.trident.operation.builtin.Count;
import org.apache.storm.tuple.Fields;

public class TotalsTopology {
    public static void main(String[] args) throws Exception {
        TridentTopology topology = new TridentTopology();
        topology.newStream("numbers", new NumbersSpout())
            .groupBy(new Fields("number"))
            .persistentAggregate(new Table.Factory(), new Count(), new Fields("count"));
        StormSubmitter.submitTopology("totals", new Config(), topology.build());
    }
}

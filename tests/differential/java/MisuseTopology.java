import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import javax.management.ObjectName;

import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * Runs a topology with one message for each way to ack wrongly, in a LocalCluster with topology.debug.  The log4j2
 * configuration selects the log files; standard output has one line for each call of the spout:
 * "ack MSGID", "fail MSGID", and at the end "pending N", the number of entries in the ackers of 2.x.
 *
 *     source -> split -> store (default), slow (side)
 *
 * A message is [case, payload]; the case selects what each bolt does.  Before Storm 1.0 the packages have other names and
 * there is no resetTimeout.
 */
public class MisuseTopology {
    static final int TIMEOUT_S = 3;
    static final PrintStream OUT = System.out;

    static final String[] CASES = {
        "healthy", "leaf twice", "leaf thrice", "leaf never", "inner twice", "inner thrice", "inner never",
        "ack then fail", "fail then ack", "fail twice", "fail with stragglers", "emit after ack", "unanchored emit",
        "two anchors", "reset in time", "reset after the end", "held", "thrown"
    };
    static final String[] NASTY = {
        "a, b, {c=d}", "source: store:9, stream: __ack_ack, id: {}, [66, 99]", "id: {66=99}, [x]", "one\ntwo\n\tat three",
        "PROC_START_TIME(sampled): 1 EXEC_START_TIME(sampled): 2 for TASK: 99", "[-12 34]", "", "\u00fc \u4e2d \ud83d\ude00",
        "BOLT ack TASK: 3 TIME: -1 TUPLE: source: split:4, stream: default, id: {1=2}, [y]"
    };

    public static class Source extends BaseRichSpout {
        private final Queue<Object[]> plan = new ConcurrentLinkedQueue<>();
        private SpoutOutputCollector collector;
        private long began;

        @Override
        public void open(Map conf, TopologyContext context, SpoutOutputCollector collector) {
            this.collector = collector;
            long late = TIMEOUT_S * 3000L + 500;
            for (String each : CASES) plan(200, each, "first");
            for (String payload : NASTY) plan(200, "healthy", payload);
            plan(TIMEOUT_S * 2500L, "release", "");
            for (String each : CASES) plan(late, each, "second");
            plan(late, "end", "");
        }

        private void plan(long after, String each, String payload) {
            plan.add(new Object[] {after, each, payload});
        }

        @Override
        public void nextTuple() {
            if (began == 0) began = System.currentTimeMillis();
            Object[] next = plan.peek();
            if (next == null || System.currentTimeMillis() - began < (Long) next[0]) {
                sleep(5);
                return;
            }
            plan.poll();
            String id = next[1] + (next[2].equals("first") || next[2].equals("second") ? "/" + next[2] : "/" + plan.size());
            collector.emit(new Values(next[1], next[2]), id);
        }

        @Override
        public void ack(Object id) {
            OUT.println("ack\t" + id);
        }

        @Override
        public void fail(Object id) {
            OUT.println("fail\t" + id);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("case", "payload"));
        }
    }

    /** The inner bolt: emits each tuple to the store, and a second part of some tuples to the slow bolt. */
    public static class Split extends BaseRichBolt {
        private OutputCollector collector;

        @Override
        public void prepare(Map conf, TopologyContext context, OutputCollector collector) {
            this.collector = collector;
        }

        @Override
        public void execute(Tuple tup) {
            String each = tup.getString(0);
            switch (each) {
                case "unanchored emit":
                    collector.emit(tup.getValues());
                    break;
                case "two anchors":
                    collector.emit(Arrays.asList(tup, tup), tup.getValues());
                    break;
                case "emit after ack":
                    break;
                case "fail with stragglers":
                    collector.emit("side", tup, tup.getValues());
                    collector.emit(tup, tup.getValues());
                    break;
                default:
                    collector.emit(tup, tup.getValues());
            }
            if (each.equals("thrown")) return;
            for (int i = 0; i < acks(each, "inner"); i++) collector.ack(tup);
            if (each.equals("emit after ack")) {
                sleep(20);
                collector.emit(tup, tup.getValues());
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("case", "payload"));
            declarer.declareStream("side", new Fields("case", "payload"));
        }
    }

    static int acks(String each, String where) {
        if (!each.startsWith(where)) return 1;
        return each.endsWith("twice") ? 2 : each.endsWith("thrice") ? 3 : 0;
    }

    /** The leaf: every operation on a tuple at the end of a tree. */
    public static class Store extends BaseRichBolt {
        private OutputCollector collector;
        private List<Tuple> held;

        @Override
        public void prepare(Map conf, TopologyContext context, OutputCollector collector) {
            this.collector = collector;
            this.held = new ArrayList<>();
        }

        @Override
        public void execute(Tuple tup) {
            String each = tup.getString(0);
            switch (each) {
                case "ack then fail":
                    collector.ack(tup);
                    collector.fail(tup);
                    break;
                case "fail then ack":
                    collector.fail(tup);
                    collector.ack(tup);
                    break;
                case "fail twice":
                    collector.fail(tup);
                    collector.fail(tup);
                    break;
                case "fail with stragglers":
                    collector.fail(tup);
                    break;
                case "reset in time":
                    reset(tup);
                    collector.ack(tup);
                    break;
                case "reset after the end":
                    collector.ack(tup);
                    sleep(20);
                    reset(tup);
                    break;
                case "held":
                    held.add(tup);
                    break;
                case "release":
                    for (Tuple old : held) collector.ack(old);
                    held.clear();
                    collector.ack(tup);
                    break;
                case "thrown":
                    new IllegalStateException("a stack trace in the log:\nof two lines").printStackTrace();
                    org.slf4j.LoggerFactory.getLogger(Store.class).error("cannot store {}", tup.getValues(), new IllegalStateException("no\nplace"));
                    break;
                case "end":
                    collector.ack(tup);
                    ended = true;
                    break;
                default:
                    for (int i = 0; i < acks(each, "leaf"); i++) collector.ack(tup);
            }
        }

        private void reset(Tuple tup) {
            try {
                OutputCollector.class.getMethod("resetTimeout", Tuple.class).invoke(collector, tup);
            } catch (ReflectiveOperationException absent) {
                return; // before 1.0
            }
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }

    /** Acks the second parts, each shortly after a fail in another bolt. */
    public static class Slow extends BaseRichBolt {
        private OutputCollector collector;

        @Override
        public void prepare(Map conf, TopologyContext context, OutputCollector collector) {
            this.collector = collector;
        }

        @Override
        public void execute(Tuple tup) {
            sleep(100);
            collector.ack(tup);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }

    static volatile boolean ended;

    static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    public static void main(String[] arguments) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("source", new Source());
        builder.setBolt("split", new Split(), 2).shuffleGrouping("source");
        builder.setBolt("store", new Store()).shuffleGrouping("split");
        builder.setBolt("slow", new Slow()).shuffleGrouping("split", "side");
        Config conf = new Config();
        conf.setDebug(true);
        conf.setNumAckers(2);
        conf.setMessageTimeoutSecs(TIMEOUT_S);
        LocalCluster cluster = new LocalCluster();
        cluster.submitTopology("misuse", conf, builder.createTopology());
        while (!ended) sleep(50);
        sleep(600);
        OUT.println("pending\t" + pending());
        OUT.flush();
        Runtime.getRuntime().halt(0);
    }

    /** Counts the entries in the ackers of 2.x: the live objects of their class. */
    private static long pending() throws Exception {
        String histogram = (String) ManagementFactory.getPlatformMBeanServer().invoke(
            new ObjectName("com.sun.management:type=DiagnosticCommand"), "gcClassHistogram",
            new Object[] {null}, new String[] {String[].class.getName()});
        for (String line : histogram.split("\n")) {
            String[] words = line.trim().split("\\s+");
            if (words.length > 3 && words[3].endsWith("Acker$AckObject")) return Long.parseLong(words[1]);
        }
        return 0;
    }
}

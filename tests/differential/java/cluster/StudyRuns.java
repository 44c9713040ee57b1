import java.io.PrintStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

import org.apache.storm.Config;
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
 * The numbers 0 to N - 1 go from a source with committed offsets through spout > bolt > sink, while workers die.
 *
 * Each line of standard input is a run: tab-separated key=value pairs, with the defaults of Run.  `faults` lists
 * "component execution before|after victim awayMs", separated by commas: in this execution of bolt or sink, before or after
 * its emit or write, the worker of the victim dies.  Standard output has one line of key=value pairs for each run.
 */
public final class StudyRuns {
    private static final Map<String, Run> RUNS = new ConcurrentHashMap<>();
    private static FaultyCluster cluster;

    private record Fault(String component, int execution, boolean after, String victim, long awayMs) {}

    /** The parameters of a run, and its ledger, which outlives all workers. */
    private static final class Run {
        final Map<String, String> given;
        final List<Fault> faults = new ArrayList<>();
        final int numbers;
        final int[] emits;
        final int[] writes;
        final boolean tracked;
        final boolean anchored;
        final Map<String, Integer> executions = new ConcurrentHashMap<>();
        final Set<Integer> pending = ConcurrentHashMap.newKeySet();
        final Set<Integer> failed = ConcurrentHashMap.newKeySet();
        final List<Integer> pendingAtDeaths = new ArrayList<>();
        final List<Integer> emittedAtRestart = new ArrayList<>();
        volatile int emitted;
        volatile int committed;
        volatile int acks;
        volatile int fails;
        volatile int acksAtFirstWrite = -1;
        volatile int mostPending;
        volatile long firstFailMs = Long.MAX_VALUE;
        volatile long lastFailMs;
        volatile long changedMs = System.currentTimeMillis();

        Run(Map<String, String> given) {
            this.given = given;
            numbers = number("numbers", 10);
            emits = new int[numbers];
            writes = new int[numbers];
            tracked = number("tracked", 1) == 1;
            anchored = number("anchored", 1) == 1;
            for (String each : given.getOrDefault("faults", "").split(",")) {
                if (each.isBlank()) continue;
                String[] words = each.split(" ");
                faults.add(new Fault(words[0], Integer.parseInt(words[1]), words[2].equals("after"), words[3],
                    Long.parseLong(words[4])));
            }
        }

        int number(String key, int otherwise) {
            return given.containsKey(key) ? Integer.parseInt(given.get(key)) : otherwise;
        }

        String name() {
            return given.get("name");
        }

        /** Let the fault of this execution happen, if there is one. */
        void at(String component, int execution, boolean after) {
            for (Fault fault : faults) {
                if (!fault.component().equals(component) || fault.execution() != execution || fault.after() != after) continue;
                if (after) sleep(200); // the emit has left the worker
                boolean fills = number("rate", 0) == 0; // the window; on a busy machine the spout may be late
                for (int ms = 0; fills && pending.size() < number("window", 0) && ms < 60_000; ms++) sleep(1);
                CountDownLatch dead = new CountDownLatch(1);
                pendingAtDeaths.add(pending.size());
                new Thread(() -> {
                    try {
                        cluster.crash(name(), fault.victim(), fault.awayMs(), dead::countDown);
                    } catch (Exception error) {
                        error.printStackTrace();
                        Runtime.getRuntime().halt(1);
                    }
                }).start();
                if (fault.victim().equals(component)) sleep(600_000);
                try {
                    dead.await();
                } catch (InterruptedException interrupted) {
                    throw new IllegalStateException(interrupted);
                }
            }
        }

        boolean ended() {
            boolean all = tracked && number("ackers", 1) > 0
                ? committed == numbers : System.currentTimeMillis() - changedMs > 1000L * number("quiet", 8);
            return all && pending.isEmpty();
        }

        String ledger() {
            int lost = 0, repeated = 0, extra = 0, replays = 0, blocks = 0;
            long sum = 0;
            Map<Integer, Integer> seen = new HashMap<>();
            for (int number = 0; number < numbers; number++) {
                if (writes[number] == 0) {
                    lost++;
                    if (number == 0 || writes[number - 1] > 0) blocks++;
                } else {
                    sum += number;
                }
                if (writes[number] > 1) repeated++;
                extra += Math.max(0, writes[number] - 1);
                replays += Math.max(0, emits[number] - 1);
                seen.merge(writes[number], 1, Integer::sum);
            }
            return String.join("\t", "name=" + name(), "distinct=" + (numbers - lost), "sum=" + sum, "lost=" + lost,
                "blocks=" + blocks, "repeated=" + repeated, "extra=" + extra, "replays=" + replays, "acks=" + acks,
                "fails=" + fails, "failed=" + list(failed), "pending=" + list(pendingAtDeaths), "seen=" + seen,
                "most_pending=" + mostPending, "early_acks=" + acksAtFirstWrite, "emitted_at_restart=" + list(emittedAtRestart),
                "first_fail_ms=" + firstFailMs, "last_fail_ms=" + lastFailMs);
        }

        private static String list(Iterable<Integer> numbers) {
            StringBuilder text = new StringBuilder();
            for (int number : numbers) text.append(text.length() == 0 ? "" : ",").append(number);
            return text.toString();
        }
    }

    /** Reads from the committed offset; a failed offset comes before new ones; commits the floor of the acked offsets. */
    public static class Source extends BaseRichSpout {
        private transient Run run;
        private transient SpoutOutputCollector collector;
        private transient Deque<Integer> failed;
        private transient Set<Integer> acked;
        private transient Map<Integer, Long> emittedMs;
        private transient int next;
        private transient int floor;
        private transient double dueMs;
        private transient long committedMs;

        @Override
        public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
            this.run = RUNS.get(conf.get(Config.TOPOLOGY_NAME));
            this.collector = collector;
            failed = new ArrayDeque<>();
            acked = new HashSet<>();
            emittedMs = new HashMap<>();
            next = floor = run.committed;
            run.pending.clear();
            committedMs = System.currentTimeMillis();
        }

        @Override
        public void nextTuple() {
            if (Thread.currentThread().isInterrupted()) throw new IllegalStateException(new InterruptedException());
            commit();
            long now = System.currentTimeMillis();
            int rate = run.number("rate", 0);
            if (failed.isEmpty() && next == run.numbers || now < dueMs) {
                sleep(1);
                return;
            }
            if (rate > 0) dueMs = Math.max(dueMs, now - 5) + 1000.0 / rate;
            int offset = failed.isEmpty() ? next++ : failed.poll();
            run.emits[offset]++;
            run.emitted++;
            run.changedMs = now;
            emittedMs.put(offset, now);
            if (!run.tracked) {
                collector.emit(new Values(offset));
                return;
            }
            if (run.number("ackers", 1) > 0) run.pending.add(offset);
            run.mostPending = Math.max(run.mostPending, run.pending.size());
            collector.emit(new Values(offset), offset);
        }

        @Override
        public void ack(Object id) {
            run.acks++;
            run.pending.remove(id);
            acked.add((Integer) id);
            while (acked.remove(floor)) floor++;
            commit();
        }

        @Override
        public void fail(Object id) {
            long age = System.currentTimeMillis() - emittedMs.get(id);
            run.fails++;
            run.firstFailMs = Math.min(run.firstFailMs, age);
            run.lastFailMs = Math.max(run.lastFailMs, age);
            run.failed.add((Integer) id);
            run.pending.remove(id);
            failed.add((Integer) id);
        }

        private void commit() {
            if (System.currentTimeMillis() - committedMs < run.number("commit_ms", 0)) return;
            run.committed = floor;
            committedMs = System.currentTimeMillis();
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("number"));
        }
    }

    /** `bolt` emits each number, `sink` writes it; this takes `component`_ms milliseconds. */
    public static class Step extends BaseRichBolt {
        private final String component;
        private transient Run run;
        private transient OutputCollector collector;

        Step(String component) {
            this.component = component;
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
            this.run = RUNS.get(conf.get(Config.TOPOLOGY_NAME));
            this.collector = collector;
            if (run.executions.containsKey(component)) run.emittedAtRestart.add(run.emitted);
        }

        @Override
        public void execute(Tuple tuple) {
            int execution = run.executions.merge(component, 1, Integer::sum);
            int millis = run.number(component + "_ms", 0);
            sleep(millis - millis / 2);
            run.at(component, execution, false);
            sleep(millis / 2);
            if (component.equals("bolt")) {
                if (run.anchored) {
                    collector.emit(tuple, tuple.getValues());
                } else {
                    collector.emit(tuple.getValues());
                }
            } else {
                if (run.acksAtFirstWrite < 0) run.acksAtFirstWrite = run.acks;
                run.writes[tuple.getInteger(0)]++;
                run.changedMs = System.currentTimeMillis();
            }
            run.at(component, execution, true);
            collector.ack(tuple);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("number"));
        }
    }

    private static void sleep(long millis) {
        if (millis <= 0) return;
        try {
            Thread.sleep(millis);
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    private static Map<String, String> pairs(String line) {
        Map<String, String> found = new HashMap<>();
        for (String pair : line.split("\t")) found.put(pair.split("=", 2)[0], pair.split("=", 2)[1]);
        return found;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err); // the log
        List<Run> runs = new ArrayList<>();
        Scanner input = new Scanner(System.in);
        while (input.hasNextLine()) runs.add(new Run(pairs(input.nextLine())));
        cluster = new FaultyCluster(4 * runs.size(), Integer.parseInt(arguments[0]));
        for (Run run : runs) {
            RUNS.put(run.name(), run);
            TopologyBuilder builder = new TopologyBuilder();
            builder.setSpout("spout", new Source());
            builder.setBolt("bolt", new Step("bolt")).shuffleGrouping("spout");
            builder.setBolt("sink", new Step("sink")).shuffleGrouping("bolt");
            Config conf = new Config();
            int ackers = run.number("ackers", 1);
            conf.setNumAckers(ackers);
            conf.setMessageTimeoutSecs(run.number("timeout", 10));
            if (run.given.containsKey("window")) conf.setMaxSpoutPending(run.number("window", 0));
            cluster.submit(run.name(), conf, builder.createTopology(), 3 + ackers, run.number("idle_ms", 1));
        }
        for (Run run : runs) {
            long limit = System.currentTimeMillis() + 1_200_000;
            while (!run.ended() && System.currentTimeMillis() < limit) Thread.sleep(100);
            out.println(run.ledger());
        }
        out.flush();
        Runtime.getRuntime().halt(0);
    }
}

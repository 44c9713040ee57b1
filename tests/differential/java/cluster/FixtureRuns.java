import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

import net.minidev.json.JSONObject;
import net.minidev.json.JSONValue;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.ComponentObject;
import org.apache.storm.generated.SpoutSpec;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.utils.TupleUtils;
import org.apache.storm.utils.Utils;

import world.World;

/**
 * Submits the topology of a main class with one task for each component, and lets parts of it fail.
 *
 * The first line of standard input is the main class; each other line is a run, tab-separated key=value pairs: `messages`;
 * `kinds`, the effects that each message has; `executes` and `emits`, the bolts without a service, whose effect is a tuple
 * that they have executed or emitted; `spouts`, how many there are; `divide`, for all times of the topology; `patience`, seconds from the last fault to
 * the end; and `faults`, separated by commas:
 *
 *     lose SOURCE TARGET          the first tuple from SOURCE to TARGET is lost
 *     kill VICTIM COMPONENT N     the worker of VICTIM dies before the Nth tuple of COMPONENT
 *     refuse KIND                 the service fails once
 *
 * Standard output has one line for each run: the missing messages, the extra effects and the sum of each kind.
 */
public final class FixtureRuns {
    private static final List<String> TIMES = List.of("topology.message.timeout.secs", "topology.tick.tuple.freq.secs",
        "topology.bolts.window.length.duration.ms", "topology.bolts.window.sliding.interval.duration.ms");
    private static final long AWAY_MS = 500;
    private static final long REST_OF_REPLAY_MS = 2_000; // a replay sends more than the part that was missing
    private static final Map<String, Run> RUNS = new ConcurrentHashMap<>();
    private static FaultyCluster cluster;

    private static final class Run {
        final Map<String, String> given;
        final List<List<String>> faults = new ArrayList<>(); // that have not happened
        final Map<String, Integer> executions = new ConcurrentHashMap<>();
        final World world;
        volatile long lastFaultMs;
        private long completeMs;

        Run(Map<String, String> given) {
            this.given = given;
            Set<String> refusals = ConcurrentHashMap.newKeySet();
            for (String fault : list("faults")) {
                List<String> words = Arrays.asList(fault.split(" "));
                if (words.get(0).equals("refuse")) {
                    refusals.add(words.get(1));
                } else {
                    faults.add(words);
                }
            }
            world = new World(name(), Integer.parseInt(given.get("messages")), refusals,
                Integer.parseInt(given.get("spouts")));
        }

        String name() {
            return given.get("name");
        }

        List<String> list(String key) {
            String text = given.getOrDefault(key, "");
            return text.isEmpty() ? List.of() : Arrays.asList(text.split(","));
        }

        private synchronized boolean happens(String... words) {
            boolean happens = faults.remove(Arrays.asList(words));
            if (happens) lastFaultMs = System.currentTimeMillis();
            return happens;
        }

        /** Return whether the tuple is lost; let the fault of this execution happen. */
        boolean loses(String source, String component) throws InterruptedException {
            if (happens("lose", source, component)) return true;
            String number = String.valueOf(executions.merge(component, 1, Integer::sum));
            for (List<String> fault : List.copyOf(faults)) {
                String victim = fault.get(1);
                if (!happens("kill", victim, component, number)) continue;
                CountDownLatch dead = new CountDownLatch(1);
                new Thread(() -> crash(victim, dead)).start();
                if (victim.equals(component)) Thread.sleep(600_000);
                dead.await();
            }
            return false;
        }

        private void crash(String victim, CountDownLatch dead) {
            try {
                cluster.crash(name(), victim, AWAY_MS, dead::countDown);
                lastFaultMs = System.currentTimeMillis();
            } catch (Exception error) {
                error.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        }

        boolean ended() {
            long quietMs = System.currentTimeMillis() - Math.max(lastFaultMs, world.startMs());
            boolean impatient = quietMs > 1000L * Integer.parseInt(given.get("patience"));
            if (completeMs == 0 && faults.isEmpty() && world.complete(list("kinds"))) {
                completeMs = System.currentTimeMillis();
            }
            return completeMs > 0 && System.currentTimeMillis() - completeMs > REST_OF_REPLAY_MS || impatient;
        }

        String ledger() {
            StringBuilder line = new StringBuilder("name=" + name() + "\tfaults_left=" + faults.size());
            for (String kind : list("kinds")) {
                line.append("\tmissing ").append(kind).append('=').append(world.missing(kind));
                line.append("\textra ").append(kind).append('=').append(world.extra(kind));
                line.append("\tsum ").append(kind).append('=').append(world.sum(kind));
            }
            return line.toString();
        }
    }

    /** A bolt that loses tuples, and whose worker dies. */
    public static final class Faulty implements IRichBolt {
        private final IRichBolt bolt;
        private final String component;
        private transient Run run;

        Faulty(IRichBolt bolt, String component) {
            this.bolt = bolt;
            this.component = component;
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
            run = RUNS.get(conf.get(Config.TOPOLOGY_NAME));
            if (run.list("emits").contains(component)) context.addTaskHook(new Emits(run, component));
            bolt.prepare(conf, context, collector);
        }

        @Override
        public void execute(Tuple tuple) {
            boolean isData = !TupleUtils.isTick(tuple);
            try {
                if (isData && run.loses(tuple.getSourceComponent(), component)) return;
            } catch (InterruptedException dead) {
                throw new IllegalStateException(dead);
            }
            bolt.execute(tuple);
            if (isData && run.list("executes").contains(component)) run.world.effect(component, tuple.getValue(0));
        }

        @Override
        public void cleanup() {
            bolt.cleanup();
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            bolt.declareOutputFields(declarer);
        }

        @Override
        public Map<String, Object> getComponentConfiguration() {
            return bolt.getComponentConfiguration();
        }
    }

    /** Counts what a bolt emits as its effects; a number is a sum of amounts. */
    private static final class Emits extends BaseTaskHook {
        private final Run run;
        private final String component;

        Emits(Run run, String component) {
            this.run = run;
            this.component = component;
        }

        @Override
        public void emit(EmitInfo emit) {
            if (emit.stream.startsWith("__")) return;
            Object value = emit.values.get(0);
            if (value instanceof Long) {
                run.world.effectOfSum(component, (Long) value);
            } else {
                run.world.effect(component, value);
            }
        }
    }

    private static Map<String, Object> divided(Map<String, Object> conf, int divide) {
        Map<String, Object> found = new HashMap<>(conf);
        for (String key : TIMES) {
            found.computeIfPresent(key, (any, value) -> Math.max(1, ((Number) value).intValue() / divide));
        }
        return found;
    }

    private static void single(ComponentCommon common, int divide) {
        common.set_parallelism_hint(1);
        if (common.get_json_conf() == null) return;
        @SuppressWarnings("unchecked")
        Map<String, Object> conf = (Map<String, Object>) JSONValue.parse(common.get_json_conf());
        conf.remove(Config.TOPOLOGY_TASKS);
        common.set_json_conf(JSONObject.toJSONString(divided(conf, divide)));
    }

    private static void submit(Run run) throws Exception {
        StormTopology topology = StormSubmitter.topology.deepCopy();
        int divide = Integer.parseInt(run.given.get("divide"));
        for (SpoutSpec spec : topology.get_spouts().values()) single(spec.get_common(), divide);
        for (Map.Entry<String, Bolt> each : topology.get_bolts().entrySet()) {
            Bolt spec = each.getValue();
            single(spec.get_common(), divide);
            IRichBolt bolt = Utils.javaDeserialize(spec.get_bolt_object().get_serialized_java(), IRichBolt.class);
            byte[] faulty = Utils.javaSerialize(new Faulty(bolt, each.getKey()));
            spec.set_bolt_object(ComponentObject.serialized_java(ByteBuffer.wrap(faulty)));
        }
        Map<String, Object> conf = new HashMap<>(StormSubmitter.conf);
        conf.putIfAbsent("topology.message.timeout.secs", 30);
        conf.putIfAbsent("topology.acker.executors", 1);
        conf.put("transactional.zookeeper.root", "/" + run.name()); // Trident's: all topologies share the default
        conf.put("topology.fall.back.on.java.serialization", true); // the services' classes register no serializer
        int ackers = ((Number) conf.get("topology.acker.executors")).intValue();
        int executors = topology.get_spouts_size() + topology.get_bolts_size() + ackers;
        boolean kills = run.faults.stream().anyMatch(fault -> fault.get(0).equals("kill"));
        cluster.submit(run.name(), divided(conf, divide), topology, kills ? executors : 2, 10);
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err); // the log
        Scanner input = new Scanner(System.in);
        Class<?> main = Class.forName(input.nextLine());
        main.getMethod("main", String[].class).invoke(null, (Object) new String[] {"fixture"});
        List<Run> runs = new ArrayList<>();
        while (input.hasNextLine()) {
            Map<String, String> given = new HashMap<>();
            for (String pair : input.nextLine().split("\t")) given.put(pair.split("=", 2)[0], pair.split("=", 2)[1]);
            runs.add(new Run(given));
        }
        cluster = new FaultyCluster(12 * runs.size(), Integer.parseInt(arguments[0]));
        for (Run run : runs) {
            RUNS.put(run.name(), run);
            submit(run);
        }
        for (Run run : runs) {
            while (!run.ended()) Thread.sleep(100);
            out.println(run.ledger());
        }
        out.flush();
        Runtime.getRuntime().halt(0);
    }
}

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import org.apache.storm.spout.ISpoutOutputCollector;
import org.apache.storm.spout.ShellSpout;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.IOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.ShellBolt;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Tuple;

/**
 * Runs the real ShellBolt or ShellSpout with a real process.  First line: "bolt" or "spout"; second line: the command.  Each
 * further line is a case: the tuples for a new bolt.  The answer to a case is a line: "case", the calls of the bolt, and its
 * death.  Tabs separate the fields of all lines.
 *
 * ShellBolt's random ids are replaced by 1, 2, 3; the process sends an error message "done" after each tuple; the death of a
 * bolt does not end the JVM.
 */
public class ShellDriver {
    private final LinkedBlockingQueue<String> signals = new LinkedBlockingQueue<>();
    private final List<String> events = Collections.synchronizedList(new ArrayList<>());
    private final Map<Object, Integer> numbers = Collections.synchronizedMap(new HashMap<>());
    private final Thread main = Thread.currentThread();
    private ShellBolt bolt;

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        boolean spout = in.readLine().equals("spout");
        String[] command = in.readLine().split("\t");
        String line;
        while ((line = in.readLine()) != null) {
            // Storm logs to the same stream
            ShellDriver driver = new ShellDriver();
            String[] payloads = line.split("\t");
            List<String> said = spout ? driver.runSpout(command, payloads) : driver.run(command, payloads);
            System.out.println("case\t" + String.join("\t", said));
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private List<String> run(String[] command, String[] payloads) throws Exception {
        bolt = new ShellBolt(command);
        Map<String, Object> conf = conf();
        File home = Files.createTempDirectory("shell").toFile();
        bolt.prepare(conf, context(conf, home), new OutputCollector(proxy(IOutputCollector.class, this::collect)));
        field("rand").set(bolt, new Random() {
            private long next = 0;

            @Override
            public long nextLong() {
                return Thread.currentThread() == main ? ++next : -1; // heartbeats draw ids too
            }
        });
        for (String payload : payloads) {
            bolt.execute(tuple(payload));
            if (!"done".equals(signals.poll(20, TimeUnit.SECONDS))) {
                break;
            }
        }
        List<String> said = new ArrayList<>(events);
        bolt.cleanup();
        return said;
    }

    /** Passes the payloads to a spout as ids of acks. */
    private List<String> runSpout(String[] command, String[] payloads) throws Exception {
        ShellSpout spout = new ShellSpout(command);
        Map<String, Object> conf = conf();
        File home = Files.createTempDirectory("shell").toFile();
        spout.open(conf, context(conf, home), new SpoutOutputCollector(
            proxy(ISpoutOutputCollector.class, (self, method, arguments) -> {
                switch (method.getName()) {
                    case "emit":
                        events.add("emit " + arguments[0] + " " + arguments[2] + " " + arguments[1]);
                        return Arrays.asList(7, 8);
                    case "emitDirect":
                        events.add("emit " + arguments[1] + " " + arguments[3] + " " + arguments[2]
                                   + " to " + arguments[0]);
                        return null;
                    case "reportError":
                        String message = ((Throwable) arguments[0]).getMessage();
                        events.add("error " + message.substring("Shell Process Exception: ".length()));
                        return null;
                    default:
                        return null;
                }
            })));
        try {
            for (String payload : payloads) {
                spout.ack(payload);
                events.add("synced");
            }
        } catch (RuntimeException error) {
            Throwable cause = error.getCause();
            String message = String.valueOf(cause.getMessage()).replace("\n", "\\n").replace("\t", " ");
            events.add("died " + cause.getClass().getName() + ": " + message);
        }
        List<String> said = new ArrayList<>(events);
        spout.close();
        return said;
    }

    private static Map<String, Object> conf() {
        Map<String, Object> conf = new HashMap<>();
        conf.put("topology.multilang.serializer", "org.apache.storm.multilang.JsonSerializer");
        conf.put("supervisor.worker.timeout.secs", 30);
        return conf;
    }

    private Object collect(Object self, java.lang.reflect.Method method, Object[] arguments) throws Exception {
        switch (method.getName()) {
            case "ack":
            case "fail":
                events.add(method.getName() + " " + numbers.get(new Key(arguments[0])));
                return null;
            case "emit":
                events.add("emit " + arguments[0] + " " + ids((Collection<?>) arguments[1]) + " " + arguments[2]);
                return Arrays.asList(7, 8);
            case "emitDirect":
                events.add("emit " + arguments[1] + " " + ids((Collection<?>) arguments[2]) + " " + arguments[3]
                           + " to " + arguments[0]);
                return null;
            case "reportError":
                report((Throwable) arguments[0]);
                return null;
            default:
                return null;
        }
    }

    private void report(Throwable error) throws Exception {
        String shell = "Shell Process Exception: ";
        String message = String.valueOf(error.getMessage());
        if (message.equals(shell + "done")) {
            signals.add("done");
        } else if (message.startsWith(shell)) {
            events.add("error " + message.substring(shell.length()));
        } else {
            field("running").set(bolt, false); // otherwise it ends this JVM
            events.add("died " + error.getClass().getName() + ": " + message.replace("\n", "\\n").replace("\t", " "));
            signals.add("died");
        }
    }

    private List<Integer> ids(Collection<?> anchors) {
        List<Integer> found = new ArrayList<>();
        for (Object anchor : anchors) {
            found.add(numbers.get(new Key(anchor)));
        }
        return found;
    }

    private Tuple tuple(String payload) {
        Tuple made = proxy(Tuple.class, (self, method, arguments) -> {
            switch (method.getName()) {
                case "getSourceComponent":
                    return "spout";
                case "getSourceStreamId":
                    return "default";
                case "getSourceTask":
                    return 1;
                case "getValues":
                    return Collections.singletonList(payload);
                case "hashCode":
                    return System.identityHashCode(self);
                case "equals":
                    return self == arguments[0];
                default:
                    return null;
            }
        });
        numbers.put(new Key(made), numbers.size() + 1);
        return made;
    }

    /** Finds a private field; Storm 1 prefixes the names with an underscore. */
    private static Field field(String name) throws Exception {
        for (Field field : ShellBolt.class.getDeclaredFields()) {
            if (field.getName().equals(name) || field.getName().equals("_" + name)) {
                field.setAccessible(true);
                return field;
            }
        }
        throw new IllegalStateException("ShellBolt has no field " + name);
    }

    /** Calls a constructor whose parameters differ by version; their types identify them. */
    private static TopologyContext context(Map<String, Object> conf, File home) throws Exception {
        TopologyBuilder builder = new TopologyBuilder();
        builder.setSpout("spout", new org.apache.storm.testing.FeederSpout(new org.apache.storm.tuple.Fields("a")));
        builder.setBolt("bolt", new org.apache.storm.testing.IdentityBolt(new org.apache.storm.tuple.Fields("a"))).shuffleGrouping("spout");
        Map<Integer, String> components = new HashMap<>();
        components.put(1, "spout");
        components.put(2, "bolt");
        Map<String, List<Integer>> tasks = new HashMap<>();
        tasks.put("spout", Arrays.asList(1));
        tasks.put("bolt", Arrays.asList(2));
        Map<String, Map<String, Object>> fields = new HashMap<>();
        fields.put("spout", Collections.singletonMap("default", new org.apache.storm.tuple.Fields("a")));
        fields.put("bolt", Collections.singletonMap("default", new org.apache.storm.tuple.Fields("a")));
        List<Map<?, ?>> maps = new ArrayList<>(Arrays.asList(conf, components, tasks, fields));
        List<Object> texts = new ArrayList<>(Arrays.asList("id", home.getPath(), home.getPath()));
        List<Integer> integers = new ArrayList<>(Arrays.asList(2, 6700));
        Constructor<?> constructor = TopologyContext.class.getConstructors()[0];
        Object[] given = new Object[constructor.getParameterCount()];
        Class<?>[] types = constructor.getParameterTypes();
        for (int i = 0; i < given.length; i++) {
            if (types[i] == Map.class) {
                given[i] = maps.isEmpty() ? new HashMap<>() : maps.remove(0);
            } else if (types[i] == String.class) {
                given[i] = texts.remove(0);
            } else if (types[i] == Integer.class) {
                given[i] = integers.remove(0);
            } else if (types[i] == List.class) {
                given[i] = Arrays.asList(2);
            } else if (types[i].getSimpleName().equals("StormTopology")) {
                given[i] = builder.createTopology();
            }
        }
        return (TopologyContext) constructor.newInstance(given);
    }

    @SuppressWarnings("unchecked")
    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return (T) Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[]{type}, handler);
    }

    /** Identity. */
    private static final class Key {
        private final Object object;

        Key(Object object) {
            this.object = object;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Key && ((Key) other).object == object;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(object);
        }
    }
}

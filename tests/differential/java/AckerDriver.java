import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.storm.task.IBolt;
import org.apache.storm.task.IOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.utils.Time;

/**
 * Plays messages to the real acker of the Storm on the class path.
 *
 * <p>In:  {@code TIME init ROOT VALUE TASK | ack ROOT VALUE | fail ROOT | reset ROOT | tick}, TIME in ms, never decreasing.
 * <p>Ages are those of Storm's simulated clock in 2.x; acker.clj reads the wall clock.
 * <p>Out: {@code ANSWERS|BUCKET|BUCKET...}, newest bucket first; an answer is {@code kind,root,task,age}, an entry
 * {@code root,value,task,failed} or {@code root,nil}; entries are sorted by root and separated by blanks.
 */
public final class AckerDriver {
    private static final Map<String, String> STREAMS = Map.of(
        "init", "__ack_init", "ack", "__ack_ack", "fail", "__ack_fail", "reset", "__ack_reset_timeout", "tick", "__tick");
    private static final Map<String, String> KINDS = Map.of(
        "__ack_ack", "ack", "__ack_fail", "fail", "__ack_reset_timeout", "reset");

    private final List<String> answers = new ArrayList<>();
    private final IBolt acker;
    private final LinkedList<HashMap<Object, Object>> buckets;

    private AckerDriver() throws ReflectiveOperationException {
        acker = makeAcker();
        acker.prepare(new HashMap<>(), null, new OutputCollector(collector()));
        buckets = findBuckets(acker);
    }

    public static void main(String[] args) throws Exception {
        PrintStream answersOut = System.out;
        System.setOut(System.err); // for Storm's log
        Time.SimulatedTime clock = new Time.SimulatedTime();
        AckerDriver driver = new AckerDriver();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        BufferedWriter out = new BufferedWriter(new OutputStreamWriter(answersOut, StandardCharsets.UTF_8), 1 << 16);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.write(driver.answer(line.split(" ")));
            out.write('\n');
        }
        out.flush();
        clock.close();
        System.exit(0); // Clojure keeps threads
    }

    private String answer(String[] words) throws ReflectiveOperationException {
        Time.advanceTime(Long.parseLong(words[0]) - Time.currentTimeMillis());
        List<Object> values = new ArrayList<>();
        for (int i = 2; i < words.length; i++) {
            values.add(i == 4 ? (Object) Integer.valueOf(words[i]) : (Object) Long.valueOf(words[i]));
        }
        answers.clear();
        acker.execute(tuple(words[1], values));
        StringBuilder text = new StringBuilder(String.join(" ", answers));
        for (HashMap<Object, Object> bucket : buckets) {
            text.append('|').append(describe(bucket));
        }
        return text.toString();
    }

    private static String describe(HashMap<Object, Object> bucket) throws ReflectiveOperationException {
        List<String> entries = new ArrayList<>();
        for (Map.Entry<Object, Object> entry : new TreeMap<>(bucket).entrySet()) {
            entries.add(entry.getKey() + "," + describe(entry.getValue()));
        }
        return String.join(" ", entries);
    }

    private static String describe(Object value) throws ReflectiveOperationException {
        if (value == null) {
            return "nil";
        }
        if (value instanceof Map) { // 1.x: a Clojure map with keyword keys
            Map<String, Object> fields = new HashMap<>();
            ((Map<?, ?>) value).forEach((k, v) -> fields.put(k.toString(), v));
            return orDash(fields.get(":val")) + "," + orDash(fields.get(":spout-task")) + "," + (fields.get(":failed") != null);
        }
        int task = (Integer) read(value, "spoutTask");
        return read(value, "val") + "," + (task == -1 ? "-" : task) + "," + read(value, "failed");
    }

    private static String orDash(Object value) {
        return value == null ? "-" : value.toString();
    }

    private IOutputCollector collector() {
        return (IOutputCollector) Proxy.newProxyInstance(
            AckerDriver.class.getClassLoader(), new Class<?>[] {IOutputCollector.class}, (self, method, args) -> {
                if (method.getName().equals("emitDirect")) { // task, stream, anchors, values
                    List<?> values = (List<?>) args[3];
                    answers.add(KINDS.get((String) args[1]) + "," + values.get(0) + "," + args[0] + "," + values.get(1));
                }
                return null;
            });
    }

    private static Tuple tuple(String kind, List<Object> values) {
        return (Tuple) Proxy.newProxyInstance(
            AckerDriver.class.getClassLoader(), new Class<?>[] {Tuple.class}, (self, method, args) -> {
                switch (method.getName()) {
                    case "getSourceStreamId": return STREAMS.get(kind);
                    case "getSourceComponent": return kind.equals("tick") ? "__system" : "peer";
                    case "getValue": case "getLong": case "getInteger": return values.get((Integer) args[0]);
                    case "getValues": return values;
                    case "size": return values.size();
                    case "toString": return kind + values;
                    default: throw new UnsupportedOperationException(method.toString());
                }
            });
    }

    private static IBolt makeAcker() throws ReflectiveOperationException {
        try {
            Constructor<?> java = Class.forName("org.apache.storm.daemon.Acker").getDeclaredConstructor();
            return (IBolt) java.newInstance();
        } catch (ClassNotFoundException absent) { // 1.x: (org.apache.storm.daemon.acker/mk-acker-bolt)
            Class<?> clojure = Class.forName("clojure.lang.RT");
            clojure.getMethod("load", String.class).invoke(null, "org/apache/storm/daemon/acker");
            Object make = clojure.getMethod("var", String.class, String.class)
                .invoke(null, "org.apache.storm.daemon.acker", "mk-acker-bolt");
            return (IBolt) make.getClass().getMethod("invoke").invoke(make);
        }
    }

    @SuppressWarnings("unchecked")
    private static LinkedList<HashMap<Object, Object>> findBuckets(IBolt acker) throws ReflectiveOperationException {
        Object pending = read(acker, "pending");
        if (pending.getClass().getSimpleName().equals("MutableObject")) {
            pending = read(pending, "o");
        }
        for (String name : new String[] {"buckets", "_buckets"}) {
            try {
                return (LinkedList<HashMap<Object, Object>>) read(pending, name);
            } catch (NoSuchFieldException other) {
                continue; // the name in another Storm version
            }
        }
        throw new NoSuchFieldException("buckets of " + pending.getClass());
    }

    private static Object read(Object owner, String name) throws ReflectiveOperationException {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(owner);
    }
}

import com.sun.management.HotSpotDiagnosticMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import javax.management.ObjectName;
import org.apache.storm.task.IBolt;
import org.apache.storm.task.IOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.ShellBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.utils.RotatingMap;
import sun.misc.Unsafe;

/**
 * A worker's heap, in small: the real acker, ShellBolt and spout executor of whatever Storm is on the class path.
 *
 * <p>In: {@code init ROOT VALUE TASK | ack ROOT VALUE | fail ROOT | reset ROOT | tick} are messages to the acker;
 * {@code many KIND COUNT SEED} sends those of many roots, KIND one of tracked, twice, thrice, failed, strayed;
 * {@code shell COUNT TICKS} and {@code spout COUNT} fill the maps of a ShellBolt and of a spout executor;
 * {@code state} prints the acker's map, {@code wait MS} waits, {@code histogram} prints a date and the class histogram,
 * {@code dump FILE} writes the heap.
 * <p>Out of {@code state}, a line for each bucket, newest first:
 * {@code SIZE TRACKED ORPHANS ZERO FAILED NIL XOR-OF-ROOTS XOR-OF-VALUES}; {@code each} prints {@code ROOT,VALUE,TASK,FAILED}.
 */
public final class HeapDriver {
    private static final Map<String, String> STREAMS = Map.of(
        "init", "__ack_init", "ack", "__ack_ack", "fail", "__ack_fail", "reset", "__ack_reset_timeout", "tick", "__tick");
    private static final List<Object> KEPT = new ArrayList<>();
    private static final PrintStream ANSWERS = System.out;

    private final IBolt acker = makeAcker();
    private final LinkedList<HashMap<Object, Object>> buckets;

    private HeapDriver() throws ReflectiveOperationException {
        acker.prepare(new HashMap<>(), null, new OutputCollector(collector()));
        buckets = findBuckets(acker);
    }

    public static void main(String[] args) throws Exception {
        System.setOut(System.err); // where Storm's log goes
        HeapDriver driver = new HeapDriver();
        KEPT.add(driver);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            driver.obey(line.split(" "));
        }
        ANSWERS.flush();
        System.exit(0); // Clojure keeps threads
    }

    private void obey(String[] words) throws Exception {
        switch (words[0]) {
            case "many": many(words[1], Integer.parseInt(words[2]), Long.parseLong(words[3])); break;
            case "shell": shell(Integer.parseInt(words[1]), Integer.parseInt(words[2])); break;
            case "spout": spout(Integer.parseInt(words[1])); break;
            case "state": state(); break;
            case "each": each(); break;
            case "wait": Thread.sleep(Long.parseLong(words[1])); break;
            case "histogram": histogram(); break;
            case "dump": dump(words[1]); break;
            default: acker.execute(message(words));
        }
    }

    private void many(String kind, int count, long seed) throws Exception {
        Random ids = new Random(seed);
        for (int i = 0; i < count; i++) {
            String root = String.valueOf(ids.nextLong());
            String edge = String.valueOf(ids.nextLong());
            switch (kind) {
                case "tracked": say("init", root, edge, "7"); break;
                case "twice": say("init", root, edge, "7"); say("ack", root, edge); say("ack", root, edge); break;
                case "thrice":
                    say("init", root, edge, "7");
                    for (int ack = 0; ack < 3; ack++) {
                        say("ack", root, edge);
                    }
                    break;
                case "failed": say("fail", root); break;
                case "strayed": say("reset", root); break;
                default: throw new IllegalArgumentException(kind);
            }
        }
    }

    private void say(String... words) {
        acker.execute(message(words));
    }

    private void state() throws ReflectiveOperationException {
        for (HashMap<Object, Object> bucket : buckets) {
            long tracked = 0, orphans = 0, zero = 0, failed = 0, nil = 0, roots = 0, values = 0;
            for (Map.Entry<Object, Object> entry : bucket.entrySet()) {
                String[] fields = describe(entry.getValue()).split(",");
                roots ^= (Long) entry.getKey();
                if (fields[1].equals("-")) {
                    orphans++;
                } else {
                    tracked++;
                }
                if (fields[0].equals("-")) {
                    nil++;
                } else {
                    values ^= Long.parseLong(fields[0]);
                    zero += fields[0].equals("0") ? 1 : 0;
                }
                failed += fields[2].equals("true") ? 1 : 0;
            }
            ANSWERS.println(bucket.size() + " " + tracked + " " + orphans + " " + zero + " " + failed + " " + nil
                + " " + roots + " " + values);
        }
    }

    private void each() throws ReflectiveOperationException {
        for (HashMap<Object, Object> bucket : buckets) {
            List<String> lines = new ArrayList<>();
            for (Map.Entry<Object, Object> entry : bucket.entrySet()) {
                lines.add(entry.getKey() + "," + describe(entry.getValue()));
            }
            ANSWERS.println(String.join(" ", lines));
        }
    }

    private static String describe(Object value) throws ReflectiveOperationException {
        if (value == null) {
            return "-,-,false";
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

    // ---- the other maps ----

    private static void shell(int count, int ticks) throws ReflectiveOperationException {
        ShellBolt bolt = new ShellBolt("python3", "count.py");
        @SuppressWarnings("unchecked")
        Map<String, Object> inputs = (Map<String, Object>) either(bolt, "inputs", "_inputs");
        Random ids = new Random(5);
        for (int i = 0; i < count + ticks; i++) {
            Object tuple = bare(Class.forName("org.apache.storm.tuple.TupleImpl"));
            write(tuple, "streamId", i < count ? "default" : "__tick");
            write(tuple, "taskId", i < count ? 4 : -1);
            write(tuple, "values", new ArrayList<Object>(Arrays.asList("word", i)));
            inputs.put(Long.toString(ids.nextLong()), tuple);
        }
        KEPT.add(bolt);
    }

    private static void spout(int count) throws ReflectiveOperationException {
        RotatingMap<Object, Object> pending = new RotatingMap<>(2);
        Random ids = new Random(6);
        boolean java = true;
        Object executor;
        try {
            executor = bare(Class.forName("org.apache.storm.executor.spout.SpoutExecutor"));
            write(executor, "componentId", "words");
        } catch (ClassNotFoundException older) { // a closure of executor.clj, as it is called in 1.1.0
            java = false;
            executor = bare(Class.forName("org.apache.storm.daemon.executor$fn__4976$fn__4991$fn__5022"));
        }
        for (int i = 0; i < count; i++) {
            pending.put(ids.nextLong(), java ? info(i) : Class.forName("clojure.lang.PersistentVector")
                .getMethod("create", List.class).invoke(null, Arrays.asList(7, "id-" + i, null, 1L)));
            if (i == count / 2) {
                pending.rotate();
            }
        }
        write(executor, "pending", pending);
        KEPT.add(executor);
    }

    private static Object info(int number) throws ReflectiveOperationException {
        Object info = Class.forName("org.apache.storm.executor.TupleInfo").getDeclaredConstructor().newInstance();
        write(info, "taskId", 7);
        write(info, "messageId", "id-" + number);
        return info;
    }

    // ---- the real acker, as tests/differential drives it ----

    private static Tuple message(String[] words) {
        List<Object> values = new ArrayList<>();
        for (int i = 1; i < words.length; i++) {
            values.add(i == 3 ? (Object) Integer.valueOf(words[i]) : (Object) Long.valueOf(words[i]));
        }
        return (Tuple) Proxy.newProxyInstance(
            HeapDriver.class.getClassLoader(), new Class<?>[] {Tuple.class}, (self, method, args) -> {
                switch (method.getName()) {
                    case "getSourceStreamId": return STREAMS.get(words[0]);
                    case "getSourceComponent": return words[0].equals("tick") ? "__system" : "peer";
                    case "getValue": case "getLong": case "getInteger": return values.get((Integer) args[0]);
                    case "getValues": return values;
                    case "size": return values.size();
                    case "toString": return words[0] + values;
                    default: throw new UnsupportedOperationException(method.toString());
                }
            });
    }

    private static IOutputCollector collector() {
        return (IOutputCollector) Proxy.newProxyInstance(
            HeapDriver.class.getClassLoader(), new Class<?>[] {IOutputCollector.class}, (self, method, args) -> null);
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
        return (LinkedList<HashMap<Object, Object>>) either(pending, "buckets", "_buckets");
    }

    // ---- reflection ----

    private static Object either(Object owner, String name, String older) throws ReflectiveOperationException {
        try {
            return read(owner, name);
        } catch (NoSuchFieldException other) {
            return read(owner, older);
        }
    }

    private static Object read(Object owner, String name) throws ReflectiveOperationException {
        return field(owner.getClass(), name).get(owner);
    }

    private static Field field(Class<?> type, String name) throws ReflectiveOperationException {
        for (Class<?> at = type; at != null; at = at.getSuperclass()) {
            try {
                Field field = at.getDeclaredField(name);
                field.setAccessible(true);
                return field;
            } catch (NoSuchFieldException inherited) {
                continue;
            }
        }
        throw new NoSuchFieldException(type + " has no " + name);
    }

    private static Object bare(Class<?> type) throws ReflectiveOperationException {
        return unsafe().allocateInstance(type); // what its constructor wants is a whole cluster
    }

    private static void write(Object owner, String name, Object value) throws ReflectiveOperationException {
        Field field = field(owner.getClass(), name);
        if (value instanceof Integer && field.getType() == int.class) {
            unsafe().putInt(owner, unsafe().objectFieldOffset(field), (Integer) value);
        } else {
            unsafe().putObject(owner, unsafe().objectFieldOffset(field), value);
        }
    }

    private static Unsafe unsafe() throws ReflectiveOperationException {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return (Unsafe) field.get(null);
    }

    private static void histogram() throws Exception {
        ANSWERS.println(java.time.Instant.now());
        ANSWERS.println(ManagementFactory.getPlatformMBeanServer().invoke(
            new ObjectName("com.sun.management:type=DiagnosticCommand"), "gcClassHistogram",
            new Object[] {new String[0]}, new String[] {String[].class.getName()}));
    }

    private static void dump(String file) throws Exception {
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(file, true);
    }
}

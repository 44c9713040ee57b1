import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.apache.storm.spout.ISpout;
import org.apache.storm.spout.ISpoutOutputCollector;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.IBolt;
import org.apache.storm.task.IOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.topology.BasicBoltExecutor;
import org.apache.storm.topology.IBasicBolt;
import org.apache.storm.topology.ReportedFailedException;
import org.apache.storm.tuple.MessageId;
import org.apache.storm.tuple.Tuple;

/**
 * Compiles folders of sources, and runs their bolts and spouts with recording collectors.
 *
 * <p>Input: `compile FOLDER` or `run FOLDER CLASS VALUE...`, with tabs between the words. A VALUE is a text, `null`, or
 * `tick`. Answers, each one ended by a line `.`: the errors of a folder, or the calls of a run, one a line.
 */
public class FixBench {
    private static final JavaCompiler COMPILER = ToolProvider.getSystemJavaCompiler();

    public static void main(String[] args) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        List<String> answers = new ArrayList<>();
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split("\t", -1);
            if (words[0].equals("compile")) {
                answers.addAll(compile(Path.of(words[1])));
            } else {
                answers.addAll(run(Path.of(words[1]), words[2], Arrays.asList(words).subList(3, words.length)));
            }
            answers.add(".");
        }
        answers.forEach(System.out::println);
        System.exit(0);
    }

    /** Return the errors without their places: a fix moves lines. */
    private static List<String> compile(Path folder) throws Exception {
        DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
        Charset charset = Charset.forName("UTF-8");
        try (StandardJavaFileManager files = COMPILER.getStandardFileManager(found, Locale.ROOT, charset);
                Stream<Path> sources = Files.walk(folder)) {
            List<Path> java = sources.filter(each -> each.toString().endsWith(".java")).collect(Collectors.toList());
            Path out = Files.createDirectories(folder.resolve("classes"));
            List<String> options = List.of("-proc:none", "-nowarn", "-d", out.toString(), "-XDshould-stop.ifError=FLOW");
            COMPILER.getTask(null, files, found, options, null, files.getJavaFileObjectsFromPaths(java)).call();
        }
        return found.getDiagnostics().stream()
                .filter(each -> each.getKind() == Diagnostic.Kind.ERROR)
                .map(each -> each.getCode() + " " + each.getMessage(Locale.ROOT).replaceAll("\\s+", " "))
                .sorted()
                .collect(Collectors.toList());
    }

    private static List<String> run(Path folder, String name, List<String> values) throws Exception {
        List<String> calls = new ArrayList<>();
        URL[] places = {folder.resolve("classes").toUri().toURL()};
        try (URLClassLoader loader = new URLClassLoader(places, FixBench.class.getClassLoader())) {
            Object component = loader.loadClass(name).getDeclaredConstructor().newInstance();
            if (component instanceof ISpout) {
                runSpout((ISpout) component, values, calls);
            } else {
                IBolt bolt = component instanceof IBasicBolt
                        ? new BasicBoltExecutor((IBasicBolt) component)
                        : (IBolt) component;
                runBolt(bolt, values, calls);
                for (Object row : (List<?>) loader.loadClass("Table").getDeclaredField("WRITTEN").get(null)) {
                    calls.add("written " + row);
                }
            }
        }
        return calls;
    }

    private static void runBolt(IBolt bolt, List<String> values, List<String> calls) {
        bolt.prepare(new HashMap<>(), null, new OutputCollector(new Recorder(calls)));
        for (int at = 0; at < values.size(); at++) {
            Tuple tuple = tuple("t" + at, values.get(at));
            try {
                bolt.execute(tuple);
            } catch (RuntimeException error) {
                calls.add("died t" + at + " " + error.getClass().getSimpleName());
            }
        }
    }

    /** Acks or fails the messages of each round, as its value says, and lists the maps that keep entries. */
    private static void runSpout(ISpout spout, List<String> values, List<String> calls) throws Exception {
        Map<Object, String> pending = new LinkedHashMap<>();
        spout.open(new HashMap<>(), null, new SpoutOutputCollector(new SpoutRecorder(calls, pending)));
        for (int round = 0; round < values.size(); round++) {
            spout.nextTuple();
            for (Object id : new ArrayList<>(pending.keySet())) {
                pending.remove(id);
                if (values.get(round).equals("ack")) {
                    calls.add("ack " + id);
                    spout.ack(id);
                } else {
                    calls.add("fail " + id);
                    spout.fail(id);
                }
            }
        }
        for (java.lang.reflect.Field field : spout.getClass().getDeclaredFields()) {
            field.setAccessible(true);
            Object value = field.get(spout);
            int size = value instanceof Map ? ((Map<?, ?>) value).size() : 0;
            if (size > 0 && !Modifier.isStatic(field.getModifiers())) {
                calls.add("kept " + field.getName() + " " + size);
            }
        }
    }

    private static Tuple tuple(String name, String text) {
        boolean tick = text.equals("tick");
        Object value = text.equals("null") ? null : text;
        InvocationHandler answer = (proxy, method, args) -> {
            switch (method.getName()) {
                case "toString":
                    return name;
                case "hashCode":
                    return name.hashCode();
                case "equals":
                    return proxy == args[0];
                case "getSourceComponent":
                    return tick ? "__system" : "source";
                case "getSourceStreamId":
                    return tick ? "__tick" : "default";
                case "getMessageId":
                    return MessageId.makeUnanchored();
                case "size":
                    return 1;
                case "getValues":
                case "select":
                    return Arrays.asList(value);
                case "getInteger":
                case "getIntegerByField":
                    return value == null ? null : Integer.valueOf(text);
                case "getLong":
                case "getLongByField":
                    return value == null ? null : Long.valueOf(text);
                default:
                    return method.getName().startsWith("get") ? value : null;
            }
        };
        return (Tuple) Proxy.newProxyInstance(FixBench.class.getClassLoader(), new Class<?>[] {Tuple.class}, answer);
    }

    private static final class Recorder implements IOutputCollector {
        private final List<String> calls;

        Recorder(List<String> calls) {
            this.calls = calls;
        }

        @Override
        public List<Integer> emit(String stream, Collection<Tuple> anchors, List<Object> values) {
            List<String> names = new ArrayList<>(new TreeSet<>(
                    anchors == null ? List.of() : anchors.stream().map(Object::toString).collect(Collectors.toList())));
            calls.add("emit " + values + " anchored to " + names);
            return List.of(1);
        }

        @Override
        public void emitDirect(int task, String stream, Collection<Tuple> anchors, List<Object> values) {
            emit(stream, anchors, values);
        }

        @Override
        public void ack(Tuple tuple) {
            calls.add("ack " + tuple);
        }

        @Override
        public void fail(Tuple tuple) {
            calls.add("fail " + tuple);
        }

        @Override
        public void resetTimeout(Tuple tuple) { }

        @Override
        public void flush() { }

        @Override
        public void reportError(Throwable error) { }
    }

    private static final class SpoutRecorder implements ISpoutOutputCollector {
        private final List<String> calls;
        private final Map<Object, String> pending;

        SpoutRecorder(List<String> calls, Map<Object, String> pending) {
            this.calls = calls;
            this.pending = pending;
        }

        @Override
        public List<Integer> emit(String stream, List<Object> values, Object id) {
            calls.add("emit " + values + " as " + id);
            if (id != null) {
                pending.put(id, String.valueOf(values));
            }
            return List.of(1);
        }

        @Override
        public void emitDirect(int task, String stream, List<Object> values, Object id) {
            emit(stream, values, id);
        }

        @Override
        public long getPendingCount() {
            return pending.size();
        }

        @Override
        public void flush() { }

        @Override
        public void reportError(Throwable error) { }
    }
}

package world;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The outside of one run: sources of the messages 1 to N, and services that count the effects of each message. */
public final class World {
    private static final Map<String, World> WORLDS = new ConcurrentHashMap<>();
    private static final int COPIES = 8; // bits: fewer than 256 copies
    private static final Pattern TEXT = Pattern.compile("\\D*(\\d+)(.*)");

    private final int messages;
    private final Set<String> refusals;
    private final int readers;
    private final Set<Source> read = ConcurrentHashMap.newKeySet();
    private volatile long startMs = Long.MAX_VALUE;
    private final Map<String, Source> sources = new ConcurrentHashMap<>();
    private final Map<String, int[]> effects = new TreeMap<>();
    private final Map<Object, Object> rows = new ConcurrentHashMap<>();
    private int puts;

    /** Make the world of a topology; each service of `refusals` fails once; no source delivers before all `readers` read. */
    public World(String topology, int messages, Set<String> refusals, int readers) {
        this.messages = messages;
        this.refusals = refusals;
        this.readers = readers;
        WORLDS.put(topology, this);
    }

    public static World of(Map<?, ?> conf) {
        return WORLDS.get(conf.get("topology.name"));
    }

    public int messages() {
        return messages;
    }

    /** Return the number of the next write to the table. */
    public synchronized int nextPut() {
        return ++puts;
    }

    public Object row(Object key) {
        return rows.get(key);
    }

    /** Write a row of the table; the key is a message, `count` how often it was counted. */
    public synchronized void write(Object key, Object row, long count) {
        startMs = Math.min(startMs, System.currentTimeMillis());
        rows.put(key, row);
        effects.computeIfAbsent("count", any -> new int[messages + 1])[((Long) key).intValue()] = (int) count;
    }

    /** Return the time of the first delivery or write. */
    public long startMs() {
        return startMs;
    }

    public Source source(String name) {
        return sources.computeIfAbsent(name, any -> new Source());
    }

    /** Count an effect.  A text such as "w3a" is the effect "kind" + "a" of message 3. */
    public synchronized void effect(String kind, Object text) {
        Matcher found = TEXT.matcher(String.valueOf(text));
        if (!found.matches()) throw new IllegalArgumentException("no message in " + text);
        count(kind + found.group(2), Integer.parseInt(found.group(1)));
    }

    /** Return an amount from whose sums `effectOfSum` reads how often each message, at most 7, is in it. */
    public static long amount(int message) {
        return 1L << COPIES * message;
    }

    /** Count an effect of several messages; a replay may bring one of them to the same window again. */
    public synchronized void effectOfSum(String kind, long sum) {
        for (int message = 1; message <= messages; message++) {
            for (long copies = sum >> COPIES * message & (1 << COPIES) - 1; copies > 0; copies--) count(kind, message);
        }
    }

    private void count(String kind, int message) {
        effects.computeIfAbsent(kind, any -> new int[messages + 1])[message]++;
    }

    /** Whether a service fails now: each does so once. */
    public synchronized boolean refuses(String kind) {
        return refusals.remove(kind);
    }

    /** Return whether each message has had each effect, and no failure is to come. */
    public synchronized boolean complete(Iterable<String> kinds) {
        if (!refusals.isEmpty()) return false;
        for (String kind : kinds) if (!missing(kind).isEmpty()) return false;
        return true;
    }

    public synchronized Set<Integer> missing(String kind) {
        Set<Integer> found = new TreeSet<>();
        int[] counts = effects.getOrDefault(kind, new int[messages + 1]);
        for (int message = 1; message <= messages; message++) if (counts[message] == 0) found.add(message);
        return found;
    }

    /** Return how many effects there are beyond the first of each message. */
    public synchronized int extra(String kind) {
        int extra = 0;
        for (int count : effects.getOrDefault(kind, new int[0])) extra += Math.max(0, count - 1);
        return extra;
    }

    /** Return the sum of all messages, each as often as it had the effect. */
    public synchronized long sum(String kind) {
        long sum = 0;
        int[] counts = effects.getOrDefault(kind, new int[0]);
        for (int message = 1; message < counts.length; message++) sum += (long) message * counts[message];
        return sum;
    }

    /** The messages that a source still has.  A locked message comes back when its reader connects again. */
    public final class Source {
        private final Deque<Integer> waiting = new ArrayDeque<>();
        private final Set<Integer> locked = new TreeSet<>();

        private Source() {
            for (int message = 1; message <= messages; message++) waiting.add(message);
        }

        /** Deliver a message and forget it. */
        public synchronized Integer take() {
            read.add(this);
            if (read.size() < readers) return null;
            startMs = Math.min(startMs, System.currentTimeMillis());
            return waiting.poll();
        }

        /** Deliver a message, and keep it until it is deleted. */
        public synchronized Integer lock() {
            Integer message = take();
            if (message != null) locked.add(message);
            return message;
        }

        public synchronized void delete(int message) {
            locked.remove(message);
        }

        public synchronized void giveBack(int message) {
            locked.remove(message);
            waiting.add(message);
        }

        public synchronized void reconnect() {
            waiting.addAll(locked);
            locked.clear();
        }
    }
}

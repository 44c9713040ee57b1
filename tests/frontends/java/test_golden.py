"""The graphs of every construct, compared as text."""

import textwrap

import pytest

from tests.frontends.java.lowered import outline, picture, unit

SOURCES = {
    "branches": """
        class Branches {
            void chain(int a) {
                if (a == 1) one();
                else if (a == 2) { two(); }
                else other();
                last();
            }

            void shortCircuits(boolean a, boolean b, Tuple c) {
                if (a && (b || !c.isTick())) yes();
            }

            boolean values(Tuple t, Object o) {
                boolean known = t != null && t.ok();
                String s = known ? t.getString(0) : null;
                return known || !s.equals("x") || Objects.equals(s, o);
            }

            void patterns(Object o) {
                if (!(o instanceof Tuple t)) return;
                if (t.ok() && o instanceof Pair<?>(Tuple first, var rest)) use(first, rest);
                boolean b = o instanceof String;
            }

            void asserted(Tuple t) {
                assert t.ok() : "not " + t;
                if (true) done();
            }
        }
        """,
    "values": """
        class Values {
            void literals() {
                use(1, -2, 0x1F, 017, 1_000L, 1.5f, 'c', "a\\n\\u0041", null, true);
                String text = \"\"\"
                    one
                      two \\
                    and "three"
                    \"\"\";
            }

            void computed(int a, String s) {
                int b = a + 1 - 2 * a;
                s = "a" + "b" + s + a;
                s += "x";
                a++;
                int c = a++ + --b;
                this.n = c = b;
            }

            void arrays(Tuple[] ts) {
                Tuple[] two = {ts[0], ts[1]};
                int[] none = new int[size()], some = new int[] {1, 2};
                two[0] = (Tuple) some[1];
            }

            void calls(OutputCollector collector, Tuple tuple) {
                collector.emit(tuple, new Values(tuple.getString(0), Arrays.asList(1, 2)));
                new Thread(this::run).start();
                tuple.getValues().stream().map(Object::toString).forEach(collector::report);
                super.calls(collector, tuple);
                Class<?> c = Values.class;
            }
        }
        """,
    "names": """
        package com.acme;

        import static com.acme.Limits.MOST;
        import static com.acme.Limits.check;

        class Names extends Base {
            static final Logger LOG = Logger.of("x");
            OutputCollector collector;

            void instance(Tuple tuple) {
                LOG.info(MOST, inherited, INHERITED, Type.CONSTANT, STATE.OPEN, java.util.Map.of());
                check(tuple);
                own(tuple);
                inherits(tuple);
                Names.this.collector.ack(tuple);
            }

            static void own(Tuple tuple) {
                LOG.info(own.field);
                own(tuple);
            }

            class Inner {
                int mine;

                void m(Tuple collected) {
                    collector.ack(collected);
                    own(collected);
                    mine = this.mine;
                }
            }

            void shadowed(Tuple collector) {
                for (int i = 0; i < 2; i++) use(i, collector);
                for (long i : longs) use(i);
                { int i = 3; use(i); }
            }
        }
        """,
    "loops": """
        class Loops {
            void each(List<Tuple> batch) {
                for (Tuple t : batch) {
                    if (t.skip()) continue;
                    if (t.last()) break;
                    use(t);
                }
                done();
            }

            void counted() {
                for (int i = 0, j = size(); i < j; i++, j--) {
                    if (odd(i)) continue;
                    use(i);
                }
            }

            void whiles(Queue<Tuple> queue) {
                while (!queue.isEmpty()) queue.poll();
                do {
                    if (late()) continue;
                    work();
                } while (more());
            }

            void forever() {
                for (;;) {
                    Tuple t = take();
                    if (t == null) return;
                }
            }

            void labelled(int[][] rows) {
                rows:
                for (int[] row : rows) {
                    for (int cell : row) {
                        if (cell == 0) continue rows;
                        if (cell == 1) break rows;
                    }
                }
                block: {
                    if (rows == null) break block;
                    use(rows);
                }
            }
        }
        """,
    "switches": """
        class Switches {
            void old(Tuple tuple) {
                switch (tuple.getSourceComponent()) {
                    case "a":
                        first();
                    case "b":
                    case "c":
                        second();
                        break;
                    default:
                        other();
                }
                after();
            }

            void arrows(Command command) {
                switch (command) {
                    case ACK, FAIL -> done();
                    case NEXT -> { if (quiet) break; next(); }
                    default -> throw new IllegalStateException();
                }
            }

            int value(Object o) {
                int n = switch (o) {
                    case null -> 0;
                    case Integer i when i > 9 -> { log(i); yield 10; }
                    case Point(int x, var y) -> x + y;
                    case String s -> s.length();
                    default -> 1;
                };
                return switch (n) { case 1: yield 2; default: yield 3; };
            }

            void fallsThroughDefault(int n) {
                loop:
                while (true) {
                    switch (n) {
                        default: zero();
                        case 1: one(); continue loop;
                        case 2: break loop;
                    }
                }
            }
        }
        """,
    "tries": """
        class Tries {
            void handlers(Tuple tuple) {
                try {
                    work(tuple);
                } catch (IOException | java.sql.SQLException e) {
                    log(e);
                } catch (RuntimeException e) {
                    throw e;
                } catch (Throwable t) {
                    fail(tuple);
                }
                after();
            }

            int cleanup(Tuple tuple) {
                try {
                    if (tuple.bad()) return 0;
                    return work(tuple);
                } finally {
                    close();
                }
            }

            void leaving(List<Tuple> tuples) {
                for (Tuple t : tuples) {
                    try {
                        if (t.a()) break;
                        if (t.b()) continue;
                    } finally {
                        release(t);
                    }
                }
            }

            void resources(Path path) throws IOException {
                try (Reader in = open(path); lock) {
                    read(in);
                } catch (IOException e) {
                    throw new Failed(e);
                }
            }

            void locked() {
                synchronized (this.lock) {
                    work();
                }
            }
        }
        """,
    "closures": """
        class Closures {
            OutputCollector collector;

            void lambdas(Tuple tuple, Client client) {
                int count = 1;
                client.send(tuple, (result, error) -> {
                    if (error != null) collector.fail(tuple);
                    else collector.ack(tuple);
                });
                client.each(x -> x + count, (int a, var b) -> () -> a);
                Function<Tuple, Object> f = Tuple::getValue, g = Closures::new, h = tuple::get;
            }

            void anonymous(Tuple tuple) {
                executor.submit(new Runnable() {
                    private int tries = start();

                    @Override
                    public void run() {
                        tries++;
                        again(tuple);
                        collector.ack(tuple);
                        Closures.this.done(this);
                    }
                });
                builder.setBolt("b", new BaseRichBolt() {
                    public void execute(Tuple input) { collector.ack(input); }
                });
                Map<String, Tuple> map = new HashMap<>() {{ put("a", tuple); }};
            }

            static Runnable unbound() {
                return () -> LOG.info(helper());
            }

            void local(Tuple tuple) {
                class Later extends Thread {
                    public void run() { collector.ack(tuple); }
                }
                new Later().start();
            }
        }
        """,
    "classes": """
        package com.acme.bolts;

        import java.util.*;
        import org.apache.storm.task.OutputCollector;

        @Deprecated
        @Named(value = "x", tags = {"a", "b"})
        public abstract class Count<T extends Tuple> extends Base<T> implements IRichBolt, Outer.Iface<T> {
            private static final String STREAM = "words", OTHER = name();
            private Map<String, List<T>> pending = new HashMap<>();
            private T[] batch;
            static { register(Count.class); }
            { batch = null; }

            public Count() { this(1); }

            protected Count(int size, String... names) throws IOException {
                super(size);
                this.size = size;
            }

            @Override
            public void execute(final T tuple) { pending.clear(); }

            abstract void execute(Map.Entry<String, int[]> entry, long n);

            native int size();

            static <U> U of(U u) { return u; }
        }

        enum Color implements Named {
            RED, GREEN(2) { int code() { return 3; } };

            private final int code;

            Color(int... code) { this.code = code[0]; }

            int code() { return code; }
        }

        record Point(int x, List<String> names) implements Named {
            static int made = 0;

            Point {
                made++;
            }

            int x() { return 0; }
        }

        record Empty() {}

        sealed interface Named permits Color, Point {
            int LIMIT = Integer.getInteger("limit");
            String name();
            default String title() { return name(); }
            static Named none() { return null; }

            @interface Tag {
                String value() default "";
            }
        }
        """,
}


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_the_graph_of(name, golden):
    source = textwrap.dedent(SOURCES[name]).lstrip("\n")
    numbered = "".join(
        f"{number:3} {line}\n".replace(" \n", "\n") for number, line in enumerate(source.splitlines(), 1)
    )
    lowered = unit(source)
    golden(f"java-{name}", f"{numbered}\n{outline(lowered)}\n{picture(lowered)}")

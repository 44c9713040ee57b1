"""The paths of `test_feasible_paths`, in Java."""

import pytest

from tests.checks.sources import java_findings


@pytest.mark.parametrize(
    ("fail", "confidence"), [("collector.fail(input);", {"may"}), ("", {"must"})], ids=["healthy", "mistake"]
)
@pytest.mark.parametrize(
    ("made", "filled", "test"),
    [
        ("List<String> errors = new ArrayList<>();", 'errors.add("bad");', "errors.isEmpty()"),
        ("List<String> errors = new LinkedList<>();", 'errors.add("bad");', "errors.size() == 0"),
        ("Set<String> seen = new HashSet<>();", "seen.add(word);", "!seen.contains(word)"),
        ("Map<String, Integer> seen = new HashMap<>();", "seen.put(word, 1);", "!seen.containsKey(word)"),
    ],
)
def test_java_collections(made, filled, test, fail, confidence):
    source = f"""
        public void execute(Tuple input) {{
            String word = input.getString(0);
            {made}
            if (client.isBad(word)) {{
                {filled}
                {fail}
            }}
            if ({test}) {{
                collector.ack(input);
            }}
        }}
    """

    found = java_findings(source)

    assert {f.confidence.word for f in found if f.code in ("ACK101", "ACK106")} == confidence


def test_one_call_in_a_helper_and_in_its_caller():
    source = """
        public void execute(Tuple input) {
            if (input.getString(0) == null) {
                check(input);
                return;
            }
            if (!check(input)) {
                client.count();
            }
            collector.ack(input);
        }

        private boolean check(Tuple input) {
            String key = input.getString(0);
            if (key == null) {
                collector.fail(input);
                return false;
            }
            return client.has(key);
        }
    """

    assert {f.confidence.word for f in java_findings(source) if f.code in ("ACK101", "ACK106")} == {"may"}


@pytest.mark.parametrize(
    ("fail", "confidence"), [("collector.fail(input);", {"may"}), ("", {"must"})], ids=["healthy", "mistake"]
)
@pytest.mark.parametrize(
    ("made", "test", "methods"),
    [
        (
            "AtomicBoolean failed = new AtomicBoolean(false); check(input, failed);",
            "!failed.get()",
            "void check(Tuple input, AtomicBoolean failed) {"
            " if (client.isBad(input.getString(0))) { failed.set(true); FAIL } }",
        ),
        (
            "Optional<String> found = check(input);",
            "found.isPresent()",
            "Optional<String> check(Tuple input) {"
            " if (client.isBad(input.getString(0))) { FAIL return Optional.empty(); }"
            ' return Optional.of("good"); }',
        ),
    ],
    ids=["AtomicBoolean", "Optional"],
)
def test_java_objects_with_one_value(made, test, methods, fail, confidence):
    source = f"""
        public void execute(Tuple input) {{
            {made}
            if ({test}) {{
                collector.ack(input);
            }}
        }}
        private {methods.replace("FAIL", fail)}
    """

    found = java_findings(source)

    assert {f.confidence.word for f in found if f.code in ("ACK101", "ACK106")} == confidence


JAVA_MISTAKES = {
    "an array in a lambda": """
        public void execute(Tuple input) {
            boolean[] failed = {false};
            List<String> rows = (List<String>) input.getValue(0);
            rows.forEach(r -> { if (r == null) failed[0] = true; });
            if (failed[0]) { return; }
            collector.ack(input);
        }
    """,
    "an array in a lambda of other code": """
        public void execute(Tuple input) {
            final boolean[] failed = new boolean[] {false};
            client.run(r -> { failed[0] = true; });
            if (failed[0]) { return; }
            collector.ack(input);
        }
    """,
    "an AtomicBoolean in a lambda": """
        public void execute(Tuple input) {
            AtomicBoolean failed = new AtomicBoolean(false);
            List<String> rows = (List<String>) input.getValue(0);
            rows.forEach(r -> { if (r == null) failed.set(true); });
            if (failed.get()) { return; }
            collector.ack(input);
        }
    """,
    "an AtomicBoolean that other code gets": """
        public void execute(Tuple input) {
            AtomicBoolean failed = new AtomicBoolean(false);
            client.run(input.getValues(), failed);
            if (failed.get()) { return; }
            collector.ack(input);
        }
    """,
    "compareAndSet": """
        public void execute(Tuple input) {
            AtomicBoolean done = new AtomicBoolean(false);
            for (Object o : input.getValues()) {
                if (done.compareAndSet(false, true)) { client.first(o); }
            }
            if (done.get()) { return; }
            collector.ack(input);
        }
    """,
    "two elements of a queue": """
        LinkedBlockingQueue<String> queue;
        public void execute(Tuple input) throws Exception {
            String a = queue.poll(1, TimeUnit.SECONDS);
            if (a == null) { collector.fail(input); return; }
            String b = queue.poll(1, TimeUnit.SECONDS);
            if (b == null) { return; }
            collector.ack(input);
        }
    """,
    "two random numbers": """
        Random random;
        public void execute(Tuple input) {
            if (random.nextInt(10) == 0) { collector.ack(input); return; }
            if (random.nextInt(10) == 0) { return; }
            collector.ack(input);
        }
    """,
    "a list with an initializer": """
        public void execute(Tuple input) {
            List<String> kinds = new ArrayList<String>() {{ add("a"); }};
            if (!kinds.isEmpty()) { return; }
            collector.ack(input);
        }
    """,
    "two counters": """
        public void execute(Tuple input) {
            int good = 0, bad = 0;
            for (Object o : input.getValues()) { if (o == null) bad++; else good++; }
            if (good > 3) { collector.ack(input); return; }
            if (bad > 3) { return; }
            collector.ack(input);
        }
    """,
    "an iterator that removes": """
        public void execute(Tuple input) {
            List<String> rows = new ArrayList<>();
            rows.add("a");
            Iterator<String> it = rows.iterator();
            while (it.hasNext()) { if (client.isOld(it.next())) { it.remove(); } }
            if (rows.isEmpty()) { return; }
            collector.ack(input);
        }
    """,
    "a view that removes": """
        public void execute(Tuple input) {
            Map<String, String> rows = new HashMap<>();
            rows.put("a", "b");
            rows.keySet().removeAll(input.getValues());
            if (rows.isEmpty()) { return; }
            collector.ack(input);
        }
    """,
    "an object that other code gets": """
        public void execute(Tuple input) {
            Row row = (Row) input.getValue(0);
            if (row.isBad()) { collector.fail(input); return; }
            client.enrich(row);
            if (row.isBad()) { return; }
            collector.ack(input);
        }
    """,
}


@pytest.mark.parametrize("methods", JAVA_MISTAKES.values(), ids=JAVA_MISTAKES)
def test_a_java_mistake_on_a_path_without_a_contradiction_is_certain(methods):
    found = java_findings(methods)

    assert {f.confidence.word for f in found if f.code in ("ACK101", "ACK106")} == {"must"}


@pytest.mark.parametrize(
    ("second", "confidence"), [("done", "may"), ("isLate", "must"), ("tryAgain", "must")]
)
def test_one_method_of_a_result_asked_twice(second, confidence):
    source = f"""
        public void execute(Tuple input) {{
            Outcome outcome = client.send(input.getString(0));
            if (outcome.{second.replace("isLate", "done")}()) {{
                collector.ack(input);
            }}
            client.count(outcome.text());
            if (!outcome.{second}()) {{
                collector.fail(input);
            }}
        }}
    """

    found = [(f.code, f.confidence.word) for f in java_findings(source) if f.code in ("ACK101", "ACK106")]

    assert sorted(found) == [("ACK101", confidence), ("ACK106", confidence)]


@pytest.mark.parametrize(
    ("first", "second", "confidence"),
    [
        ("done.compareAndSet(false, true)", "done.compareAndSet(false, true)", {"may"}),
        ("!done.getAndSet(true)", "!done.getAndSet(true)", {"may"}),
        ("done.compareAndSet(false, true)", "done.get()", {"must"}),
        ("done.compareAndSet(false, true)", "done.compareAndSet(true, false)", {"must"}),
        ("!done.getAndSet(false)", "!done.getAndSet(true)", {"must"}),
    ],
)
def test_a_flag_that_guards_the_completion(first, second, confidence):
    source = f"""
        public void execute(Tuple input) {{
            Delivery d = new Delivery(collector, input);
            d.ok();
            d.broken();
        }}
        static class Delivery {{
            private final AtomicBoolean done = new AtomicBoolean();
            private final OutputCollector out;
            private final Tuple tuple;
            Delivery(OutputCollector out, Tuple tuple) {{ this.out = out; this.tuple = tuple; }}
            void ok() {{ if ({first}) {{ out.ack(tuple); }} }}
            void broken() {{ if ({second}) {{ out.fail(tuple); }} }}
        }}
    """

    assert {f.confidence.word for f in java_findings(source) if f.code == "ACK106"} == confidence


@pytest.mark.parametrize(
    ("drain", "confidence"),
    [("rows.clear();", {"may"}), ("rows.size();", {"must"})],
    ids=["healthy", "mistake"],
)
def test_an_empty_batch_is_not_full(drain, confidence):
    source = f"""
        private Batch batch = new Batch(100);
        public void execute(Tuple input) {{
            if (!batch.add(input)) {{
                batch.drain(collector);
                batch.add(input);
            }}
        }}
        static class Batch {{
            private final int most;
            private final List<Tuple> rows = new ArrayList<>();
            Batch(int most) {{ this.most = most; }}
            boolean add(Tuple tuple) {{
                if (rows.size() >= most) {{ return false; }}
                rows.add(tuple);
                return true;
            }}
            void drain(OutputCollector out) {{
                for (Tuple row : rows) {{ out.ack(row); }}
                {drain}
            }}
        }}
    """

    assert {f.confidence.word for f in java_findings(source) if f.code == "ACK101"} == confidence

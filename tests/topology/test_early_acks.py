"""Which effects happen after the ack: flushes by tick, count, thread or completeness; not state and running aggregates."""

import pytest

from tests.topology.component_sources import java_facts, python_facts

_HEAD = """\
import redis, threading, time
from collections import Counter
from elasticsearch.helpers import bulk
from {module} import {base}

class Made({base}):
    def initialize(self, conf, context):
        self.store = redis.Redis()
        self.counts = Counter()
        self.rows = []
        self.total = 0
        self.last = time.time()
        {start}

"""


def _line(
    methods: str, *, module: str = "pystorm.bolt", base: str = "Bolt", start: str = "pass"
) -> int | None:
    """The line of the methods on which the early ack is; 1 is their first."""
    head = _HEAD.format(module=module, base=base, start=start)
    body = "".join(f"    {line}\n" for line in methods.strip("\n").split("\n"))
    found = python_facts(head + body, "Made").acks_early
    return None if found is None else found.line - head.count("\n")


_TICK = """
def process(self, tup):
    self.counts[tup.values[0]] += 1

def process_tick(self, tup):
    for word, count in self.counts.items():
        {effect}
    self.counts.clear()
"""


@pytest.mark.parametrize(
    ("effect", "line"),
    [
        ("self.emit([word, count])", 2),
        ("self.store.incr(word, count)", 2),
        ("bulk(self.store, [word, count])", 2),
        ("self.logger.info('%s: %d', word, count)", None),
    ],
)
def test_a_flush_at_a_tick(effect, line):
    assert _line(_TICK.format(effect=effect)) == line


@pytest.mark.parametrize(
    ("condition", "reset", "line"),
    [
        ("len(self.rows) >= 100", "self.rows = []", 2),
        ("len(self.rows) >= 100", "del self.rows[:]", 2),
        ("len(self.rows) % 100 == 0", "pass", 2),
        ("time.time() - self.last > 5", "self.last = time.time()", 2),
        ("len(self.rows) > 100", "pass", None),  # an alarm over state that stays
        ("True", "self.rows = []", None),
    ],
)
def test_a_flush_by_number_or_time(condition, reset, line):
    body = f"""
def process(self, tup):
    self.rows.append(tup.values)
    if {condition}:
        self.store.rpush("rows", self.rows)
        {reset}
"""
    assert _line(body) == line


def test_a_flush_in_a_helper():
    body = """
def process(self, tup):
    self._add(tup)
    self._flush_if_full()

def _add(self, tup):
    self.rows.append(tup.values)

def _flush_if_full(self):
    if len(self.rows) < 100:
        return
    self.store.rpush("rows", self.rows)
    self.rows = []
"""
    assert _line(body) == 6


def test_a_running_aggregate_is_emitted_for_each_input():
    body = """
def process(self, tup):
    word = tup.values[0]
    self.counts[word] += 1
    self.emit([word, self.counts[word]])
"""
    assert _line(body) is None
    assert _line(body + "\ndef process_tick(self, tup):\n    self.store.set('counts', self.counts)\n") is None


def test_state_that_is_only_kept():
    body = """
def process(self, tup):
    if tup.values[0] in self.counts:
        return
    self.counts[tup.values[0]] = 1
    self.emit(tup.values)
"""
    assert _line(body) is None


def test_a_lookup_table_that_another_stream_reads():
    body = """
def process(self, tup):
    if tup.stream == "rules":
        self.counts[tup.values[0]] = tup.values[1]
    else:
        self.emit([tup.values[0], self.counts.get(tup.values[0])])
"""
    assert _line(body) is None


def test_a_join_that_leaves_when_it_is_complete():
    body = """
def process(self, tup):
    key, part = tup.values
    self.counts.setdefault(key, []).append(part)
    if len(self.counts[key]) == 2:
        self.emit([key, self.counts.pop(key)])
"""
    assert _line(body) == 3


@pytest.mark.parametrize(
    ("condition", "line"),
    [("self.total % 100 == 0", 2), ("self.total >= 100", 2), ("True", None), ("tup.values[0]", None)],
)
def test_a_pipeline_that_is_executed_later(condition, line):
    body = f"""
def process(self, tup):
    self.pipe.incr(tup.values[0])
    self.total += 1
    if {condition}:
        self.pipe.execute()
        self.total = 0
"""
    assert _line(body, start="self.pipe = self.store.pipeline()") == line


def test_a_transaction_that_a_tick_commits():
    body = """
def process(self, tup):
    self.cursor.execute("insert", tup.values)

def process_tick(self, tup):
    self.connection.commit()
"""
    start = "self.connection = psycopg2.connect(''); self.cursor = self.connection.cursor()"
    assert _line(body, start=f"import psycopg2; {start}") == 2


def test_an_aggregate_that_is_emitted_each_hundredth_time():
    body = """
def process(self, tup):
    self.counts[tup.values[0]] += 1
    self.total += 1
    if self.total >= 100:
        self.emit([self.counts.most_common(3)])
        self.total = 0
"""
    assert _line(body) == 2


def test_a_sliding_window_and_a_field_for_one_input():
    body = """
def process(self, tup):
    self.rows.append(tup.values)
    if len(self.rows) > 3:
        self.rows.popleft()
    if len(self.rows) == 3:
        self.emit([list(self.rows)])
"""
    assert _line(body) is None
    body = """
def process(self, tup):
    self.rows = tup.values[0]
    if self.rows:
        self.emit([self.rows])
        self.rows = []
"""
    assert _line(body) is None


@pytest.mark.parametrize(
    ("later", "line"),
    [
        ("def process_tick(self, tup):\n    self.store.set('last', self.latest)", 2),
        ("def process_tick(self, tup):\n    self.emit([self.latest])", 2),
        ("def process_tick(self, tup):\n    self.logger.info(self.latest)", None),
        ("def stop(self):\n    self.store.set('last', self.latest)", None),
    ],
)
def test_the_last_input_that_a_tick_sends(later, line):
    body = f"""
def process(self, tup):
    self.latest = tup.values[0]

{later}
"""
    assert _line(body) == line


@pytest.mark.parametrize(
    ("condition", "line"),
    [("time.time() - self.last > 5", 3), ("self.latest != tup.values[0]", None)],
)
def test_the_last_input_that_is_sent_now_and_then(condition, line):
    body = f"""
def process(self, tup):
    changed = {condition}
    self.latest = tup.values[0]
    if {condition if line else "changed"}:
        self.emit([self.latest])
"""
    assert _line(body) == line


def test_tuples_that_stay_unacked_until_the_flush():
    body = """
auto_ack = False

def process(self, tup):
    self.rows.append(tup)
    if len(self.rows) >= 100:
        self.store.rpush("rows", [each.values for each in self.rows])
        for each in self.rows:
            self.ack(each)
        self.rows = []
"""
    assert _line(body) is None


def test_a_thread_flushes():
    body = """
def process(self, tup):
    self.rows.append(tup.values)

def _flush_for_ever(self):
    while True:
        time.sleep(1)
        self.store.rpush("rows", self.rows)
        self.rows = []
"""
    assert _line(body, start="threading.Thread(target=self._flush_for_ever).start()") == 2


_JAVA = """
public class Made extends BaseRichBolt {
  OutputCollector collector;
  Map<String, Long> counts = new HashMap<>();
  Totals totals = new Totals(); String latest; java.net.HttpURLConnection connection;
  public void prepare(Map conf, TopologyContext context, OutputCollector collector) { this.collector = collector; }
  public void execute(Tuple input) {
    if (isTickTuple(input)) {
      TICK
      return;
    }
    STORE
    collector.ack(input);
  }
  private boolean isTickTuple(Tuple input) { return input.getSourceStreamId().equals("__tick"); }
  private void report() {
    for (Map.Entry<String, Long> entry : counts.entrySet()) {
      collector.emit(new Values(entry.getKey(), entry.getValue()));
    }
  }
  public void declareOutputFields(OutputFieldsDeclarer declarer) { }
}
class Totals {
  private Map<String, Long> sums = new HashMap<>();
  void add(String key) { sums.put(key, 1L); }
  Map<String, Long> all() { return sums; }
}
"""


@pytest.mark.parametrize(
    ("store", "tick", "line"),
    [
        ("counts.put(input.getString(0), 1L);", "report();", 11),
        (
            "latest = input.getString(0);",
            "java.io.OutputStream out = connection.getOutputStream(); out.write(latest.getBytes());",
            11,
        ),
        (
            "latest = input.getString(0);",
            "java.io.OutputStream out = new java.io.ByteArrayOutputStream(); out.write(latest.getBytes());",
            None,
        ),
        ("latest = input.getString(0);", "collector.emit(new Values(latest));", 11),
        ("totals.add(input.getString(0));", "collector.emit(new Values(totals.all()));", 11),
        ("counts.put(input.getString(0), 1L);", "collector.ack(input);", None),
        ("collector.emit(input, input.getValues());", "report();", None),
    ],
)
def test_a_java_bolt_that_tests_for_ticks(store, tick, line):
    found = java_facts(_JAVA.replace("STORE", store).replace("TICK", tick)).acks_early
    assert (None if found is None else found.line) == line


def test_an_object_that_flushes_on_a_thread_of_its_own():
    source = """
    public class Made extends BaseRichBolt {
      OutputCollector collector;
      Buffer buffer = new Buffer();
      public void prepare(Map conf, TopologyContext context, OutputCollector collector) { this.collector = collector; }
      public void execute(Tuple input) {
        buffer.keep(input.getString(0));
        collector.ack(input);
      }
      public void declareOutputFields(OutputFieldsDeclarer declarer) { }
    }
    class Buffer {
      private redis.clients.jedis.Jedis store = new redis.clients.jedis.Jedis();
      private Set<String> waiting = new HashSet<>();
      Buffer() {
        new Thread(new Runnable() { public void run() { flush(); } }).start();
      }
      void keep(String row) {
        waiting.add(row);
      }
      void flush() {
        for (String row : waiting) { store.lpush("rows", row); }
        waiting.clear();
      }
    }
    """
    found = java_facts(source).acks_early
    assert found is not None
    assert found.line == 18


# ---- what is only kept ----


def _kept(body: str) -> bool:
    head = _HEAD.format(module="pystorm.bolt", base="Bolt", start="self.cfg = conf")
    return python_facts(f"{head}    def process(self, tup):\n{body}", "Made").keeps is not None


@pytest.mark.parametrize(
    "lines",
    [
        "        self.counts[tup.values[0]] += 1\n        self.emit([self.counts[tup.values[0]]])\n",
        "        self.rows.append(tup.values[0])\n",
        "        self.total += 1\n        self.emit([self.total])\n",
    ],
)
def test_data_that_stay_in_memory(lines):
    assert _kept(lines)


@pytest.mark.parametrize(
    "lines",
    [
        "        self.emit([tup.values[0]])\n",
        "        self.store.append(tup.values[0], 1)\n",
        "        self.last = tup.values[0]\n",
        "        self.total += 1\n        self.logger.info('%d', self.total)\n",
    ],
)
def test_nothing_stays_in_memory(lines):
    assert not _kept(lines)


def test_a_java_map_that_stays_in_memory():
    facts = java_facts(
        """
        import java.util.*;
        import org.apache.storm.task.*;
        import org.apache.storm.topology.base.*;
        import org.apache.storm.tuple.*;
        public class Count extends BaseBasicBolt {
            Map<String, Integer> counts = new HashMap<>();
            public void execute(Tuple tuple, org.apache.storm.topology.BasicOutputCollector collector) {
                Integer count = counts.getOrDefault(tuple.getString(0), 0);
                counts.put(tuple.getString(0), count + 1);
                collector.emit(new Values(tuple.getString(0), count));
            }
        }
        """,
        "Count",
    )
    assert facts.keeps is not None
    assert facts.acks_early is None


@pytest.mark.parametrize(
    ("body", "early"),
    [
        ("out.write(bytes); if (policy.mark(tuple, bytes.length)) { out.hsync(); policy.reset(); }", True),
        ("out.write(bytes); out.hsync();", False),
    ],
)
def test_a_file_of_hdfs_that_is_synced_now_and_then(body, early):
    facts = java_facts(
        f"""
        import org.apache.hadoop.fs.FSDataOutputStream;
        public class Writer extends BaseRichBolt {{
            private OutputCollector collector;
            private transient FSDataOutputStream out;
            private SyncPolicy policy;
            private RecordFormat format;
            public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {{
                this.collector = collector;
            }}
            public void execute(Tuple tuple) {{
                try {{
                    byte[] bytes = format.format(tuple);
                    {body}
                    collector.ack(tuple);
                }} catch (java.io.IOException e) {{
                    collector.fail(tuple);
                }}
            }}
            public void declareOutputFields(OutputFieldsDeclarer declarer) {{ }}
        }}
        """,
        "Writer",
    )
    assert (facts.acks_early is not None) is early


_WRAPPED = """
    class Made extends BaseRichBolt {
        private OutputCollector collector;
        private final List<String> rows = new ArrayList<>();
        public void prepare(Map conf, TopologyContext context, OutputCollector collector) { this.collector = collector; }
        public void execute(Tuple tuple) {
            if (TupleUtils.isTick(tuple)) {
                Store.write(String.join(",", rows));
                rows.clear();
                return;
            }
            rows.add(tuple.getString(0));
            collector.ack(tuple);
        }
    }
    class Store {
        static void write(String body) throws Exception { send(body.getBytes()); }
        private static void send(byte[] body) throws Exception {
            %s
        }
    }
"""


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("java.net.URLConnection c = home.open(); c.getOutputStream().write(body);", 11),
        ("java.net.Socket s = new java.net.Socket(HOME, 80); s.getOutputStream().write(body);", 11),
        ("sizes.put(body.length, 1);", None),
    ],
)
def test_a_static_method_of_the_project_writes(body, line):
    early = java_facts(_WRAPPED % body).acks_early
    assert (early.line if early is not None else None) == line


@pytest.mark.parametrize(("call", "line"), [("STORE.rpush('rows', *rows)", 2), ("print(rows)", None)])
def test_a_function_of_the_module_writes(call, line):
    methods = """
def process(self, tup):
    self.rows.append(tup.values[0])

def process_tick(self, tup):
    save(self.rows)
    self.rows = []
"""
    head = f"import redis\nfrom pystorm.bolt import Bolt\nSTORE = redis.Redis()\n\ndef save(rows):\n    {call}\n\nclass Made(Bolt):\n    def initialize(self, c, t):\n        self.rows = []\n"
    body = "".join(f"    {each}\n" for each in methods.strip("\n").split("\n"))
    early = python_facts(head + body, "Made").acks_early
    assert (early.line - head.count("\n") if early is not None else None) == line


_DEFERRED = """
public class Made extends BaseRichBolt {
  OutputCollector collector; redis.clients.jedis.Jedis jedis; long last;
  Map<String, Long> counts = new HashMap<>(); StringBuilder lines = new StringBuilder();
  java.util.concurrent.BlockingQueue<String> queue = new java.util.concurrent.LinkedBlockingQueue<>();
  public void prepare(Map conf, TopologyContext context, OutputCollector collector) {
    this.collector = collector; jedis = new redis.clients.jedis.Jedis("r"); START
  }
  public void execute(Tuple input) {
    BODY
    collector.ack(input);
  }
  void save() { SAVE }
  public void declareOutputFields(OutputFieldsDeclarer declarer) { }
}
"""
_COUNT = "counts.merge(input.getString(0), 1L, Long::sum);"
_OLD = "System.currentTimeMillis() - last > 1000"
_TIMER = "timer.scheduleAtFixedRate(this::save, 1, 1, SECONDS);"


@pytest.mark.parametrize(
    ("start", "body", "save", "is_early"),
    [
        (_TIMER, _COUNT, "counts.forEach((word, n) -> jedis.incrBy(word, n)); counts.clear();", True),
        (_TIMER, _COUNT, "counts.forEach((word, n) -> System.out.println(word + n));", False),
        (
            "",
            f"{_COUNT} if ({_OLD}) {{ counts.forEach((w, n) -> jedis.incrBy(w, n)); counts.clear(); }}",
            "",
            True,
        ),
        ("", f"{_COUNT} counts.forEach((w, n) -> jedis.set(w, n.toString()));", "", False),
        (
            _TIMER,
            "queue.offer(input.getString(0));",
            "List<String> all = new ArrayList<>(); queue.drainTo(all); for (String each : all) jedis.incr(each);",
            True,
        ),
        (_TIMER, "queue.offer(input.getString(0));", "queue.drainTo(new ArrayList<String>());", False),
        (
            "",
            "lines.append(input.getString(0)); "
            "if (lines.length() > 4096) { jedis.rpush(KEY, lines.toString()); lines.setLength(0); }",
            "",
            True,
        ),
        (
            "",
            "lines.setLength(0); lines.append(input.getString(0)); jedis.rpush(KEY, lines.toString());",
            "",
            False,
        ),
    ],
)
def test_a_java_bolt_that_sends_later_by_a_lambda_a_queue_or_a_text(start, body, save, is_early):
    source = _DEFERRED.replace("START", start).replace("BODY", body).replace("SAVE", save)
    found = java_facts(source).acks_early
    assert (found is not None and found.line == 9) is is_early


@pytest.mark.parametrize(
    ("made", "flush", "is_early"),
    [
        (
            "io.StringIO()",
            "if self.text.tell() > 4096:\n    self.send()\n    self.text = io.StringIO()",
            True,
        ),
        ("io.StringIO()", "self.send()\nself.text = io.StringIO()", False),
        ("io.StringIO()", "if self.text.tell() > 4096:\n    self.text = io.StringIO()", False),
        ("Socket()", "if self.text.tell() > 4096:\n    self.send()\n    self.text = Socket()", False),
    ],
)
def test_a_text_in_memory_that_is_sent_when_it_is_long(made, flush, is_early):
    lines = flush.replace("\n", "\n        ")
    found = python_facts(f"""
import io
import boto3
from streamparse import Bolt

class Lines(Bolt):
    outputs = []

    def initialize(self, conf, ctx):
        self.s3 = boto3.client("s3")
        self.text = {made}

    def process(self, tup):
        self.text.write(tup.values[0])
        {lines}

    def send(self):
        self.s3.put_object(Bucket="lines", Key="x", Body=self.text.getvalue())
""").acks_early
    assert (found is not None and found.line == 13) is is_early

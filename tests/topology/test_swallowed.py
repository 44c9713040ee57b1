"""Which exception handlers drop a record: those that only log, around work on the tuple, before an ack."""

import pytest

from tests.topology.component_sources import java_facts, python_facts

_BOLT = """
import json, requests
from pystorm.bolt import Bolt

class Made(Bolt):
    auto_ack = {auto}

    def process(self, tup):
{body}
"""


def _lines(body: str, *, auto: bool = True) -> list[tuple[int, bool]]:
    """Line of the body and certainty of each swallowed failure."""
    text = "".join(f"        {line}\n" for line in body.strip("\n").split("\n"))
    facts = python_facts(_BOLT.format(auto=auto, body=text))
    return [(fault.place.line - 7, fault.must) for fault in facts.faults if fault.code == "ACK102"]


@pytest.mark.parametrize(
    "handler",
    ["except Exception:", "except:", "except requests.RequestException as error:"],
)
def test_a_handler_that_only_logs(handler):
    body = f"""
try:
    record = self.decode(tup.values[0])
    self.emit([record])
{handler}
    self.logger.exception("dropped")
"""
    assert [line for line, _ in _lines(body)] == [4]


def test_a_record_that_cannot_be_parsed():
    body = """
try:
    record = json.loads(tup.values[0])
except Exception:
    self.logger.info("no JSON")
else:
    self.count(record)
"""
    assert _lines(body) == [(3, False)]


@pytest.mark.parametrize(
    "reaction",
    ["raise", "self.fail(tup)", "self.emit([tup.values], stream='errors')", "self.retry(tup)"],
)
def test_a_handler_that_reacts(reaction):
    assert _lines(f"try:\n    self.store(tup.values)\nexcept Exception:\n    {reaction}") == []


def test_a_narrow_handler_is_a_filter():
    assert _lines("try:\n    self.store(int(tup.values[0]))\nexcept ValueError:\n    return") == []


def test_the_record_goes_on_without_the_part_that_failed():
    body = """
place = None
try:
    place = self.locate(tup.values[0])
except Exception:
    self.logger.info("nowhere")
self.emit([tup.values[0], place])
"""
    assert _lines(body) == []


def test_a_tuple_that_stays_unacked_is_no_drop():
    body = """
try:
    self.store(tup.values)
    self.ack(tup)
except Exception:
    self.logger.info("it times out")
"""
    assert _lines(body, auto=False) == []
    assert [
        line for line, _ in _lines(body.replace("    self.ack(tup)\n", "") + "self.ack(tup)", auto=False)
    ] == [3]


def test_a_java_handler_of_a_client_error():
    source = """
    public class Made extends BaseBasicBolt {
      private org.elastic.Writer writer;
      public void execute(Tuple input, BasicOutputCollector collector) {
        try {
          writer.next();
          writer.flush();
        } catch (java.io.IOException e) {
          e.printStackTrace();
        }
      }
      public void declareOutputFields(OutputFieldsDeclarer declarer) { }
    }
    """
    [fault] = [each for each in java_facts(source).faults if each.code == "ACK102"]
    assert (fault.place.line, fault.must) == (7, False)


_ASYNC_BOLT = """
public class Made extends BaseRichBolt {{
  private OutputCollector out; private Client client;
  public void prepare(Map c, TopologyContext t, OutputCollector o) {{ out = o; client = new Client(); }}
  public void execute(final Tuple input) {{
    {body}
  }}
  public void declareOutputFields(OutputFieldsDeclarer d) {{ }}
}}
"""


def _acked_failures(body: str) -> list[tuple[int, bool]]:
    """Line of the body and certainty of each failure that a callback acks."""
    facts = java_facts(_ASYNC_BOLT.format(body=body.strip("\n")))
    return [(fault.place.line - 4, fault.must) for fault in facts.faults if fault.code == "ACK102"]


_LISTENER = """
client.store(input.getString(0), new Listener() {{
  public void onResponse(Response r) {{ out.ack(input); }}
  public void onFailure(Exception e) {{
    {reaction}
  }}
}});
"""


@pytest.mark.parametrize("reaction", ["out.ack(input);", "log.warn(e.toString()); out.ack(input);"])
def test_a_callback_for_failures_that_acks(reaction):
    assert _acked_failures(_LISTENER.format(reaction=reaction)) == [(4, True)]


@pytest.mark.parametrize(
    "reaction", ["out.fail(input);", "out.emit(input, new Values(e)); out.ack(input);", "log.warn(e);"]
)
def test_a_callback_for_failures_that_reacts(reaction):
    assert _acked_failures(_LISTENER.format(reaction=reaction)) == []


@pytest.mark.parametrize(
    ("callback", "lines"),
    [
        ("(done, error) -> out.ack(input)", [1]),
        ("(done, error) -> { if (error != null) { log.warn(error); } out.ack(input); }", [1]),
        ("(done, error) -> { if (error == null) out.ack(input); else out.fail(input); }", []),
        ("(done, error) -> { if (error != null) { out.fail(input); return; } out.ack(input); }", []),
    ],
)
def test_a_callback_for_both_outcomes(callback, lines):
    body = f"client.put(input.getString(0)).whenComplete({callback});"
    assert [line for line, _ in _acked_failures(body)] == lines


@pytest.mark.parametrize(
    ("task", "lines"),
    [
        ("try { client.put(input); } finally { out.ack(input); }", [1]),
        ("try { client.put(input); } finally { client.end(); } out.ack(input);", []),
        (
            "try { client.put(input); out.ack(input); } catch (Exception e) { out.fail(input); } finally { n++; }",
            [],
        ),
    ],
)
def test_a_task_on_another_thread_that_acks_in_finally(task, lines):
    assert [line for line, _ in _acked_failures(f"pool.execute(() -> {{ {task} }});")] == lines


@pytest.mark.parametrize(
    ("steps", "lines"),
    [("self.ack(tup)", [3]), ("done.result()\n    self.ack(tup)", [])],
)
def test_a_done_callback_that_does_not_ask_for_the_result(steps, lines):
    body = f"""
def stored(done):
    {steps}
self.pool.submit(self.store, tup.values).add_done_callback(stored)
"""
    assert [line for line, _ in _lines(body, auto=False)] == [line - 1 for line in lines]


@pytest.mark.parametrize(("handler", "count"), [("log.error(order, e);", 1), ("throw new Bad(e);", 0)])
def test_a_class_of_the_project_that_hides_errors_of_its_client(handler: str, count: int) -> None:
    found = java_facts(
        f"""
        import java.sql.*;
        public class Made extends BaseRichBolt {{
            private OutputCollector collector;
            private Orders orders;
            public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {{
                this.collector = collector;
                this.orders = new Orders();
            }}
            public void execute(Tuple tuple) {{
                orders.save(tuple.getString(0));
                collector.ack(tuple);
            }}
            public void declareOutputFields(OutputFieldsDeclarer declarer) {{ }}
        }}
        class Orders {{
            void save(String order) {{
                try (PreparedStatement insert = DriverManager.getConnection("orders").prepareStatement("insert")) {{
                    insert.setString(1, order);
                    insert.executeUpdate();
                }} catch (SQLException e) {{
                    {handler}
                }}
            }}
        }}
        """
    ).faults
    assert [each.after_catch for each in found if each.code == "ACK102"] == [True] * count


_TRY = """
try {{ post(input.getString(0)); {then} }} catch (java.io.IOException e) {{ log.warn("again", e); {caught} }}
"""
_RETRYING_BOLT = """
public class Made extends BaseRichBolt {{
  private OutputCollector out; private String url;
  public void prepare(Map c, TopologyContext t, OutputCollector o) {{ out = o; }}
  public void execute(Tuple input) {{
    {body}
  }}
  private void post(String body) throws java.io.IOException {{
    java.net.HttpURLConnection c = (java.net.HttpURLConnection) new java.net.URL(url).openConnection();
    c.getOutputStream().write(body.getBytes());
  }}
  public void declareOutputFields(OutputFieldsDeclarer d) {{ }}
}}
"""


def _hidden_failures(around: str, then: str, caught: str) -> list[tuple[int, bool]]:
    """Line and certainty of each failure that a bolt hides, whose `try` has this code around it."""
    body = around.format(_TRY.format(then=then, caught=caught).strip())
    facts = java_facts(_RETRYING_BOLT.format(body=body))
    return [(fault.place.line, fault.must) for fault in facts.faults if fault.code == "ACK102"]


@pytest.mark.parametrize(
    ("around", "then", "caught"),
    [
        ("{} out.ack(input);", "", ""),
        ("for (int i = 0; i < 3; i++) {{ {} }} out.ack(input);", "break;", ""),
        ("int n = 0; while (n < 3) {{ {} }} out.ack(input);", "break;", "n++;"),
        ("boolean ok = false; {} if (!ok) log.warn(1); out.ack(input);", "ok = true;", ""),
        (
            "boolean ok = false; int n = 0; while (!ok && n < 3) {{ {} }} out.ack(input);",
            "ok = true;",
            "n++;",
        ),
    ],
)
def test_a_failed_write_that_is_acked(around, then, caught):
    assert _hidden_failures(around, then, caught) == [(5, True)]


@pytest.mark.parametrize(
    ("around", "then", "caught"),
    [
        ("for (int i = 0; i < 3; i++) {{ {} }} out.fail(input);", "out.ack(input); return;", ""),
        ("while (true) {{ {} }} out.ack(input);", "break;", ""),
        ("boolean ok = false; while (!ok) {{ {} }} out.ack(input);", "ok = true;", ""),
        (
            "int n = 0; while (n < 3) {{ {} }} if (n < 3) out.ack(input); else out.fail(input);",
            "break;",
            "n++;",
        ),
        ("boolean ok = false; {} if (ok) out.ack(input); else out.fail(input);", "ok = true;", ""),
        (
            "boolean ok = false; for (int i = 0; i < 3 && !ok; i++) {{ {} }} if (!ok) {{ out.fail(input); return; }} "
            "out.ack(input);",
            "ok = true;",
            "",
        ),
    ],
)
def test_a_failed_write_that_is_tried_again_or_failed(around, then, caught):
    assert _hidden_failures(around, then, caught) == []


@pytest.mark.parametrize(
    ("body", "auto", "count"),
    [
        ("if self.save(tup.values):\n    log.debug('stored')", True, 1),
        ("ok = self.save(tup.values)\nif not ok:\n    log.error('lost')\nself.ack(tup)", False, 1),
        ("if self.save(tup.values):\n    self.ack(tup)\nelse:\n    self.fail(tup)", False, 0),
        ("if not self.save(tup.values):\n    raise ValueError(tup)", True, 0),
        ("self.results.append(self.save(tup.values))\nself.ack(tup)", False, 0),
    ],
)
def test_the_result_of_a_helper_that_says_whether_it_worked(body, auto, count):
    text = "".join(f"        {line}\n" for line in body.split("\n"))
    facts = python_facts(
        f"""
import logging, pymongo
from pystorm.bolt import Bolt
log = logging.getLogger(__name__)

class Made(Bolt):
    auto_ack = {auto}

    def initialize(self, conf, context):
        self.rows = pymongo.MongoClient(conf["url"]).shop.rows

    def save(self, row):
        try:
            self.rows.insert_one(row)
            return True
        except pymongo.errors.PyMongoError:
            log.exception("not stored")
            return False

    def process(self, tup):
{text}"""
    )
    assert [each.must for each in facts.faults if each.code == "ACK102"] == [True] * count


@pytest.mark.parametrize(
    ("caught", "lines"),
    [("throw new FailedException(e);", []), ("log.warn(1, e);", [6])],
)
def test_a_resource_whose_close_fails(caught, lines):
    source = f"""
    public class Made extends BaseBasicBolt {{
      private javax.sql.DataSource db;
      public void execute(Tuple input, BasicOutputCollector collector) {{
        java.sql.Connection c = null;
        try {{ c = db.getConnection(); c.prepareStatement(input.getString(0)).executeUpdate(); }}
        catch (java.sql.SQLException e) {{ {caught} }}
        finally {{ try {{ c.close(); }} catch (java.sql.SQLException e) {{ log.warn(2, e); }} }}
      }}
      public void declareOutputFields(OutputFieldsDeclarer declarer) {{ }}
    }}
    """
    found = java_facts(source).faults
    assert [each.place.line for each in found if each.code == "ACK102"] == lines


def test_a_handler_of_other_errors_that_acks():
    source = """
    public class Made extends BaseRichBolt {
      private OutputCollector out; private javax.sql.DataSource db;
      public void prepare(Map c, TopologyContext t, OutputCollector o) { out = o; }
      public void execute(Tuple input) {
        try { db.getConnection().prepareStatement(input.getString(0)).executeUpdate(); out.ack(input); }
        catch (java.sql.SQLException e) { log.warn(1, e); }
        catch (IllegalArgumentException e) { log.warn(2, e); out.ack(input); }
      }
      public void declareOutputFields(OutputFieldsDeclarer declarer) { }
    }
    """
    assert [each for each in java_facts(source).faults if each.code == "ACK102"] == []

"""Reduced logs of public incidents, with the expected diagnosis.

An incident is its file's name, its text, and what is expected: the symptoms in their order, the components, the first frame
that is shown, and words of the next step.
"""

from typing import NamedTuple

__all__ = ["GC", "INCIDENTS", "Incident"]


class Incident(NamedTuple):
    """One log, and what it is."""

    source: str
    name: str
    text: str
    symptoms: list[str]
    components: list[str]
    frame: str
    step: str


LOOP = "2016-12-01 13:21:10.741 o.a.s.util Thread-24-{0}-executor[5 5] [ERROR] Async loop died!\n"
DIED = '2016-12-01 13:21:10.790 o.a.s.util Thread-24-{0}-executor[5 5] [ERROR] Halting process: ("Worker died")\njava.lang.RuntimeException: ("Worker died")\n\tat org.apache.storm.util$exit_process_BANG_.doInvoke(util.clj:341) [storm-core-1.2.1.jar:1.2.1]\n'
QUEUE = "\tat org.apache.storm.utils.DisruptorQueue.consumeBatchToCursor(DisruptorQueue.java:522) ~[storm-core-1.2.1.jar:1.2.1]\n\tat java.lang.Thread.run(Thread.java:745) [?:1.8.0_202]\n"

RABBIT = """2026-03-02 10:00:01,123 ERROR consumer Unhandled
Traceback (most recent call last):
  File "/srv/app/consumer.py", line 41, in on_message
    ch.basic_ack(delivery_tag=method.delivery_tag)
  File "/srv/venv/lib/python3.11/site-packages/pika/adapters/blocking_connection.py", line 2119, in basic_ack
    self._flush_output()
pika.exceptions.ChannelClosedByBroker: (406, "PRECONDITION_FAILED - unknown delivery tag 7")
"""
LATE = RABBIT.replace(
    "unknown delivery tag 7",
    "delivery acknowledgement on channel 4 timed out. Timeout value used: 1800000 ms.",
)
GC = "[2026-03-02T10:00:0{0}.114+0000][360{0}.1s][info][gc] GC(1{0}) {1} 61{0}.212ms\n"
NATS = """2026-03-02 10:00:01,123 ERROR consumer Unhandled
Traceback (most recent call last):
  File "/app/orders.py", line 17, in handle
    await msg.ack()
  File "/srv/venv/lib/python3.11/site-packages/nats/aio/msg.py", line 109, in ack
    self._check_reply()
nats.errors.MsgAlreadyAckdError: nats: message was already acknowledged: orders.1
"""
STATS = (
    LOOP.format("batch")
    + "java.lang.RuntimeException: java.lang.NullPointerException\n"
    + QUEUE
    + """Caused by: java.lang.NullPointerException
\tat org.apache.storm.stats$emitted_tuple_BANG_.invoke(stats.clj:123) ~[storm-core-1.2.1.jar:1.2.1]
\tat org.apache.storm.daemon.task$mk_tasks_fn$fn__4655.invoke(task.clj:165) ~[storm-core-1.2.1.jar:1.2.1]
\tat org.apache.storm.daemon.executor$fn__5043$fn__5056$bolt_emit__5070.invoke(executor.clj:806) ~[storm-core-1.2.1.jar:1.2.1]
\tat org.apache.storm.daemon.executor$fn__5043$fn$reify__5072.ack(executor.clj:833) ~[storm-core-1.2.1.jar:1.2.1]
\tat org.apache.storm.task.OutputCollector.ack(OutputCollector.java:214) ~[storm-core-1.2.1.jar:1.2.1]
\tat com.acme.BatchBolt.flush(BatchBolt.java:88) ~[stormjar.jar:?]
\tat com.acme.BatchBolt.execute(BatchBolt.java:61) ~[stormjar.jar:?]
\tat org.apache.storm.daemon.executor$fn__5043$tuple_action_fn__5045.invoke(executor.clj:739) ~[storm-core-1.2.1.jar:1.2.1]
\t... 6 more
"""
    + DIED.format("batch")
)
FOREIGN = """2014-08-12 09:00:01 c.a.FlushBolt [ERROR] flush
java.lang.NullPointerException: null
\tat backtype.storm.utils.DisruptorQueue.publish(DisruptorQueue.java:136) ~[storm-core-0.9.2.jar:0.9.2]
\tat backtype.storm.daemon.executor$mk_executor_transfer_fn$fn__3343.invoke(executor.clj:176) ~[storm-core-0.9.2.jar:0.9.2]
\tat backtype.storm.daemon.executor$fn__3441$fn__3453$fn__3500$fn$reify__3543.ack(executor.clj:710) ~[storm-core-0.9.2.jar:0.9.2]
\tat backtype.storm.task.OutputCollector.ack(OutputCollector.java:213) ~[storm-core-0.9.2.jar:0.9.2]
\tat com.acme.FlushBolt$1.run(FlushBolt.java:55) ~[stormjar.jar:na]
\tat java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:1145) [na:1.7.0_67]
\tat java.lang.Thread.run(Thread.java:745) [na:1.7.0_67]
"""
HERON = """[2018-11-08 22:43:49 +0800] [INFO] com.twitter.heron.instance.HeronInstance: Starting instance container_2_store_9 for topology T and topologyId T1 for component store with taskId 9 and componentIndex 0 and stmgrId stmgr-2
[2018-11-09 00:13:28 +0900] [SEVERE] monitor: Exception propagated to the root monitor!
java.lang.NullPointerException
\tat com.twitter.heron.common.utils.metrics.FullBoltMetrics.ackedTuple(FullBoltMetrics.java:127)
\tat com.twitter.heron.instance.bolt.BoltOutputCollectorImpl.admitAckTuple(BoltOutputCollectorImpl.java:159)
\tat com.twitter.heron.instance.bolt.BoltOutputCollectorImpl.ack(BoltOutputCollectorImpl.java:91)
\tat com.twitter.heron.api.bolt.OutputCollector.ack(OutputCollector.java:234)
\tat org.apache.storm.task.OutputCollectorImpl.ack(OutputCollectorImpl.java:76)
\tat com.acme.StoreBolt$Done.onSuccess(StoreBolt.java:77)
"""
JSTORM = """[INFO 2016-11-28 15:55:20 c.a.j.t.Task:210 main] Successfully create executor
[ERROR 2016-11-28 15:55:26 c.a.j.t.e.BoltExecutors:270 parse:7-BoltExecutors] bolt execute error
java.lang.IllegalStateException: no such user
\tat com.acme.ParseBolt.lookup(ParseBolt.java:31)
\tat com.acme.ParseBolt.execute(ParseBolt.java:19)
\tat com.alibaba.jstorm.task.execute.BoltExecutors.processTupleEvent(BoltExecutors.java:262)
[ERROR 2016-11-28 15:55:26 c.a.j.t.e.TaskReportError:44 parse:7-BoltExecutors] Report error to /ZK/taskerrors/T-1-1480319720/7
java.lang.IllegalStateException: no such user
\tat com.acme.ParseBolt.lookup(ParseBolt.java:31)
\tat com.acme.ParseBolt.execute(ParseBolt.java:19)
\tat com.alibaba.jstorm.task.execute.BoltExecutors.processTupleEvent(BoltExecutors.java:262)
"""
JMS = (
    LOOP.format("inbound")
    + "java.lang.RuntimeException: java.util.NoSuchElementException\n"
    + QUEUE
    + "Caused by: java.util.NoSuchElementException\n\tat java.util.TreeMap.key(TreeMap.java:1327) ~[?:1.8.0_112]\n\tat java.util.TreeSet.first(TreeSet.java:394) ~[?:1.8.0_112]\n\tat org.apache.storm.jms.spout.JmsSpout.ack(JmsSpout.java:258) ~[stormjar.jar:?]\n\tat org.apache.storm.daemon.executor$ack_spout_msg.invoke(executor.clj:446) ~[storm-core-1.1.0.jar:1.1.0]\n\t... 7 more\n"
)
COMMIT = (
    LOOP.format("kafka")
    + "org.apache.kafka.clients.consumer.CommitFailedException: Commit cannot be completed since the group has already rebalanced and assigned the partitions to another member.\n\tat org.apache.kafka.clients.consumer.internals.ConsumerCoordinator.sendOffsetCommitRequest(ConsumerCoordinator.java:698) ~[stormjar.jar:?]\n\tat org.apache.storm.kafka.spout.KafkaSpout.commitOffsetsForAckedTuples(KafkaSpout.java:384) ~[stormjar.jar:3.0.2]\n\tat org.apache.storm.kafka.spout.KafkaSpout.nextTuple(KafkaSpout.java:219) ~[stormjar.jar:3.0.2]\n"
    + DIED.format("kafka")
)
OWN_SPOUT = (
    LOOP.format("orders")
    + "java.lang.RuntimeException: java.lang.IllegalStateException: id 7 is not pending\n"
    + QUEUE
    + "Caused by: java.lang.IllegalStateException: id 7 is not pending\n\tat com.acme.OrderSpout.ack(OrderSpout.java:70) ~[stormjar.jar:?]\n\tat org.apache.storm.daemon.executor$ack_spout_msg.invoke(executor.clj:446) ~[storm-core-1.1.0.jar:1.1.0]\n"
)
OOM = "2026-01-05 10:00:00.000 o.a.s.util Thread-8-index-executor[3 3] [ERROR] Async loop died!\njava.lang.OutOfMemoryError: {0}\n"
TRIDENT = (
    LOOP.format("b-0")
    + "java.lang.RuntimeException: java.lang.IllegalArgumentException: no user\n"
    + QUEUE
    + "Caused by: java.lang.IllegalArgumentException: no user\n\tat com.acme.Enrich.execute(Enrich.java:22) ~[stormjar.jar:?]\n\tat org.apache.storm.trident.planner.processor.EachProcessor.execute(EachProcessor.java:65) ~[storm-core-1.2.1.jar:1.2.1]\n\tat org.apache.storm.trident.topology.TridentBoltExecutor.execute(TridentBoltExecutor.java:391) ~[storm-core-1.2.1.jar:1.2.1]\n"
    + DIED.format("b-0")
)
PRINTED = """2026-01-05 10:00:00.000 o.a.s.t.ShellBolt Thread-31 [ERROR] Halting process: ShellBolt died. Command: [streamparse_run, bolts.count.Count], ProcessInfo pid:4711, name:count exitCode:-1, errorString:
java.lang.RuntimeException: java.io.IOException: org.json.simple.parser.ParseException: Unexpected character (h) at position 0.
\tat org.apache.storm.utils.ShellProcess.readShellMsg(ShellProcess.java:127)
Caused by: java.io.IOException: Unexpected character (h) at position 0.
\tat org.apache.storm.multilang.JsonSerializer.readMessage(JsonSerializer.java:154)
\tat org.apache.storm.multilang.JsonSerializer.readShellMsg(JsonSerializer.java:101)
"""
RAISED = """2026-01-05 10:00:00.000 o.a.s.t.ShellBolt Thread-31 [ERROR] Halting process: ShellBolt died. Command: [python3, count.py], ProcessInfo pid:4711, name:count exitCode:1, errorString:
java.lang.RuntimeException: org.apache.storm.multilang.NoOutputException: Pipe to subprocess seems to be broken! No output read.
Serializer Exception:
Traceback (most recent call last):
  File "/opt/venv/lib/python3.9/site-packages/pystorm/component.py", line 489, in run
    self._run()
  File "/srv/topology/count.py", line 9, in process
    user = tup.values[3]
  File "/opt/venv/lib/python3.9/site-packages/orm/rows.py", line 12, in get
    return row[name]
IndexError: list index out of range

\tat org.apache.storm.utils.ShellProcess.readShellMsg(ShellProcess.java:127)
\tat org.apache.storm.task.ShellBolt$BoltReaderRunnable.run(ShellBolt.java:320)
"""
CHILD = """Traceback (most recent call last):
  File "/srv/topology/timer.py", line 4, in tick
    self.emit([1])
  File "/opt/venv/lib/python3.9/site-packages/pystorm/serializers/json_serializer.py", line 50, in read_message
    msg = json.loads(msg)
json.decoder.JSONDecodeError: Extra data: line 1 column 4 (char 3)
"""
SUPERVISED = """2015-08-03 15:20:50.000 b.s.d.supervisor [INFO] Launching worker with assignment #backtype.storm.daemon.supervisor.LocalAssignment{:storm-id "T-1"} for this supervisor s1 on port 6700 with id 22528582-09ee
2015-08-03 15:25:57.626 b.s.d.supervisor [INFO] Shutting down and clearing state for id 22528582-09ee. Current supervisor time: 1438608357. State: :timed-out, Heartbeat: {:time-secs 1438608320, :port 6700}
2015-08-03 15:25:57.700 b.s.d.supervisor [INFO] Shutting down s1:22528582-09ee
2015-08-03 15:25:58.900 b.s.d.supervisor [INFO] Worker Process 22528582-09ee exited with code: 137
"""
EXITED = """2026-02-03 04:05:06.789 o.a.s.d.s.BasicContainer Thread-1200 [INFO] Worker Process 0b3f3c3a-77aa exited with code: {0}
2026-02-03 04:05:07.001 o.a.s.d.s.Slot SLOT_6702 [WARN] SLOT 6702: main process has exited for topology: T-1-177
"""
CASCADE = (
    LOOP.format("a")
    + "java.lang.RuntimeException: java.lang.RuntimeException: Client is being closed, and does not take requests any more\n"
    + QUEUE
)
FLUSH = """2015-09-17 15:03:22 b.s.m.n.StormClientHandler [INFO] Connection failed Netty-Client-/10.244.114.24:6703
java.lang.NullPointerException
\tat backtype.storm.messaging.netty.Client.flushMessages(Client.java:320) ~[storm-core-0.9.5.jar:0.9.5]
\tat backtype.storm.messaging.netty.Client.notifyInterestChanged(Client.java:455) ~[storm-core-0.9.5.jar:0.9.5]
"""
UNKNOWN = (
    LOOP.format("parse")
    + "java.lang.RuntimeException: com.acme.NoSuchUser: 7\n"
    + QUEUE
    + "Caused by: com.acme.NoSuchUser: 7\n\tat java.util.Optional.orElseThrow(Optional.java:290) ~[?:1.8.0]\n\tat com.acme.ParseBolt.execute(ParseBolt.java:40) ~[stormjar.jar:?]\n\t... 6 more\n"
    + DIED.format("parse")
)

OFF_THREAD = "the collector used by several threads"
WRAPPED = LOOP.format("tags") + "java.lang.RuntimeException: {0}\n" + QUEUE
IN_KRYO = """Caused by: com.esotericsoftware.kryo.KryoException: java.util.ConcurrentModificationException
Serialization trace:
tags (com.acme.Event)
\tat com.esotericsoftware.kryo.serializers.ObjectField.write(ObjectField.java:101) ~[kryo-3.0.3.jar:?]
\tat org.apache.storm.serialization.KryoTupleSerializer.serialize(KryoTupleSerializer.java:40) ~[storm-core-1.1.0.jar:1.1.0]
\t... 6 more
Caused by: java.util.ConcurrentModificationException
\tat java.util.HashMap$HashIterator.nextNode(HashMap.java:1445) ~[?:1.8.0_181]
\t... 12 more
"""
IN_BOLT = """Caused by: {0}
\tat com.acme.TagBolt.flush(TagBolt.java:120) ~[stormjar.jar:?]
\tat com.acme.TagBolt.execute(TagBolt.java:60) ~[stormjar.jar:?]
\t... 6 more
"""
CALLBACK = """2026-03-05 03:14:55.410 o.a.s.s.ShellSpout Thread-33-feed-executor[2, 2] [ERROR] Halting process: ShellSpout died. Command: [streamparse_run, feed.Feed], ProcessInfo pid:7, name:feed exitCode:1, errorString: Traceback (most recent call last):
  File "/opt/venv/lib/python3.9/site-packages/pystorm/spout.py", line 142, in _run
    self.ack(cmd["id"])
  File "/srv/topology/feed.py", line 27, in ack
    self.waiting.pop(tup_id)
KeyError: '1001'

java.lang.RuntimeException: org.apache.storm.multilang.NoOutputException: Pipe to subprocess seems to be broken! No output read.
\tat org.apache.storm.spout.ShellSpout.querySubprocess(ShellSpout.java:174)
"""
NODE = """2026-03-05 03:14:55.410 o.a.s.t.ShellBolt Thread-33 [ERROR] Halting process: ShellBolt died. Command: [node, route.js], ProcessInfo pid:7, name:route exitCode:1, errorString:
/srv/topology/route.js:14
TypeError: Cannot read property 'id' of undefined
    at RouteBolt.process (/srv/topology/route.js:14:32)
java.lang.RuntimeException: org.apache.storm.multilang.NoOutputException: Pipe to subprocess seems to be broken! No output read.
\tat org.apache.storm.utils.ShellProcess.readShellMsg(ShellProcess.java:127)
"""
INCIDENTS = [
    Incident("storm#6815", "worker.log", STATS, [OFF_THREAD], ["batch"], "at com.acme.BatchBolt.flush(BatchBolt.java:88)", "ACK108"),
    Incident("a pool's thread", "worker.log", FOREIGN, [OFF_THREAD], [], "at com.acme.FlushBolt$1.run(FlushBolt.java:55)", "ACK108"),
    Incident("heron#3104", "container_2_store_9.log.0", HERON, [OFF_THREAD], ["store"], "at com.acme.StoreBolt$Done.onSuccess(StoreBolt.java:77)", "ACK108"),
    Incident("jstorm", "T-worker-6801.log", JSTORM, ["a dead executor"], ["parse"], "at com.acme.ParseBolt.lookup(ParseBolt.java:31)", "marked frame"),
    Incident("storm#6817", "worker.log", JMS, ["an acked message that the JMS spout does not know"], ["inbound"], "at java.util.TreeMap.key(TreeMap.java:1327)", "upgrade storm-jms"),
    Incident("storm#6276", "worker.log", COMMIT, ["the consumer group has rebalanced"], ["kafka"], "at org.apache.kafka.clients.consumer.internals.ConsumerCoordinator.sendOffsetCommitRequest(ConsumerCoordinator.java:698)", "max.poll.records"),
    Incident("a spout's own ack", "worker.log", OWN_SPOUT, ["a spout's own ack or fail raises"], ["orders"], "at com.acme.OrderSpout.ack(OrderSpout.java:70)", "unknown id is not an error"),
    Incident("heap", "worker.log", OOM.format("Java heap space") + "\tat java.util.Arrays.copyOf(Arrays.java:1)\n\tat com.acme.Index.execute(Index.java:7)\n", ["out of memory"], ["index"], "at com.acme.Index.execute(Index.java:7)", "heap dump"),
    Incident("heap of nimbus", "nimbus.log", "2026-01-05 10:00:00.000 o.a.s.d.n.Nimbus timer [ERROR] Error\njava.lang.OutOfMemoryError: GC overhead limit exceeded\n\tat java.util.HashMap.resize(HashMap.java:7)\n", ["a daemon is out of memory"], [], "at java.util.HashMap.resize(HashMap.java:7)", "nimbus.childopts"),
    Incident("classes", "worker.log", OOM.format("Metaspace"), ["no memory for classes"], ["index"], "", "MaxMetaspaceSize"),
    Incident("classes, Java 7", "worker.log", OOM.format("PermGen space"), ["no memory for classes"], ["index"], "", "MaxMetaspaceSize"),
    Incident("threads", "worker.log", OOM.format("unable to create new native thread"), ["no more threads"], ["index"], "", "ulimit -u"),
    Incident("threads, Java 9", "worker.log", OOM.format("unable to create native thread: possibly out of memory or process/resource limits reached"), ["no more threads"], ["index"], "", "jstack"),
    Incident("direct memory, Java 17", "worker.log", OOM.format("Cannot reserve 65536 bytes of direct buffer memory (allocated: 1, limit: 2)"), ["direct memory is full"], ["index"], "", "max.spout.pending"),
    Incident("Trident's function", "worker.log", TRIDENT, ["an exception in a Trident function or state"], ["b-0"], "at com.acme.Enrich.execute(Enrich.java:22)", "marked frame"),
    Incident("Trident's state", "worker.log", LOOP.format("b-1") + "java.lang.RuntimeException: Current batch (1) is behind state's batch: OpaqueValue[7]\n\tat org.apache.storm.trident.state.OpaqueValue.update(OpaqueValue.java:39)\n", ["Trident's state is ahead of the batch"], ["b-1"], "at org.apache.storm.trident.state.OpaqueValue.update(OpaqueValue.java:39)", "empty table"),
    Incident("storm#2064", "worker.log", LOOP.format("$spoutcoord-spout0") + "java.lang.RuntimeException: org.apache.zookeeper.KeeperException$NodeExistsException: KeeperErrorCode = NodeExists for /user/1\n\tat org.apache.storm.trident.topology.state.TransactionalState.setData(TransactionalState.java:123)\n", ["Trident's transactions in ZooKeeper"], ["$spoutcoord-spout0"], "at org.apache.storm.trident.topology.state.TransactionalState.setData(TransactionalState.java:123)", "upgrade to 1.0.4"),
    Incident("sparse#432", "worker.log", PRINTED, ["foreign words on the pipe"], ["count"], "at org.apache.storm.multilang.JsonSerializer.readMessage(JsonSerializer.java:154)", "ACK206"),
    Incident("Python raised", "worker.log", RAISED, ["an exception of the component's own"], ["count"], 'File "/srv/topology/count.py", line 9, in process', "marked frame"),
    Incident("a delivery acked twice", "consumer.log", RABBIT, ["a RabbitMQ delivery acked twice"], [], 'File "/srv/app/consumer.py", line 41, in on_message', "ack each delivery once"),
    Incident("a delivery acked too late", "consumer.log", LATE, ["a RabbitMQ delivery acked too late"], [], 'File "/srv/app/consumer.py", line 41, in on_message', "ack or reject on every path"),
    Incident("a full heap in a GC log", "gc.log.0", "".join(GC.format(at, "Pause Full (G1 Compaction Pause) 4081M->4079M(4096M)") for at in range(3)), ["full garbage collections"], [], "", "heap hist"),
    Incident("a message acked twice", "consumer.log", NATS, ["a message that its client calls acked already"], [], 'File "/app/orders.py", line 17, in handle', "look for the other ack"),
    Incident("sparse#239", "count.log", CHILD, ["a component that reads no message"], [], 'File "/srv/topology/timer.py", line 4, in tick', "ACK108"),
    Incident("a supervisor kills", "supervisor.log", SUPERVISED, ["a worker without heartbeats"], [], "", "GC log"),
    Incident("killed", "supervisor.log", EXITED.format(137), ["a worker killed by SIGKILL"], [], "", "dmesg"),
    Incident("exit code 20", "supervisor.log", EXITED.format(20), ["a worker that Storm itself ended"], [], "", "WORKER.log"),
    Incident("exit code 1", "supervisor.log", EXITED.format(1), ["a worker that died"], [], "", "WORKER.log"),
    Incident("ShellBolt's exit code", "supervisor.log", EXITED.format(11), ["a worker ended by ShellBolt"], [], "", "WORKER.log"),
    Incident("storm#4246", "worker.log", CASCADE, ["a worker that dies because another one did"], ["a"], "at org.apache.storm.utils.DisruptorQueue.consumeBatchToCursor(DisruptorQueue.java:522)", "all workers"),
    Incident("storm#745", "worker.log", FLUSH, ["a defect of Storm's Netty client"], [], "at backtype.storm.messaging.netty.Client.flushMessages(Client.java:320)", "0.9.6"),
    Incident("a map that is emitted", "worker.log", WRAPPED.format("com.esotericsoftware.kryo.KryoException: java.util.ConcurrentModificationException") + IN_KRYO, ["a value changed after its emit"], ["tags"], "at java.util.HashMap$HashIterator.nextNode(HashMap.java:1445)", "emit a copy"),
    Incident("a map in the bolt", "worker.log", WRAPPED.format("java.util.ConcurrentModificationException") + IN_BOLT.format("java.util.ConcurrentModificationException"), ["a dead executor"], ["tags"], "at com.acme.TagBolt.flush(TagBolt.java:120)", "marked frame"),
    Incident("an index in the bolt", "worker.log", WRAPPED.format("java.lang.IndexOutOfBoundsException: Index: 4, Size: 3") + IN_BOLT.format("java.lang.IndexOutOfBoundsException: Index: 4, Size: 3"), ["a dead executor"], ["tags"], "at com.acme.TagBolt.flush(TagBolt.java:120)", "marked frame"),
    Incident("a spout in Python", "worker.log", CALLBACK, ["a spout's own ack or fail raises"], ["feed"], 'File "/srv/topology/feed.py", line 27, in ack', "id is known"),
    Incident("node", "worker.log", NODE, ["the component's pipe is broken"], ["route"], "", "oom"),
    Incident("Kafka's poll", "worker.log", "2026-03-05 04:00:55.410 o.a.k.c.c.i.ConsumerCoordinator kafka-coordinator-heartbeat-thread | orders [WARN] [Consumer clientId=c-1, groupId=orders] consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the configured max.poll.interval.ms.\n", ["the consumer group has rebalanced"], [], "", "max.poll"),
    Incident("not known", "worker.log", UNKNOWN, ["a dead executor"], ["parse"], "at com.acme.ParseBolt.execute(ParseBolt.java:40)", "marked frame"),
    Incident("no cause", "worker.log", DIED.format("x"), ["a death without its cause"], ["x"], "", "FOLDER"),
    Incident("DRPC's server", "drpc.log", "2014-03-01 10:00:00 b.s.d.drpc [WARN] Timeout DRPC request id: 3 start at 1393668000\n", ["a DRPC request that timed out"], [], "", "drpc.servers"),
    Incident("DRPC 2.x", "client.log", 'Exception in thread "main" org.apache.storm.utils.WrappedDRPCExecutionException: Request failed\n\tat org.apache.storm.daemon.drpc.DRPC.<clinit>(DRPC.java:55)\n\tat com.acme.Ask.main(Ask.java:9)\n', ["a DRPC request that failed"], [], "at com.acme.Ask.main(Ask.java:9)", "message.timeout.secs"),
    Incident("offset", "worker.log", LOOP.format("kafka") + "java.lang.RuntimeException: storm.kafka.UpdateOffsetException\n\tat storm.kafka.KafkaUtils.fetchMessages(KafkaUtils.java:190)\n", ["an offset that Kafka no longer has"], ["kafka"], "at storm.kafka.KafkaUtils.fetchMessages(KafkaUtils.java:190)", "GetOffsetShell"),
    Incident("fetch", "worker.log", LOOP.format("kafka") + "java.lang.RuntimeException: storm.kafka.FailedFetchException: Error fetching data from [Partition{host=k1:9092, partition=2}] for topic [t]: [NOT_LEADER_FOR_PARTITION]\n\tat storm.kafka.KafkaUtils.fetchMessages(KafkaUtils.java:213)\n", ["a Kafka broker that does not answer"], ["kafka"], "at storm.kafka.KafkaUtils.fetchMessages(KafkaUtils.java:213)", "kafka-topics"),
    Incident("no node", "worker.log", LOOP.format("kafka") + "java.lang.RuntimeException: java.lang.RuntimeException: org.apache.zookeeper.KeeperException$NoNodeException: KeeperErrorCode = NoNode for /brokers/topics/orders/partitions\n\tat storm.kafka.DynamicBrokersReader.getBrokerInfo(DynamicBrokersReader.java:81)\n", ["a Kafka topic that ZooKeeper does not know"], ["kafka"], "at storm.kafka.DynamicBrokersReader.getBrokerInfo(DynamicBrokersReader.java:81)", "zookeeper-shell"),
    Incident("wakeup", "worker.log", LOOP.format("kafka") + "org.apache.kafka.common.errors.WakeupException\n\tat org.apache.kafka.clients.consumer.KafkaConsumer.commitSync(KafkaConsumer.java:1059)\n\tat org.apache.storm.kafka.spout.KafkaSpout.close(KafkaSpout.java:400)\n", ["the Kafka spout is woken up while it commits"], ["kafka"], "at org.apache.kafka.clients.consumer.KafkaConsumer.commitSync(KafkaConsumer.java:1059)", "upgrade"),
    Incident("no serialisation", "client.log", 'Exception in thread "main" java.lang.RuntimeException: java.io.NotSerializableException: com.acme.Client\n\tat backtype.storm.utils.Utils.javaSerialize(Utils.java:91)\n\tat backtype.storm.topology.TopologyBuilder.createTopology(TopologyBuilder.java:106)\n', ["a component with a field that cannot be serialised"], [], "at backtype.storm.utils.Utils.javaSerialize(Utils.java:91)", "transient"),
    Incident("Kryo", "worker.log", LOOP.format("a") + "com.esotericsoftware.kryo.KryoException: Encountered unregistered class ID: 101\n\tat com.esotericsoftware.kryo.util.DefaultClassResolver.readClass(DefaultClassResolver.java:119)\n", ["a tuple that cannot be read"], ["a"], "at com.esotericsoftware.kryo.util.DefaultClassResolver.readClass(DefaultClassResolver.java:119)", "kryo.register"),
    Incident("a jar", "worker.log", LOOP.format("a") + "java.lang.NoSuchMethodError: com.google.common.base.Stopwatch.createStarted()Lcom/google/common/base/Stopwatch;\n\tat com.acme.A.execute(A.java:3)\n", ["a class or method that is missing"], ["a"], "at com.acme.A.execute(A.java:3)", "shade"),
    Incident("no space", "supervisor.log", "2026-02-03 04:05:06.789 o.a.s.d.s.Slot SLOT_6702 [ERROR] Error when processing event\njava.io.IOException: No space left on device\n\tat java.io.FileOutputStream.writeBytes(Native Method)\n", ["the disk is full"], [], "at java.io.FileOutputStream.writeBytes(Native Method)", "df -h"),
    Incident("Heron's stream manager", "heron-stmgr-1.log.FATAL", "F0302 10:05:00.123456 1234 stmgr.cpp:512] Check failed: !xor_mgrs_->anchor(_task_id, ack_tuple.roots(j).key(), ack_tuple.ackedtuple()) \n*** Check failure stack trace: ***\n", ["an emit that completes its root"], [], "", "--select ACK202"),
    Incident("Kafka's reset", "worker.log", "2026-03-02 10:00:00.101 o.a.k.c.c.i.Fetcher Thread-20-kafka-executor[9, 9] [INFO] [Consumer clientId=c-1, groupId=g] Fetch position FetchPosition{offset=1201, offsetEpoch=Optional.empty} is out of range for partition orders-0, resetting offset\n", ["an offset that Kafka no longer has"], ["kafka"], "", "GetOffsetShell"),
    Incident("an old Kafka's reset", "worker.log", "2018-03-02 10:00:00.101 o.a.k.c.c.i.Fetcher Thread-20-kafka-executor[9 9] [INFO] Fetch offset 1201 is out of range for partition orders-0, resetting offset\n", ["an offset that Kafka no longer has"], ["kafka"], "", "GetOffsetShell"),
    Incident("a full queue", "worker.log", "2026-03-02 10:00:00.101 o.a.s.d.w.WorkerState Thread-20-split-executor[9, 9] [WARN] Dropping message as overflow threshold has reached for Q = receive-queue[6, 6]. OverflowCount = 12000. Total Drop Count= 1, Dropped Message : [dest: 6 tuple: source: split:9, stream: default, id: {1=2}, [a]]\n", ["tuples dropped at a full queue"], ["split"], "", "topology.executor.overflow.limit"),
    Incident("a broken pipe in German", "worker.log", "2026-03-04 10:00:09.123 o.a.s.t.ShellBolt Thread-20 [ERROR] Halting process: ShellBolt died. Command: [python3, count.py], ProcessInfo pid:4312, name:count exitCode:-1, errorString:\njava.io.IOException: Datenübergabe unterbrochen (broken pipe)\n\tat java.io.FileOutputStream.writeBytes(Native Method)\n\tat java.io.BufferedOutputStream.flush(BufferedOutputStream.java:140)\n\tat org.apache.storm.utils.ShellProcess.writeString(ShellProcess.java:181)\n", ["a write to the component that failed"], ["count"], "at java.io.FileOutputStream.writeBytes(Native Method)", "trace proxy"),
    Incident("the kernel", "messages.log", "Mar 04 10:00:09 node7 kernel: Out of memory: Killed process 4311 (java) total-vm:9034140kB, anon-rss:4034140kB\n", ["a process that the kernel killed"], [], "", "worker.childopts"),
    Incident("two threads of Kafka's", "worker.log", LOOP.format("kafka") + "java.util.ConcurrentModificationException: KafkaConsumer is not safe for multi-threaded access\n\tat org.apache.kafka.clients.consumer.KafkaConsumer.acquire(KafkaConsumer.java:1431)\n\tat com.acme.Reader.run(Reader.java:5)\n", ["a Kafka consumer that two threads use"], ["kafka"], "at com.acme.Reader.run(Reader.java:5)", "wakeup"),
    Incident("a closed channel", "worker.log", LOOP.format("kafka") + "java.nio.channels.ClosedChannelException: null\n\tat kafka.network.BlockingChannel.send(BlockingChannel.scala:100)\n\tat storm.kafka.KafkaUtils.getOffset(KafkaUtils.java:75)\n", ["a connection to Kafka that is closed"], ["kafka"], "at kafka.network.BlockingChannel.send(BlockingChannel.scala:100)", "kafka-topics"),
    Incident("a partition of another task", "worker.log", LOOP.format("kafka") + "java.lang.IllegalStateException: No current assignment for partition t-3\n\tat org.apache.kafka.clients.consumer.internals.SubscriptionState.assignedState(SubscriptionState.java:264)\n", ["a Kafka partition that is not this task's"], ["kafka"], "at org.apache.kafka.clients.consumer.internals.SubscriptionState.assignedState(SubscriptionState.java:264)", "upgrade"),
    Incident("the worker went first", "count.log", CHILD.replace("json.decoder.JSONDecodeError: Extra data: line 1 column 4 (char 3)", "BrokenPipeError: [Errno 32] Broken pipe"), ["a component whose worker has gone"], [], 'File "/srv/topology/timer.py", line 4, in tick', "WORKER.log"),
    Incident("storm#3970", "worker.log", LOOP.format("drpc") + "java.lang.RuntimeException: org.apache.thrift7.transport.TTransportException: java.net.NoRouteToHostException: No route to host\n\tat backtype.storm.drpc.DRPCInvocationsClient.<init>(DRPCInvocationsClient.java:23)\n\tat backtype.storm.drpc.DRPCSpout.open(DRPCSpout.java:65)\n", ["a DRPC server that is down when the topology starts"], ["drpc"], "at backtype.storm.drpc.DRPCInvocationsClient.<init>(DRPCInvocationsClient.java:23)", "drpc.servers"),
    Incident("the UI", "ui.log", "2026-02-03 04:05:06.789 o.a.s.d.u.UIServer qtp1 [ERROR] x\norg.apache.storm.thrift.transport.TTransportException: java.net.ConnectException: Connection refused\n\tat org.apache.storm.utils.NimbusClient.getConfiguredClientAs(NimbusClient.java:180)\n", ["Nimbus cannot be reached"], [], "at org.apache.storm.utils.NimbusClient.getConfiguredClientAs(NimbusClient.java:180)", "nimbus.log"),
    Incident("storm#7566", "supervisor.log", "2021-07-21 02:03:45.235 o.a.s.u.Utils SLOT_6700 [ERROR] Halting process: Error when processing an event\njava.lang.RuntimeException: Halting process: Error when processing an event\n\tat org.apache.storm.utils.Utils.exitProcess(Utils.java:512)\n", ["a daemon that ended"], [], "at org.apache.storm.utils.Utils.exitProcess(Utils.java:512)", "supervision"),
    Incident("nimbus ends", "nimbus.log", "2021-07-21 02:03:45.235 o.a.s.d.n.Nimbus main [ERROR] Error on initialization of nimbus\njava.lang.IllegalStateException: no seed\n\tat org.apache.storm.daemon.nimbus.Nimbus.launch(Nimbus.java:1)\n", ["a daemon that ended"], [], "at org.apache.storm.daemon.nimbus.Nimbus.launch(Nimbus.java:1)", "supervision"),
    Incident("storm#7342", "supervisor.log", EXITED.format(139), ["a worker whose JVM crashed"], [], "", "hs_err_pid"),
    Incident("nimbus reassigns", "nimbus.log", "2016-02-02 10:00:00.000 o.a.s.d.nimbus [INFO] Executor T-1-145:[3 3] not alive\n2016-02-02 10:00:00.001 o.a.s.d.nimbus [INFO] Executor T-1-145:[5 5] not alive\n", ["executors that Nimbus holds for dead"], [], "", "supervisor.log"),
]  # fmt: skip

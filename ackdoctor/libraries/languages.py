"""The standard libraries of Python and Java, and the libraries that components use."""

import builtins
import sys

from ackdoctor.libraries.vocabulary import (
    ARRAYS,
    COLLECTION_LITERALS,
    CONTAINER_REMOVALS,
    EXECUTORS,
    SCHEDULERS,
    THREADS,
    Library,
    Wait,
)

# ---- Python ----

_REMOTE = (
    "asyncore ftplib http httplib imaplib mailbox multiprocessing nntplib poplib shelve smtplib socket sqlite3 ssl subprocess "
    "telnetlib urllib urllib2 xmlrpc xmlrpclib dbm open io.open codecs.open gzip bz2"
).split()
_STANDARD = tuple(f"{name}." for name in (*sys.stdlib_module_names, *dir(builtins)))
_LOCAL = (  # numbers, dates, collections, text
    "arrow attr attrs cachetools cachetools2 dateutil numpy pandas pytz simplejson six sortedcontainers toolz ujson "
    "msgpack orjson jmespath blist bidict boltons more_itertools lxml bs4 yaml pydantic jsonschema marshmallow avro "
    "fastavro bson dateparser phonenumbers voluptuous cerberus google.protobuf"
).split()

_MEMORY = (
    "array bisect collections copy datetime decimal fractions functools heapq itertools math operator "
    "random re statistics string time uuid"
).split()

# sources: the documentation of queue, socket and threading; pyzmq `Socket.recv`, redis-py `blpop`, confluent-kafka `poll`,
# websocket-client `recv`, pulsar `Consumer.receive`
_QUEUES = ("queue.", "Queue.", "multiprocessing.", "gevent.queue.", "eventlet.queue.")
_PYTHON_WAITS = (
    *(Wait("get", (module,)) for module in _QUEUES),
    *(Wait(name, ("socket.",), 1) for name in ("recv", "recvfrom", "recv_into")),
    Wait("accept", ("socket.",)),
    *(Wait(name, ("zmq.",)) for name in ("recv", "recv_string", "recv_json", "recv_pyobj", "recv_multipart")),
    *(Wait(name, ("redis.",), 1, (None, 0)) for name in ("blpop", "brpop", "bzpopmin", "bzpopmax")),
    Wait("poll", ("confluent_kafka.",)),
    Wait("recv", ("websocket.",)),
    Wait("receive", ("pulsar.",)),
    Wait("wait", ("threading.",)),
)

PYTHON = Library(
    standard=_STANDARD,
    local=(*_STANDARD, *(f"{name}." for name in _LOCAL)),
    remote=tuple(f"{name}." for name in _REMOTE),
    memory=tuple(f"{name}." for name in _MEMORY),
    threads=THREADS,
    schedulers=SCHEDULERS,
    waits=_PYTHON_WAITS,
    sleeps={"time.sleep": 1, "gevent.sleep": 1, "eventlet.sleep": 1},
    limits=frozenset("settimeout setblocking setdefaulttimeout setsockopt set_timeout register".split()),
    lazy=frozenset("map filter".split()),
    nonempty=frozenset("split rsplit".split()),
)

# ---- Java ----

# sources: the documentation of java.util.concurrent, java.net and JMS; jedis `blpop`, amqp-client `QueueingConsumer`,
# jeromq `ZMQ.Socket`, pulsar `Consumer`, kafka 0.8.2 `ConsumerIterator.makeNext`
_JAVA_WAITS = (
    *(Wait(name, ("java.util.concurrent.",)) for name in ("take", "takeFirst", "takeLast", "await")),
    Wait("accept", ("java.net.ServerSocket",)),
    Wait("receive", ("java.net.DatagramSocket",), 1),
    Wait("receive", ("javax.jms.", "jakarta.jms.", "org.apache.pulsar.")),
    Wait("nextDelivery", ("com.rabbitmq.",)),
    *(Wait(name, ("org.zeromq.",)) for name in ("recv", "recvStr")),
    Wait(
        "hasNext",
        ("kafka.consumer.ConsumerIterator",),
        setting="consumer.timeout.ms",
        beside="zookeeper.connect",
    ),
)

JAVA = Library(
    declared_types=True,
    standard=("java.", "javax."),
    local=(  # collections, text, dates and serialisers
        "java.",
        "javax.",
        "com.google.common.",
        "com.google.gson.",
        "com.google.protobuf.",
        "com.fasterxml.",
        "com.alibaba.fastjson.",
        "net.minidev.",
        "org.codehaus.jackson.",
        "org.json.",
        "org.jsoup.",
        "org.apache.avro.",
        "org.apache.commons.",
        "org.apache.storm.",
        "backtype.storm.",
        "it.unimi.dsi.",
    ),
    remote=(
        "java.sql.",
        "java.net.",
        "java.rmi.",
        "javax.sql.",
        "javax.jms.",
        "javax.net.",
        "java.io.BufferedWriter.",
        "java.io.FileOutputStream.",
        "java.io.FileWriter.",
        "java.io.RandomAccessFile.",
        "java.nio.channels.",
        "java.util.concurrent.CompletableFuture.",  # the failure of a task
        "java.util.concurrent.Future.",
    ),
    memory=("java.util.", "java.text.", "java.lang.", "java.time.", "java.math."),
    memory_types=frozenset(
        "Map HashMap TreeMap LinkedHashMap List ArrayList LinkedList Set HashSet TreeSet LinkedHashSet Collection "
        "Deque ArrayDeque Calendar Date SimpleDateFormat StringBuilder StringBuffer Random String".split()
    ),
    shared=("java.util.concurrent.",),
    threads=THREADS | EXECUTORS,
    executors=(
        "java.util.concurrent.",
        "java.lang.Thread",
        "com.google.common.util.concurrent.",
        "io.netty.",
        "io.vertx.",
        "akka.",
        "org.apache.curator.",
        "org.springframework.core.task.",
        "org.springframework.scheduling.",
    ),
    schedulers=SCHEDULERS
    | frozenset(
        "whenComplete thenAccept thenApply thenRun thenCompose handle exceptionally onComplete onSuccess onFailure "
        "setHandler setCallback subscribe doOnNext doOnError registerCallback search index bulk".split()
    ),
    waits=_JAVA_WAITS,
    sleeps={
        "Thread.sleep": 0.001,
        "Utils.sleep": 0.001,
        "MILLISECONDS.sleep": 0.001,
        "SECONDS.sleep": 1,
        "MINUTES.sleep": 60,
        "HOURS.sleep": 3600,
    },
    limits=frozenset("setSoTimeout setReceiveTimeOut configureBlocking".split()),
    runners=THREADS | EXECUTORS,
    literals=COLLECTION_LITERALS,
    arrays=ARRAYS,
    removals=CONTAINER_REMOVALS,
    questions=tuple("get is has to parse extract map convert format read validate".split()),
    closed_callbacks=True,
    array_arguments=True,
)

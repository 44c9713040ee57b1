"""Java's standard library, and libraries that components use."""

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

# sources: the documentation of java.util.concurrent, java.net and JMS; jedis `blpop`, amqp-client `QueueingConsumer`,
# jeromq `ZMQ.Socket`, pulsar `Consumer`
_WAITS = (
    *(Wait(name, ("java.util.concurrent.",)) for name in ("take", "takeFirst", "takeLast", "await")),
    Wait("accept", ("java.net.ServerSocket",)),
    Wait("receive", ("java.net.DatagramSocket",), 1),
    Wait("receive", ("javax.jms.", "jakarta.jms.", "org.apache.pulsar.")),
    Wait("nextDelivery", ("com.rabbitmq.",)),
    *(Wait(name, ("org.zeromq.",)) for name in ("recv", "recvStr")),
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
    waits=_WAITS,
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

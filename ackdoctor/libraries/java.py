"""Java's standard library, and libraries that components use."""

from ackdoctor.libraries.library import Library
from ackdoctor.libraries.vocabulary import (
    ARRAYS,
    COLLECTION_LITERALS,
    CONTAINER_REMOVALS,
    EXECUTORS,
    SCHEDULERS,
    THREADS,
)

JAVA = Library(
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
    remote=("java.sql.", "java.net.", "java.rmi.", "javax.sql.", "javax.jms.", "javax.net."),
    memory=("java.util.", "java.text.", "java.lang.", "java.time.", "java.math."),
    shared=("java.util.concurrent.",),
    threads=THREADS | EXECUTORS,
    schedulers=SCHEDULERS
    | frozenset(
        "whenComplete thenAccept thenApply thenRun thenCompose handle exceptionally onComplete onSuccess onFailure "
        "setHandler setCallback subscribe doOnNext doOnError registerCallback search index bulk".split()
    ),
    runners=THREADS | EXECUTORS,
    literals=COLLECTION_LITERALS,
    arrays=ARRAYS,
    removals=CONTAINER_REMOVALS,
    questions=tuple("get is has to parse extract map convert format read validate".split()),
    closed_callbacks=True,
    array_arguments=True,
)

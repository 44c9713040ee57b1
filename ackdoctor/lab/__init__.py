"""A topology in one process: the JVM's side of multilang, executors, virtual time, faults."""

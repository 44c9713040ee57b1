"""A topology in one process: the JVM's side of multilang, executors, virtual time, faults.

Begin with `bench`, one component between a spout and an acker; a whole topology is a `cluster`.
"""

"""Storm in one process: the JVM's side of multilang, executors, virtual time and fault injection.

`bench` runs one component between a spout and an acker; `cluster` runs a topology.
"""

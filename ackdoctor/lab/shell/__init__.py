"""The JVM's side of multilang, in process: ShellBolt and ShellSpout around unchanged Python components."""

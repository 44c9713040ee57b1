package org.apache.storm;

import java.util.Map;

import org.apache.storm.generated.StormTopology;

/** Keeps the topology that a main submits. */
public final class StormSubmitter {
    public static Map<String, Object> conf;
    public static StormTopology topology;

    public static void submitTopology(String name, Map<String, Object> conf, StormTopology topology) {
        StormSubmitter.conf = conf;
        StormSubmitter.topology = topology;
    }
}

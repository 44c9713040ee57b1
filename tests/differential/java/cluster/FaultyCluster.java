import java.io.File;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.ProcessSimulator;
import org.apache.storm.daemon.supervisor.Supervisor;
import org.apache.storm.daemon.worker.Worker;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.task.TopologyContext;

/**
 * A LocalCluster whose workers die with all that they hold, and start again on the same port.
 *
 * The workers talk over Netty, as in a real cluster.  A dead worker is shut down as a supervisor shuts it down; the
 * supervisor of local mode cannot start it again, so this class does, with the same call.
 */
public final class FaultyCluster implements AutoCloseable {
    private record Place(String topologyId, String workerId, int port) {}

    /** The last worker of each task, by "topology/component". */
    private static final Map<String, Map<Integer, Place>> PLACES = new ConcurrentHashMap<>();

    private static final int TRIES = 300;

    private interface Action {
        void run() throws Exception;
    }

    private static final class Processes extends ProcessSimulator {
        static boolean knows(Place place) {
            return processMap.containsKey(place.workerId());
        }
    }

    private final LocalCluster cluster;
    private final Supervisor supervisor;

    public FaultyCluster(int workers, int firstPort) throws Exception {
        cluster = new LocalCluster.Builder()
            .withSupervisors(0)
            .withSupervisorSlotPortMin(firstPort)
            .withDaemonConf(Config.STORM_LOCAL_MODE_ZMQ, true)
            .withDaemonConf(Config.STORM_LOCAL_HOSTNAME, "localhost")
            .withDaemonConf(Config.TOPOLOGY_ENABLE_MESSAGE_TIMEOUTS, true)
            .withDaemonConf("supervisor.worker.timeout.secs", 600) // a dead worker comes back before that
            .withDaemonConf("nimbus.task.timeout.secs", 600)
            .withDaemonConf("storm.zookeeper.session.timeout", 40_000) // a busy machine answers late
            .withDaemonConf("storm.zookeeper.connection.timeout", 40_000)
            .withDaemonConf("nimbus.task.launch.secs", 600)
            .build();
        Thread.currentThread().setUncaughtExceptionHandler((main, error) -> { // the cluster's threads would go on
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        });
        supervisor = cluster.addSupervisor(workers);
    }

    /**
     * Submit a topology to some workers: as many as executors, ackers included, if one of them is to die.
     * Executors without tuples look for them every `idleMs`: there are many on few cores.
     */
    public void submit(String name, Map<String, Object> conf, StormTopology topology, int workers, int idleMs)
        throws Exception {
        Map<String, Object> whole = new HashMap<>(conf);
        whole.put(Config.TOPOLOGY_WORKERS, workers);
        for (String role : List.of("bolt", "spout")) {
            whole.put("topology." + role + ".wait.progressive.level1.count", 0);
            whole.put("topology." + role + ".wait.progressive.level2.count", 0);
            whole.put("topology." + role + ".wait.progressive.level3.sleep.millis", idleMs);
        }
        whole.put(Config.TOPOLOGY_AUTO_TASK_HOOKS, List.of(Register.class.getName()));
        // the clean-up at the start of Nimbus deletes empty folders, also one that a submission has just made
        repeat(() -> cluster.submitTopology(name, whole, topology));
    }

    /** Run an action, and again every second while it fails. */
    private static void repeat(Action action) throws Exception {
        for (int tries = 1; ; tries++) {
            try {
                action.run();
                return;
            } catch (Exception error) {
                if (tries == TRIES) throw error;
                System.err.println(error);
                Thread.sleep(1_000);
            }
        }
    }

    /** Kill the workers of a component, call `dead`, and start them again after some time. */
    public void crash(String topology, String component, long awayMs, Runnable dead) throws Exception {
        String name = topology + "/" + component;
        repeat(() -> { // a worker that is still starting would not die, and would keep its port
            Collection<Place> started = PLACES.getOrDefault(name, Map.of()).values();
            if (started.isEmpty() || !started.stream().allMatch(Processes::knows)) {
                throw new IllegalStateException(name + " has not started");
            }
        });
        Set<Place> places = new HashSet<>(PLACES.get(name).values());
        for (Place place : places) ProcessSimulator.killProcess(place.workerId());
        dead.run();
        Thread.sleep(awayMs);
        for (Place place : places) {
            Worker worker = new Worker(new HashMap<>(supervisor.getConf()), null, place.topologyId(), supervisor.getId(),
                supervisor.getThriftServerPort(), place.port(), place.workerId(),
                () -> supervisor::getSupervisorThriftInterface);
            worker.start();
            ProcessSimulator.registerProcess(place.workerId(), worker);
        }
    }

    @Override
    public void close() throws Exception {
        cluster.close();
    }

    /** A hook in every task, also in those of ackers, which registers its worker. */
    public static class Register extends BaseTaskHook {
        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context) {
            String name = conf.get(Config.TOPOLOGY_NAME) + "/" + context.getThisComponentId();
            String worker = new File(context.getPIDDir()).getParentFile().getName();
            PLACES.computeIfAbsent(name, any -> new ConcurrentHashMap<>())
                .put(context.getThisTaskId(), new Place(context.getStormId(), worker, context.getThisWorkerPort()));
        }
    }
}

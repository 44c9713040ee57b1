import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;

/** The heap of a JStorm acker with {@code ROOT VALUE TASK FAILED}, a task of - for none, "tick" for a rotation, then FILE. */
public final class JStormDriver {
    static Object acker; // keeps it alive

    public static void main(String[] words) throws Exception {
        Constructor<?> made = Class.forName("com.alibaba.jstorm.utils.RotatingMap")
            .getConstructor(int.class, boolean.class); // as Acker.prepare makes it
        Object pending = made.newInstance(3, true);
        acker = Class.forName("com.alibaba.jstorm.task.acker.Acker").getConstructor().newInstance();
        set(acker, "pending", pending);
        int at = 0;
        for (; at < words.length - 1; at += words[at].equals("tick") ? 1 : 4) {
            if (words[at].equals("tick")) {
                pending.getClass().getMethod("rotate").invoke(pending);
                continue;
            }
            Object entry = Class.forName("com.alibaba.jstorm.task.acker.AckObject").getConstructor().newInstance();
            set(entry, "val", Long.valueOf(words[at + 1]));
            set(entry, "spout_task", words[at + 2].equals("-") ? null : Integer.valueOf(words[at + 2]));
            set(entry, "failed", Boolean.valueOf(words[at + 3]));
            pending.getClass().getMethod("put", Object.class, Object.class)
                .invoke(pending, Long.valueOf(words[at]), entry);
        }
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(words[at], true);
        System.exit(0);
    }

    private static void set(Object owner, String name, Object value) throws Exception {
        Field field = owner.getClass().getDeclaredField(name);
        field.setAccessible(true);
        field.set(owner, value);
    }
}

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.Collections;
import java.util.Random;
import org.apache.storm.utils.TupleUtils;

/**
 * The ids of Java and the routing of Storm.
 *
 * <p>{@code route ROOT ACKERS} prints the acker's index, {@code random SEED COUNT} the first longs of java.util.Random.
 */
public final class IdDriver {
    private IdDriver() {
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = new PrintStream(System.out, false);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            long number = Long.parseLong(words[1]);
            int count = Integer.parseInt(words[2]);
            if (words[0].equals("route")) {
                out.println(TupleUtils.chooseTaskIndex(Collections.singletonList(number), count));
            } else {
                Random random = new Random(number);
                for (int i = 0; i < count; i++) {
                    out.print((i == 0 ? "" : " ") + random.nextLong());
                }
                out.println();
            }
        }
        out.flush();
    }
}

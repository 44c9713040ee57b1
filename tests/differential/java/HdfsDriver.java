import java.io.File;
import java.io.PrintStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** Runs a real HDFS with one data node in the first argument's folder, with the other arguments in /data, until its input ends. */
public final class HdfsDriver {
    private HdfsDriver() { }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err); // for Hadoop's log
        Configuration settings = new Configuration();
        settings.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, arguments[0]);
        try (MiniDFSCluster cluster = new MiniDFSCluster.Builder(settings).numDataNodes(1).build()) {
            cluster.waitActive();
            FileSystem files = cluster.getFileSystem();
            Path data = new Path("/data");
            files.mkdirs(data);
            for (int at = 1; at < arguments.length; at++) {
                files.copyFromLocalFile(new Path(new File(arguments[at]).toURI()), data);
            }
            files.setPermission(new Path("/"), new FsPermission("777"));
            answers.println(files.getUri());
            while (System.in.read() >= 0) { }
        }
    }
}

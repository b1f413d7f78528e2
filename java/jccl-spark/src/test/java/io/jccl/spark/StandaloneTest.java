package io.jccl.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs an application on a standalone cluster of a master and two workers; {@code spark-submit --jars} distributes
 * JCCL.
 */
@Tag("spark-3.5")
@Timeout(300)
class StandaloneTest {

    private static final String LOCALHOST = "127.0.0.1";

    @TempDir
    Path folder;

    private final Deque<SparkProcess> processes = new ArrayDeque<>();

    @Test
    void submittedApplicationCommunicatesAndSurvivesAKilledExecutor() throws Exception {
        String sparkJars = SparkHome.make(false).resolve("jars") + "/*";
        int port = freePort();
        String master = "spark://" + LOCALHOST + ":" + port;
        daemon(sparkJars, "master", "master.Master", "--port", String.valueOf(port));
        awaitPort(port);
        worker(sparkJars, "worker1", master);
        worker(sparkJars, "worker2", master);

        assertThat(submit(sparkJars, master).awaitOutput(240))
                .contains("0/2 sum 1 attempt 0", "1/2 sum 1 attempt 0")
                .contains("after kill 0/2 sum 3.0 attempt 1", "after kill 1/2 sum 3.0 attempt 1");
    }

    @AfterEach
    void end() {
        processes.descendingIterator().forEachRemaining(SparkProcess::close);
    }

    private void daemon(String sparkJars, String name, String type, String... arguments) {
        String[] command = new String[arguments.length + 5];
        command[0] = "org.apache.spark.deploy." + type;
        command[1] = "--host";
        command[2] = LOCALHOST;
        command[3] = "--webui-port";
        command[4] = "0";
        System.arraycopy(arguments, 0, command, 5, arguments.length);
        processes.add(new SparkProcess(sparkJars, folder.resolve(name), command));
    }

    private void worker(String sparkJars, String name, String master) {
        daemon(
                sparkJars,
                name,
                "worker.Worker",
                "--cores",
                "1",
                "--memory",
                "1g",
                "--work-dir",
                folder.resolve(name + "-work").toString(),
                master);
    }

    private SparkProcess submit(String sparkJars, String master) {
        SparkProcess application = new SparkProcess(
                sparkJars,
                folder.resolve("application"),
                "org.apache.spark.deploy.SparkSubmit",
                "--master",
                master,
                "--conf",
                "spark.executor.memory=512m",
                "--conf",
                "spark.executor.extraJavaOptions=-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
                "--conf",
                "spark.jccl.timeout=200s",
                "--conf",
                "spark.ui.enabled=false",
                "--jars",
                SparkHome.ourJars().stream().map(Path::toString).collect(Collectors.joining(",")),
                "--class",
                BarrierApplication.class.getName(),
                SparkHome.ourJars().get(0).toString(),
                "kill");
        processes.add(application);
        return application;
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    /**
     * Waits until the master accepts connections: a worker that finds no master tries again only after several seconds.
     */
    private static void awaitPort(int port) throws InterruptedException {
        while (true) {
            try {
                new Socket(LOCALHOST, port).close();
                return;
            } catch (IOException e) {
                Thread.sleep(50);
            }
        }
    }
}

package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.Logger;

/** Ranks with few file descriptors ({@code ulimit -n}) either work, or every rank names the limit at once. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DescriptorLimitTest {

    private static final int RANKS = 2;
    private static final int MAX_LINES = 20;

    @TempDir
    static Path folder;

    /** The class path contains jars only, because each class in a folder takes a descriptor while it is loaded. */
    private static String classPath;

    @BeforeAll
    static void packClasses() throws Exception {
        Path jar = folder.resolve("classes.jar");
        try (OutputStream file = Files.newOutputStream(jar);
                JarOutputStream out = new JarOutputStream(file)) {
            out.setLevel(0);
            pack(Path.of("target/classes"), "", out);
            pack(Path.of("target/test-classes"), "io/jccl/integration/LimitedRank", out);
        }
        String slf4j = new File(Logger.class
                        .getProtectionDomain()
                        .getCodeSource()
                        .getLocation()
                        .toURI())
                .getPath();
        classPath = jar + File.pathSeparator + slf4j;
    }

    private static void pack(Path root, String prefix, JarOutputStream out) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                String name = root.relativize(file).toString();
                if (name.startsWith(prefix) && !name.equals("module-info.class")) {
                    out.putNextEntry(new JarEntry(name));
                    Files.copy(file, out);
                }
            }
        }
    }

    /**
     * With JDK 17, the first six limits make these opens fail, in this order: the host's identity, rank 0's connection
     * to itself, the coordinator's accept, the native engine, a segment of shared memory, a listener of the engine.
     */
    @ParameterizedTest
    @CsvSource({"24, shm", "26, shm", "28, shm", "30, shm", "32, shm", "31, socket", "64, socket"})
    void everyRankWorksOrNamesTheLimit(int descriptors, String transport) throws Exception {
        int port;
        try (ServerSocket any = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = any.getLocalPort();
        }
        List<Process> ranks = new ArrayList<>();
        List<String> outputs = new ArrayList<>();
        try {
            for (int rank = 0; rank < RANKS; rank++) {
                ranks.add(start(rank, port, descriptors, transport));
            }
            for (Process rank : ranks) {
                outputs.add(output(rank));
            }
        } finally {
            ranks.forEach(Process::destroyForcibly);
        }
        boolean works = outputs.get(0).contains(LimitedRank.RIGHT);
        for (String output : outputs) {
            assertThat(output).contains(works ? LimitedRank.RIGHT : "RLIMIT_NOFILE=" + descriptors);
            assertThat(output.lines().count()).as(output).isLessThan(MAX_LINES);
        }
    }

    /** Returns the output of a rank before its line {@link LimitedRank#OVER}. */
    private static String output(Process rank) throws IOException {
        StringBuilder text = new StringBuilder();
        BufferedReader reader = rank.inputReader();
        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
            if (line.equals(LimitedRank.OVER)) {
                return text.toString();
            }
            text.append(line).append('\n');
        }
        throw new AssertionError("the rank has ended: " + text);
    }

    private static Process start(int rank, int port, int descriptors, String transport) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                        "sh",
                        "-c",
                        "ulimit -n " + descriptors + "; exec \"$@\"",
                        "sh",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-XX:-UsePerfData",
                        "-Xmx256m",
                        "-cp",
                        classPath,
                        LimitedRank.class.getName())
                .redirectErrorStream(true);
        builder.environment().keySet().removeIf(name -> name.startsWith("JCCL_") || name.startsWith("NCCL_"));
        builder.environment().put("JCCL_RANK", Integer.toString(rank));
        builder.environment().put("JCCL_SIZE", Integer.toString(RANKS));
        builder.environment().put("JCCL_RENDEZVOUS", "127.0.0.1:" + port + "/descriptors");
        builder.environment().put("JCCL_TRANSPORT", transport);
        builder.environment().put("JCCL_INIT_TIMEOUT", "200s"); // errors must appear long before this time-out
        return builder.start();
    }
}

package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.BootstrapException;
import io.jccl.HostBuffer;
import io.jccl.JcclException;
import io.jccl.UniqueId;
import java.io.Closeable;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A process that has used up its file descriptors gets exceptions that name the cause. */
@Timeout(60)
class DescriptorExhaustionTest {

    @Test
    void exceptionsNameTheDescriptorLimitThatIsExhausted() throws Exception {
        Process process = new ProcessBuilder(
                        "prlimit",
                        "--nofile=64:64",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:-MaxFDLimit",
                        "-Xmx64m",
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        DescriptorExhaustionTest.class.getName())
                .redirectErrorStream(true)
                .redirectInput(new File("/dev/null"))
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        assertThat(output)
                .containsPattern("MEMORY JcclException bytes=4096: shared memory cannot be made: .*Too many open files"
                        + ".*ulimit -n")
                .containsPattern("RENDEZVOUS BootstrapException .*Too many open files")
                .containsPattern(
                        "RENDEZVOUS BootstrapException .*used all its file descriptors: RLIMIT_NOFILE=64 hard=64; raise it .ulimit -n")
                .contains("RENDEZVOUS ok")
                .contains("SOCKETS 1");
    }

    /**
     * Calls each function that needs a descriptor once, because loading its code needs descriptors, too. Then uses up
     * all descriptors and calls the functions again.
     */
    public static void main(String[] arguments) throws IOException {
        attempt("LOADS", () -> HostBuffer.allocate(4096).close());
        attempt("LOADS", UniqueId::create); // the rendezvous server of the id keeps a socket open
        attempt("LOADS", () -> {
            throw new BootstrapException("");
        });
        long before = sockets();
        List<Closeable> all = new ArrayList<>();
        try {
            while (true) {
                all.add(new FileInputStream("/dev/null"));
            }
        } catch (IOException e) {
            attempt("MEMORY", () -> HostBuffer.allocate(4096).close());
        }
        boolean started = false;
        // Frees one descriptor at a time, so that each open in UniqueId.create fails once.
        for (Closeable one : all) {
            started = started || attempt("RENDEZVOUS", UniqueId::create);
            one.close();
        }
        System.out.println("SOCKETS " + (sockets() - before));
        System.exit(0); // a rendezvous server still runs
    }

    private static long sockets() throws IOException {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors.filter(DescriptorExhaustionTest::isSocket).count();
        }
    }

    private static boolean isSocket(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString().startsWith("socket:");
        } catch (IOException e) {
            return false; // the descriptor that listed the folder: it is closed by now
        }
    }

    private static boolean attempt(String what, Runnable call) {
        try {
            call.run();
            System.out.println(what + " ok");
            return true;
        } catch (JcclException e) {
            System.out.println(what + " " + e.getClass().getSimpleName() + " " + e.getMessage());
            return false;
        }
    }
}

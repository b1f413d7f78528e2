package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests ranks as virtual threads in their own JVM, with more ranks than carrier threads. Skipped if the JDK has no
 * virtual threads.
 */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class VirtualThreadsTest {

    private static final int FIRST_JDK = 21;
    private static final int LIMIT_SECONDS = 120;

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(ints = {2, 4, 8})
    void ranksThatShareOneCarrierThreadFinish(int ranks) throws Exception {
        int jdk = Runtime.version().feature();
        assumeTrue(jdk >= FIRST_JDK, "JDK " + jdk + " has no virtual threads; JDK " + FIRST_JDK + " is the first");
        Path output = folder.resolve("output");
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Djdk.virtualThreadScheduler.parallelism=1",
                        "-Djdk.virtualThreadScheduler.maxPoolSize=1",
                        "-Djccl.update=false",
                        "-cp",
                        System.getProperty("java.class.path"),
                        VirtualRanksMain.class.getName(),
                        Integer.toString(ranks))
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            assertThat(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS))
                    .as("the process ends")
                    .isTrue();
            assertThat(Files.readString(output)).contains("DONE");
        } finally {
            process.destroyForcibly();
        }
    }
}

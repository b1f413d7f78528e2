package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.CommunicatorConfig;
import java.nio.file.Files;
import java.nio.file.Path;

/** GPUs that the emulator plays: two of them, no driver and no GPU needed. */
final class EmulatedGpus {

    private EmulatedGpus() {}

    /** Before the first use of a device in this process. */
    static void use() {
        System.setProperty("jccl.cuda.path", library());
    }

    /** The library that plays them; skips the test where it was not built. */
    static String library() {
        Path library = Path.of(System.getProperty("jccl.emulated.cuda", "none"));
        assumeTrue(Files.exists(library), library + " was not built");
        return library.toString();
    }

    /** Requires that operations on the device cannot be captured for a graph, and that the ranks go on after that. */
    static void requireNoCapture(LocalRanks ranks, String why) {
        ranks.run(comm -> {
            try (DeviceMemory memory = new DeviceMemory(0, 64)) {
                assertThatThrownBy(() ->
                                memory.capture(() -> comm.on(memory.stream()).barrier()))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining(why);
                comm.on(memory.stream()).barrier().await();
            }
        });
    }

    static CommunicatorConfig.Builder config() {
        return LocalRanks.config().device(0).setting("JCCL_NTHREADS", "64");
    }
}

package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.UniqueId;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Ranks of one host, half of them in a container: a user namespace in which they run as another user. */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ContainersTest {

    private static final List<String> CONTAINER = List.of("unshare", "--user", "--map-user=4321");

    @TempDir
    Path folder;

    @Test
    void containersThatCannotShareMemoryArePlannedAsHostsWithSockets() throws Exception {
        assumeTrue(containersWork(), "the kernel permits no user namespaces");
        try (ProcessRanks ranks = ProcessRanks.start(
                UniqueId.create(), folder, 4, rank -> rank % 2 == 0 ? List.of() : CONTAINER, "containers")) {
            for (int rank = 0; rank < 4; rank++) {
                assertThat(ranks.awaitExit(rank, Duration.ofSeconds(120)))
                        .as(ranks.output(rank))
                        .isZero();
                assertThat(ranks.output(rank)).contains("RESULT ok");
            }
            assertThat(ranks.output(0))
                    .contains("TRANSPORTS [1:socket, 2:shm, 3:socket]")
                    .contains("2 isolation domains are planned as hosts of their own with sockets between them")
                    .contains("hosts=2");
            assertThat(ranks.output(3))
                    .contains("TRANSPORTS [0:socket, 1:shm, 2:socket]")
                    .contains("rank 3: socket to {0,2} although on the same host")
                    .contains("only processes of one user share memory");
        }
    }

    private static boolean containersWork() throws InterruptedException {
        try {
            return new ProcessBuilder("unshare", "--user", "--map-user=4321", "true")
                            .start()
                            .waitFor()
                    == 0;
        } catch (IOException e) {
            return false; // unshare is not installed
        }
    }
}

package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.CommunicatorConfig;
import io.jccl.TransportKind;
import io.jccl.testing.Resources;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Communicators that are closed leave nothing behind: no descriptor, thread, shared memory, memory or verbs object. An
 * idle communicator uses almost no CPU time. {@code -Djccl.leak.cycles=1000} tests with more communicators,
 * {@code JCCL_TRANSPORT=ib} with one transport only.
 */
@Timeout(value = 900, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ResourcesTest {

    private static final int RANKS = 3;
    private static final Duration IDLE = Duration.ofSeconds(2);

    @TempDir
    Path folder;

    /**
     * Skips the test if JCCL_TRANSPORT names another transport, or if the transport needs an adapter for InfiniBand
     * verbs and this host has none. The virtual machine of scripts/rdma-vm has such adapters.
     */
    private static void assumeUsable(TransportKind transport) {
        String only = System.getenv().getOrDefault("JCCL_TRANSPORT", transport.label());
        assumeTrue(only.equals(transport.label()), "JCCL_TRANSPORT=" + only);
        assumeTrue(
                transport != TransportKind.IB || Files.isDirectory(Path.of("/sys/class/infiniband")),
                "this host has no adapter for InfiniBand verbs");
    }

    @ParameterizedTest
    @EnumSource
    void communicatorsLeaveNothingBehind(TransportKind transport) {
        assumeUsable(transport);
        CommunicatorConfig config =
                TestPlugins.config(transport, RANKS).channels(2).build();
        if (transport == TransportKind.IB && Resources.IN_RDMA_VM) {
            try (LocalRanks ranks = LocalRanks.start(RANKS, config)) {
                ranks.run(Cycles::use);
                assertThat(Resources.now().verbsObjects()).as("are counted").isPositive();
            }
        }
        Cycles cycles = Cycles.of(() -> {
            try (LocalRanks ranks = LocalRanks.start(RANKS, config)) {
                ranks.run(Cycles::use);
            }
        });
        System.out.println(transport.label() + ": " + cycles);
        cycles.requireNothingLeft();
    }

    /** Processes map each other's memory by descriptors that they pass. */
    @Test
    void communicatorsOfProcessesLeaveNothingBehind() throws Exception {
        try (ProcessRanks ranks =
                ProcessRanks.start(folder, 2, "cycles", Integer.toString(Cycles.count()), TransportKind.SHM.label())) {
            for (int rank = 0; rank < 2; rank++) {
                assertThat(ranks.awaitExit(rank, Duration.ofMinutes(14)))
                        .as(ranks.output(rank))
                        .isZero();
                System.out.println("processes: " + ranks.output(rank));
                assertThat(ranks.output(rank)).contains("RESULT ok");
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void idleCommunicatorsUseAlmostNoProcessorTime(TransportKind transport) throws Exception {
        assumeUsable(transport);
        CommunicatorConfig config =
                TestPlugins.config(transport, RANKS).channels(2).build();
        try (LocalRanks ranks = LocalRanks.start(RANKS, config)) {
            ranks.run(Cycles::use);
            TimeUnit.MILLISECONDS.sleep(200); // until the last worker has gone to sleep
            ThreadTimes before = ThreadTimes.now();
            TimeUnit.NANOSECONDS.sleep(IDLE.toNanos()); // the measured interval
            Map<String, Long> used = ThreadTimes.now().millisSince(before);
            long millis = used.entrySet().stream()
                    .filter(row ->
                            row.getKey().startsWith("jccl-") || row.getKey().startsWith("test-rank"))
                    .mapToLong(Map.Entry::getValue)
                    .sum();
            System.out.println(
                    transport.label() + ": processor ms of " + RANKS + " idle ranks in " + IDLE + ": " + used);
            // Three ranks and their coordinator send heartbeats twice a second. The limit of 100 ms is 5 % of one core.
            assertThat(millis).as(used.toString()).isLessThan(100);
        }
    }
}

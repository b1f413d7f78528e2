package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.TransportKind;
import io.jccl.testing.Resources;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Many acted machines, a rank each, as threads of this JVM: everything up to the first operation; {@code
 * -Djccl.scale.machines=8,64} for other numbers than that of every build. docs/scale.md has a table of what this prints.
 */
@Timeout(value = 600, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ManyMachinesTest {

    /** Of a machine with other work; docs/scale.md says what a quiet one needs. */
    private static final Duration LIMIT = Duration.ofSeconds(25);

    @Test
    void manyMachinesFormOneCommunicatorInTime() {
        List<Integer> numbers = Stream.of(
                        System.getProperty("jccl.scale.machines", "16").split(","))
                .map(Integer::valueOf)
                .toList();
        for (int machines : numbers) {
            long start = System.nanoTime();
            try (LocalRanks ranks = LocalRanks.start(
                    machines,
                    rank -> LocalRanks.config().hostId("machine-" + rank).build())) {
                long formed = System.nanoTime() - start;
                Resources.Snapshot held = Resources.now();
                System.out.printf(
                        "machines=%d init_ms=%d descriptors=%d threads=%d native_mib=%d%n",
                        machines,
                        TimeUnit.NANOSECONDS.toMillis(formed),
                        held.descriptors(),
                        held.threads(),
                        held.nativeBytes() >> 20);
                ranks.run(comm -> assertThat(comm.transports())
                        .hasSize(machines - 1)
                        .allMatch(peer -> peer.kind() == TransportKind.SOCKET));
                assertThat(Duration.ofNanos(formed)).isLessThan(LIMIT);
            }
        }
    }
}

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
 * Initialisation, up to the first operation, over many simulated hosts with a rank each. Ranks are threads of this JVM.
 * {@code -Djccl.scale.hosts=8,64} sets other numbers of hosts. docs/scale.md has a table of what this test prints.
 */
@Timeout(value = 600, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ManyHostsTest {

    /** Time limit for a computer that has other work; docs/scale.md has the times of an idle one. */
    private static final Duration LIMIT = Duration.ofSeconds(25);

    @Test
    void manyHostsInitialiseOneCommunicatorInTime() {
        List<Integer> numbers = Stream.of(
                        System.getProperty("jccl.scale.hosts", "16").split(","))
                .map(Integer::valueOf)
                .toList();
        for (int hosts : numbers) {
            long start = System.nanoTime();
            try (LocalRanks ranks = LocalRanks.start(
                    hosts, rank -> LocalRanks.config().hostId("host-" + rank).build())) {
                long nanos = System.nanoTime() - start;
                Resources.Snapshot held = Resources.now();
                System.out.printf(
                        "hosts=%d init_ms=%d descriptors=%d threads=%d native_mib=%d%n",
                        hosts,
                        TimeUnit.NANOSECONDS.toMillis(nanos),
                        held.descriptors(),
                        held.threads().size(),
                        held.nativeBytes() >> 20);
                ranks.run(comm -> assertThat(comm.transports())
                        .hasSize(hosts - 1)
                        .allMatch(peer -> peer.kind() == TransportKind.SOCKET));
                assertThat(Duration.ofNanos(nanos)).isLessThan(LIMIT);
            }
        }
    }
}

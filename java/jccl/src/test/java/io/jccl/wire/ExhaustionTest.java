package io.jccl.wire;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ExhaustionTest {

    private static final IOException NO_DESCRIPTORS = new IOException("Too many open files");
    private static final int PORT = 2900;

    private final Exhaustion exhaustion = new Exhaustion();
    private long now = TimeUnit.HOURS.toNanos(1);

    private boolean refusedAfterMillis(long millis) {
        now += TimeUnit.MILLISECONDS.toNanos(millis);
        return exhaustion.refused(now, PORT, NO_DESCRIPTORS);
    }

    @Test
    void aServerPausesAfterEachRefusal() {
        assertThat(exhaustion.mayAccept(now)).isTrue();
        refusedAfterMillis(0);
        assertThat(exhaustion.mayAccept(now)).isFalse();
        assertThat(exhaustion.mayAccept(now + Exhaustion.PAUSE_NANOS)).isTrue();
    }

    @Test
    void refusalsThatLastForASecondAreReportedOnceWithTheLimit() {
        int reports = 0;
        for (int i = 0; i < 30; i++) {
            reports += refusedAfterMillis(100) ? 1 : 0;
            assertThat(reports).isEqualTo(i < 10 ? 0 : 1);
        }
        assertThat(exhaustion.why())
                .startsWith("connections to port=2900 cannot be accepted: Too many open files")
                .contains("RLIMIT_NOFILE=");
    }

    @Test
    void refusalsBetweenAcceptedConnectionsAreNotReported() {
        for (int i = 0; i < 30; i++) {
            assertThat(refusedAfterMillis(100)).isFalse();
            exhaustion.accepted();
        }
    }

    @Test
    void refusalsFarApartAreNotReported() {
        for (int i = 0; i < 5; i++) {
            assertThat(refusedAfterMillis(5_000)).isFalse();
        }
    }
}

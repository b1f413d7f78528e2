package io.jccl.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Tests how a wait ends, and what an interrupt of its thread does. */
class IdleStrategyTest {

    private static final long SHORT_NANOS = 1_000;

    private final AtomicInteger rounds = new AtomicInteger();

    @AfterEach
    void clearInterrupt() {
        Thread.interrupted();
    }

    private static long inMillis(long millis) {
        return Deadlines.after(Duration.ofMillis(millis));
    }

    @Test
    void aWaitEndsWhenItsConditionHolds() {
        boolean held =
                IdleStrategy.await(() -> rounds.incrementAndGet() == 5, Deadlines.NONE, SHORT_NANOS, SHORT_NANOS);
        assertThat(held).isTrue();
        assertThat(rounds).hasValue(5);
    }

    @Test
    void aWaitEndsAtItsDeadlineAndChecksItsConditionFirst() {
        assertThat(IdleStrategy.await(() -> false, inMillis(1), SHORT_NANOS, SHORT_NANOS))
                .isFalse();
        assertThat(IdleStrategy.await(() -> true, System.nanoTime() - 1, SHORT_NANOS, SHORT_NANOS))
                .isTrue();
    }

    @Test
    void aWaitThroughInterruptsSleepsAndLeavesTheFlagSet() {
        Thread.currentThread().interrupt();
        boolean held = IdleStrategy.await(
                () -> {
                    rounds.incrementAndGet();
                    return false;
                },
                inMillis(50),
                10_000_000,
                10_000_000);
        assertThat(held).isFalse();
        assertThat(rounds.get()).as("rounds of 10 ms each").isLessThan(10);
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void aRuleThatThrowsEndsTheWaitAndTheFlagIsSetAgain() {
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> {
                    try (IdleStrategy idle = new IdleStrategy(Deadlines.NONE, 0, SHORT_NANOS, SHORT_NANOS, () -> {
                        throw new IllegalStateException("of the test");
                    })) {
                        idle.checkInterrupt();
                    }
                })
                .hasMessage("of the test");
        assertThat(Thread.interrupted()).isTrue();
    }

    @Test
    void aRuleIsAppliedOnceForEachInterruptAndNotWhileTheWaitSpins() {
        AtomicInteger applied = new AtomicInteger();
        Thread.currentThread().interrupt();
        try (IdleStrategy idle =
                new IdleStrategy(Deadlines.NONE, 1, SHORT_NANOS, SHORT_NANOS, applied::incrementAndGet)) {
            idle.checkInterrupt();
            assertThat(applied).hasValue(0);
            idle.idle();
            idle.checkInterrupt();
            idle.checkInterrupt();
            assertThat(applied).hasValue(1);
        }
        assertThat(Thread.interrupted()).isTrue();
    }
}

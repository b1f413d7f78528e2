package io.jccl.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Timeout(60)
class ServiceThreadTest {

    private static final long JOIN_MILLIS = 30_000;

    static Stream<Throwable> problems() {
        return Stream.of(
                new OutOfMemoryError("of the test"),
                new StackOverflowError("of the test"),
                new NoClassDefFoundError("of the test"),
                new AssertionError("of the test"),
                new IllegalStateException("of the test"));
    }

    @ParameterizedTest
    @MethodSource("problems")
    void aThreadThatRepeatsRoundsContinuesAfterAnyExceptionOrError(Throwable problem) throws InterruptedException {
        AtomicInteger rounds = new AtomicInteger();
        BlockingQueue<Throwable> uncaught = new LinkedBlockingQueue<>();
        Thread thread = ServiceThread.repeating("jccl-test", () -> {
            int round = rounds.incrementAndGet();
            if (round <= 3) {
                throw ServiceThreadTest.<Exception>asException(problem);
            }
            return round < 5;
        });
        thread.setUncaughtExceptionHandler((ended, e) -> uncaught.add(e));
        thread.start();
        thread.join(JOIN_MILLIS);
        assertThat(thread.isAlive()).isFalse();
        assertThat(rounds).hasValue(5);
        assertThat(uncaught).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("problems")
    void whoeverWaitsForAThreadReceivesTheExceptionOfItsBody(Throwable problem) throws InterruptedException {
        BlockingQueue<Throwable> settled = new LinkedBlockingQueue<>();
        ServiceThread.once(
                        "jccl-test",
                        () -> {
                            throw ServiceThreadTest.<RuntimeException>asException(problem);
                        },
                        settled::add)
                .start();
        assertThat(settled.poll(JOIN_MILLIS, TimeUnit.MILLISECONDS)).isSameAs(problem);
    }

    @Test
    void aThreadSettlesRepeatedlyUntilMemoryReturns() throws InterruptedException {
        List<Throwable> settled = new ArrayList<>();
        Thread thread = ServiceThread.once("jccl-test", () -> {}, thrown -> {
            settled.add(thrown);
            if (settled.size() < 4) {
                throw new OutOfMemoryError("of the test");
            }
        });
        thread.start();
        thread.join(JOIN_MILLIS);
        assertThat(settled).hasSize(4).containsOnlyNulls();
    }

    @Test
    void anErrorThatNobodyWaitsForReachesNoUncaughtExceptionHandler() throws InterruptedException {
        BlockingQueue<Throwable> uncaught = new LinkedBlockingQueue<>();
        Thread thread = ServiceThread.once("jccl-test", () -> {
            throw new StackOverflowError("of the test");
        });
        thread.setUncaughtExceptionHandler((ended, e) -> uncaught.add(e));
        thread.start();
        thread.join(JOIN_MILLIS);
        assertThat(thread.isAlive()).isFalse();
        assertThat(uncaught).isEmpty();
    }

    @SuppressWarnings("unchecked") // throws an error where the compiler expects an exception
    private static <E extends Throwable> E asException(Throwable e) throws E {
        throw (E) e;
    }
}

package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.AbortedException;
import io.jccl.Communicator;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.PeerFailedException;
import io.jccl.UniqueId;
import io.jccl.membership.Bootstrap;
import io.jccl.nativelib.NativeLoader;
import io.jccl.rendezvous.BootstrapOptions;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * An interrupt quickly ends a wait for other ranks in init, split, shrink and close. The others get an error at once.
 */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class InterruptedInitTest {

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final long WAIT_MILLIS = 400;
    private static final long MAX_CPU_MILLIS = 100;
    private static final Duration INTERRUPTED_WITHIN = Duration.ofMillis(250L * LocalRanks.SLOWNESS);
    private static final Duration PEERS_WITHIN = Duration.ofSeconds(2L * LocalRanks.SLOWNESS);

    /** A call on its own thread. */
    private static final class Call extends Thread {
        private final Callable<?> call;
        private final CompletableFuture<Throwable> outcome = new CompletableFuture<>(); // null if the call returned
        private volatile boolean flagged;

        Call(Callable<?> call) {
            super("test-call");
            this.call = call;
            setDaemon(true);
            start();
        }

        @Override
        public void run() {
            try {
                call.call();
                flagged = isInterrupted();
                outcome.complete(null);
            } catch (Throwable e) {
                flagged = isInterrupted();
                outcome.complete(e);
            }
        }

        private Throwable outcome(Duration limit) throws Exception {
            return outcome.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        }

        void interruptInWait() throws Exception {
            assertThat(outcomeOfInterrupt()).isInstanceOf(InterruptedCommunicationException.class);
        }

        /**
         * Checks that the call waits and uses little CPU time, then interrupts it. Returns what the call threw, or
         * null.
         */
        Throwable outcomeOfInterrupt() throws Exception {
            long before = THREADS.getThreadCpuTime(getId());
            assertThatThrownBy(() -> outcome.get(WAIT_MILLIS, TimeUnit.MILLISECONDS))
                    .as("the call waits")
                    .isInstanceOf(java.util.concurrent.TimeoutException.class);
            long cpuMillis = (THREADS.getThreadCpuTime(getId()) - before) / 1_000_000;
            interrupt();
            Throwable thrown = outcome(INTERRUPTED_WITHIN);
            assertThat(flagged).as("the flag is restored").isTrue();
            assertThat(cpuMillis).as("processor time of the wait").isLessThan(WAIT_MILLIS / 2 + MAX_CPU_MILLIS);
            return thrown;
        }

        <T extends JcclException> T failure(Class<T> type) throws Exception {
            Throwable thrown = outcome(PEERS_WITHIN);
            assertThat(thrown).isInstanceOf(type);
            return type.cast(thrown);
        }
    }

    private static Call init(UniqueId id, int rank, int size) {
        return new Call(
                () -> Communicator.init(id, rank, size, LocalRanks.config().build()));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void interruptAtTheRendezvousEndsInitOnAllRanks(int victim) throws Exception {
        UniqueId id = UniqueId.create();
        List<Call> calls = List.of(init(id, 0, 3), init(id, 1, 3));
        calls.get(victim).interruptInWait();
        assertThat(calls.get(1 - victim).failure(PeerFailedException.class).failedRanks())
                .containsExactly(victim);
        assertThat(init(id, 2, 3).failure(PeerFailedException.class).failedRanks())
                .as("a later rank gets the failure")
                .containsExactly(victim);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void interruptAfterTheRendezvousEndsInitOnAllRanks(int victim) throws Exception {
        UniqueId id = UniqueId.create();
        Call call = init(id, victim, 2);
        BootstrapOptions options = BootstrapOptions.defaults("build " + NativeLoader.buildId());
        try (Bootstrap peer = Bootstrap.join(id, 1 - victim, 2, options)) {
            call.interruptInWait();
            Call waiting = new Call(() -> {
                while (true) {
                    // The victim may have taken part in the first all-gather, so that only a later one fails.
                    peer.outOfBand().allGather(new byte[0], LocalRanks.TIMEOUT);
                }
            });
            PeerFailedException seen = waiting.failure(PeerFailedException.class);
            assertThat(seen.failedRanks()).containsExactly(victim);
            assertThat(seen).hasMessageContaining("rank " + victim + " gave up while the communicator was initialised");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void interruptInSplitFailsTheCommunicatorOnAllRanks(int victim) throws Exception {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            List<Call> calls = List.of(new Call(() -> ranks.get(0).split(0, 0)), new Call(() -> ranks.get(1)
                    .split(0, 0)));
            calls.get(victim).interruptInWait();
            assertThat(calls.get(1 - victim).failure(AbortedException.class))
                    .hasMessageContaining("on rank=" + victim + ": the thread that waits was interrupted");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void interruptInShrinkIsReportedToRanksThatWait(int victim) throws Exception {
        try (LocalRanks ranks = LocalRanks.start(4)) {
            List<Call> calls = List.of(new Call(() -> ranks.get(0).shrink(List.of(3))), new Call(() -> ranks.get(1)
                    .shrink(List.of(3))));
            calls.get(victim).interruptInWait();
            assertThat(calls.get(1 - victim).failure(PeerFailedException.class).failedRanks())
                    .containsExactly(victim);
        }
    }

    @Test
    void interruptInShrinkIsReportedToALeaderThatCallsLater() throws Exception {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            new Call(() -> ranks.get(1).shrink(List.of())).interruptInWait();
            Call leader = new Call(() -> ranks.get(0).shrink(List.of()));
            assertThat(leader.failure(PeerFailedException.class).failedRanks()).containsExactly(1);
            Call late = new Call(() -> ranks.get(2).shrink(List.of()));
            assertThat(late.failure(PeerFailedException.class).failedRanks()).containsExactly(1);
        }
    }

    /** Rank 0 waits until the other rank has entered as many operations. */
    @Test
    void interruptInCloseEndsTheWaitForTheOthers() throws Exception {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Call closing = new Call(() -> {
                ranks.get(0).broadcast(new float[1], 0).await();
                ranks.get(0).close();
                return null;
            });
            assertThat(closing.outcomeOfInterrupt()).isNull();
            new Call(() -> {
                        ranks.get(1).close();
                        return null;
                    })
                    .outcome(PEERS_WITHIN);
        }
    }
}

package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.AbortedException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.JcclException;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import io.jccl.Work;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Operations make progress while a thread polls for their end, and pollers never wait for other ranks. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PollingTest {

    private static final int CASES = 300;

    /** Ways to wait for an operation. */
    private enum Way {
        AWAIT,
        POLL,
        POLL_AND_YIELD,
        POLL_THEN_AWAIT,
        POLL_THEN_PAUSE,
        POLL_ON_ANOTHER_THREAD,
        FUTURE,
        FUTURES;

        void finish(Work work) {
            switch (this) {
                case AWAIT -> {}
                case POLL -> poll(work, Thread::onSpinWait);
                case POLL_AND_YIELD -> poll(work, Thread::yield);
                case POLL_THEN_AWAIT -> work.isDone();
                case POLL_THEN_PAUSE -> {
                    work.isDone();
                    LockSupport.parkNanos(3_000_000); // long enough for the communicator's thread to go on
                }
                case POLL_ON_ANOTHER_THREAD -> CompletableFuture.runAsync(() -> poll(work, Thread::yield))
                        .join();
                case FUTURE -> work.toFuture().join();
                case FUTURES -> CompletableFuture.allOf(
                                work.toFuture(), work.toFuture().thenApply(done -> done))
                        .join();
            }
            work.await(); // throws if the operation has failed
        }

        private static void poll(Work work, Runnable pause) {
            while (!work.isDone()) {
                pause.run();
            }
        }
    }

    @ParameterizedTest(name = "{0} ranks={1} channels={2}")
    @CsvSource({"P2P, 2, 1", "P2P, 3, 4", "SOCKET, 2, 1", "SOCKET, 3, 2", "SHM, 2, 2"})
    void everyCollectiveIsRightInWhateverWayRanksWaitForIt(TransportKind transport, int ranks, int channels) {
        CommunicatorConfig config =
                LocalRanks.config().transport(transport).channels(channels).build();
        try (LocalRanks all = LocalRanks.start(ranks, config)) {
            all.run(comm -> {
                Random ways = new Random(comm.rank());
                try (Arena arena = new Arena(CollectiveCase.arenaBytes(ranks))) {
                    for (CollectiveCase one : CollectiveCase.sample(1, ranks, CASES, true)) {
                        Way way = Way.values()[ways.nextInt(Way.values().length)];
                        one.check(comm, arena, way::finish);
                    }
                }
            });
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = TransportKind.class,
            names = {"P2P", "SOCKET"})
    void aPollReturnsThoughTheOperationNeedsWhatTheSameThreadDoesNext(TransportKind transport) {
        CommunicatorConfig config = LocalRanks.config().transport(transport).build();
        try (LocalRanks ranks = LocalRanks.start(2, config)) {
            ranks.run(first -> {
                int other = 1 - first.rank();
                try (Communicator second = first.split(0, first.rank()).orElseThrow()) {
                    for (int bytes : new int[] {8, 100_000, 10_000_000}) {
                        DataBuffer sent = DataBuffer.of(new byte[bytes]);
                        DataBuffer received = DataBuffer.of(new byte[bytes]);
                        if (first.rank() == 0) {
                            Work sum = first.allReduce(sent, received, ReduceOp.MAX);
                            for (int i = 0; i < 100; i++) {
                                assertThat(sum.isDone()).isFalse();
                            }
                            second.send(other, sent).await();
                            sum.await();
                        } else {
                            second.recv(other, received).await();
                            first.allReduce(sent, received, ReduceOp.MAX).await();
                        }
                    }
                }
            });
        }
    }

    @Test
    void anOperationThatPausedEndsWithItsTimeOut() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Communicator comm = ranks.get(0);
            Work work = comm.within(Duration.ofMillis(300)).allReduce(DataBuffer.of(new float[9]), ReduceOp.SUM);
            long start = System.nanoTime();
            Way.poll(work, Thread::onSpinWait);
            assertThat(Duration.ofNanos(System.nanoTime() - start))
                    .isBetween(Duration.ofMillis(250), LocalRanks.TIMEOUT);
            assertThatThrownBy(work::await).isInstanceOf(CommunicationTimeoutException.class);
        }
    }

    @Test
    void anOperationThatPausedEndsWithTheTimeOutOfALaterAwait() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Work work = ranks.get(0).allReduce(DataBuffer.of(new float[9]), ReduceOp.SUM);
            assertThat(work.isDone()).isFalse();
            long start = System.nanoTime();
            assertThatThrownBy(() -> work.await(Duration.ofMillis(300)))
                    .isInstanceOf(CommunicationTimeoutException.class);
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(LocalRanks.TIMEOUT.dividedBy(2));
        }
    }

    @Test
    void anOperationThatPausedEndsAlthoughNobodyPollsAgain() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            DataBuffer[] sums = {DataBuffer.of(new long[] {1}), DataBuffer.of(new long[] {2})};
            Work polled = ranks.get(0).allReduce(sums[0], ReduceOp.SUM);
            assertThat(polled.isDone()).isFalse();
            LockSupport.parkNanos(20_000_000);
            ranks.get(1).allReduce(sums[1], ReduceOp.SUM).await();
            polled.toFuture().orTimeout(10, TimeUnit.SECONDS).join();
        }
    }

    @ParameterizedTest
    @CsvSource({"0", "1"})
    void anOperationThatPausedEndsWithAnAbort(int aborting) {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Work work = ranks.get(0).allReduce(DataBuffer.of(new float[1000]), ReduceOp.SUM);
            assertThat(work.isDone()).isFalse();
            ranks.get(aborting).abort();
            Way.poll(work, Thread::yield);
            assertThatThrownBy(work::await).isInstanceOf(AbortedException.class);
        }
    }

    @Test
    void anOperationThatPausedCanBeCancelled() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Work work = ranks.get(0).allReduce(DataBuffer.of(new float[1000]), ReduceOp.SUM);
            assertThat(work.isDone()).isFalse();
            assertThat(work.cancel()).isTrue();
            assertThatThrownBy(work::await).isInstanceOf(JcclException.class);
        }
    }

    @Test
    void aThreadThatIsInterruptedMayPoll() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            DataBuffer[] sums = {DataBuffer.of(new long[] {1}), DataBuffer.of(new long[] {2})};
            Work first = ranks.get(0).allReduce(sums[0], ReduceOp.SUM);
            Work second = ranks.get(1).allReduce(sums[1], ReduceOp.SUM);
            Thread.currentThread().interrupt();
            while (!first.isDone() || !second.isDone()) {
                Thread.onSpinWait();
            }
            assertThat(Thread.interrupted()).isTrue();
            assertThat(ranks.get(0).failure()).isEmpty();
        }
    }
}

package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.AbortedException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.JcclException;
import io.jccl.PeerFailedException;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import io.jccl.UniqueId;
import io.jccl.Work;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Initialisation in the background, listeners of failures, and operations that are cancelled or have a time-out. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LifecycleTest {

    private static final CommunicatorConfig CONFIG = LocalRanks.config().build();
    private static final Duration SOON =
            Duration.ofSeconds(5L * LocalRanks.SLOWNESS); // far below the time-outs of CONFIG
    private static final Duration SHORT = Duration.ofMillis(300);
    private static final String INIT_THREAD = "jccl-init";

    private static CompletableFuture<Communicator> init(UniqueId id, int rank, int size) {
        return Communicator.initAsync(id, rank, size, CONFIG);
    }

    private static DataBuffer floats() {
        return DataBuffer.of(new float[100]);
    }

    private static long countInitThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals(INIT_THREAD))
                .count();
    }

    private static void requireNoInitThread() {
        long deadline = System.nanoTime() + SOON.toNanos();
        while (countInitThreads() > 0 && System.nanoTime() - deadline < 0) {
            LockSupport.parkNanos(1_000_000);
        }
        assertThat(countInitThreads()).isZero();
    }

    @Test
    void ranksInitialiseInTheBackground() {
        UniqueId id = UniqueId.create(CONFIG);
        CompletableFuture<Communicator> first = init(id, 0, 2);
        assertThat(first).isNotDone();
        try (Communicator one = init(id, 1, 2).join();
                Communicator zero = first.join()) {
            Work work = zero.barrier();
            one.barrier().await();
            work.await();
            assertThat(List.of(zero.rank(), one.rank())).containsExactly(0, 1);
        }
        requireNoInitThread();
    }

    @Test
    void aWrongArgumentIsRefusedBeforeAThreadIsStarted() {
        UniqueId id = UniqueId.create(CONFIG);
        assertThatThrownBy(() -> Communicator.initAsync(id, 2, 2, CONFIG))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("rank=2");
        assertThat(countInitThreads()).isZero();
    }

    @Test
    void aCancelledInitialisationEndsOnAllRanks() {
        UniqueId id = UniqueId.create(CONFIG);
        CompletableFuture<Communicator> other = init(id, 0, 3);
        CompletableFuture<Communicator> cancelled = init(id, 1, 3); // rank 2 stays away
        LockSupport.parkNanos(SHORT.toNanos());
        assertThat(cancelled.cancel(true)).isTrue();
        assertThat(other)
                .failsWithin(SOON)
                .withThrowableThat()
                .havingCause()
                .isInstanceOf(PeerFailedException.class)
                .withMessageContaining("rank 1");
        assertThatThrownBy(cancelled::join).isInstanceOf(CancellationException.class);
        requireNoInitThread();
    }

    @Test
    void aTimeOutOfTheFutureEndsTheInitialisation() {
        UniqueId id = UniqueId.create(CONFIG);
        CompletableFuture<Communicator> future = init(id, 0, 2).orTimeout(SHORT.toMillis(), TimeUnit.MILLISECONDS);
        assertThat(future).failsWithin(SOON);
        requireNoInitThread();
    }

    /**
     * Whenever a rank gives up its initialisation, the other rank gets either an exception or a communicator that then
     * fails.
     */
    @Test
    void aRankThatGivesUpAtAnyTimeIsNotWaitedFor() throws InterruptedException, TimeoutException {
        Random random = new Random(20);
        for (int round = 0; round < 12; round++) {
            int leaver = round % 2;
            UniqueId id = UniqueId.create(CONFIG);
            List<CompletableFuture<Communicator>> ranks = List.of(init(id, 0, 2), init(id, 1, 2));
            LockSupport.parkNanos(random.nextInt(40_000_000));
            CompletableFuture<Communicator> other = ranks.get(1 - leaver);
            if (!ranks.get(leaver).cancel(true)) {
                ranks.forEach(future -> future.join().close());
                continue;
            }
            try (Communicator alone = other.get(SOON.toNanos(), TimeUnit.NANOSECONDS)) {
                assertThatThrownBy(() -> alone.within(SOON).barrier().await())
                        .isInstanceOfAny(AbortedException.class, PeerFailedException.class)
                        .hasMessageContaining("" + leaver);
            } catch (ExecutionException e) {
                assertThat(e.getCause()).isInstanceOf(JcclException.class).hasMessageContaining("rank " + leaver);
            }
        }
        requireNoInitThread();
    }

    @Test
    void everyRanksListenerGetsTheFailure() throws InterruptedException {
        BlockingQueue<JcclException> heard = new LinkedBlockingQueue<>();
        try (LocalRanks ranks = LocalRanks.start(3)) {
            for (int rank = 0; rank < 3; rank++) {
                ranks.get(rank).onFailure(heard::add);
                assertThat(ranks.get(rank).failure()).isEmpty();
            }
            ranks.get(1).abort();
            for (int rank = 0; rank < 3; rank++) {
                assertThat(heard.poll(SOON.toMillis(), TimeUnit.MILLISECONDS))
                        .isInstanceOf(AbortedException.class)
                        .hasMessageContaining("rank=1 aborted");
            }
            for (int rank = 0; rank < 3; rank++) {
                assertThat(ranks.get(rank).failure()).get().isInstanceOf(AbortedException.class);
            }
            ranks.get(2).onFailure(heard::add); // the communicator has already failed
            assertThat(heard.poll(SOON.toMillis(), TimeUnit.MILLISECONDS))
                    .isSameAs(ranks.get(2).failure().orElseThrow());
        }
        assertThat(heard).isEmpty();
    }

    @ParameterizedTest
    @NullSource
    @ValueSource(strings = {"", " \n", "the loss is NaN", "two\r\nlines \u202eand\u0007 a\tbell"})
    void everyRankSeesTheReasonOfAnAbort(String reason) {
        String plain = reason == null || reason.isBlank() ? "" : ": " + reason.replaceAll("[\r\n\t\u202e\u0007]", " ");
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Work waiting = ranks.get(0).allReduce(floats(), ReduceOp.SUM);
            ranks.get(1).abort(reason);
            assertThatThrownBy(waiting::await)
                    .isInstanceOf(AbortedException.class)
                    .hasMessageContaining("rank=1 aborted the communicator" + plain);
            assertThatThrownBy(() -> ranks.get(1).barrier())
                    .hasMessage(
                            "rank=1 aborted the communicator" + plain + "; initialise a new communicator to continue");
        }
    }

    /** Calls that wait for other ranks, by operations or by the control connection. */
    private enum WaitingCall {
        RECV(comm -> comm.recv(1, floats()).await()),
        FUTURE(comm -> comm.allReduce(floats(), ReduceOp.SUM).toFuture().join()),
        EXCHANGE(comm -> comm.allGatherBytes(new byte[10])),
        SPLIT(comm -> comm.split(0, 0)),
        REGISTER(comm -> comm.register(HostBuffer.allocate(2 << 20).as(DataType.INT8))),
        WINDOW(comm -> comm.allocateWindow(4096));

        private final LocalRanks.RankAction action;

        WaitingCall(LocalRanks.RankAction action) {
            this.action = action;
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"P2P", "SHM", "SOCKET"})
    void everyCallThatWaitsSeesTheReasonOfAnAbort(TransportKind transport) throws Exception {
        CommunicatorConfig config = LocalRanks.config().transport(transport).build();
        for (WaitingCall call : WaitingCall.values()) {
            try (LocalRanks ranks = LocalRanks.start(2, config)) {
                Future<?> waiting = ranks.submit(0, comm -> {
                    call.action.run(comm);
                    return null;
                });
                assertThatThrownBy(() -> waiting.get(SHORT.toMillis(), TimeUnit.MILLISECONDS))
                        .isInstanceOf(TimeoutException.class);
                ranks.get(1).abort("the loss is NaN");
                assertThatThrownBy(() -> waiting.get(SOON.toMillis(), TimeUnit.MILLISECONDS))
                        .as(call.name())
                        .hasRootCauseInstanceOf(AbortedException.class)
                        .hasStackTraceContaining("rank=1 aborted the communicator: the loss is NaN");
            }
        }
    }

    @Test
    void aLongReasonIsCut() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Work waiting = ranks.get(0).allReduce(floats(), ReduceOp.SUM);
            ranks.get(1).abort("x".repeat(100_000));
            assertThatThrownBy(waiting::await)
                    .isInstanceOf(AbortedException.class)
                    .hasMessageContaining(": " + "x".repeat(497) + "...");
        }
    }

    @Test
    void aListenerMayThrowOrCloseTheCommunicator() throws InterruptedException {
        CountDownLatch closed = new CountDownLatch(1);
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Communicator one = ranks.get(1);
            one.onFailure(cause -> {
                throw new IllegalStateException("of the test");
            });
            one.onFailure(cause -> {
                one.close();
                closed.countDown();
            });
            ranks.get(0).abort();
            assertThat(closed.await(SOON.toMillis(), TimeUnit.MILLISECONDS)).isTrue();
            assertThatThrownBy(one::barrier).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void noListenerIsCalledIfTheCommunicatorClosesWithoutAFailure() throws InterruptedException {
        BlockingQueue<JcclException> heard = new LinkedBlockingQueue<>();
        Communicator comm;
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.get(0).onFailure(heard::add);
            ranks.get(1).onFailure(heard::add);
            comm = ranks.get(0);
            ranks.run(each -> each.barrier().await());
        }
        comm.abort();
        assertThat(heard.poll(SHORT.toMillis(), TimeUnit.MILLISECONDS)).isNull();
        assertThat(comm.failure()).isEmpty();
    }

    @Test
    void aCancelledOperationEndsOnAllRanksAndIsNamed() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Work work = ranks.get(0).allReduce(floats(), ReduceOp.SUM);
            CompletableFuture<Void> future = work.toFuture();
            assertThat(work.cancel()).isTrue();
            assertThatThrownBy(work::await)
                    .isInstanceOf(AbortedException.class)
                    .hasMessageContaining("rank=0 cancelled all_reduce(");
            assertThat(future).failsWithin(SOON).withThrowableThat().withCauseInstanceOf(AbortedException.class);
            // Receives instead of calling a collective, which would mismatch rank 0's collective.
            assertThatThrownBy(() -> ranks.get(1).recv(0, floats()).await())
                    .isInstanceOf(AbortedException.class)
                    .hasMessageContaining("rank=0 cancelled all_reduce(");
        }
    }

    @Test
    void operationThatHasEndedCannotBeCancelled() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            List<Boolean> cancelled = ranks.call(comm -> {
                Work work = comm.allReduce(floats(), ReduceOp.SUM);
                work.await();
                return work.cancel();
            });
            assertThat(cancelled).containsExactly(false, false);
            ranks.run(comm -> comm.barrier().await());
        }
    }

    @Test
    void operationThatNobodyAwaitsFailsByItsOwnTimeOut() throws InterruptedException {
        BlockingQueue<JcclException> heard = new LinkedBlockingQueue<>();
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.get(1).onFailure(heard::add);
            ranks.get(0).within(SHORT).allReduce(floats(), ReduceOp.SUM);
            assertThat(heard.poll(SOON.toMillis(), TimeUnit.MILLISECONDS))
                    .isInstanceOfSatisfying(CommunicationTimeoutException.class, e -> assertThat(e.missingRanks())
                            .containsExactly(1));
        }
    }

    @Test
    void shorterOfTwoTimeOutsApplies() {
        for (boolean waitsShortly : List.of(true, false)) {
            try (LocalRanks ranks = LocalRanks.start(2)) {
                Work work = ranks.get(0)
                        .within(waitsShortly ? LocalRanks.TIMEOUT : SHORT)
                        .group(group -> group.allReduce(floats(), ReduceOp.SUM));
                long start = System.nanoTime();
                assertThatThrownBy(() -> work.await(waitsShortly ? SHORT : LocalRanks.TIMEOUT))
                        .isInstanceOf(CommunicationTimeoutException.class);
                assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(SOON);
            }
        }
    }

    @Test
    void timeOutThatIsLongEnoughHasNoEffect() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                Work work = comm.within(LocalRanks.TIMEOUT).allReduce(floats(), ReduceOp.SUM);
                work.await();
                comm.within(LocalRanks.TIMEOUT).barrier().toFuture().join();
            });
        }
    }

    @Test
    void aTimeOutBelowAMillisecondIsRefused() {
        try (LocalRanks ranks = LocalRanks.start(1)) {
            assertThatThrownBy(() -> ranks.get(0).within(Duration.ofNanos(10)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("PT0.00000001S");
        }
    }

    @Test
    void aFutureOfAFailedInitialisationHasItsException() {
        UniqueId id = UniqueId.create(CONFIG);
        CompletableFuture<Communicator> future = Communicator.initAsync(
                id, 0, 2, LocalRanks.config().initTimeout(Duration.ofSeconds(1)).build());
        assertThatThrownBy(future::join)
                .isInstanceOf(CompletionException.class)
                .cause()
                .isInstanceOfSatisfying(CommunicationTimeoutException.class, e -> assertThat(e.missingRanks())
                        .containsExactly(1));
    }
}

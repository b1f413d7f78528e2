package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.AbortedException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.Encryption;
import io.jccl.HostBuffer;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import io.jccl.Window;
import io.jccl.nativelib.NativeWindow;
import io.jccl.testing.Resources;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One-sided operations of ranks that are threads: through their own memory, over sockets and over a plug-in. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WindowTest {

    private static final int COUNT = 100_000; // more than a frame, and an odd number of frames
    private static final long BYTES = (long) Long.BYTES * COUNT;

    private static CommunicatorConfig over(String transport) {
        return configOver(transport).build();
    }

    /** Returns a configuration for a transport, with fake adapters for verbs, or for sockets with encryption. */
    private static CommunicatorConfig.Builder configOver(String transport) {
        if (transport.equals("ib") && !Resources.IN_RDMA_VM) {
            String library = System.getProperty("jccl.fake.verbs");
            assumeTrue(library != null, "-Djccl.fake.verbs does not say where the fake adapters are");
            return LocalRanks.config().transport(TransportKind.IB).setting("JCCL_IB_LIBRARY", library);
        }
        if (transport.equals("on") || transport.equals("required")) {
            return configOver("socket").encryption(Encryption.valueOf(transport.toUpperCase(Locale.ROOT)));
        }
        return TestPlugins.config(TransportKind.valueOf(transport.toUpperCase(Locale.ROOT)), TestPlugins.NEWEST);
    }

    private static long[] values(int rank, int round) {
        return LongStream.range(0, COUNT).map(i -> i * 31 + rank * 7L + round).toArray();
    }

    private static long[] own(Window window) {
        long[] values = new long[COUNT];
        window.asByteBuffer(0, (int) BYTES).asLongBuffer().get(values);
        return values;
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket", "plugin", "ib", "on", "required"})
    void dataIsVisibleOnceItsSignalIsTaken(String transport) {
        try (LocalRanks ranks = LocalRanks.start(3, over(transport))) {
            ranks.run(comm -> {
                int right = (comm.rank() + 1) % comm.size();
                int left = (comm.rank() + comm.size() - 1) % comm.size();
                try (Window window = comm.allocateWindow(BYTES)) {
                    assertThat(window.bytes()).isEqualTo(BYTES);
                    assertThat(own(window)).containsOnly(0);
                    comm.barrier().await();
                    for (int round = 0; round < 20; round++) {
                        window.putSignal(right, 0, DataBuffer.of(values(comm.rank(), round)), 5);
                        window.waitSignal(left, 5, 1);
                        assertThat(own(window)).isEqualTo(values(left, round));
                        window.signal(left, 6); // the left rank may put again
                        window.waitSignal(right, 6, 1);
                    }
                }
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket", "plugin", "ib"})
    void signalsAreCountedForEachPairAndId(String transport) {
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                try (Window window = comm.allocateWindow(8)) {
                    int other = 1 - comm.rank();
                    for (int i = 0; i < 5; i++) {
                        window.signal(other, 0);
                    }
                    window.signal(other, Window.SIGNALS - 1);
                    window.signal(comm.rank(), 0);
                    window.waitSignal(other, Window.SIGNALS - 1, 1);
                    window.waitSignal(other, 0, 2);
                    window.waitSignal(other, 0, 3);
                    window.waitSignal(comm.rank(), 0, 1);
                    window.flush();
                }
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket", "plugin", "ib", "on", "required"})
    void putsTakeEffectInOrderAndAGetSeesThem(String transport) {
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                try (Window window = comm.allocateWindow(2 * BYTES);
                        HostBuffer direct = HostBuffer.allocate(BYTES)) {
                    int other = 1 - comm.rank();
                    for (int round = 0; round < 10; round++) {
                        window.put(other, BYTES, DataBuffer.of(values(0, round + 1)));
                        window.put(other, BYTES, DataBuffer.of(values(0, round)));
                        long[] back = new long[COUNT];
                        window.get(other, BYTES, DataBuffer.of(back));
                        assertThat(back).isEqualTo(values(0, round));
                        window.get(other, BYTES, direct.as(DataType.INT64));
                        direct.get(0, back);
                        assertThat(back).isEqualTo(values(0, round));
                    }
                }
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket", "plugin", "ib", "on", "required"})
    void afterAFlushEveryRankSeesTheData(String transport) {
        try (LocalRanks ranks = LocalRanks.start(3, over(transport))) {
            ranks.run(comm -> {
                try (Window window = comm.allocateWindow(BYTES)) {
                    for (int round = 0; round < 20; round++) {
                        if (comm.rank() == 0) {
                            window.put(1, 0, DataBuffer.of(values(0, round)));
                            window.flush(1);
                            window.signal(2, 0);
                            window.waitSignal(2, 1, 1);
                        } else if (comm.rank() == 2) {
                            window.waitSignal(0, 0, 1);
                            long[] seen = new long[COUNT];
                            window.get(1, 0, DataBuffer.of(seen));
                            assertThat(seen).isEqualTo(values(0, round));
                            window.signal(0, 1);
                        }
                    }
                }
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket", "plugin", "ib"})
    void theTargetNeedNotCallAnything(String transport) {
        CountDownLatch done = new CountDownLatch(1);
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                try (Window window = comm.allocateWindow(BYTES)) {
                    if (comm.rank() == 0) {
                        for (int round = 0; round < 10; round++) {
                            window.put(1, 0, DataBuffer.of(values(3, round)));
                            window.flush(1);
                            long[] back = new long[COUNT];
                            window.get(1, 0, DataBuffer.of(back));
                            assertThat(back).isEqualTo(values(3, round));
                        }
                        done.countDown();
                    } else {
                        await(done);
                        assertThat(own(window)).isEqualTo(values(3, 9));
                    }
                }
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket", "plugin", "ib"})
    void additionsOfAllRanksAndThreadsAreCountedOnce(String transport) {
        int each = 200;
        int threads = 2;
        Set<Long> seen = ConcurrentHashMap.newKeySet();
        try (LocalRanks ranks = LocalRanks.start(3, over(transport))) {
            ranks.run(comm -> {
                try (Window window = comm.allocateWindow(16)) {
                    Runnable adding =
                            () -> LongStream.range(0, each).forEach(i -> assertThat(seen.add(window.fetchAdd(1, 8, 3)))
                                    .isTrue());
                    AtomicReference<Throwable> failed = new AtomicReference<>();
                    Thread other = new Thread(() -> failed.set(catchThrowable(adding::run)));
                    other.start();
                    adding.run();
                    join(other);
                    assertThat(failed.get()).isNull();
                    comm.barrier().await();
                    assertThat(window.fetchAdd(1, 8, 0)).isEqualTo(3L * each * threads * comm.size());
                    assertThat(window.fetchAdd(0, 8, 0)).isZero();
                    comm.barrier().await();
                    window.put(1, 0, DataBuffer.of(new long[] {-5}));
                    if (comm.rank() == 0) {
                        assertThat(window.fetchAdd(1, 0, Long.MIN_VALUE)).isEqualTo(-5);
                    }
                }
            });
        }
        assertThat(seen).hasSize(3 * each * threads).allMatch(before -> before % 3 == 0);
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(100, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket", "plugin", "ib"})
    void collectivesUseTheMemoryBetweenOneSidedOperations(String transport) {
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                try (Window window = comm.allocateWindow(8)) {
                    for (int round = 0; round < 100; round++) {
                        window.put(1 - comm.rank(), 0, DataBuffer.of(new long[] {comm.rank() + round}));
                        window.flush();
                        comm.barrier().await();
                        comm.allReduce(window.as(DataType.INT64), ReduceOp.SUM).await();
                        assertThat(window.asByteBuffer(0, 8).getLong(0)).isEqualTo(2L * round + 1);
                        comm.barrier().await();
                    }
                }
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket", "plugin", "ib", "on", "required"})
    void randomHistoriesOfManyThreadsKeepTheRules(String transport) {
        for (long seed = 1; seed <= 3; seed++) {
            long history = seed;
            try (LocalRanks ranks = LocalRanks.start(3, over(transport))) {
                ranks.run(comm -> WindowHistory.run(comm, 3, 40, history));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket"})
    void wrongArgumentsAreRefusedBeforeAnythingMoves(String transport) {
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                try (Window window = comm.allocateWindow(64)) {
                    DataBuffer nine = DataBuffer.of(new long[9]);
                    DataBuffer one = DataBuffer.of(new long[] {1});
                    assertThatThrownBy(() -> window.put(1, 0, nine))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("offsetBytes=0 bytes=72: lies outside of the window of bytes=64");
                    assertThatThrownBy(() -> window.get(1, -8, one))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("offsetBytes=-8");
                    assertThatThrownBy(() -> window.put(1, Long.MAX_VALUE, one))
                            .isInstanceOf(IllegalArgumentException.class);
                    assertThatThrownBy(() -> window.put(2, 0, one))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("peer=2 size=2: expected a rank from 0 to 1");
                    assertThatThrownBy(() -> window.putSignal(1, 0, one, Window.SIGNALS))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("signal=64: expected an id from 0 to 63");
                    assertThatThrownBy(() -> window.signal(1, -1)).isInstanceOf(IllegalArgumentException.class);
                    assertThatThrownBy(() -> window.waitSignal(1, 0, 0))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("count=0");
                    assertThatThrownBy(() -> window.flush(-1)).isInstanceOf(IllegalArgumentException.class);
                    assertThatThrownBy(() -> window.fetchAdd(1, 64, 1))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("offsetBytes=64 bytes=8: lies outside of the window of bytes=64");
                    assertThatThrownBy(() -> window.fetchAdd(1, 4, 1))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("offsetBytes=4: expected a multiple of 8");
                    assertThatThrownBy(() -> window.fetchAdd(2, 0, 1)).isInstanceOf(IllegalArgumentException.class);
                    assertThatThrownBy(() -> window.fetchAdd(1, Long.MIN_VALUE, 1))
                            .isInstanceOf(IllegalArgumentException.class);
                    assertThatThrownBy(() -> window.put(1, 0, null)).isInstanceOf(IllegalArgumentException.class);
                    assertThatThrownBy(() -> window.put(1, 0, DataBuffer.device(4096, 1, DataType.INT64)))
                            .isInstanceOf(IllegalArgumentException.class);
                    assertThatThrownBy(() -> window.get(
                                    1,
                                    0,
                                    DataBuffer.of(ByteBuffer.allocateDirect(8).asReadOnlyBuffer())))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("read-only");
                    HostBuffer closed = HostBuffer.allocate(8);
                    DataBuffer of = closed.as(DataType.INT64);
                    closed.close();
                    assertThatThrownBy(() -> window.put(1, 0, of)).isInstanceOf(IllegalStateException.class);
                    comm.barrier().await();
                    assertThat(window.asByteBuffer(0, 8).getLong(0)).isZero();
                }
            });
        }
    }

    @Test
    void sizesThatDifferAreRefusedOnAllRanks() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                assertThatThrownBy(() -> comm.allocateWindow(8 + comm.rank()))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("bytes=8 on rank=0, bytes=9 on rank=1");
                assertThatThrownBy(() -> comm.allocateWindow(0)).isInstanceOf(IllegalArgumentException.class);
                assertThatThrownBy(() -> comm.allocateWindow(1L << 60))
                        .isInstanceOf(JcclException.class)
                        .hasMessageContaining("rank=0 cannot allocate the memory");
                comm.allocateWindow(8).close();
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket", "plugin", "ib"})
    void aWindowThatIsClosedRefusesCallsAndEndsWaits(String transport) {
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                Window window = comm.allocateWindow(8);
                AtomicReference<Throwable> ended = new AtomicReference<>();
                Thread waiter = startWaiting(window, 1 - comm.rank(), ended);
                window.put(1 - comm.rank(), 0, DataBuffer.of(new long[] {7}));
                window.close();
                window.close();
                join(waiter);
                assertThat(ended.get())
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("closed");
                assertThatThrownBy(() -> window.put(0, 0, DataBuffer.of(new long[1])))
                        .isInstanceOf(IllegalStateException.class);
                assertThatThrownBy(() -> window.asByteBuffer(0, 8)).isInstanceOf(IllegalStateException.class);
                Window next = comm.allocateWindow(8);
                assertThat(next.asByteBuffer(0, 8).getLong(0)).isZero();
                comm.close();
                assertThatThrownBy(() -> next.signal(0, 0)).isInstanceOf(IllegalStateException.class);
                next.close();
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket", "plugin", "ib"})
    void closingTheCommunicatorEndsWaits(String transport) {
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                Window window = comm.allocateWindow(8);
                AtomicReference<Throwable> ended = new AtomicReference<>();
                Thread waiter = startWaiting(window, 1 - comm.rank(), ended);
                comm.barrier().await();
                comm.close();
                join(waiter);
                assertThat(ended.get()).isInstanceOf(IllegalStateException.class);
            });
        }
    }

    /** Starts a thread that waits for a signal which never comes, and keeps what ends the wait. */
    private static Thread startWaiting(Window window, int peer, AtomicReference<Throwable> ended) {
        Thread waiter = new Thread(() -> ended.set(catchThrowable(() -> window.waitSignal(peer, 0, 1))));
        waiter.start();
        return waiter;
    }

    private static void join(Thread thread) {
        try {
            thread.join(60_000);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        assertThat(thread.isAlive()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket", "plugin", "ib", "on", "required"})
    void anAbortEndsWaits(String transport) {
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                Window window = comm.allocateWindow(8);
                if (comm.rank() == 0) {
                    window.waitSignal(1, 1, 1);
                    comm.abort();
                } else {
                    assertThatThrownBy(() -> {
                                window.signal(0, 1); // the abort that it causes may already end it
                                window.waitSignal(0, 0, 1);
                            })
                            .isInstanceOf(AbortedException.class);
                    assertThatThrownBy(() -> window.signal(0, 0)).isInstanceOf(AbortedException.class);
                }
                window.close();
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket", "plugin", "ib"})
    void aWaitThatTimesOutFailsTheCommunicatorAndNamesThePair(String transport) {
        CommunicatorConfig config =
                configOver(transport).timeout(Duration.ofSeconds(1)).build();
        try (LocalRanks ranks = LocalRanks.start(2, config)) {
            ranks.run(comm -> {
                Window window = comm.allocateWindow(8);
                if (comm.rank() == 1) {
                    assertThatThrownBy(() -> window.waitSignal(0, 3, 2))
                            .isInstanceOf(CommunicationTimeoutException.class)
                            .hasMessageContaining("waitSignal(peer=0 signal=3 count=2 window=0) on rank=1")
                            .hasMessageContaining("it has not raised the signals");
                } else {
                    waitForFailure(comm);
                    assertThatThrownBy(() -> window.signal(1, 0)).isInstanceOf(CommunicationTimeoutException.class);
                }
            });
        }
    }

    /** A rank whose library is faulty or hostile sends what the checks of the library would refuse. */
    @ParameterizedTest
    @ValueSource(strings = {"socket", "plugin", "ib", "required"})
    void aFrameThatBreaksTheRulesFailsTheCommunicatorOfAllRanks(String transport) {
        try (LocalRanks ranks = LocalRanks.start(3, over(transport))) {
            ranks.run(comm -> {
                Window window = comm.allocateWindow(64);
                if (comm.rank() == 1) {
                    NativeWindow unchecked = unchecked(window);
                    try (HostBuffer data = HostBuffer.allocate(64)) {
                        long from = data.address();
                        unchecked.put(
                                0,
                                60,
                                from,
                                8,
                                NativeWindow.NO_SIGNAL,
                                Duration.ofSeconds(20).toNanos());
                    }
                }
                CompletableFuture<JcclException> failure = new CompletableFuture<>();
                comm.onFailure(failure::complete);
                assertThat(failure.get(20, TimeUnit.SECONDS))
                        .hasMessageContaining("rank=1 sent rank=0 a frame kind=1 window=0 offset=60 bytes=8")
                        .hasMessageContaining("outside of the window of bytes=64");
                assertThatThrownBy(() -> window.flush(0)).isInstanceOf(JcclException.class);
                window.close();
            });
        }
    }

    private static NativeWindow unchecked(Window window) throws ReflectiveOperationException {
        Field field = window.getClass().getDeclaredField("window");
        field.setAccessible(true);
        return (NativeWindow) field.get(window);
    }

    private static void waitForFailure(Communicator comm) {
        CountDownLatch failed = new CountDownLatch(1);
        comm.onFailure(cause -> failed.countDown());
        await(failed);
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket", "plugin", "ib"})
    void anInterruptEndsAWaitAndTakesNoSignal(String transport) {
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                try (Window window = comm.allocateWindow(8)) {
                    int other = 1 - comm.rank();
                    Thread.currentThread().interrupt();
                    assertThatThrownBy(() -> window.waitSignal(other, 0, 1))
                            .isInstanceOf(InterruptedCommunicationException.class)
                            .hasMessageContaining("waitSignal(peer=" + other);
                    assertThat(Thread.interrupted()).isTrue();
                    comm.barrier().await();
                    window.signal(other, 0);
                    window.waitSignal(other, 0, 1);
                }
            });
        }
    }
}

package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.AbortedException;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.JcclException;
import io.jccl.MismatchedCollectiveException;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import io.jccl.Window;
import io.jccl.Work;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Owners of memory learn once when no operation uses it any more, in whatever way the operation ends. */
@Timeout(value = 240, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReleasedMemoryTest {

    private static final long COUNT = 1000;
    private static final Duration SOON = Duration.ofSeconds(20);

    /** Memory that counts the calls of its buffers' callbacks. */
    private static final class Memory {

        private final ByteBuffer bytes = ByteBuffer.allocateDirect(Math.toIntExact(COUNT * Long.BYTES));
        private final AtomicInteger calls = new AtomicInteger();

        DataBuffer buffer() {
            return buffer(COUNT);
        }

        DataBuffer buffer(long count) {
            return DataBuffer.host(DataBuffer.of(bytes).address(), count, DataType.INT64, this, calls::incrementAndGet);
        }

        void requireCalls(int expected) {
            assertThat(calls).hasValue(expected);
        }

        void awaitCalls(int expected) {
            long end = System.nanoTime() + SOON.toNanos();
            while (calls.get() < expected && System.nanoTime() < end) {
                LockSupport.parkNanos(1_000_000);
            }
            requireCalls(expected);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"P2P", "SHM", "SOCKET"})
    void callbackIsCalledWhenTheOperationHasSucceeded(TransportKind transport) {
        CommunicatorConfig config = LocalRanks.config().transport(transport).build();
        try (LocalRanks ranks = LocalRanks.start(2, config)) {
            ranks.run(comm -> {
                Memory memory = new Memory();
                for (int i = 1; i <= 50; i++) {
                    Work work = comm.allReduce(memory.buffer(), ReduceOp.SUM);
                    work.await();
                    memory.requireCalls(i);
                }
                for (int i = 51; i <= 100; i++) {
                    Work work = comm.allReduce(memory.buffer(), ReduceOp.SUM);
                    while (!work.isDone()) {
                        Thread.onSpinWait();
                    }
                    memory.requireCalls(i);
                }
                comm.allReduce(memory.buffer(), ReduceOp.SUM); // for which no thread waits
                memory.awaitCalls(101);
                comm.allReduce(memory.buffer(), ReduceOp.SUM).toFuture().join();
                memory.requireCalls(102);
            });
        }
    }

    @Test
    void callbackIsNotCalledWhileTheOperationIsInFlight() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Memory sent = new Memory();
            Memory received = new Memory();
            Work work = ranks.get(0).allReduce(sent.buffer(), received.buffer(), ReduceOp.SUM);
            assertThat(work.isDone()).isFalse();
            sent.requireCalls(0);
            received.requireCalls(0);
            ranks.get(1)
                    .allReduce(new Memory().buffer(), new Memory().buffer(), ReduceOp.SUM)
                    .await();
            work.await();
            sent.requireCalls(1);
            received.requireCalls(1);
        }
    }

    @Test
    void callbackIsCalledIfTheOperationFails() {
        Memory aborted = new Memory();
        Memory queued = new Memory();
        Memory refused = new Memory();
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Work first = ranks.get(0).allReduce(aborted.buffer(), ReduceOp.SUM);
            Work second = ranks.get(0).allReduce(queued.buffer(), ReduceOp.SUM);
            assertThat(first.isDone()).isFalse();
            ranks.get(1).abort("the test");
            assertThatThrownBy(first::await).isInstanceOf(AbortedException.class);
            aborted.requireCalls(1);
            assertThatThrownBy(second::await).isInstanceOf(AbortedException.class);
            queued.requireCalls(1);
            assertThatThrownBy(() -> ranks.get(0).allReduce(refused.buffer(), ReduceOp.SUM))
                    .isInstanceOf(AbortedException.class);
            refused.requireCalls(1);
        }
    }

    @Test
    void callbackIsCalledIfRanksCallDifferentOperations() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                Memory memory = new Memory();
                assertThatThrownBy(() -> comm.allReduce(memory.buffer(COUNT - comm.rank()), ReduceOp.SUM)
                                .await())
                        .isInstanceOf(MismatchedCollectiveException.class);
                memory.requireCalls(1);
            });
        }
    }

    @Test
    void callbackIsCalledIfTheCallIsRefused() {
        Memory memory = new Memory();
        Communicator closed;
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Communicator comm = ranks.get(0);
            closed = comm;
            assertThatThrownBy(() -> comm.allReduce(memory.buffer(), memory.buffer(COUNT - 1), ReduceOp.SUM))
                    .isInstanceOf(IllegalArgumentException.class);
            memory.requireCalls(2);
            assertThatThrownBy(() -> comm.send(7, memory.buffer())).isInstanceOf(IllegalArgumentException.class);
            memory.requireCalls(3);
            assertThatThrownBy(() -> comm.allReduce(List.of(memory.buffer(), memory.buffer()), null))
                    .isInstanceOf(IllegalArgumentException.class);
            memory.requireCalls(5);
            comm.group(group -> {
                assertThatThrownBy(() -> comm.allReduce(memory.buffer(), ReduceOp.SUM))
                        .isInstanceOf(IllegalStateException.class);
                memory.requireCalls(6);
            });
            assertThatThrownBy(() -> comm.register(memory.buffer()))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("register a DataBuffer without one");
            memory.requireCalls(7);
        }
        assertThatThrownBy(() -> closed.allReduce(memory.buffer(), ReduceOp.SUM))
                .isInstanceOf(IllegalStateException.class);
        memory.requireCalls(8);
    }

    @Test
    void callbackIsCalledAtOnceForABufferThatTheCallDoesNotUse() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            Memory sent = new Memory();
            Memory unused = new Memory();
            Work work = ranks.get(1).reduce(sent.buffer(), unused.buffer(), ReduceOp.SUM, 0);
            unused.requireCalls(1);
            sent.requireCalls(0);
            ranks.get(0)
                    .reduce(new Memory().buffer(), new Memory().buffer(), ReduceOp.SUM, 0)
                    .await();
            work.await();
            sent.requireCalls(1);
        }
    }

    @Test
    void callbacksOfAGroupAreCalledWhenTheGroupHasEnded() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                Memory memory = new Memory();
                Memory other = new Memory();
                List<Memory> list = List.of(new Memory(), new Memory(), new Memory());
                comm.allReduce(list.stream().map(Memory::buffer).toList(), ReduceOp.SUM)
                        .await();
                list.forEach(one -> one.requireCalls(1));
                comm.group(group -> {
                            group.allReduce(memory.buffer(), ReduceOp.SUM);
                            group.send(1 - comm.rank(), memory.buffer());
                            group.recv(1 - comm.rank(), memory.buffer());
                            group.sendReceive(memory.buffer(), 1 - comm.rank(), other.buffer(), 1 - comm.rank());
                            assertThatThrownBy(() -> group.send(7, memory.buffer()))
                                    .isInstanceOf(IllegalArgumentException.class);
                            memory.requireCalls(0);
                        })
                        .await();
                memory.requireCalls(5);
                other.requireCalls(1);
            });
        }
    }

    @Test
    void callbacksOfAGroupAreCalledIfItsBodyThrows() {
        try (LocalRanks ranks = LocalRanks.start(1)) {
            Memory memory = new Memory();
            assertThatThrownBy(() -> ranks.get(0).group(group -> {
                        group.allReduce(memory.buffer(), ReduceOp.SUM);
                        throw new IllegalStateException("of the test");
                    }))
                    .hasMessage("of the test");
            memory.requireCalls(1);
        }
    }

    @Test
    void aReleasedBufferCannotBeUsedAgain() {
        try (LocalRanks ranks = LocalRanks.start(1)) {
            Memory memory = new Memory();
            DataBuffer once = memory.buffer();
            ranks.get(0).allReduce(once, ReduceOp.SUM).await();
            for (DataBuffer again : List.of(once, once.slice(1, 1))) {
                assertThatThrownBy(() -> ranks.get(0).allReduce(again, ReduceOp.SUM))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("create a DataBuffer for each operation");
            }
            assertThatThrownBy(once::address).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(once::unpin).isInstanceOf(IllegalStateException.class);
            memory.requireCalls(1);
        }
    }

    @Test
    void aPinnedBufferServesSeveralOperations() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                Memory memory = new Memory();
                DataBuffer buffer = memory.buffer();
                buffer.pin();
                List<Work> works = new ArrayList<>();
                for (int i = 0; i < 10; i++) {
                    works.add(comm.allReduce(buffer.slice(i, 1), ReduceOp.SUM));
                    assertThatThrownBy(() -> comm.send(9, buffer)).isInstanceOf(IllegalArgumentException.class);
                }
                buffer.unpin();
                works.forEach(Work::await);
                memory.requireCalls(1);
            });
        }
    }

    @Test
    void memoryOfAHostBufferIsStillSharedAndKept() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                AtomicInteger calls = new AtomicInteger();
                HostBuffer memory = HostBuffer.allocate(64, DataType.INT64);
                memory.asLongBuffer(0, 64).put(3, 5);
                DataBuffer part =
                        DataBuffer.host(memory.address() + 24, 1, DataType.INT64, null, calls::incrementAndGet);
                assertThat(part.memory()).isEqualTo(DataBuffer.Memory.SHARED);
                part.pin();
                Work work = comm.allReduce(part, ReduceOp.SUM);
                memory.close();
                work.await();
                assertThat(calls).hasValue(0);
                part.unpin();
                assertThat(calls).hasValue(1);
            });
        }
    }

    @Test
    void aPutOfAWindowCallsTheCallback() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                Memory memory = new Memory();
                try (Window window = comm.allocateWindow(COUNT * Long.BYTES)) {
                    window.put(1 - comm.rank(), 0, memory.buffer());
                    memory.requireCalls(1);
                    window.get(1 - comm.rank(), 0, memory.buffer());
                    memory.requireCalls(2);
                    assertThatThrownBy(() -> window.put(1, 8, memory.buffer()))
                            .isInstanceOf(IllegalArgumentException.class);
                    memory.requireCalls(3);
                }
            });
        }
    }

    /** A callback runs on the thread that ends operations: it must neither fail the operation nor wait for itself. */
    @Test
    void aCallbackThatThrowsOrWaitsIsRefusedAndLogged() {
        try (InitLog log = new InitLog("io.jccl.internal.Releases");
                LocalRanks ranks = LocalRanks.start(2)) {
            Memory memory = new Memory();
            ranks.run(comm -> {
                AtomicReference<Work> later = new AtomicReference<>();
                List<Runnable> callbacks = List.of(
                        () -> {
                            throw new JcclException("of the test");
                        },
                        () -> {
                            while (later.get() == null) {
                                Thread.onSpinWait();
                            }
                            later.get().await();
                        },
                        comm::close);
                for (Runnable callback : callbacks) {
                    later.set(null);
                    long address = DataBuffer.of(memory.bytes).address();
                    Work work =
                            comm.allReduce(DataBuffer.host(address, 0, DataType.INT64, null, callback), ReduceOp.SUM);
                    later.set(comm.barrier());
                    work.await();
                    later.get().await();
                }
            });
            assertThat(log.lines())
                    .filteredOn(line -> line.contains("the callback of a DataBuffer"))
                    .hasSize(6);
        }
    }

    /** Threads may change from one operation to the next, as those of a pool do, if one issue happens before the next. */
    @Test
    void operationsMayBeIssuedByChangingThreads() {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            ranks.run(comm -> {
                List<Work> works = new ArrayList<>();
                List<long[]> sums = new ArrayList<>();
                for (int i = 0; i < 200; i++) {
                    long[] value = {i + comm.rank()};
                    sums.add(value);
                    Thread issuer = new Thread(() -> works.add(comm.allReduce(DataBuffer.of(value), ReduceOp.SUM)));
                    issuer.start();
                    issuer.join();
                }
                for (int i = 0; i < works.size(); i++) {
                    works.get(i).await();
                    assertThat(sums.get(i)).containsExactly(3L * i + 3);
                }
            });
        }
    }
}

package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.JcclException;
import io.jccl.ReduceOp;
import io.jccl.Work;
import io.jccl.testing.Resources;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

/**
 * Scenarios in which {@link HostBuffer}s end while operations, views and peers use them. Two ranks run each scenario,
 * as threads of one process or as two processes. {@link HostBufferLifetimeTest} starts the processes, so that a crash
 * of a JVM fails one test.
 */
enum HostBufferScenarios {

    /** Rank 0 closes the buffers of an operation that waits for rank 1. */
    CLOSE_WHILE_RUNNING {
        @Override
        void run(Communicator comm, Communicator control) throws Exception {
            for (Function<Buffers, DataBuffer> sendOf : List.<Function<Buffers, DataBuffer>>of(
                    Buffers::send, // out of place
                    Buffers::recv)) { // in place
                Buffers buffers = new Buffers(LARGE_BYTES, comm.rank());
                DataBuffer send = sendOf.apply(buffers);
                DataBuffer recv = buffers.recv();
                if (comm.rank() == 0) {
                    Work work = comm.allReduce(send, recv, ReduceOp.SUM);
                    FutureTask<Void> waiter = startWaiting(work);
                    buffers.close();
                    assertThatIllegalStateException().isThrownBy(recv::address);
                    control.barrier().await();
                    waiter.get();
                } else {
                    control.barrier().await();
                    comm.allReduce(send, recv, ReduceOp.SUM).await();
                    buffers.requireSums();
                    buffers.close();
                }
                requireReleased("closed while it was used");
                control.barrier().await();
            }
        }
    },

    /**
     * Rank 0 closes a buffer while operations of every kind that use the buffer are queued behind an operation that
     * waits for rank 1.
     */
    CLOSE_WHILE_QUEUED {
        @Override
        void run(Communicator comm, Communicator control) throws Exception {
            long[] first = {comm.rank()};
            HostBuffer memory = HostBuffer.allocate(LARGE_BYTES);
            List<Work> works = new ArrayList<>();
            if (comm.rank() == 1) {
                control.barrier().await();
            }
            works.add(comm.allReduce(DataBuffer.of(first), ReduceOp.SUM));
            DataBuffer all = memory.as(DataType.FLOAT32);
            long count = all.count() / 4;
            float[] heap = new float[2048]; // staged in memory that the communicator keeps
            works.add(comm.allReduce(all.slice(0, count), all.slice(count, count), ReduceOp.SUM));
            works.add(comm.allGatherV(all.slice(0, count), all.slice(2 * count, 2 * count), new long[] {count, count}));
            works.add(comm.allGather(all.slice(0, heap.length / 2), DataBuffer.of(heap)));
            works.add(comm.group(group -> {
                int peer = 1 - comm.rank();
                group.send(peer, all.slice(0, count)).recv(peer, all.slice(count, count));
                group.allToAll(all.slice(0, count), all.slice(2 * count, count));
                group.broadcast(all.slice(3 * count, count), 1);
            }));
            works.add(comm.rank() == 0 ? comm.send(1, all.slice(0, count)) : comm.recv(0, all.slice(count, count)));
            if (comm.rank() == 0) {
                memory.close();
                assertThat(memory.isClosed()).isTrue();
                control.barrier().await();
            }
            works.forEach(Work::await);
            assertThat(first).containsExactly(1);
            memory.close();
            requireReleased("closed while operations over it were queued");
        }
    },

    /** Rank 0 closes a buffer while an operation uses its view. */
    CLOSE_WHILE_A_VIEW_IS_USED {
        @Override
        void run(Communicator comm, Communicator control) throws Exception {
            Buffers buffers = new Buffers(LARGE_BYTES, comm.rank());
            FloatBuffer view = buffers.recvView();
            if (comm.rank() == 0) {
                FutureTask<Void> waiter = startWaiting(comm.allReduce(DataBuffer.of(view), ReduceOp.SUM));
                buffers.close();
                control.barrier().await();
                waiter.get();
                assertThat(view.get(17)).isZero();
                assertThatIllegalStateException()
                        .isThrownBy(() -> comm.allReduce(DataBuffer.of(view), ReduceOp.SUM))
                        .withMessageContaining("is closed");
            } else {
                control.barrier().await();
                comm.allReduce(DataBuffer.of(view), ReduceOp.SUM).await();
                buffers.requireSums();
                buffers.close();
            }
            requireReleased("closed while its view was used");
            control.barrier().await();
        }
    },

    /**
     * Operations that fail release closed buffers; so do operations queued after them, and a group whose body throws.
     */
    CLOSE_AND_ABORT {
        @Override
        void run(Communicator comm, Communicator control) throws Exception {
            HostBuffer memory = HostBuffer.allocate(LARGE_BYTES);
            fill(memory.asByteBuffer(0, LARGE_BYTES).asFloatBuffer(), 1);
            DataBuffer values = memory.as(DataType.FLOAT32);
            try {
                comm.group(group -> {
                    group.allReduce(values, ReduceOp.SUM).barrier();
                    throw new ArithmeticException();
                });
            } catch (ArithmeticException expected) {
                comm.barrier().await();
            }
            control.barrier().await(); // an abort would also end a barrier of `comm` that the other rank is still in
            if (comm.rank() == 0) {
                Work running = comm.allReduce(values, ReduceOp.SUM);
                Work queued = comm.group(
                        group -> group.allReduce(values, ReduceOp.SUM).barrier());
                Work another = comm.send(1, values);
                FutureTask<Void> waiter = startWaiting(running);
                memory.close();
                assertThat(Resources.hostBufferBytes()).isGreaterThanOrEqualTo(LARGE_BYTES);
                comm.abort();
                requireFailed(waiter);
                requireFailed(new FutureTask<>(queued::await, null));
                requireFailed(new FutureTask<>(another::await, null));
            } else {
                memory.close();
            }
            comm.close();
            requireReleased("closed before operations over it were aborted");
            control.barrier().await();
        }
    },

    /** Rank 0 issues an operation on a buffer while another thread of rank 0 closes the buffer. */
    CLOSE_BESIDE_ISSUE {
        @Override
        void run(Communicator comm, Communicator control) throws Exception {
            int refused = 0;
            for (int round = 0; round < 1000; round++) {
                HostBuffer memory = HostBuffer.allocate(1 << 12);
                DataBuffer values = memory.slice(0, 512, DataType.INT64);
                Thread closer = new Thread(memory::close, "closer");
                if (comm.rank() == 0) {
                    closer.start();
                }
                Work work;
                try {
                    work = comm.allReduce(values, ReduceOp.SUM);
                } catch (IllegalStateException closed) {
                    refused++;
                    assertThat(closed).hasMessageContaining("is closed");
                    work = comm.allReduce(DataBuffer.of(new long[512]), ReduceOp.SUM);
                }
                work.await();
                closer.join();
                memory.close();
            }
            RankMain.print("REFUSED " + refused);
            requireReleased("closed at the time of the issue");
        }
    },

    /** A view keeps the memory of an otherwise unreachable buffer usable for reads, writes and operations. */
    VIEWS_KEEP_MEMORY {
        @Override
        void run(Communicator comm, Communicator control) throws Exception {
            FloatBuffer floats = derivedView();
            collectGarbage();
            assertThat(floats.get(5)).isEqualTo(5);
            fill(floats, 1 + comm.rank());
            DataBuffer values = DataBuffer.of(floats);
            for (int round = 0; round < 3; round++) {
                comm.allReduce(values, ReduceOp.MAX).await();
            }
            assertThat(floats.get(LARGE_BYTES / 8 - 1)).isEqualTo(2);
            floats = null;
            values = null;
            awaitThat("memory without buffer and views is freed", () -> {
                System.gc();
                return Resources.hostBufferBytes() < 1 << 20;
            });
            control.barrier().await();
        }

        private FloatBuffer derivedView() {
            HostBuffer buffer = HostBuffer.allocate(LARGE_BYTES);
            WeakReference<HostBuffer> dropped = new WeakReference<>(buffer);
            ByteBuffer view = buffer.asByteBuffer(0, LARGE_BYTES);
            for (int i = 0; i < LARGE_BYTES; i += 4) {
                view.putFloat(i, (float) i / 4);
            }
            buffer = null;
            awaitThat("the buffer is collected", () -> {
                System.gc();
                return dropped.get() == null;
            });
            return view.duplicate()
                    .slice(0, LARGE_BYTES / 2)
                    .order(ByteOrder.nativeOrder())
                    .asFloatBuffer();
        }
    },

    /**
     * A view of a closed buffer can be read and written: the buffer's memory is freed, but its addresses stay mapped.
     */
    VIEWS_OF_CLOSED_BUFFERS {
        @Override
        void run(Communicator comm, Communicator control) throws Exception {
            HostBuffer buffer = HostBuffer.allocate(LARGE_BYTES);
            ByteBuffer view = buffer.asByteBuffer(0, LARGE_BYTES);
            fill(view.asFloatBuffer(), 1);
            buffer.close();
            requireReleased("closed with a view");
            assertThat(view.getFloat(1 << 20)).isZero();
            view.putFloat(1 << 20, 4);
            assertThatIllegalStateException().isThrownBy(() -> buffer.asByteBuffer(0, 1));
            assertThatIllegalStateException().isThrownBy(() -> buffer.slice(0, 1, DataType.INT8));
            assertThatIllegalStateException().isThrownBy(buffer::address);
            try (HostBuffer other = HostBuffer.allocate(LARGE_BYTES)) {
                other.asByteBuffer(0, LARGE_BYTES).putFloat(1 << 20, 5);
                assertThat(view.getFloat(1 << 20)).isEqualTo(4);
            }
            int descriptors = Resources.now().descriptors();
            for (int i = 0; i < 500; i++) {
                HostBuffer one = HostBuffer.allocate(1 << 16);
                view = one.asByteBuffer(0, 1 << 16).put(7, (byte) 7);
                one.close();
                assertThat(view.get(7)).isZero();
            }
            assertThat(Resources.now().descriptors()).isLessThan(descriptors + 100);
        }
    },

    /**
     * Buffers that are allocated and closed repeatedly leave no memory and few mappings in the processes that use them.
     */
    COME_AND_GO {
        @Override
        void run(Communicator comm, Communicator control) throws Exception {
            for (int round = 0; round < 21; round++) {
                try (HostBuffer buffer = HostBuffer.allocate(LARGE_BYTES)) {
                    fill(buffer.asByteBuffer(0, LARGE_BYTES).asFloatBuffer(), 1);
                    comm.allReduce(buffer.as(DataType.FLOAT32), ReduceOp.SUM).await();
                }
            }
            control.barrier().await();
            RankMain.print("LEFT bytes=" + Resources.hostBufferBytes() + " mappings=" + Resources.hostBufferMappings());
            assertThat(Resources.hostBufferBytes()).isLessThan(1 << 20);
            assertThat(Resources.hostBufferMappings()).isLessThan(10);
            control.barrier().await();
        }
    };

    private static final int LARGE_BYTES = 16 << 20;
    private static final Duration LIMIT = Duration.ofSeconds(20);

    /** Runs the scenario as one of two ranks, which use {@code control} to wait for each other. */
    abstract void run(Communicator comm, Communicator control) throws Exception;

    /** Runs the scenario as one of two ranks, with another communicator of both as {@code control}. */
    final void runOn(Communicator comm) {
        try (Communicator control = comm.split(0, comm.rank()).orElseThrow()) {
            run(comm, control);
        } catch (Exception e) {
            throw new AssertionError("rank " + comm.rank() + ": " + e, e);
        }
    }

    /** A buffer to send from and one to receive in. */
    private record Buffers(HostBuffer sent, HostBuffer received) implements AutoCloseable {

        Buffers(int bytes, int rank) {
            this(HostBuffer.allocate(bytes), HostBuffer.allocate(bytes));
            fill(sent.asByteBuffer(0, bytes).asFloatBuffer(), 1 + rank);
            fill(recvView(), 1 + rank);
        }

        DataBuffer send() {
            return sent.as(DataType.FLOAT32);
        }

        DataBuffer recv() {
            return received.as(DataType.FLOAT32);
        }

        FloatBuffer recvView() {
            return received.asByteBuffer(0, (int) received.bytes()).asFloatBuffer();
        }

        void requireSums() {
            FloatBuffer found = recvView();
            float[] sums = new float[found.remaining()];
            Arrays.fill(sums, 3);
            assertThat(found.mismatch(FloatBuffer.wrap(sums))).isEqualTo(-1);
        }

        @Override
        public void close() {
            sent.close();
            received.close();
        }
    }

    private static void fill(FloatBuffer values, float value) {
        for (int i = 0; i < values.limit(); i++) {
            values.put(i, value);
        }
    }

    /** Awaits the work on a new thread; returns when that thread is inside the operation. */
    private static FutureTask<Void> startWaiting(Work work) {
        FutureTask<Void> task = new FutureTask<>(work::await, null);
        Thread thread = new Thread(task, "waits");
        thread.setDaemon(true);
        thread.start();
        awaitThat("the operation runs", () -> Thread.getAllStackTraces().values().stream()
                .anyMatch(stack -> stack.length > 0
                        && stack[0].isNativeMethod()
                        && stack[0].getClassName().endsWith("NativeEngine")
                        && stack[0].getMethodName().startsWith("run")));
        return task;
    }

    private static void requireFailed(FutureTask<Void> task) throws InterruptedException {
        task.run();
        try {
            task.get();
            throw new AssertionError("an aborted operation did not fail");
        } catch (ExecutionException e) {
            assertThat(e.getCause()).isInstanceOf(JcclException.class);
        }
    }

    /** Waits until no host buffer holds memory. Ranks of one process count the buffers of both ranks. */
    private static void requireReleased(String what) {
        awaitThat(what + ", but it still holds memory", () -> Resources.hostBufferBytes() < 1 << 20);
    }

    private static void collectGarbage() throws InterruptedException {
        for (int i = 0; i < 5; i++) {
            System.gc();
            new CountDownLatch(1).await(20, TimeUnit.MILLISECONDS); // time for cleaners to run
        }
    }

    private static void awaitThat(String what, BooleanSupplier condition) {
        long end = System.nanoTime() + LIMIT.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - end >= 0) {
                throw new AssertionError(what + ": not within " + LIMIT + "; bytes=" + Resources.hostBufferBytes()
                        + " mappings=" + Resources.hostBufferMappings());
            }
            Thread.onSpinWait();
        }
    }
}

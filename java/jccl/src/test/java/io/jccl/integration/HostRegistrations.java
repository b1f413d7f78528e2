package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.Algorithm;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.JcclException;
import io.jccl.ReduceOp;
import io.jccl.Registration;
import io.jccl.UniqueId;
import io.jccl.Work;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.time.Duration;
import java.util.List;

/** Scenarios, run by {@link RankMain}, of ordinary host memory that ranks in different processes register. */
enum HostRegistrations {

    /** Results are the same without registered buffers, with only some, with all, and after the registrations end. */
    RESULTS {
        @Override
        void run(Communicator comm) {
            ByteBuffer send = buffer(BYTES);
            ByteBuffer recv = buffer(BYTES);
            requireSums(comm, send, recv, Algorithm.RING);
            Registration first = comm.register(DataBuffer.of(send));
            assertThat(first.isInPlace()).isTrue();
            requireSums(comm, send, send, Algorithm.DIRECT);
            requireSums(comm, send, recv, Algorithm.RING);
            Registration second = comm.register(DataBuffer.of(recv));
            requireSums(comm, send, recv, Algorithm.DIRECT);
            requireSums(comm, comm.rank() == 0 ? buffer(BYTES) : send, recv, Algorithm.RING);
            int part = COUNT / 2 / comm.size();
            fill(comm, send);
            Work gathered = comm.allGather(elements(send, part), elements(recv, part * comm.size()));
            gathered.await();
            assertThat(gathered.execution().algorithm()).isEqualTo(Algorithm.DIRECT);
            for (int i = 0; i < part * comm.size(); i++) {
                assertThat(ints(recv).get(i)).isEqualTo(value(i / part, i % part));
            }
            first.close();
            first.close();
            requireSums(comm, send, recv, Algorithm.RING);
            second.close();
            requireSums(comm, send, recv, Algorithm.RING);
        }
    },

    /** If one rank cannot register its buffer, no rank registers, and the communicator still works. */
    REFUSED {
        @Override
        void run(Communicator comm) {
            ByteBuffer whole = buffer(BYTES);
            ByteBuffer mine = comm.rank() == 1 ? whole.duplicate().position(64) : whole;
            assertThatThrownBy(() -> comm.register(DataBuffer.of(mine)))
                    .isInstanceOf(JcclException.class)
                    .hasMessageContaining("the buffer cannot be registered, on rank=1: address=0x")
                    .hasMessageContaining("HostBuffer.allocate")
                    .hasMessageContaining("can be the memory of tensors")
                    .hasMessageContaining("MALLOC_MMAP_THRESHOLD_=1048576")
                    .hasMessageContaining("takes 0.4 ms for each MiB");
            assertThatThrownBy(() -> comm.register(DataBuffer.of(buffer(1000))))
                    .isInstanceOf(JcclException.class)
                    .hasMessageContaining("on rank=0: address=0x")
                    .hasMessageContaining("bytes=1000: expected at least 1048576 bytes")
                    .hasMessageContaining("HostBuffer.allocate");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> comm.register(DataBuffer.of(new int[COUNT])))
                    .withMessageContaining("memory=HEAP")
                    .withMessageContaining("HostBuffer");
        }
    },

    /** Memory that overlaps a registered buffer cannot be registered; the first registration stays in effect. */
    TWICE {
        @Override
        void run(Communicator comm) {
            ByteBuffer buffer = buffer(BYTES);
            long address = DataBuffer.of(buffer).address();
            try (Registration registration = comm.register(DataBuffer.of(buffer))) {
                for (long[] offsetAndBytes : new long[][] {
                    {0, BYTES},
                    {0, BYTES / 2},
                    {BYTES / 4, BYTES / 2},
                    {BYTES - 8, 8},
                    {-4096, BYTES},
                    {-4096, 3L * BYTES}
                }) {
                    DataBuffer overlapping =
                            DataBuffer.host(address + offsetAndBytes[0], offsetAndBytes[1], DataType.INT8, buffer);
                    assertThatThrownBy(() -> comm.register(overlapping))
                            .isInstanceOf(JcclException.class)
                            .hasMessageContaining("on rank=0: address=0x")
                            .hasMessageContaining("is registered already")
                            .hasMessageContaining("close the other one first");
                }
                requireSums(comm, buffer, buffer, Algorithm.DIRECT);
                assertThat(registration.buffer().bytes()).isEqualTo(BYTES);
            }
            requireSums(comm, buffer, buffer, Algorithm.RING);
        }
    },

    /** Memory of a HostBuffer needs no registration, whatever kind of buffer refers to it. */
    SHARED {
        @Override
        void run(Communicator comm) {
            try (HostBuffer born = HostBuffer.allocate(BYTES)) {
                ByteBuffer view = born.asByteBuffer(0, BYTES);
                for (DataBuffer one : List.of(
                        born.as(DataType.INT32),
                        DataBuffer.of(view),
                        DataBuffer.host(born.address() + 64, 1000, DataType.INT8, born))) {
                    try (Registration registration = comm.register(one)) {
                        assertThat(registration.isInPlace()).isTrue();
                    }
                }
                requireSums(comm, view, view, Algorithm.DIRECT);
            }
        }
    },

    /** Programs that the process starts do not share registered memory, and do not disturb its use. */
    FORKED {
        @Override
        void run(Communicator comm) throws Exception {
            ByteBuffer buffer = buffer(BYTES);
            try (Registration registration = comm.register(DataBuffer.of(buffer))) {
                assertThat(registration.isInPlace()).isTrue();
                for (int i = 0; i < 3; i++) {
                    Process started = new ProcessBuilder("true").start();
                    requireSums(comm, buffer, buffer, Algorithm.DIRECT);
                    assertThat(started.waitFor()).isZero();
                    requireSums(comm, buffer, buffer, Algorithm.DIRECT);
                }
            }
            requireSums(comm, buffer, buffer, Algorithm.RING);
        }
    },

    /** A buffer is freed before its registration is closed, and the next allocation may have its addresses. */
    FREED {
        @Override
        void run(Communicator comm) throws Exception {
            ByteBuffer first = buffer(BYTES);
            Registration registration = comm.register(DataBuffer.of(first));
            requireSums(comm, first, first, Algorithm.DIRECT);
            if (comm.rank() == 0) {
                free(first);
            }
            ByteBuffer next = comm.rank() == 0 ? buffer(BYTES) : first;
            requireSums(comm, next, next, Algorithm.RING);
            registration.close();
            requireSums(comm, next, next, Algorithm.RING);
            try (Registration again = comm.register(DataBuffer.of(next))) {
                assertThat(again.isInPlace()).isTrue();
                requireSums(comm, next, next, Algorithm.DIRECT);
            }
        }
    },

    /** A registration that nothing refers to keeps its buffer reachable until the communicator is closed. */
    COLLECTED {
        @Override
        void run(Communicator comm) throws Exception {
            WeakReference<ByteBuffer> buffer = registerAndForget(comm);
            for (int i = 0; i < 5; i++) {
                System.gc();
            }
            assertThat(buffer.get()).isNotNull();
            requireSums(comm, buffer.get(), buffer.get(), Algorithm.DIRECT);
            comm.barrier().await(); // the communicator keeps only its last operation reachable, now the barrier
            comm.close();
            long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
            while (buffer.get() != null && System.nanoTime() < deadline) {
                System.gc();
                Thread.sleep(10);
            }
            assertThat(buffer.get()).isNull();
        }

        private WeakReference<ByteBuffer> registerAndForget(Communicator comm) {
            ByteBuffer buffer = buffer(BYTES);
            comm.register(DataBuffer.of(buffer));
            return new WeakReference<>(buffer);
        }
    },

    /** A peer's process ends while it has this rank's buffer mapped. */
    PEER_DIES {
        @Override
        void run(Communicator comm) {
            ByteBuffer buffer = buffer(BYTES);
            Registration registration = comm.register(DataBuffer.of(buffer));
            requireSums(comm, buffer, buffer, Algorithm.DIRECT);
            if (comm.rank() == 1) {
                System.out.println(RESULT);
                System.out.flush();
                Runtime.getRuntime().halt(0);
            }
            assertThatThrownBy(() -> {
                        for (int i = 0; i < 1000; i++) {
                            comm.allReduce(DataBuffer.of(ints(buffer)), ReduceOp.MAX)
                                    .await();
                        }
                    })
                    .isInstanceOf(JcclException.class);
            fill(comm, buffer);
            registration.close();
            for (int i = 0; i < COUNT; i++) {
                assertThat(ints(buffer).get(i)).isEqualTo(value(comm.rank(), i));
            }
        }
    };

    static final String RESULT = "RESULT ok";

    private static final int COUNT = 1_300_000; // not a whole number of pages
    private static final int BYTES = Integer.BYTES * COUNT;

    abstract void run(Communicator comm) throws Exception;

    static void run(UniqueId id, int rank, int size, HostRegistrations scenario) throws Exception {
        try (Communicator comm =
                Communicator.init(id, rank, size, LocalRanks.config().build())) {
            scenario.run(comm);
        }
        System.out.println(RESULT);
    }

    static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    private static IntBuffer ints(ByteBuffer buffer) {
        return buffer.duplicate().order(ByteOrder.nativeOrder()).asIntBuffer();
    }

    private static DataBuffer elements(ByteBuffer buffer, int count) {
        return DataBuffer.of(ints(buffer).limit(count));
    }

    private static int value(int rank, int i) {
        return i % 1000 + 7 * rank;
    }

    private static void fill(Communicator comm, ByteBuffer buffer) {
        IntBuffer all = ints(buffer);
        for (int i = 0; i < all.limit(); i++) {
            all.put(i, value(comm.rank(), i));
        }
    }

    static void requireSums(Communicator comm, ByteBuffer send, ByteBuffer recv, Algorithm algorithm) {
        fill(comm, send);
        Work work = comm.allReduce(DataBuffer.of(ints(send)), DataBuffer.of(ints(recv)), ReduceOp.SUM);
        work.await();
        assertThat(work.execution().algorithm()).isEqualTo(algorithm);
        IntBuffer sums = ints(recv);
        int wrong = 0;
        for (int i = 0; i < sums.limit(); i++) {
            int expected = 0;
            for (int rank = 0; rank < comm.size(); rank++) {
                expected += value(rank, i);
            }
            wrong += sums.get(i) == expected ? 0 : 1;
        }
        assertThat(wrong).isZero();
    }

    static void free(ByteBuffer buffer) throws ReflectiveOperationException {
        Class<?> type = Class.forName("sun.misc.Unsafe");
        Field field = type.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        Method cleaner = type.getMethod("invokeCleaner", ByteBuffer.class);
        cleaner.invoke(field.get(null), buffer);
    }
}

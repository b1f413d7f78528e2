package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.SymmetricMemory;
import io.jccl.UniqueId;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Runs every collective with 1 to all ranks on two communicators at once: one communicator executes an operation while
 * the other replays a captured operation. Half of the ranks replay first. Results must equal the host's bit for bit.
 */
final class DeviceMatrix {

    private static final int REPLAYS = 2;
    private static final long SEED = 18;

    private DeviceMatrix() {}

    /**
     * Runs this process's ranks as threads, on devices in turn.
     *
     * @param each number of ranks in each process
     * @param every runs only every n-th case of the list, which has ten cases for each collective. Each number of ranks
     *     begins at another case.
     * @param isSymmetric whether the buffers are symmetric memory
     */
    static void run(
            UniqueId id,
            int process,
            int each,
            int size,
            int devices,
            int every,
            boolean isSymmetric,
            CommunicatorConfig config)
            throws ExecutionException, InterruptedException {
        ExecutorService threads = Executors.newFixedThreadPool(each);
        List<Future<?>> ranks = new ArrayList<>();
        for (int rank = process * each; rank < (process + 1) * each; rank++) {
            int mine = rank;
            int device = rank % devices;
            ranks.add(threads.submit(() -> {
                CommunicatorConfig own = config.toBuilder().device(device).build();
                try (Communicator world = Communicator.init(id, mine, size, own)) {
                    for (int some = 1; some <= size; some++) {
                        bySome(world, some, every, isSymmetric, device);
                    }
                }
            }));
        }
        threads.shutdown();
        for (Future<?> rank : ranks) {
            rank.get();
        }
    }

    private static void bySome(Communicator world, int some, int every, boolean isSymmetric, int device) {
        int color = world.rank() < some ? 0 : -1;
        try (Communicator one = world.split(color, world.rank()).orElse(null);
                Communicator other = world.split(color, -world.rank()).orElse(null)) {
            if (one != null && other != null) {
                compare(one, other, every, isSymmetric, device);
            }
        }
    }

    /** Executes different operations on both communicators at the same time, each on its own stream and buffers. */
    private static void compare(Communicator one, Communicator other, int every, boolean isSymmetric, int device) {
        List<DeviceCollectives.Case> cases = DeviceCollectives.cases(SEED, type -> !type.isFloating());
        List<DeviceCollectives.Case> captured = new ArrayList<>(cases);
        Collections.reverse(captured);
        try (Side eager = new Side(one, isSymmetric, device);
                Side replayed = new Side(other, isSymmetric, device)) {
            for (int i = one.size() % every; i < cases.size(); i += every) {
                eager.take(cases.get(i));
                replayed.take(captured.get(i));
                try (DeviceMemory.Graph graph = replayed.recv.capture(replayed::issue)) {
                    for (int replay = 0; replay < REPLAYS; replay++) {
                        eager.fill();
                        replayed.fill();
                        if (one.rank() % 2 == 0) {
                            eager.issue();
                            graph.replay();
                        } else {
                            graph.replay();
                            eager.issue();
                        }
                        eager.require("eager");
                        replayed.require("replayed");
                    }
                }
            }
        }
    }

    /** A communicator with its buffers and the operation that it executes. */
    private static final class Side implements AutoCloseable {

        private final Communicator comm;
        private final List<SymmetricMemory> windows = new ArrayList<>();
        private final DeviceMemory send;
        private final DeviceMemory recv;
        private DeviceCollectives.Case operation;
        private byte[] sent;
        private byte[] before;
        private byte[] expected;

        Side(Communicator comm, boolean isSymmetric, int device) {
            this.comm = comm;
            send = memory(isSymmetric, device);
            recv = memory(isSymmetric, device);
        }

        private DeviceMemory memory(boolean isSymmetric, int device) {
            if (!isSymmetric) {
                return new DeviceMemory(device, DeviceCollectives.MAX_BYTES);
            }
            SymmetricMemory window = comm.allocateSymmetric(DeviceCollectives.MAX_BYTES);
            windows.add(window);
            return new DeviceMemory(
                    device,
                    DeviceCollectives.MAX_BYTES,
                    window.as(DataType.INT8).address());
        }

        /** Sets the operation and computes its expected result on the host. */
        void take(DeviceCollectives.Case next) {
            operation = next;
            int bytes = next.elements(comm.size()) * next.type().bytes();
            Random random = new Random(comm.rank() * 1000L + bytes);
            sent = new byte[bytes];
            before = new byte[bytes];
            random.nextBytes(sent);
            random.nextBytes(before);
            ByteBuffer result = direct(before);
            next.issue(
                            comm,
                            comm,
                            comm::group,
                            DataBuffer.of(direct(sent), next.type()),
                            DataBuffer.of(result, next.type()))
                    .await();
            expected = new byte[bytes];
            result.get(0, expected);
        }

        private static ByteBuffer direct(byte[] bytes) {
            return ByteBuffer.allocateDirect(bytes.length)
                    .order(ByteOrder.nativeOrder())
                    .put(0, bytes);
        }

        void fill() {
            send.put(sent);
            send.get(0); // waits for the copy, because the operation runs on another stream
            recv.put(before);
        }

        void issue() {
            long count = operation.elements(comm.size());
            operation.issue(
                    comm,
                    comm.on(recv.stream()),
                    comm.on(recv.stream())::group,
                    send.elements(count, operation.type()),
                    recv.elements(count, operation.type()));
        }

        void require(String how) {
            assertThat(recv.get(expected.length))
                    .as("rank %d of %d, %s %s", comm.rank(), comm.size(), how, operation)
                    .isEqualTo(expected);
        }

        @Override
        public void close() {
            send.close();
            recv.close();
            windows.forEach(SymmetricMemory::close);
        }
    }
}

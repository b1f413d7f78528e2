package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.Algorithm;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.DeviceException;
import io.jccl.JcclException;
import io.jccl.ReduceOp;
import io.jccl.Registration;
import io.jccl.SymmetricMemory;
import io.jccl.UniqueId;
import io.jccl.Work;
import io.jccl.nativelib.CudaLoader;
import io.jccl.nativelib.NativeDevice;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** Scenarios, run by {@link RankMain}, of registered GPU buffers that ranks in different processes use. */
final class RegisteredBuffers {

    static final String RESULT = "RESULT ok";
    static final String READY = "READY";
    static final String FAILED = "FAILED ";

    private static final Duration LIMIT = Duration.ofSeconds(200);
    private static final int COUNT = 120_000; // divisible by each number of ranks; too large for one-shot
    private static final int BYTES = Float.BYTES * COUNT;
    private static final int PLACE = 512; // offset in symmetric memory
    private static final int LARGE_BYTES = 6 << 20; // divisible by each number of ranks
    private static final int ABORTS = 12;
    private static final int NANOS_PER_ABORT = 700_000;
    private static final int REFILL = 77;

    private RegisteredBuffers() {}

    /** Returns the arguments of {@link RankMain} for a scenario. */
    static String[] arguments(String scenario, String library, String... further) {
        return Stream.concat(Stream.of(scenario, library), Stream.of(further)).toArray(String[]::new);
    }

    /** Waits until all ranks have ended, and requires that they succeeded. */
    static void requireResults(ProcessRanks ranks, int size) throws Exception {
        for (int rank = 0; rank < size; rank++) {
            assertThat(ranks.awaitExit(rank, LIMIT)).as(ranks.allOutput()).isZero();
            assertThat(ranks.output(rank)).contains(RESULT);
        }
    }

    /** Returns the device of a rank: ranks alternate between the first two GPUs, if there are two. */
    private static int device(int rank) {
        return rank % Math.min(2, CudaLoader.devices());
    }

    /** Returns a rank's configuration. It allows the direct algorithm, which needs registered buffers, and rings. */
    private static CommunicatorConfig config(int rank, String library, Duration timeout) {
        RankMain.useLibrary(library);
        return EmulatedGpus.config()
                .device(device(rank))
                .setting("JCCL_GPU_HOST_STAGING", "off")
                .setting("JCCL_ALGO", "ring,direct")
                .setting("JCCL_PROTO", "simple")
                .timeout(timeout)
                .build();
    }

    /**
     * Results are the same without registered buffers, with them, and if one rank uses an unregistered buffer. All sums
     * are exact.
     */
    static void results(UniqueId id, int rank, int size, String library) {
        try (Communicator comm = Communicator.init(id, rank, size, config(rank, library, LocalRanks.TIMEOUT))) {
            int device = device(rank);
            long own = NativeDevice.allocateMemory(device, BYTES);
            try (DeviceMemory send = new DeviceMemory(device, BYTES);
                    DeviceMemory recv = new DeviceMemory(device, BYTES);
                    DeviceMemory other = new DeviceMemory(device, BYTES)) {
                Map<String, byte[]> slots = allOperations(comm, send, recv, Algorithm.RING);
                Registration first = comm.register(send.elements(COUNT, DataType.FLOAT32));
                Registration second = comm.register(recv.elements(COUNT, DataType.FLOAT32));
                Registration third = comm.register(DataBuffer.device(own, BYTES, DataType.INT8));
                RankMain.print("REGISTERED " + first.isInPlace() + second.isInPlace() + third.isInPlace());
                requireSame(slots, allOperations(comm, send, recv, Algorithm.DIRECT));
                RankMain.print("MIXED");
                boolean last = rank == size - 1;
                requireSame(slots, allOperations(comm, last ? other : send, recv, Algorithm.DIRECT));
                requireSame(slots, allOperations(comm, send, rank == 0 ? other : recv, Algorithm.DIRECT));
                if (!library.equals(RankMain.OWN_LIBRARY)) {
                    // The emulated driver refuses to free memory that another process has opened.
                    assertThatThrownBy(() -> NativeDevice.freeMemory(device, own))
                            .isInstanceOf(DeviceException.class);
                }
                comm.barrier().await();
                third.close();
                third.close();
                NativeDevice.freeMemory(device, own);
                requireSame(slots, allOperations(comm, send, recv, Algorithm.DIRECT));
                first.close();
                second.close();
                requireSame(slots, allOperations(comm, send, recv, Algorithm.RING));
                // Closing the communicator ends this registration.
                comm.register(send.elements(COUNT, DataType.FLOAT32));
            }
        }
        RankMain.print(RESULT);
    }

    /** Results in symmetric memory are the same as through slots, after any number of allocations. */
    static void symmetric(UniqueId id, int rank, int size, String library) {
        try (Communicator comm = Communicator.init(id, rank, size, config(rank, library, LocalRanks.TIMEOUT))) {
            int device = device(rank);
            Map<String, byte[]> slots;
            try (DeviceMemory send = new DeviceMemory(device, BYTES);
                    DeviceMemory recv = new DeviceMemory(device, BYTES)) {
                slots = allOperations(comm, send, recv, Algorithm.RING);
            }
            long more = rank == size - 1 ? 1 : 0;
            assertThatThrownBy(() -> comm.allocateSymmetric(BYTES + more))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(
                            "bytes=" + BYTES + " on rank=0, bytes=" + (BYTES + 1) + " on rank=" + (size - 1));
            // All ranks use the same places; the last rank sends from another one; the last rank sends from other
            // memory.
            for (int round = 0; round < 3; round++) {
                boolean differs = rank == size - 1 && round > 0;
                try (SymmetricMemory from = comm.allocateSymmetric(BYTES + PLACE);
                        SymmetricMemory to = comm.allocateSymmetric(BYTES);
                        DeviceMemory send = new DeviceMemory(
                                device, BYTES, differs && round == 2 ? 0 : address(from) + (differs ? PLACE : 0));
                        DeviceMemory recv = new DeviceMemory(device, BYTES, address(to))) {
                    assertThat(from.isInPlace()).isTrue();
                    assertThat(recv.get(BYTES)).containsOnly(0);
                    requireSame(slots, allOperations(comm, send, recv, Algorithm.DIRECT));
                    copies(comm, device, differs ? round : 0);
                    RankMain.print("ROUND " + round);
                }
            }
            comm.allocateSymmetric(BYTES); // closing the communicator frees this memory
        }
        RankMain.print(RESULT);
    }

    /**
     * Gathers and exchanges so much data that copy engines move it, if all ranks send from the same place of symmetric
     * memory.
     *
     * @param place 0 for the place of the other ranks, 1 for another place, 2 for other memory
     */
    private static void copies(Communicator comm, int device, int place) {
        int size = comm.size();
        int count = LARGE_BYTES / Integer.BYTES / size;
        int whole = count * size;
        try (SymmetricMemory from = comm.allocateSymmetric(LARGE_BYTES + PLACE);
                DeviceMemory send = new DeviceMemory(
                        device, LARGE_BYTES, place == 2 ? 0 : address(from) + (place == 1 ? PLACE : 0));
                DeviceMemory recv = new DeviceMemory(device, LARGE_BYTES)) {
            ByteBuffer own = ByteBuffer.allocate(LARGE_BYTES).order(ByteOrder.nativeOrder());
            for (int i = 0; i < whole; i++) {
                own.putInt(Integer.BYTES * i, i * size + comm.rank());
            }
            send.put(own.array());
            comm.on(send.stream())
                    .allGather(send.elements(count, DataType.INT32), recv.elements(whole, DataType.INT32))
                    .await();
            IntBuffer gathered = ints(recv);
            comm.on(send.stream())
                    .allToAll(send.elements(whole, DataType.INT32), recv.elements(whole, DataType.INT32))
                    .await();
            IntBuffer exchanged = ints(recv);
            for (int i = 0; i < whole; i++) {
                int peer = i / count;
                int expected = i % count * size + peer;
                if (gathered.get(i) != expected || exchanged.get(i) != expected + comm.rank() * count * size) {
                    throw new AssertionError("i=" + i + " gathered=" + gathered.get(i) + " exchanged="
                            + exchanged.get(i) + ", expected " + expected + " and "
                            + (expected + comm.rank() * count * size));
                }
            }
        }
    }

    private static IntBuffer ints(DeviceMemory memory) {
        return ByteBuffer.wrap(memory.get(LARGE_BYTES))
                .order(ByteOrder.nativeOrder())
                .asIntBuffer();
    }

    private static long address(SymmetricMemory memory) {
        return memory.as(DataType.INT8).address();
    }

    private static void requireSame(Map<String, byte[]> expected, Map<String, byte[]> found) {
        assertThat(found.keySet()).isEqualTo(expected.keySet());
        found.forEach((name, bytes) ->
                assertThat(Arrays.equals(bytes, expected.get(name))).as(name).isTrue());
    }

    private static Map<String, byte[]> allOperations(
            Communicator comm, DeviceMemory send, DeviceMemory recv, Algorithm algorithm) {
        Map<String, byte[]> results = new TreeMap<>();
        int part = COUNT / comm.size();
        for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.AVG, ReduceOp.MAX)) {
            fill(comm, send);
            Work work = comm.on(send.stream())
                    .allReduce(send.elements(COUNT, DataType.FLOAT32), recv.elements(COUNT, DataType.FLOAT32), op);
            work.await();
            assertThat(work.execution().algorithm()).isEqualTo(algorithm);
            results.put("all-reduce " + op, recv.get(BYTES));
            fill(comm, send);
            comm.on(send.stream())
                    .reduceScatter(send.elements(COUNT, DataType.FLOAT32), recv.elements(part, DataType.FLOAT32), op)
                    .await();
            results.put("reduce-scatter " + op, recv.get(Float.BYTES * part));
        }
        fill(comm, send);
        comm.on(send.stream())
                .allGather(send.elements(part, DataType.FLOAT32), recv.elements(COUNT, DataType.FLOAT32))
                .await();
        results.put("all-gather", recv.get(BYTES));
        fill(comm, recv);
        comm.on(recv.stream())
                .allReduce(recv.elements(1000, DataType.FLOAT32), ReduceOp.SUM)
                .await();
        results.put("small all-reduce in place", recv.get(4000));
        return results;
    }

    private static void fill(Communicator comm, DeviceMemory memory) {
        ByteBuffer bytes = ByteBuffer.allocate(BYTES).order(ByteOrder.nativeOrder());
        for (int i = 0; i < COUNT; i++) {
            bytes.putFloat((i % 1000) / 8f + comm.rank() / 4f);
        }
        memory.put(bytes.array());
    }

    /** Memory that cannot be shared is refused on all ranks, which still work afterwards. */
    static void refused(UniqueId id, int rank, int size, String library) {
        try (Communicator comm = Communicator.init(id, rank, size, config(rank, library, LocalRanks.TIMEOUT));
                DeviceMemory memory = new DeviceMemory(device(rank), BYTES)) {
            DataBuffer buffer = memory.elements(COUNT, DataType.FLOAT32);
            for (int round = 0; round < 2; round++) {
                assertThatThrownBy(() -> comm.register(buffer))
                        .isInstanceOf(DeviceException.class)
                        .hasMessageContaining("the buffer cannot be registered, on rank=0: address=0x")
                        .hasMessageContaining("cuIpcGetMemHandle")
                        .hasMessageContaining("allocate it so");
                EmulatedGpus.sumUp(comm, device(rank));
            }
        }
        RankMain.print(RESULT);
    }

    /** Aborts operations at different moments; nothing writes to a rank's buffers after its operation has ended. */
    static void abort(UniqueId id, int rank, int size, String library) {
        try (Communicator comm = Communicator.init(id, rank, size, config(rank, library, LocalRanks.TIMEOUT));
                DeviceMemory memory = new DeviceMemory(device(rank), BYTES)) {
            for (int round = 0; round < ABORTS; round++) {
                try (Communicator aborted = comm.split(0, rank).orElseThrow()) {
                    Registration registration = aborted.register(memory.elements(COUNT, DataType.FLOAT32));
                    comm.barrier().await(); // on the communicator that rank 0 does not abort
                    Thread aborter = new Thread(
                            InPlaceFailures.abortAfter(aborted, (long) round * NANOS_PER_ABORT), "test-aborter");
                    aborter.setDaemon(true);
                    aborter.start();
                    allReduceUntilItFails(aborted, memory, 1);
                    refill(memory);
                    comm.barrier().await(); // the operations of all ranks have ended
                    requireRefilled(memory);
                    registration.close();
                }
                comm.barrier().await();
            }
        }
        RankMain.print(RESULT);
    }

    /** All-reduces until something fails, then reuses the buffer and ends its registration. */
    static void work(UniqueId id, int rank, int size, String library, Duration timeout) {
        try (Communicator comm = Communicator.init(id, rank, size, config(rank, library, timeout));
                DeviceMemory memory = new DeviceMemory(device(rank), BYTES)) {
            Registration registration = comm.register(memory.elements(COUNT, DataType.FLOAT32));
            long begin = System.nanoTime();
            String failure = allReduceUntilItFails(comm, memory, Integer.MAX_VALUE);
            refill(memory);
            RankMain.print(FAILED + "after " + (System.nanoTime() - begin) / 1_000_000 + " ms: " + failure);
            requireRefilled(memory);
            registration.close();
        }
        RankMain.print(RESULT);
    }

    private static String allReduceUntilItFails(Communicator comm, DeviceMemory memory, int rounds) {
        DataBuffer buffer = memory.elements(COUNT, DataType.FLOAT32);
        List<String> failures = new ArrayList<>();
        for (int round = 0; round < rounds && failures.isEmpty(); round++) {
            if (round == 5) {
                RankMain.print(READY);
            }
            try {
                comm.on(memory.stream()).allReduce(buffer, ReduceOp.MAX).await();
            } catch (JcclException e) {
                failures.add(e.getClass().getSimpleName() + ": " + e.getMessage());
            }
        }
        return String.join("", failures);
    }

    private static void refill(DeviceMemory memory) {
        byte[] bytes = new byte[BYTES];
        Arrays.fill(bytes, (byte) REFILL);
        memory.put(bytes);
    }

    private static void requireRefilled(DeviceMemory memory) {
        for (byte one : memory.get(BYTES)) {
            assertThat((int) one).isEqualTo(REFILL);
        }
    }
}

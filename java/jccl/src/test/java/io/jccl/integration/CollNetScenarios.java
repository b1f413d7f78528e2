package io.jccl.integration;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import io.jccl.Work;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Scenarios of {@link CollNetTest}, run by {@link RankMain}. The environment variables configure CollNet. */
final class CollNetScenarios {

    private static final int CASES = 12;
    private static final int ELEMENTS = 50_000;

    private CollNetScenarios() {}

    /** Prints the algorithm that each collective uses, then checks the results of sampled cases. */
    static void used(UniqueId id, int rank, int size) {
        try (Communicator comm =
                        Communicator.init(id, rank, size, LocalRanks.config().build());
                Arena arena = new Arena(CollectiveCase.arenaBytes(size))) {
            DataBuffer values = buffer(ELEMENTS);
            DataBuffer parts = buffer(ELEMENTS * size);
            print("all_reduce", comm.allReduce(values, ReduceOp.SUM));
            print("all_reduce_max", comm.allReduce(values, ReduceOp.MAX));
            print("all_reduce_xor", comm.allReduce(values, ReduceOp.BXOR));
            print("all_gather", comm.allGather(values, parts));
            print("reduce_scatter", comm.reduceScatter(parts, values, ReduceOp.SUM));
            print("broadcast", comm.broadcast(values, 0));
            for (CollectiveCase one : CollectiveCase.sample(size, size, CASES, true)) {
                one.check(comm, arena);
            }
            RankMain.print("RESULT ok");
        }
    }

    /** Does the same as {@link #used} with GPU memory. */
    static void usedOnDevice(UniqueId id, int rank, int size, CommunicatorConfig config) {
        try (Communicator comm = Communicator.init(id, rank, size, config);
                DeviceMemory memory = new DeviceMemory(0, ELEMENTS * Integer.BYTES);
                DeviceMemory all = new DeviceMemory(0, ELEMENTS * Integer.BYTES * size)) {
            DataBuffer values = memory.elements(ELEMENTS, DataType.INT32);
            DataBuffer parts = all.elements(ELEMENTS * size, DataType.INT32);
            print("all_reduce", comm.allReduce(values, ReduceOp.SUM));
            print("all_reduce_avg", comm.allReduce(values, ReduceOp.AVG));
            print("all_reduce_xor", comm.allReduce(values, ReduceOp.BXOR));
            print("all_gather", comm.allGather(values, parts));
            print("reduce_scatter", comm.reduceScatter(parts, values, ReduceOp.SUM));
            print("broadcast", comm.broadcast(values, 0));
            DeviceCollectives.compareEach(comm, 0, size, type -> !type.isFloating());
            RankMain.print("RESULT ok");
        }
    }

    private static DataBuffer buffer(int elements) {
        return DataBuffer.of(
                ByteBuffer.allocateDirect(elements * Integer.BYTES).order(ByteOrder.nativeOrder()), DataType.INT32);
    }

    private static void print(String name, Work work) {
        work.await();
        RankMain.print("USED " + name + "=" + work.execution().algorithm().label());
    }
}

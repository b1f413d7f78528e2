package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import io.jccl.Work;
import java.util.stream.LongStream;

/** A group of operations of three ranks on one device buffer. The result shows the order in which they took effect. */
final class OrderedGroup {

    private static final int COUNT = 700;
    static final int BYTES = 2 * Long.BYTES * COUNT;

    private final Communicator comm;
    private final DeviceMemory memory;
    private final DataBuffer one;
    private final DataBuffer other;

    OrderedGroup(Communicator comm, DeviceMemory memory) {
        this.comm = comm;
        this.memory = memory;
        DataBuffer all = memory.elements(2 * COUNT, DataType.INT64);
        this.one = all.slice(0, COUNT);
        this.other = all.slice(COUNT, COUNT);
        memory.putLongs(LongStream.range(0, 2 * COUNT).map(i -> i < COUNT ? i : comm.rank()));
    }

    Work issue() {
        return comm.on(memory.stream()).group(g -> g.allReduce(one, ReduceOp.SUM)
                .recv((comm.rank() + 2) % 3, other)
                .allReduce(one, ReduceOp.MAX)
                .allReduce(other, ReduceOp.MAX)
                .send((comm.rank() + 1) % 3, one)
                .barrier());
    }

    /**
     * Requires that each element is a multiple of its index: {@code summed} times in the first half, {@code sent} times
     * in the second half.
     */
    void require(int summed, int sent) {
        assertThat(memory.longs(2 * COUNT))
                .isEqualTo(LongStream.range(0, 2 * COUNT)
                        .map(i -> i < COUNT ? summed * i : sent * (i - COUNT))
                        .toArray());
    }
}

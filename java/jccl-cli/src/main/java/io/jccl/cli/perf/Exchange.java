package io.jccl.cli.perf;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.JcclException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.util.stream.LongStream;

/** Small facts that all ranks of a measurement share: every rank contributes numbers and gets those of all. */
final class Exchange {

    private final Communicator communicator;
    private final LongBuffer mine;
    private final LongBuffer all;
    private final DataBuffer send;
    private final DataBuffer recv;

    Exchange(Communicator communicator) {
        this.communicator = communicator;
        mine = longs(1);
        all = longs(communicator.size());
        send = DataBuffer.of(mine, DataType.INT64);
        recv = DataBuffer.of(all, DataType.INT64);
    }

    private static LongBuffer longs(int count) {
        return ByteBuffer.allocateDirect(count * Long.BYTES)
                .order(ByteOrder.nativeOrder())
                .asLongBuffer();
    }

    /** Every rank's number, in rank order. */
    long[] all(long value) {
        mine.put(0, value);
        communicator.allGather(send, recv).await();
        long[] values = new long[communicator.size()];
        all.get(0, values);
        if (values[communicator.rank()] != value) {
            throw new JcclException("rank=" + communicator.rank() + " sent=" + value + " received="
                    + values[communicator.rank()]
                    + ": an all-gather of one number a rank, which the measurement itself "
                    + "needs, returned a wrong result; force another --algorithm or --protocol to narrow it down");
        }
        return values;
    }

    /** The largest of all ranks' numbers. */
    double max(double value) {
        double max = Double.NEGATIVE_INFINITY;
        for (long bits : all(Double.doubleToRawLongBits(value))) {
            max = Math.max(max, Double.longBitsToDouble(bits));
        }
        return max;
    }

    /** The sum of all ranks' numbers. */
    long sum(long value) {
        return LongStream.of(all(value)).sum();
    }

    /** Whether all ranks have the same number. */
    boolean isEqualEverywhere(long value) {
        return LongStream.of(all(value)).distinct().count() == 1;
    }

    /** Waits for all ranks. */
    void barrier() {
        communicator.barrier().await();
    }
}

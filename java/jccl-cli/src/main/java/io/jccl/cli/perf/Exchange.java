package io.jccl.cli.perf;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.JcclException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;

/**
 * Exchanges small values between the ranks of a measurement: every rank contributes one value and receives the values
 * of all ranks. All ranks must make the same calls.
 */
final class Exchange {

    private static final int TEXT_BYTES = 64;

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

    /** Returns every rank's number, in rank order. */
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

    /** Returns every rank's text, in rank order, each cut to {@value #TEXT_BYTES} bytes. */
    List<String> all(String text) {
        byte[] utf8 = Arrays.copyOf(text.getBytes(StandardCharsets.UTF_8), TEXT_BYTES);
        ByteBuffer own = ByteBuffer.allocateDirect(TEXT_BYTES).put(0, utf8);
        ByteBuffer texts = ByteBuffer.allocateDirect(TEXT_BYTES * communicator.size());
        communicator.allGather(DataBuffer.of(own), DataBuffer.of(texts)).await();
        List<String> list = new ArrayList<>();
        for (int rank = 0; rank < communicator.size(); rank++) {
            texts.get(rank * TEXT_BYTES, utf8);
            list.add(new String(utf8, StandardCharsets.UTF_8).replace("\0", ""));
        }
        return list;
    }

    /** Returns the largest of all ranks' numbers. */
    double max(double value) {
        double max = Double.NEGATIVE_INFINITY;
        for (long bits : all(Double.doubleToRawLongBits(value))) {
            max = Math.max(max, Double.longBitsToDouble(bits));
        }
        return max;
    }

    /** Returns the sum of all ranks' numbers. */
    long sum(long value) {
        return LongStream.of(all(value)).sum();
    }

    /** Returns true if all ranks have the same number. */
    boolean isEqualEverywhere(long value) {
        return LongStream.of(all(value)).distinct().count() == 1;
    }

    /** Waits for all ranks. */
    void barrier() {
        communicator.barrier().await();
    }
}

package io.jccl.integration;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;

/**
 * A rank of {@link DescriptorLimitTest}: all-reduces a number and prints the outcome. Its process then lives until its
 * standard input ends, like an application that handles the exception.
 */
final class LimitedRank {

    static final String RIGHT = "sum is right";

    /** Last line of the output. */
    static final String OVER = "over";

    private LimitedRank() {}

    public static void main(String[] arguments) throws IOException {
        try (Communicator comm = Communicator.fromEnvironment()) {
            LongBuffer numbers = ByteBuffer.allocateDirect(Long.BYTES)
                    .order(ByteOrder.nativeOrder())
                    .asLongBuffer()
                    .put(0, comm.rank() + 1);
            comm.allReduce(DataBuffer.of(numbers), ReduceOp.SUM).await();
            System.out.println(numbers.get(0) == comm.size() * (comm.size() + 1L) / 2 ? RIGHT : "sum is wrong");
        } catch (RuntimeException | Error e) {
            System.out.println(e);
        }
        System.out.println(OVER);
        while (System.in.read() >= 0) {
            continue;
        }
    }
}

package io.jccl.cli.example;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.HostBuffer;
import io.jccl.ReduceOp;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;

public final class AverageGradients {
    public static void main(String[] args) {
        try (Communicator comm = Communicator.fromEnvironment();
                HostBuffer memory = HostBuffer.allocate(1024 * Float.BYTES)) {
            FloatBuffer gradients = memory.asByteBuffer(0, 1024 * Float.BYTES)
                    .order(ByteOrder.nativeOrder())
                    .asFloatBuffer();
            for (int i = 0; i < gradients.capacity(); i++) {
                gradients.put(i, comm.rank() + i);
            }
            comm.allReduce(DataBuffer.of(gradients), ReduceOp.AVG).await();
            System.out.println("rank " + comm.rank() + " of " + comm.size() + ": " + gradients.get(0));
        }
    }
}

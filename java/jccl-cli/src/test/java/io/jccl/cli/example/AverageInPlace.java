package io.jccl.cli.example;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.HostBuffer;
import io.jccl.ReduceOp;
import java.nio.FloatBuffer;

public final class AverageInPlace {
    public static void main(String[] args) {
        int bytes = 1024 * Float.BYTES;
        try (Communicator comm = Communicator.fromEnvironment();
                HostBuffer memory = HostBuffer.allocate(bytes)) {
            FloatBuffer gradients = memory.asByteBuffer(0, bytes).asFloatBuffer();
            gradients.put(0, comm.rank());
            comm.allReduce(DataBuffer.of(gradients), ReduceOp.AVG).await();
            System.out.println("rank " + comm.rank() + " of " + comm.size() + ": " + gradients.get(0));
        }
    }
}

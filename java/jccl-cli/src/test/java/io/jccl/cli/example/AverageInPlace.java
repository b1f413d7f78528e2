package io.jccl.cli.example;

import io.jccl.Communicator;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.ReduceOp;
import java.nio.FloatBuffer;

public final class AverageInPlace {
    public static void main(String[] args) {
        try (Communicator comm = Communicator.fromEnvironment();
                HostBuffer memory = HostBuffer.allocate(1024, DataType.FLOAT32)) {
            FloatBuffer gradients = memory.asFloatBuffer(0, 1024);
            gradients.put(0, comm.rank());
            comm.allReduce(memory.as(DataType.FLOAT32), ReduceOp.AVG).await();
            System.out.println("rank " + comm.rank() + " of " + comm.size() + ": " + gradients.get(0));
        }
    }
}

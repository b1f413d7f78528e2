package io.jccl.cli.example;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;

public final class AverageGradients {
    public static void main(String[] args) {
        float[] gradients = new float[1024];
        try (Communicator comm = Communicator.fromEnvironment()) {
            gradients[0] = comm.rank();
            comm.allReduce(DataBuffer.of(gradients), ReduceOp.AVG).await();
            System.out.println("rank " + comm.rank() + " of " + comm.size() + ": " + gradients[0]);
        }
    }
}

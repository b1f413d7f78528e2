package io.jccl.cli.example;

import io.jccl.Communicator;
import io.jccl.ReduceOp;

public final class AverageGradients {
    public static void main(String[] args) {
        try (Communicator comm = Communicator.fromEnvironment()) {
            float[] gradients = {comm.rank(), 1};
            comm.allReduce(gradients, ReduceOp.AVG).await();
            System.out.println("rank " + comm.rank() + " of " + comm.size() + ": " + gradients[0]);
        }
    }
}

package io.jccl.benchmarks;

import io.jccl.Communicator;

/**
 * A rank of {@code scripts/benchmark-start}: initialises and closes a communicator, or with an argument does nothing.
 */
public final class StartRank {

    private StartRank() {}

    /** Runs as the rank whose number and rendezvous are in the environment. */
    public static void main(String[] arguments) {
        if (arguments.length == 0) {
            Communicator.fromEnvironment().close();
        }
    }
}

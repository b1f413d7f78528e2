package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.JcclException;
import io.jccl.Protocol;

/**
 * What is asked after the model, and may change its costs: a tuner plug-in. Functions, algorithms and protocols have NCCL's
 * numbers; what NCCL has no number for is not asked about.
 */
public interface Tuner {

    /** Rows of a table of costs: NCCL's algorithms. */
    int ALGORITHMS = 7;

    /** Columns of a table of costs: NCCL's protocols. */
    int PROTOCOLS = 3;

    /** The cost of what this communicator cannot execute, or what a setting forbids. */
    float IGNORED = -1;

    /**
     * Lets it change the costs of an operation.
     *
     * @param bytes of the largest buffer of a rank
     * @param costs microseconds by algorithm and protocol; changed
     * @return how many channels it asks for; 0 where it leaves that open
     * @throws JcclException if it fails
     */
    int ask(int function, long bytes, float[] costs);

    /**
     * Lets it change the bytes of a step.
     *
     * @return what it asks for, or {@code chunkBytes}
     * @throws JcclException if it fails
     */
    long askChunk(int function, long bytes, int algorithm, int protocol, int channels, long chunkBytes);

    /** The number of a collective, -1 where NCCL asks no tuner. */
    static int function(Collective collective) {
        return switch (collective) {
            case BROADCAST -> 0;
            case REDUCE -> 1;
            case ALL_GATHER -> 2;
            case REDUCE_SCATTER -> 3;
            case ALL_REDUCE -> 4;
            case ALL_TO_ALL, GATHER, SCATTER, SEND_RECV, BARRIER -> -1;
        };
    }

    /** The row of an algorithm; -1 for the direct one, which NCCL has not. */
    static int row(Algorithm algorithm) {
        return switch (algorithm) {
            case TREE -> 0;
            case RING -> 1;
            case COLLNET_DIRECT -> 2;
            case COLLNET_CHAIN -> 3;
            case NVLS -> 4;
            case DIRECT -> -1;
        };
    }

    /** The column of a protocol. */
    static int column(Protocol protocol) {
        return switch (protocol) {
            case LL -> 0;
            case LL128 -> 1;
            case SIMPLE -> 2;
        };
    }

    /** An entry of the table as messages name it. */
    static String describe(int entry) {
        String[] algorithms = {"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
        String[] protocols = {"ll", "ll128", "simple"};
        return algorithms[entry / PROTOCOLS] + "/" + protocols[entry % PROTOCOLS];
    }
}

package io.jccl.tuner;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.JcclException;
import io.jccl.Protocol;

/**
 * A tuner plug-in: it is asked after the cost model, and may change the predicted costs. Functions, algorithms and
 * protocols have NCCL's numbers; a collective or algorithm without such a number is left out.
 */
interface Tuner {

    /** Number of rows of a cost table: NCCL's algorithms. */
    int ALGORITHMS = 7;

    /** Number of columns of a cost table: NCCL's protocols. */
    int PROTOCOLS = 3;

    /** Cost of a combination that this communicator cannot execute or that a setting forbids. */
    float IGNORED = -1;

    /**
     * Asks the tuner to change the costs of an operation.
     *
     * @param bytes size of the largest buffer of a rank
     * @param costs costs in microseconds by algorithm and protocol; changed in place
     * @return the number of channels that the tuner asks for; 0 if it leaves that open
     * @throws JcclException if the tuner fails
     */
    int ask(int function, long bytes, float[] costs);

    /**
     * Asks the tuner for the chunk size of an operation.
     *
     * @return the chunk size that the tuner asks for, or {@code chunkBytes} if it accepts that one
     * @throws JcclException if the tuner fails
     */
    long askChunk(int function, long bytes, int algorithm, int protocol, int channels, long chunkBytes);

    /** Returns NCCL's number of a collective; -1 for a collective about which NCCL asks no tuner. */
    static int function(Collective collective) {
        return switch (collective) {
            case BROADCAST -> 0;
            case REDUCE -> 1;
            case ALL_GATHER -> 2;
            case REDUCE_SCATTER -> 3;
            case ALL_REDUCE -> 4;
            case ALL_TO_ALL, GATHER, SCATTER, SEND_RECV, BARRIER, SCAN, EXSCAN -> -1;
        };
    }

    /** Returns the row of an algorithm; -1 for the direct one, which NCCL does not have. */
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

    /** Returns the column of a protocol. */
    static int column(Protocol protocol) {
        return switch (protocol) {
            case LL -> 0;
            case LL128 -> 1;
            case SIMPLE -> 2;
        };
    }

    /** Returns the name of a table entry for messages. */
    static String describe(int entry) {
        String[] algorithms = {"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
        String[] protocols = {"ll", "ll128", "simple"};
        return algorithms[entry / PROTOCOLS] + "/" + protocols[entry % PROTOCOLS];
    }
}

package io.jccl.pytorch;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The flags that a rank sends to the others at the end of a step: a byte for each parameter, and one for each rank. */
final class StepFlags {

    private static final byte USED = 1; // of a parameter: this rank has used it
    private static final byte MISSING = 2; // of a rank: the last backward pass did not reach all parameters
    private static final byte FAILED = 4; // of a rank: its synchronize() throws

    private final List<ReducedParameter> parameters;
    private final int size;
    private final ByteBuffer all;

    /**
     * @param failed true if synchronize() throws on this rank
     * @param missing true if the last backward pass did not reach parameters that it had to reach
     */
    StepFlags(List<ReducedParameter> parameters, Communicator comm, boolean failed, boolean missing) {
        this.parameters = parameters;
        this.size = comm.size();
        byte[] mine = new byte[parameters.size() + size];
        for (int i = 0; i < parameters.size(); i++) {
            mine[i] = parameters.get(i).isUsed() ? USED : 0;
        }
        mine[parameters.size() + comm.rank()] = (byte) ((failed ? FAILED : 0) | (missing ? MISSING : 0));
        all = ByteBuffer.allocateDirect(mine.length).put(mine).flip();
    }

    /** Returns the flags, which become those of all ranks by a reduction with BOR. */
    DataBuffer buffer() {
        return DataBuffer.of(all, DataType.UINT8);
    }

    /** Returns true if any rank has used the parameter. The reduction has ended. */
    boolean isUsed(ReducedParameter parameter) {
        return (all.get(parameters.indexOf(parameter)) & USED) != 0;
    }

    /**
     * Throws on all ranks if the step has failed on any. The reduction has ended.
     *
     * @param unreached a parameter that the backward pass of this rank did not reach; null if it reached all
     */
    void requireSuccess(@Nullable ReducedParameter unreached) {
        if (!ranksWith(MISSING).isEmpty()) {
            throw new IllegalStateException("ranks=" + ranksWith(MISSING)
                    + ": the backward pass did not reach all parameters"
                    + (unreached == null ? "" : ", on this rank not " + unreached.name())
                    + "; expected a gradient for each. Use them in the loss, freeze them before, or build with"
                    + " findUnusedParameters(true)");
        }
        if (!ranksWith(FAILED).isEmpty()) {
            throw new IllegalStateException(
                    "ranks=" + ranksWith(FAILED) + ": synchronize() failed there; see the exceptions of these ranks");
        }
    }

    private List<Integer> ranksWith(byte flag) {
        return IntStream.range(0, size)
                .filter(rank -> (all.get(parameters.size() + rank) & flag) != 0)
                .boxed()
                .toList();
    }
}

package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import io.jccl.tuning.ChoiceTable;

/**
 * A collective that was called with arguments that fit together.
 *
 * @param op null where the collective has none
 * @param bytes of the larger buffer, by which is chosen
 * @param send null where this rank sends nothing
 * @param recv null where this rank receives nothing
 */
record CollectiveCall(Collective collective, DataType type, ReduceOp op, long bytes, DataBuffer send, DataBuffer recv) {

    int signature() {
        return Signatures.of(collective, type, op);
    }

    long choose(ChoiceTable choices) {
        return choices.choose(collective, bytes);
    }
}

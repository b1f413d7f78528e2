package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import java.util.List;

/**
 * Predicts the times of one communicator's operations, so that a {@link ChoiceTable} can choose how to
 * execute them. Equal on all ranks, immutable, safe to share.
 */
public interface TimeModel {

    /** A description of the communicator for messages, such as {@code ranks=8 on hosts=1}. */
    String described();

    /** Whether this communicator can execute an operation so. */
    boolean exists(Collective collective, Algorithm algorithm, Protocol protocol);

    /** Whether to compare an algorithm with others at this size; where not, the model predicts it too fast. */
    default boolean worthComparing(Collective collective, Algorithm algorithm, long bytes) {
        return true;
    }

    /**
     * The channels and chunks that are worth comparing for an operation; at least one choice.
     *
     * @param bytes the larger of one rank's send and receive buffer
     * @param overrides bounds of channels and the chunk that was asked for
     */
    List<Choice> candidates(
            Collective collective, Algorithm algorithm, Protocol protocol, long bytes, TuningOverrides overrides);

    /** Predicted time of a choice, in microseconds. */
    double micros(Collective collective, Choice choice, long bytes);

    /** Remarks on this model's rules for the log. */
    default List<String> notes() {
        return List.of();
    }
}

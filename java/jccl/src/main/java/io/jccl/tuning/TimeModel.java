package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import java.util.List;

/**
 * Predicts the times of one communicator's operations, so that a {@link ChoiceTable} can choose how to execute them.
 * Equal on all ranks, immutable, safe to share.
 */
public interface TimeModel {

    /** Returns a description of the communicator for messages, such as {@code ranks=8 on hosts=1}. */
    String described();

    /** Returns true if this communicator can execute the collective with this algorithm and protocol. */
    boolean exists(Collective collective, Algorithm algorithm, Protocol protocol);

    /**
     * Returns false for an algorithm that must not be compared with others at this size, because the model
     * underestimates its time.
     */
    default boolean worthComparing(Collective collective, Algorithm algorithm, long bytes) {
        return true;
    }

    /**
     * Returns the combinations of channels and chunk size that are worth comparing for an operation; at least one.
     *
     * @param bytes the larger of one rank's send and receive buffer
     * @param overrides the bounds of channels, and the chunk size if one was asked for
     */
    List<Choice> candidates(
            Collective collective, Algorithm algorithm, Protocol protocol, long bytes, TuningOverrides overrides);

    /** Returns the predicted time of a choice in microseconds. */
    double micros(Collective collective, Choice choice, long bytes);

    /**
     * Returns the least time in microseconds in which the links between ranks can carry a choice; 0 if the model knows
     * no links.
     */
    default double linkMicros(Collective collective, Choice choice, long bytes) {
        return 0;
    }

    /**
     * Returns a model of the same communicator for operations of which fewer bytes cross hosts; this model if no bytes
     * cross hosts, or if it knows no such operations.
     *
     * @param share number of bytes that cross hosts for each byte of the elements, at most 1
     */
    default TimeModel narrowed(double share) {
        return this;
    }

    /** Returns remarks on the rules of this model for the log. */
    default List<String> notes() {
        return List.of();
    }
}

package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import java.util.List;

/**
 * Predicts the times of one communicator's operations, so that a {@link ChoiceTable} can choose between ways to carry
 * them out. Equal on all ranks, immutable, safe to share.
 */
public interface TimeModel {

    /** The communicator in words for messages, such as {@code ranks=8 on machines=1}. */
    String described();

    /** Whether an operation can be carried out so in this communicator. */
    boolean exists(Collective collective, Algorithm algorithm, Protocol protocol);

    /** Whether an algorithm should be looked at for this size when there are others; it is predicted too well else. */
    default boolean worthComparing(Collective collective, Algorithm algorithm, long bytes) {
        return true;
    }

    /**
     * The channels and chunks that are worth comparing for an operation; at least one choice.
     *
     * @param bytes the larger of one rank's send and receive buffer
     * @param overrides bounds of channels and the chunk that was asked for
     */
    List<Choice> ways(
            Collective collective, Algorithm algorithm, Protocol protocol, long bytes, TuningOverrides overrides);

    /** Predicted time of a choice, in microseconds. */
    double micros(Collective collective, Choice choice, long bytes);

    /** What a reader of the log should know of this model's rules, in words. */
    default List<String> notes() {
        return List.of();
    }
}

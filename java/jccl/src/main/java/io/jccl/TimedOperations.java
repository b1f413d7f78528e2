package io.jccl;

import io.jccl.runtime.Issuer;
import java.util.function.Consumer;

/** The operations of a communicator, each with a time-out of its own; see {@link Communicator#within}. */
public sealed interface TimedOperations extends ArrayOperations<Work> permits Issuer {

    /**
     * Issues operations together, with one time-out for all; see {@link Communicator#group}.
     *
     * @param body adds operations to the group; it must not call the communicator
     */
    Work group(Consumer<Group> body);
}

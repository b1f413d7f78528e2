package io.jccl;

import io.jccl.runtime.Issuer;
import java.util.function.Consumer;

/** The operations of a communicator with a time-out for each operation; see {@link Communicator#within}. */
public sealed interface TimedOperations extends ArrayOperations<Work> permits Issuer {

    /**
     * Issues operations together, with one time-out for the whole group; see {@link Communicator#group}.
     *
     * @param body adds operations to the group; it must not call the communicator
     */
    Work group(Consumer<Group> body);
}

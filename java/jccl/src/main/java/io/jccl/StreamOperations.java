package io.jccl;

import io.jccl.runtime.StreamIssuer;
import java.util.function.Consumer;

/** The operations of a communicator, ordered by a stream of its device; see {@link Communicator#on}. */
public sealed interface StreamOperations extends Operations<Work> permits StreamIssuer {

    /**
     * Issues operations together; see {@link Communicator#group}.
     *
     * @param body adds operations to the group; it must not call the communicator
     */
    Work group(Consumer<Group> body);
}

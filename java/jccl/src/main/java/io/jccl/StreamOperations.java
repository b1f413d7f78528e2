package io.jccl;

import io.jccl.runtime.Issuer;
import java.util.function.Consumer;

/** The operations of a communicator on device memory, ordered by a stream; see {@link Communicator#on}. */
public sealed interface StreamOperations extends Operations<Work> permits Issuer {

    /**
     * Issues operations together; see {@link Communicator#group}.
     *
     * @param body adds operations to the group; it must not call the communicator
     */
    Work group(Consumer<Group> body);
}

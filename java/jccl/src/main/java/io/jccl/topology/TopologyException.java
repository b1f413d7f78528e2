package io.jccl.topology;

import io.jccl.JcclException;

/** Thrown if a host description is not valid. The message names the place in the description and what was expected. */
public final class TopologyException extends JcclException {

    private static final long serialVersionUID = 1L;

    /** Makes the exception with a message that says what is wrong, where, and what was expected. */
    public TopologyException(String message) {
        super(message);
    }

    /** Makes the exception with a message and the failure that caused it. */
    public TopologyException(String message, Throwable cause) {
        super(message, cause);
    }
}

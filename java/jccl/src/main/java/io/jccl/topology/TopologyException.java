package io.jccl.topology;

import io.jccl.JcclException;

/** A host description is not acceptable. The message names the place in it and what was expected. */
public final class TopologyException extends JcclException {

    private static final long serialVersionUID = 1L;

    /** What is wrong, where, and what was expected. */
    public TopologyException(String message) {
        super(message);
    }

    /** What is wrong, and the failure behind it. */
    public TopologyException(String message, Throwable cause) {
        super(message, cause);
    }
}

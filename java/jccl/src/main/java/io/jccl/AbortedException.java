package io.jccl;

import org.jspecify.annotations.Nullable;

/** The communicator was aborted, by this rank or by another. */
public class AbortedException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * @param message what happened, with name=value pairs and the remedy
     */
    public AbortedException(String message) {
        super(message);
    }

    /**
     * @param message what happened, with name=value pairs and the remedy
     * @param cause the exception that led to this one, or null
     */
    public AbortedException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}

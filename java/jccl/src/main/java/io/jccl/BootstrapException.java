package io.jccl;

import org.jspecify.annotations.Nullable;

/** The ranks could not find each other or initialise a communicator. */
public class BootstrapException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * @param message what happened, with name=value pairs and the remedy
     */
    public BootstrapException(String message) {
        super(message);
    }

    /**
     * @param message what happened, with name=value pairs and the remedy
     * @param cause the exception that led to this one, or null
     */
    public BootstrapException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}

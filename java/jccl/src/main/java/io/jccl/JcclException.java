package io.jccl;

import org.jspecify.annotations.Nullable;

/**
 * The superclass of everything that goes wrong while ranks communicate. Mistakes of the caller are {@link
 * IllegalArgumentException} or {@link IllegalStateException} instead and leave the communicator as it was.
 *
 * <p>Once an operation has failed with one of these, the communicator is failed: every later call throws an exception of
 * the same class with the same message, whose cause is the first.
 */
public class JcclException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /**
     * @param message what happened, with name=value pairs and the remedy
     */
    public JcclException(String message) {
        super(message);
    }

    /**
     * @param message what happened, with name=value pairs and the remedy
     * @param cause what led to it, or null
     */
    public JcclException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}

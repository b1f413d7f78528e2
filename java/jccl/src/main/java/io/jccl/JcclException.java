package io.jccl;

import org.jspecify.annotations.Nullable;

/**
 * The superclass of all failures of the communication between ranks. A mistake of the caller throws {@link
 * IllegalArgumentException} or {@link IllegalStateException} instead and does not change the communicator.
 *
 * <p>Once an operation has failed with such an exception, the communicator has failed: every later call throws an
 * exception of the same class with the same message, whose cause is the first exception.
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
     * @param cause the exception that led to this one, or null
     */
    public JcclException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}

package io.jccl;

import org.jspecify.annotations.Nullable;

/** A transport between two ranks failed although both ranks are alive. */
public class TransportException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * @param message what happened, with name=value pairs and the remedy
     */
    public TransportException(String message) {
        super(message);
    }

    /**
     * @param message what happened, with name=value pairs and the remedy
     * @param cause the exception that led to this one, or null
     */
    public TransportException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}

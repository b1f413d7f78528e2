package io.jccl;

import org.jspecify.annotations.Nullable;

/**
 * A message was longer than the buffer of the receive that it matched. The message is dropped, and the buffer keeps its
 * contents. The communicator stays usable, and for the sender the message was received.
 */
public class MessageTooLongException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * @param message what happened, with name=value pairs and the remedy
     */
    public MessageTooLongException(String message) {
        super(message);
    }

    /**
     * @param message what happened, with name=value pairs and the remedy
     * @param cause the exception of the thread that received the message, or null
     */
    public MessageTooLongException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}

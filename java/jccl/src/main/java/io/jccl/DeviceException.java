package io.jccl;

import org.jspecify.annotations.Nullable;

/** A device or its driver is missing, or has refused a request. */
public class DeviceException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * @param message what happened, with name=value pairs and the remedy
     */
    public DeviceException(String message) {
        super(message);
    }

    /**
     * @param message what happened, with name=value pairs and the remedy
     * @param cause the exception that led to this one, or null
     */
    public DeviceException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}

package io.jccl.nativelib;

import io.jccl.JcclException;

/**
 * Thrown if the native library cannot be used here. The message has the reason and the remedy; each attempt is a
 * suppressed exception.
 */
public final class NativeLoadException extends JcclException {

    private static final long serialVersionUID = 1L;

    NativeLoadException(String message) {
        super(message);
    }

    NativeLoadException(String message, Throwable cause) {
        super(message, cause);
    }
}

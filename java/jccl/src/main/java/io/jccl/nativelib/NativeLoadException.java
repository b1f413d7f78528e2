package io.jccl.nativelib;

import io.jccl.JcclException;

/** The native library cannot be used here. Says why and what to do; every attempt is a suppressed exception. */
public final class NativeLoadException extends JcclException {

    private static final long serialVersionUID = 1L;

    NativeLoadException(String message) {
        super(message);
    }

    NativeLoadException(String message, Throwable cause) {
        super(message, cause);
    }
}

package io.jccl.bootstrap;

/** Bytes from the wire that cannot be right. The connection they came by is closed; never leaves this package. */
final class WireException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    WireException(String message) {
        super(message);
    }
}

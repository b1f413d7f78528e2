package io.jccl.bootstrap;

/** Bytes from the wire that cannot be right. The reader names the rank that sent them. */
public final class WireException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Says what is wrong. */
    public WireException(String message) {
        super(message);
    }
}

package io.jccl.wire;

/** Limits on the contents of messages. Readers refuse messages that exceed them. */
public final class Limits {

    /** The maximum number of characters of a text. */
    public static final int MAX_TEXT = 2000;

    /** The maximum number of ranks of one communicator. */
    public static final int MAX_RANKS = 1 << 16;

    private Limits() {}
}

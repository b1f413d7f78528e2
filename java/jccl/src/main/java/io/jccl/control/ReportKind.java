package io.jccl.control;

/** The kinds of problems that a rank can report. The order of the constants is part of the wire format. */
public enum ReportKind {
    /** An operation was not finished before its deadline. */
    TIMEOUT,
    /** The data that arrived belongs to another operation. */
    MISMATCH,
    /** An operation takes long, but may be healthy. */
    STALLED,
    /** A connection of the data network failed although the peer seems to live. */
    TRANSPORT,
    /** The application aborted the communicator on this rank. */
    ABORT,
    /** This rank gave up while the communicator was initialised: no other rank must wait for it. */
    GAVE_UP
}

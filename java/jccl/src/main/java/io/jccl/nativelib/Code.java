package io.jccl.nativelib;

import java.lang.annotation.Native;

/** Codes that native calls return; {@code native/base/code.h} has an enum of the same names. */
public final class Code {

    /** The call succeeded. */
    @Native
    public static final int OK = 0;
    /** An argument or the order of calls is wrong; the call changed nothing. */
    @Native
    public static final int INVALID = -1;
    /** The deadline of an operation passed. */
    @Native
    public static final int TIMEOUT = -2;
    /** The communicator was aborted. */
    @Native
    public static final int ABORTED = -3;
    /** A peer runs another operation, or the same operation with other arguments. */
    @Native
    public static final int MISMATCH = -4;
    /** A connection failed. */
    @Native
    public static final int TRANSPORT = -5;
    /** A system call failed. */
    @Native
    public static final int SYSTEM = -6;
    /** An invariant of the library is broken. */
    @Native
    public static final int INTERNAL = -7;
    /** The system gave no memory. */
    @Native
    public static final int NO_MEMORY = -8;
    /** An operation has not ended and can be resumed. */
    @Native
    public static final int PAUSED = -9;

    private Code() {}
}

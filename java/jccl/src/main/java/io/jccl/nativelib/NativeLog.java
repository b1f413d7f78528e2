package io.jccl.nativelib;

/** The log ring, to which native code adds its records. */
final class NativeLog {

    private NativeLog() {}

    /**
     * Removes the oldest record, and returns it as {@code LEVEL SUBSYSTEM RANK COMMUNICATOR TEXT}; null if there is no
     * record. The level is a number from 0 for trace to 4 for error. Rank and communicator are empty in a record of the
     * process, and the communicator is also empty if it has no name.
     */
    static native String take();

    /** Returns the number of records that were overwritten before they were taken, since the library was loaded. */
    static native long dropped();

    /** Sets the lowest level of records that native code makes, from 0 for trace to 4 for error. */
    static native void setLevel(int level);
}

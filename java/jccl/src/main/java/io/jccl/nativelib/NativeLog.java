package io.jccl.nativelib;

/** The ring that native code writes its log records into. */
final class NativeLog {

    private NativeLog() {}

    /**
     * The oldest record as {@code LEVEL SUBSYSTEM RANK COMMUNICATOR TEXT}, the level as its SLF4J ordinal from trace. Rank and
     * communicator are empty where it is of none, or of one without a name. Null if there is none.
     */
    static native String take();

    /** How many records were overwritten before anybody took them, since the library was loaded. */
    static native long dropped();

    /** Records below this level (0 trace to 4 error) are not made. */
    static native void setLevel(int level);
}

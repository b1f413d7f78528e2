package io.jccl.events;

/** The events of JDK Flight Recorder, which a Java runtime need not have: without its module nothing is recorded. */
public final class JfrEvents {

    /** Whether the runtime has the module {@code jdk.jfr}. A constant for the compiler, so that nothing is left of it. */
    private static final boolean AVAILABLE = isAvailable();

    private JfrEvents() {}

    private static boolean isAvailable() {
        try {
            CommunicatorEvent.isRecorded();
            return true;
        } catch (LinkageError e) {
            return false;
        }
    }

    /** Whether a recording asks for an event for each operation. Costs nothing while there is none. */
    public static boolean recordsOperations() {
        return AVAILABLE && OperationEvent.isRecorded();
    }

    /** Begins the event of an operation, to be called where {@link #recordsOperations}. */
    public static OperationSpan beginOperation() {
        return new OperationEvent();
    }

    /** Begins the event of a communicator's init, join, split, shrink, reform or close. */
    public static CommunicatorSpan beginCommunicator(String phase) {
        return AVAILABLE && CommunicatorEvent.isRecorded() ? CommunicatorEvent.begun(phase) : CommunicatorSpan.NONE;
    }

    /**
     * A communicator has failed.
     *
     * @param type the exception's simple name
     * @param missing the ranks that the failure names, as text
     */
    public static void failed(String communicator, int rank, String type, String text, String missing) {
        if (AVAILABLE) {
            FailureEvent.commit(communicator, rank, type, text, missing);
        }
    }
}

package io.jccl.events;

import jdk.jfr.FlightRecorder;

/**
 * Records events of JDK Flight Recorder. In a Java runtime without the module {@code jdk.jfr}, nothing is recorded.
 *
 * <p>Event classes are used only while a recording runs, because initialising one takes more than a tenth of a second
 * in a new JVM.
 */
public final class JfrEvents {

    /** True if the runtime has the module {@code jdk.jfr}. The compiler treats it as a constant. */
    private static final boolean AVAILABLE = isAvailable();

    private JfrEvents() {}

    private static boolean isAvailable() {
        try {
            FlightRecorder.isInitialized();
            return true;
        } catch (LinkageError e) {
            return false;
        }
    }

    private static boolean hasRecording() {
        return AVAILABLE && FlightRecorder.isInitialized();
    }

    /**
     * Returns true if a recording asks for an event for each operation. Costs next to nothing while no recording runs.
     */
    public static boolean recordsOperations() {
        return hasRecording() && OperationEvent.isRecorded();
    }

    /** Begins the event of an operation. Call this only if {@link #recordsOperations} returns true. */
    public static OperationSpan beginOperation() {
        return new OperationEvent();
    }

    /** Begins the event of a communicator's init, join, split, shrink, reform or close. */
    public static CommunicatorSpan beginCommunicator(String phase) {
        return hasRecording() && CommunicatorEvent.isRecorded()
                ? CommunicatorEvent.begun(phase)
                : CommunicatorSpan.NONE;
    }

    /**
     * Records that a communicator has failed.
     *
     * @param type the simple name of the exception's class
     * @param missing the ranks that the failure names, as text
     */
    public static void failed(String communicator, int rank, String type, String text, String missing) {
        if (hasRecording()) {
            FailureEvent.commit(communicator, rank, type, text, missing);
        }
    }
}

package io.jccl.events;

import jdk.jfr.FlightRecorder;

/**
 * The events of JDK Flight Recorder, which a Java runtime need not have: without its module nothing is recorded.
 *
 * <p>Classes of events are used only once there is a recording: to initialise one takes a new JVM more than a tenth of a second.
 */
public final class JfrEvents {

    /** Whether the runtime has the module {@code jdk.jfr}. A constant for the compiler. */
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

    /** Whether a recording asks for an event for each operation. Costs next to nothing while there is none. */
    public static boolean recordsOperations() {
        return hasRecording() && OperationEvent.isRecorded();
    }

    /** Begins the event of an operation, to be called where {@link #recordsOperations}. */
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
     * A communicator has failed.
     *
     * @param type the exception's simple name
     * @param missing the ranks that the failure names, as text
     */
    public static void failed(String communicator, int rank, String type, String text, String missing) {
        if (hasRecording()) {
            FailureEvent.commit(communicator, rank, type, text, missing);
        }
    }
}

package io.jccl.control;

import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.wire.LastEntered;
import java.util.concurrent.TimeUnit;

/**
 * The end of a coordinator whose rank 0 has closed its communicator: the coordinator waits for the other ranks, at most
 * for the close time-out. After a failure the ranks need it only until they have received the cause, at most a second.
 * Used only by the coordinator's thread, except {@link #hasAllLeft}.
 */
final class Departure {

    private static final long FAILED_CLOSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final long closeNanos;
    private volatile boolean allLeft;
    private boolean hasBegun;
    private long endNanos;
    private LastEntered farewell; // the last operations of rank 0, which has closed its communicator; or null

    Departure(BootstrapOptions options) {
        closeNanos = options.closeTimeout().toNanos();
    }

    /** Notes that rank 0 has closed its communicator after these operations. */
    void begin(LastEntered lastEntered, boolean failed, long now) {
        beginWithoutGroup(failed ? Math.min(closeNanos, FAILED_CLOSE_NANOS) : closeNanos, now);
        farewell = lastEntered;
    }

    /** Notes that there will be no group, and that ranks which come within some time get the reason. */
    void beginWithoutGroup(long nanos, long now) {
        endNanos = now + nanos;
        hasBegun = true;
    }

    /** Undoes {@link #beginWithoutGroup}. */
    void cancel() {
        hasBegun = false;
    }

    boolean hasBegun() {
        return hasBegun;
    }

    void allLeft() {
        allLeft = true;
    }

    /** Returns true if all ranks have left. May be called by any thread. */
    boolean hasAllLeft() {
        return allLeft;
    }

    boolean isDue(long now) {
        return hasBegun && now - endNanos >= 0;
    }

    /** Returns the smaller of some time and the time until the end is due. */
    long next(long now, long nanos) {
        return hasBegun ? Math.min(nanos, endNanos - now) : nanos;
    }

    /** Tells the ranks that are still here which operations rank 0 has entered last. */
    void end(CompleteGroup group) {
        hasBegun = false;
        if (farewell != null && group != null && !allLeft) {
            group.left(farewell);
        }
    }
}

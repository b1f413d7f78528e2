package io.jccl.parts;

import io.jccl.config.Settings;
import io.jccl.config.TimeSettings;
import io.jccl.membership.Bootstrap;
import java.time.Duration;
import java.util.List;

/**
 * The values that every step of an initialisation uses.
 *
 * @param settings the settings of this rank
 * @param membership this rank's membership in the group: the out-of-band channel and the control connection
 * @param deadline the {@link System#nanoTime} at which initialisation must have ended
 */
public record InitContext(Settings settings, Bootstrap membership, long deadline) {

    /** Returns a context whose time for initialisation begins now. */
    public static InitContext of(Settings settings, Bootstrap membership) {
        long deadline =
                System.nanoTime() + settings.get(TimeSettings.INIT_TIMEOUT).toNanos();
        return new InitContext(settings, membership, deadline);
    }

    public int rank() {
        return membership.rank();
    }

    public int size() {
        return membership.size();
    }

    /** Returns the time that is left for initialisation, at least 1 ms. */
    public Duration left() {
        long nanos = deadline - System.nanoTime();
        return Duration.ofNanos(Math.max(1_000_000, nanos));
    }

    /** Sends {@code mine} to all ranks and returns what each rank sent, by rank. All ranks call this together. */
    public List<byte[]> allGather(byte[] mine) {
        return membership.outOfBand().allGather(mine, left());
    }

    /** Waits until all ranks have called this. */
    public void barrier() {
        membership.outOfBand().barrier(left());
    }
}

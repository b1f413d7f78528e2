package io.jccl.init;

import io.jccl.bootstrap.Bootstrap;
import io.jccl.config.Settings;
import io.jccl.config.TimeSettings;
import java.time.Duration;
import java.util.List;

/**
 * What every step of an initialisation uses.
 *
 * @param settings of this rank
 * @param membership the networks to the other ranks
 * @param deadline when initialisation must have ended, by {@link System#nanoTime}
 */
record InitContext(Settings settings, Bootstrap membership, long deadline) {

    /** A context whose time begins now. */
    static InitContext of(Settings settings, Bootstrap membership) {
        long deadline =
                System.nanoTime() + settings.get(TimeSettings.INIT_TIMEOUT).toNanos();
        return new InitContext(settings, membership, deadline);
    }

    int rank() {
        return membership.rank();
    }

    int size() {
        return membership.size();
    }

    /** How much time initialisation may still take. */
    Duration left() {
        long nanos = deadline - System.nanoTime();
        return Duration.ofNanos(Math.max(1_000_000, nanos));
    }

    /** What each rank says, by rank; all ranks call it together. */
    List<byte[]> allGather(byte[] mine) {
        return membership.outOfBand().allGather(mine, left());
    }

    /** Waits until all ranks are here. */
    void barrier() {
        membership.outOfBand().barrier(left());
    }
}

package io.jccl.config;

import static io.jccl.config.ValueTypes.duration;
import static io.jccl.config.ValueTypes.flag;
import static io.jccl.config.ValueTypes.longInteger;

import java.time.Duration;
import java.util.List;

/** Settings of time limits, heartbeats and waiting. */
public final class TimeSettings {

    private static final Duration MILLISECOND = Duration.ofMillis(1);
    private static final Duration YEAR = Duration.ofDays(365);
    private static final SettingGroup GROUP = new SettingGroup("Time");

    public static final Setting<Duration> TIMEOUT = GROUP.add(
            "JCCL_TIMEOUT",
            "",
            duration(MILLISECOND, YEAR),
            Duration.ofMinutes(5),
            "How long one operation may take before it fails on every rank and names the ranks that never entered it. "
                    + "On GPUs the time of a collective counts from when the last rank has entered it.");

    public static final Setting<Duration> INIT_TIMEOUT = GROUP.add(
            "JCCL_INIT_TIMEOUT",
            "",
            duration(MILLISECOND, YEAR),
            Duration.ofMinutes(2),
            "How long initialising a communicator may take before it fails and names the missing ranks.");

    public static final Setting<Duration> HEARTBEAT_INTERVAL = GROUP.add(
            "JCCL_HEARTBEAT_INTERVAL",
            "",
            duration(Duration.ofMillis(10), Duration.ofHours(1)),
            Duration.ofMillis(500),
            "The time between two heartbeats of each rank to the coordinator on rank 0, and of the coordinator to each"
                    + " rank. With more than a thousand ranks JCCL uses a longer interval, up to a tenth of"
                    + " `JCCL_HEARTBEAT_TIMEOUT`, so that rank 0 receives about two thousand heartbeats a second.");

    public static final Setting<Duration> HEARTBEAT_TIMEOUT = GROUP.add(
            "JCCL_HEARTBEAT_TIMEOUT",
            "",
            duration(Duration.ofMillis(20), Duration.ofDays(1)),
            Duration.ofSeconds(20),
            "A rank from which nothing arrives for this time counts as failed; at least twice"
                    + " `JCCL_HEARTBEAT_INTERVAL`. This finds hosts that vanish: JCCL notices a process that ends at"
                    + " once. A network connection fails after three quarters of this time (at least 1 s) without an"
                    + " acknowledgement.");

    public static final Setting<Long> SPIN_NANOS = GROUP.add(
            "JCCL_SPIN_NANOS",
            "",
            longInteger(-1, 10_000_000_000L),
            -1L,
            "The number of nanoseconds for which a waiting thread spins before it yields and then sleeps. -1: JCCL"
                    + " chooses, depending on how many ranks share how many cores.");

    public static final Setting<Boolean> RANK_PLACEMENT = GROUP.add(
            "JCCL_RANK_PLACEMENT",
            "JCCL_SPREAD_RANKS",
            flag(),
            true,
            "1: a rank that shares a core with too many ranks moves to a core with fewer. It may still run on every"
                    + " core on which it could run before; a rank bound to one core stays there. 0: only the system"
                    + " places the ranks.");

    private TimeSettings() {}

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}

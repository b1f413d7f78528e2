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
            "How long one operation may take before it fails on every rank with the ranks that never entered it.");

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
            "How often each rank sends a heartbeat to the coordinator on rank 0, and the coordinator to each rank; where"
                    + " there are more than a thousand ranks, so rarely that rank 0 receives two thousand in a second.");

    public static final Setting<Duration> HEARTBEAT_TIMEOUT = GROUP.add(
            "JCCL_HEARTBEAT_TIMEOUT",
            "",
            duration(Duration.ofMillis(20), Duration.ofDays(1)),
            Duration.ofSeconds(20),
            "The silence after which a rank counts as failed; at least twice `JCCL_HEARTBEAT_INTERVAL`. A process that"
                    + " ends is noticed at once, whatever this says: the silence finds hosts that vanish. A network"
                    + " connection fails after three quarters of it (at least 1 s) without an acknowledgement.");

    public static final Setting<Long> SPIN_NANOS = GROUP.add(
            "JCCL_SPIN_NANOS",
            "",
            longInteger(-1, 10_000_000_000L),
            -1L,
            "How many nanoseconds a waiting thread spins before it yields and then sleeps; -1 chooses by the number of"
                    + " ranks that share processors, and of these processors.");

    public static final Setting<Boolean> RANK_PLACEMENT = GROUP.add(
            "JCCL_RANK_PLACEMENT",
            "JCCL_SPREAD_RANKS",
            flag(),
            true,
            "A rank moves from a processor with more ranks than it must have to one with fewer. It may run wherever it"
                    + " could before; a rank bound to one processor stays there. `0`: the system alone places the ranks.");

    private TimeSettings() {}

    static List<Setting<?>> all() {
        return GROUP.settings();
    }
}

package io.jccl.bootstrap;

import io.jccl.config.Settings;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * The settings of rendezvous, out-of-band and control network of one communicator.
 *
 * @param initTimeout the longest that initialisation of the group may take
 * @param heartbeatInterval how often each side of a connection says that it lives
 * @param heartbeatTimeout the silence after which a rank counts as failed; at least twice the interval
 * @param queryTimeout the longest that the coordinator waits for answers before it reports a failure
 * @param closeTimeout the longest that rank 0's close waits for the other ranks to close too
 * @param interfaces which network interfaces to use, as {@code JCCL_SOCKET_IFNAME} spells it; empty for JCCL's choice
 * @param family {@code AF_INET}, {@code AF_INET6}, or empty for both, IPv4 first
 * @param version what this rank runs: library version and build; ranks of different versions are refused
 * @param generation how often the group was reformed
 * @param memberPort where processes that join find this rank while it reforms, beside its reserved port; 0: nowhere else
 * @param clock nanoseconds of a clock that never goes back; tests pass their own
 */
public record BootstrapOptions(
        Duration initTimeout,
        Duration heartbeatInterval,
        Duration heartbeatTimeout,
        Duration queryTimeout,
        Duration closeTimeout,
        String interfaces,
        String family,
        String version,
        int generation,
        int memberPort,
        LongSupplier clock) {

    private static final int MAX_VERSION_CHARS = 200;

    /** Rank 0 sends and receives one heartbeat of each rank in an interval, two thousand of each in a second at most. */
    private static final Duration INTERVAL_FOR_EACH_RANK = Duration.ofNanos(500_000);

    /** However many ranks there are, so many intervals make a time-out. */
    private static final int MIN_INTERVALS = 10;

    /** Checks every value. */
    public BootstrapOptions {
        requirePositive("initTimeout", initTimeout);
        requirePositive("heartbeatInterval", heartbeatInterval);
        requirePositive("heartbeatTimeout", heartbeatTimeout);
        requirePositive("queryTimeout", queryTimeout);
        requirePositive("closeTimeout", closeTimeout);
        if (heartbeatTimeout.compareTo(heartbeatInterval.multipliedBy(2)) < 0) {
            throw new IllegalArgumentException("heartbeatTimeout=" + heartbeatTimeout + " heartbeatInterval="
                    + heartbeatInterval + ": expected a time-out of at least twice the interval");
        }
        if (version.isBlank() || version.length() > MAX_VERSION_CHARS) {
            throw new IllegalArgumentException(
                    "version=\"" + version + "\": expected 1 to " + MAX_VERSION_CHARS + " characters");
        }
        InterfaceFilter.parse(interfaces);
        AddressFamily.parse(family);
    }

    /** How often each side of a connection says that it lives in a group of a size: more rarely where there are thousands. */
    Duration heartbeatInterval(int size) {
        Duration forAll = INTERVAL_FOR_EACH_RANK.multipliedBy(size);
        Duration longest = heartbeatTimeout.dividedBy(MIN_INTERVALS);
        Duration longer = forAll.compareTo(longest) < 0 ? forAll : longest;
        return longer.compareTo(heartbeatInterval) > 0 ? longer : heartbeatInterval;
    }

    /** The defaults, for a library version. */
    public static BootstrapOptions defaults(String version) {
        return new BootstrapOptions(
                Duration.ofSeconds(120),
                Duration.ofMillis(500),
                Duration.ofSeconds(20),
                Duration.ofSeconds(1),
                Duration.ofSeconds(5),
                "",
                "",
                version,
                0,
                0,
                System::nanoTime);
    }

    /** The same with another initialisation time-out. */
    public BootstrapOptions withInitTimeout(Duration value) {
        return with(values -> values.initTimeout = value);
    }

    /** The same with other heartbeats. */
    public BootstrapOptions withHeartbeat(Duration interval, Duration timeout) {
        return with(values -> {
            values.heartbeatInterval = interval;
            values.heartbeatTimeout = timeout;
        });
    }

    /** The same with other waits of the coordinator: for answers, and for the others when it closes. */
    public BootstrapOptions withWaits(Duration query, Duration close) {
        return with(values -> {
            values.queryTimeout = query;
            values.closeTimeout = close;
        });
    }

    /** The same with the interfaces and the address family that settings ask for. */
    public BootstrapOptions withInterfaces(Settings settings) {
        return InterfaceSettings.apply(this, settings);
    }

    /** The same with another choice of interfaces and address family. */
    public BootstrapOptions withInterfaces(String names, String addressFamily) {
        return with(values -> {
            values.interfaces = names;
            values.family = addressFamily;
        });
    }

    /** The same for another generation. */
    public BootstrapOptions withGeneration(int value) {
        return with(values -> values.generation = value);
    }

    /** The same with another port for processes that join. */
    public BootstrapOptions withMemberPort(int value) {
        return with(values -> values.memberPort = value);
    }

    /** The same with another clock. */
    public BootstrapOptions withClock(LongSupplier value) {
        return with(values -> values.clock = value);
    }

    private BootstrapOptions with(Consumer<Values> change) {
        Values values = new Values(this);
        change.accept(values);
        return values.options();
    }

    /** All values, of which some change. */
    private static final class Values {

        private Duration initTimeout;
        private Duration heartbeatInterval;
        private Duration heartbeatTimeout;
        private Duration queryTimeout;
        private Duration closeTimeout;
        private String interfaces;
        private String family;
        private String version;
        private int generation;
        private int memberPort;
        private LongSupplier clock;

        private Values(BootstrapOptions options) {
            initTimeout = options.initTimeout;
            heartbeatInterval = options.heartbeatInterval;
            heartbeatTimeout = options.heartbeatTimeout;
            queryTimeout = options.queryTimeout;
            closeTimeout = options.closeTimeout;
            interfaces = options.interfaces;
            family = options.family;
            version = options.version;
            generation = options.generation;
            memberPort = options.memberPort;
            clock = options.clock;
        }

        private BootstrapOptions options() {
            return new BootstrapOptions(
                    initTimeout,
                    heartbeatInterval,
                    heartbeatTimeout,
                    queryTimeout,
                    closeTimeout,
                    interfaces,
                    family,
                    version,
                    generation,
                    memberPort,
                    clock);
        }
    }

    private static void requirePositive(String name, Duration value) {
        if (value.toNanos() <= 0) {
            throw new IllegalArgumentException(name + "=" + value + ": expected a time longer than zero");
        }
    }
}

package io.jccl.rendezvous;

import io.jccl.config.Settings;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * The settings of the rendezvous, the out-of-band network and the control network of one communicator.
 *
 * @param initTimeout the maximum time for the initialisation of the group
 * @param heartbeatInterval the interval at which each side of a control connection proves that it lives; large groups
 *     use a longer one, see {@code heartbeatInterval(int)}
 * @param heartbeatTimeout the silence after which a rank counts as failed; at least twice the interval
 * @param queryTimeout the maximum time that the coordinator waits for answers before it reports a failure
 * @param closeTimeout the maximum time that rank 0's process serves the other ranks after its close, until they close too
 * @param interfaces the network interfaces to use, in the syntax of {@code JCCL_SOCKET_IFNAME}; empty for JCCL's choice
 * @param family {@code AF_INET}, {@code AF_INET6}, or empty for both, IPv4 first
 * @param version the library version and build of this rank; ranks of different versions are refused
 * @param generation how often the group was reformed
 * @param encrypted true if all connections are encrypted
 * @param memberPort the port, in addition to the reserved one, at which joining processes find this rank while it
 *     reforms; 0 for none
 * @param clock a clock in nanoseconds that never goes back; tests pass their own
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
        boolean encrypted,
        int memberPort,
        LongSupplier clock) {

    private static final int MAX_VERSION_CHARS = 200;

    /**
     * Each rank's share of the heartbeat interval in a large group. Per interval, rank 0 sends one heartbeat to each
     * rank and receives one from it. With this share, rank 0 sends at most 2,000 heartbeats per second and receives as
     * many, unless {@link #MIN_INTERVALS} shortens the interval.
     */
    private static final Duration INTERVAL_FOR_EACH_RANK = Duration.ofNanos(500_000);

    /**
     * The minimum number of heartbeat intervals in a heartbeat time-out: a group's size lengthens the interval at most
     * to the time-out divided by this number. A configured interval may be longer.
     */
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

    /**
     * Returns the heartbeat interval in a group of the given size: the configured one, or a longer one if there are
     * thousands of ranks.
     */
    public Duration heartbeatInterval(int size) {
        Duration forAll = INTERVAL_FOR_EACH_RANK.multipliedBy(size);
        Duration longest = heartbeatTimeout.dividedBy(MIN_INTERVALS);
        Duration longer = forAll.compareTo(longest) < 0 ? forAll : longest;
        return longer.compareTo(heartbeatInterval) > 0 ? longer : heartbeatInterval;
    }

    /** Returns the defaults for a library version. */
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
                false,
                0,
                System::nanoTime);
    }

    /** Returns a copy with another initialisation time-out. */
    public BootstrapOptions withInitTimeout(Duration value) {
        return with(values -> values.initTimeout = value);
    }

    /** Returns a copy with other heartbeats. */
    public BootstrapOptions withHeartbeat(Duration interval, Duration timeout) {
        return with(values -> {
            values.heartbeatInterval = interval;
            values.heartbeatTimeout = timeout;
        });
    }

    /**
     * Returns a copy with other waiting times of the coordinator: for answers, and for the other ranks when it closes.
     */
    public BootstrapOptions withWaits(Duration query, Duration close) {
        return with(values -> {
            values.queryTimeout = query;
            values.closeTimeout = close;
        });
    }

    /** Returns a copy with the interfaces and the address family of the settings. */
    public BootstrapOptions withInterfaces(Settings settings) {
        return InterfaceSettings.apply(this, settings);
    }

    /** Returns a copy with other interfaces and another address family. */
    public BootstrapOptions withInterfaces(String names, String addressFamily) {
        return with(values -> {
            values.interfaces = names;
            values.family = addressFamily;
        });
    }

    /** Returns a copy for another generation. */
    public BootstrapOptions withGeneration(int value) {
        return with(values -> values.generation = value);
    }

    /** Returns a copy whose connections are encrypted, or are not. */
    public BootstrapOptions withEncryption(boolean value) {
        return with(values -> values.encrypted = value);
    }

    /** Returns a copy with another port for processes that join. */
    public BootstrapOptions withMemberPort(int value) {
        return with(values -> values.memberPort = value);
    }

    /** Returns a copy with another clock. */
    public BootstrapOptions withClock(LongSupplier value) {
        return with(values -> values.clock = value);
    }

    private BootstrapOptions with(Consumer<Values> change) {
        Values values = new Values(this);
        change.accept(values);
        return values.options();
    }

    /** All values in a form that can be changed. */
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
        private boolean encrypted;
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
            encrypted = options.encrypted;
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
                    encrypted,
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

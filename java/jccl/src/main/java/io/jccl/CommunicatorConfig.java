package io.jccl;

import io.jccl.config.AlgorithmSettings;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Settings of one communicator. What is not set here comes from the environment ({@code JCCL_*}, else {@code NCCL_*}), else
 * from the defaults. Immutable; a {@link Builder} checks everything at once when it builds.
 */
public final class CommunicatorConfig {

    /** What is expected where settings are null. */
    static final String EXPECTED = "settings; CommunicatorConfig.defaults() sets none";

    private static final CommunicatorConfig DEFAULTS = builder().build();
    private static final int NO_DEVICE = -1;

    private final Duration timeout;
    private final Duration initTimeout;
    private final String hostId;
    private final Algorithm algorithm;
    private final Protocol protocol;
    private final TransportKind transport;
    private final int channels;
    private final int device;
    private final Map<String, String> settings;

    private CommunicatorConfig(Builder builder) {
        this.timeout = builder.timeout;
        this.initTimeout = builder.initTimeout;
        this.hostId = builder.hostId;
        this.algorithm = builder.algorithm;
        this.protocol = builder.protocol;
        this.transport = builder.transport;
        this.channels = builder.channels;
        this.device = builder.device;
        this.settings = Map.copyOf(builder.settings);
    }

    /** Nothing set: everything from the environment or the defaults. */
    public static CommunicatorConfig defaults() {
        return DEFAULTS;
    }

    /** Begins new settings. */
    public static Builder builder() {
        return new Builder();
    }

    /** How long one operation may take, if set. */
    public Optional<Duration> timeout() {
        return Optional.ofNullable(timeout);
    }

    /** How long forming the communicator may take, if set. */
    public Optional<Duration> initTimeout() {
        return Optional.ofNullable(initTimeout);
    }

    /** Which machine this rank is on, if set: ranks with the same id share one. */
    public Optional<String> hostId() {
        return Optional.ofNullable(hostId);
    }

    /** The algorithm that every collective uses where it can, if set. */
    public Optional<Algorithm> algorithm() {
        return Optional.ofNullable(algorithm);
    }

    /** The protocol that every collective uses where it can, if set. */
    public Optional<Protocol> protocol() {
        return Optional.ofNullable(protocol);
    }

    /** The only transport that may be used, if set. */
    public Optional<TransportKind> transport() {
        return Optional.ofNullable(transport);
    }

    /** The number of channels, if set. */
    public Optional<Integer> channels() {
        return channels == 0 ? Optional.empty() : Optional.of(channels);
    }

    /** The GPU of this rank by its number in this process, if it has one. */
    public Optional<Integer> device() {
        return device == NO_DEVICE ? Optional.empty() : Optional.of(device);
    }

    /** Further settings by name, for example {@code JCCL_BUFFSIZE}; immutable. They come before the environment. */
    public Map<String, String> settings() {
        return settings;
    }

    /** Begins new settings that start as these. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.timeout = timeout;
        builder.initTimeout = initTimeout;
        builder.hostId = hostId;
        builder.algorithm = algorithm;
        builder.protocol = protocol;
        builder.transport = transport;
        builder.channels = channels;
        builder.device = device;
        builder.settings.putAll(settings);
        return builder;
    }

    /** Collects settings; not safe for use by several threads. */
    public static final class Builder {

        private Duration timeout;
        private Duration initTimeout;
        private String hostId;
        private Algorithm algorithm;
        private Protocol protocol;
        private TransportKind transport;
        private int channels;
        private int device = NO_DEVICE;
        private final Map<String, String> settings = new TreeMap<>();

        private Builder() {}

        /** How long one operation may take before it fails; at least a millisecond, or null for the default. */
        public Builder timeout(Duration timeout) {
            this.timeout = timeout;
            return this;
        }

        /** How long forming the communicator may take before it fails; at least a millisecond, or null for the default. */
        public Builder initTimeout(Duration initTimeout) {
            this.initTimeout = initTimeout;
            return this;
        }

        /** Says which machine this rank is on, instead of the boot id (null): ranks with the same id share one. */
        public Builder hostId(String hostId) {
            this.hostId = hostId;
            return this;
        }

        /** Forces an algorithm; null leaves the choice to JCCL. */
        public Builder algorithm(Algorithm algorithm) {
            this.algorithm = algorithm;
            return this;
        }

        /** Forces a protocol; null leaves the choice to JCCL. */
        public Builder protocol(Protocol protocol) {
            this.protocol = protocol;
            return this;
        }

        /** Forces a transport between all ranks; null leaves the choice to JCCL. */
        public Builder transport(TransportKind transport) {
            this.transport = transport;
            return this;
        }

        /** Forces the number of channels, 1 to 64; 0 leaves the choice to JCCL. */
        public Builder channels(int channels) {
            this.channels = channels;
            return this;
        }

        /**
         * Gives this rank a GPU, by its number in this process, so that its operations take device memory; -1 gives it none.
         * All ranks of a communicator have one, or none has; several may share one.
         */
        public Builder device(int device) {
            this.device = device;
            return this;
        }

        /** Sets any setting of {@code docs/environment.md} by its name. */
        public Builder setting(String name, String value) {
            if (name == null || value == null) {
                throw new IllegalArgumentException(
                        "name=" + name + " value=" + value + ": expected a name and a value");
            }
            settings.put(name, value);
            return this;
        }

        /**
         * Checks everything and builds.
         *
         * @throws IllegalArgumentException if a value is out of range; names it
         */
        public CommunicatorConfig build() {
            requireDuration("timeout", timeout);
            requireDuration("initTimeout", initTimeout);
            if (hostId != null && (hostId.isBlank() || hostId.length() > 256)) {
                throw new IllegalArgumentException("hostId=\"" + hostId + "\": expected 1 to 256 characters");
            }
            if (channels < 0 || channels > AlgorithmSettings.MAX_CHANNELS) {
                throw new IllegalArgumentException("channels=" + channels + ": expected 1 to "
                        + AlgorithmSettings.MAX_CHANNELS + ", or 0 for JCCL's choice");
            }
            if (device < NO_DEVICE) {
                throw new IllegalArgumentException("device=" + device + ": expected 0 or more, or -1 for none");
            }
            return new CommunicatorConfig(this);
        }

        private static void requireDuration(String name, Duration value) {
            if (value != null && (value.toMillis() < 1 || value.compareTo(Duration.ofDays(365)) > 0)) {
                throw new IllegalArgumentException(
                        name + "=" + value + ": expected a time from 1 millisecond to 365 days");
            }
        }
    }
}

package io.jccl;

import io.jccl.config.AlgorithmSettings;
import io.jccl.internal.Arguments;
import io.jccl.internal.Secrets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Settings of one communicator. A setting that is missing here comes from the first of these that has it: the system
 * property of its name ({@code -DJCCL_TIMEOUT=30s}), the environment ({@code JCCL_*}, then {@code NCCL_*}), the
 * defaults. Immutable. A {@link Builder} checks all values when it builds.
 */
public final class CommunicatorConfig {

    /** The part of a message about null settings that says what was expected. */
    static final String EXPECTED = "settings; CommunicatorConfig.defaults() sets none";

    private static final String TIME = "a time from 1 millisecond to 365 days";

    private static final String NAMES = "up to 32 letters, digits, '.', '_' and '-'";

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{0,32}");

    private static final CommunicatorConfig DEFAULTS = builder().build();

    private final String name;
    private final @Nullable Duration timeout;
    private final @Nullable Duration initTimeout;
    private final @Nullable String hostId;
    private final @Nullable Algorithm algorithm;
    private final @Nullable Protocol protocol;
    private final @Nullable TransportKind transport;
    private final @Nullable Encryption encryption;
    private final @Nullable WireFormat wireFormat;
    private final @Nullable Integer channels;
    private final @Nullable Integer maxBlocks;
    private final @Nullable Integer device;
    private final Map<String, String> settings;

    private CommunicatorConfig(Builder builder) {
        this.name = builder.name;
        this.timeout = builder.timeout;
        this.initTimeout = builder.initTimeout;
        this.hostId = builder.hostId;
        this.algorithm = builder.algorithm;
        this.protocol = builder.protocol;
        this.transport = builder.transport;
        this.encryption = builder.encryption;
        this.wireFormat = builder.wireFormat;
        this.channels = builder.channels;
        this.maxBlocks = builder.maxBlocks;
        this.device = builder.device;
        this.settings = Map.copyOf(builder.settings);
    }

    /**
     * Returns settings in which nothing is set: every value comes from a system property, the environment or the
     * defaults.
     */
    public static CommunicatorConfig defaults() {
        return DEFAULTS;
    }

    /** Returns a builder with nothing set. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns the name of the communicator; empty if it has none. */
    public String name() {
        return name;
    }

    /** Returns how long one operation may take, if set. */
    public Optional<Duration> timeout() {
        return Optional.ofNullable(timeout);
    }

    /** Returns how long the initialisation of the communicator may take, if set. */
    public Optional<Duration> initTimeout() {
        return Optional.ofNullable(initTimeout);
    }

    /** Returns the id of the host that this rank is on, if set. Ranks with the same id share a host. */
    public Optional<String> hostId() {
        return Optional.ofNullable(hostId);
    }

    /** Returns the algorithm, if set, that is forced for every collective that supports it. */
    public Optional<Algorithm> algorithm() {
        return Optional.ofNullable(algorithm);
    }

    /** Returns the protocol, if set, that is forced for every collective that supports it. */
    public Optional<Protocol> protocol() {
        return Optional.ofNullable(protocol);
    }

    /** Returns the only transport that may be used, if set. */
    public Optional<TransportKind> transport() {
        return Optional.ofNullable(transport);
    }

    /** Returns whether TCP connections are encrypted, if set. */
    public Optional<Encryption> encryption() {
        return Optional.ofNullable(encryption);
    }

    /** Returns the format in which elements travel between hosts, if set, for operations that name none. */
    public Optional<WireFormat> wireFormat() {
        return Optional.ofNullable(wireFormat);
    }

    /** Returns the number of channels, if set. */
    public Optional<Integer> channels() {
        return Optional.ofNullable(channels);
    }

    /** Returns the largest number of thread blocks of a kernel, if set. */
    public Optional<Integer> maxBlocks() {
        return Optional.ofNullable(maxBlocks);
    }

    /** Returns the number of this rank's GPU in this process, if the rank has one. */
    public Optional<Integer> device() {
        return Optional.ofNullable(device);
    }

    /**
     * Returns further settings by name, for example {@code JCCL_BUFFSIZE}; immutable. They take precedence over the
     * environment.
     */
    public Map<String, String> settings() {
        return settings;
    }

    /** Returns everything that is set, without secrets. */
    @Override
    public String toString() {
        Map<String, Object> set = new TreeMap<>(settings);
        set.computeIfPresent("JCCL_RENDEZVOUS", (key, value) -> Secrets.hidden(value.toString()));
        put(set, "name", name.isEmpty() ? null : name);
        put(set, "timeout", timeout);
        put(set, "initTimeout", initTimeout);
        put(set, "hostId", hostId);
        put(set, "algorithm", algorithm);
        put(set, "protocol", protocol);
        put(set, "transport", transport);
        put(set, "encryption", encryption);
        put(set, "wireFormat", wireFormat);
        put(set, "channels", channels);
        put(set, "maxBlocks", maxBlocks);
        put(set, "device", device);
        return "CommunicatorConfig" + set;
    }

    private static void put(Map<String, Object> set, String name, @Nullable Object value) {
        if (value != null) {
            set.put(name, value);
        }
    }

    /** Returns a builder that starts with these settings. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.name = name;
        builder.timeout = timeout;
        builder.initTimeout = initTimeout;
        builder.hostId = hostId;
        builder.algorithm = algorithm;
        builder.protocol = protocol;
        builder.transport = transport;
        builder.encryption = encryption;
        builder.wireFormat = wireFormat;
        builder.channels = channels;
        builder.maxBlocks = maxBlocks;
        builder.device = device;
        builder.settings.putAll(settings);
        return builder;
    }

    /**
     * Collects settings. {@link CommunicatorConfig} says where settings that are left out come from. Not safe for use
     * by several threads.
     */
    public static final class Builder {

        private String name = "";
        private @Nullable Duration timeout;
        private @Nullable Duration initTimeout;
        private @Nullable String hostId;
        private @Nullable Algorithm algorithm;
        private @Nullable Protocol protocol;
        private @Nullable TransportKind transport;
        private @Nullable Encryption encryption;
        private @Nullable WireFormat wireFormat;
        private @Nullable Integer channels;
        private @Nullable Integer maxBlocks;
        private @Nullable Integer device;
        private final Map<String, String> settings = new TreeMap<>();

        private Builder() {}

        /**
         * Names the communicator in logs, thread names, {@code jccl ps} and metrics. All ranks must give the same name.
         * A communicator that {@code shrink} or {@code reform} returns keeps the name; {@code split} gives a new one.
         *
         * @param name up to 32 letters, digits, dots, underscores and hyphens; empty for none
         */
        public Builder name(String name) {
            this.name = Arguments.required("name", name, NAMES);
            return this;
        }

        /**
         * Sets the time after which an operation fails; at least a millisecond. On a device, the time of a collective
         * counts from when the last rank has entered it.
         */
        public Builder timeout(Duration timeout) {
            this.timeout = Arguments.required("timeout", timeout, TIME);
            return this;
        }

        /** Sets the time after which the initialisation of the communicator fails; at least a millisecond. */
        public Builder initTimeout(Duration initTimeout) {
            this.initTimeout = Arguments.required("initTimeout", initTimeout, TIME);
            return this;
        }

        /**
         * Sets the id of the host that this rank is on, instead of the boot id. Ranks with the same id share a host.
         */
        public Builder hostId(String hostId) {
            this.hostId = Arguments.required("hostId", hostId, "1 to 256 characters");
            return this;
        }

        /** Forces an algorithm. */
        public Builder algorithm(Algorithm algorithm) {
            this.algorithm =
                    Arguments.required("algorithm", algorithm, "one of " + Arrays.toString(Algorithm.values()));
            return this;
        }

        /** Forces a protocol. */
        public Builder protocol(Protocol protocol) {
            this.protocol = Arguments.required("protocol", protocol, "one of " + Arrays.toString(Protocol.values()));
            return this;
        }

        /** Forces a transport between all ranks. */
        public Builder transport(TransportKind transport) {
            this.transport =
                    Arguments.required("transport", transport, "one of " + Arrays.toString(TransportKind.values()));
            return this;
        }

        /**
         * Sets whether the TCP connections of the communicator are encrypted. All ranks must give the same value, also
         * to {@link UniqueId#create(CommunicatorConfig)}. Sets {@code JCCL_ENCRYPTION}.
         */
        public Builder encryption(Encryption encryption) {
            this.encryption =
                    Arguments.required("encryption", encryption, "one of " + Arrays.toString(Encryption.values()));
            return this;
        }

        /**
         * Sets the format in which float32 and float64 travel between hosts, for all-reduces, reduce-scatters,
         * all-gathers and broadcasts on host memory that name no format. All ranks must give the same format. Sets
         * {@code JCCL_WIRE_FORMAT}.
         */
        public Builder wireFormat(WireFormat wireFormat) {
            this.wireFormat = Arguments.required("wireFormat", wireFormat, "a format, for example WireFormat.BFLOAT16");
            return this;
        }

        /** Forces the number of channels, 1 to 64. */
        public Builder channels(int channels) {
            this.channels = channels;
            return this;
        }

        /**
         * Limits the thread blocks that an operation occupies on a GPU, 1 to 64, so that more multiprocessors remain
         * for the application's kernels. Each channel takes one block, so that this limits channels on host memory,
         * too. Without a limit, JCCL takes as many blocks as the links between the GPUs need, at most 32. All ranks
         * must give the same number. Sets {@code JCCL_MAX_NCHANNELS}.
         */
        public Builder maxBlocks(int maxBlocks) {
            this.maxBlocks = maxBlocks;
            return this;
        }

        /**
         * Assigns a GPU to this rank, by the number of the GPU in this process. Operations of the rank can then use
         * device memory. Either all ranks of a communicator have a GPU, or none has. Several ranks can share a GPU.
         */
        public Builder device(int device) {
            this.device = device;
            return this;
        }

        /** Sets a setting of {@code docs/environment.md} by its name. */
        public Builder setting(String name, String value) {
            if (name == null || value == null) {
                throw new IllegalArgumentException(
                        "name=" + name + " value=" + value + ": expected a name and a value");
            }
            settings.put(name, value);
            return this;
        }

        /**
         * Checks all values and returns the settings.
         *
         * @throws IllegalArgumentException if a value is out of range; names the value
         */
        public CommunicatorConfig build() {
            if (!NAME.matcher(name).matches()) {
                throw new IllegalArgumentException("name=\"" + name + "\": expected " + NAMES);
            }
            requireDuration("timeout", timeout);
            requireDuration("initTimeout", initTimeout);
            if (hostId != null && (hostId.isBlank() || hostId.length() > 256)) {
                throw new IllegalArgumentException("hostId=\"" + hostId + "\": expected 1 to 256 characters");
            }
            if (channels != null && (channels < 1 || channels > AlgorithmSettings.MAX_CHANNELS)) {
                throw new IllegalArgumentException("channels=" + channels + ": expected 1 to "
                        + AlgorithmSettings.MAX_CHANNELS + "; leave it out for JCCL's choice");
            }
            if (maxBlocks != null && (maxBlocks < 1 || maxBlocks > AlgorithmSettings.MAX_CHANNELS)) {
                throw new IllegalArgumentException("maxBlocks=" + maxBlocks + ": expected 1 to "
                        + AlgorithmSettings.MAX_CHANNELS + "; leave it out for JCCL's choice");
            }
            if (channels != null && maxBlocks != null && channels > maxBlocks) {
                throw new IllegalArgumentException("channels=" + channels + " maxBlocks=" + maxBlocks
                        + ": expected at most as many channels as blocks; leave one of them out");
            }
            if (device != null && device < 0) {
                throw new IllegalArgumentException(
                        "device=" + device + ": expected 0 or more; leave it out for a rank on the host");
            }
            return new CommunicatorConfig(this);
        }

        private static void requireDuration(String name, @Nullable Duration value) {
            if (value != null && (value.toMillis() < 1 || value.compareTo(Duration.ofDays(365)) > 0)) {
                throw new IllegalArgumentException(name + "=" + value + ": expected " + TIME);
            }
        }
    }
}

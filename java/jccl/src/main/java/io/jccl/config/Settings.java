package io.jccl.config;

import io.jccl.CommunicatorConfig;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * The value of every setting and the place that it came from, at one moment. Immutable.
 *
 * <p>The places are searched in this order: the application's {@link CommunicatorConfig}, a system property {@code
 * JCCL_X}, {@code JCCL_X} in the environment, then {@code NCCL_X} in the environment if the meaning is the same, then
 * the default. A value under one of NCCL's names that JCCL cannot use is adapted or ignored, and causes one of the
 * {@link #warnings()}. In each place a former name of a setting is looked up after its name. An empty text counts as
 * not set.
 */
public final class Settings {

    private static final String CONFIGURATION_FILE = "NCCL_CONF_FILE";

    private final Map<String, SettingLookup.Entry> entries; // key: name of the setting
    private final List<String> warnings;

    private Settings(Map<String, SettingLookup.Entry> entries, List<String> warnings) {
        this.entries = entries;
        this.warnings = List.copyOf(warnings);
    }

    /**
     * Returns the settings of a communicator in this process.
     *
     * @throws IllegalArgumentException if a value under one of JCCL's names is bad; quotes name, value, place and the
     *     expected form
     */
    public static Settings load(CommunicatorConfig config) {
        return load(config, System::getProperty, EnvironmentVariables.all());
    }

    /**
     * Returns the settings of a communicator with other properties and another environment.
     *
     * @param properties returns the value of a system property by its name, or null
     * @throws IllegalArgumentException if a value under one of JCCL's names is bad; quotes name, value, place and the
     *     expected form
     */
    public static Settings load(
            CommunicatorConfig config, Function<String, String> properties, Map<String, String> environment) {
        SettingLookup lookup = new SettingLookup(overrides(config), properties, environment);
        requireKnown(config.settings().keySet());
        List<String> warnings = new ArrayList<>(unknownNames(environment.keySet()));
        for (Setting<?> setting : Registry.all()) {
            warnings.addAll(
                    formerName(setting, lookup.entries().get(setting.name()).origin()));
        }
        warnings.addAll(lookup.warnings());
        warnings.addAll(configurationFile(environment));
        Settings settings = new Settings(lookup.entries(), warnings);
        settings.requireConsistent();
        return settings;
    }

    /** Returns a setting's value. */
    @SuppressWarnings("unchecked") // the value of an entry has the class of its setting
    public <T> T get(Setting<T> setting) {
        return (T) entry(setting).value();
    }

    /** Returns a setting's value for operations between GPUs, for which settings can have a separate default. */
    public <T> T getForDevices(Setting<T> setting) {
        return origin(setting).source() == Origin.Source.DEFAULT ? setting.deviceDefault() : get(setting);
    }

    /** Returns the place that a setting's value came from. */
    public Origin origin(Setting<?> setting) {
        return entry(setting).origin();
    }

    /**
     * Returns a setting's value as text, followed by the value between GPUs if that differs; empty if nothing is set.
     */
    public <T> String text(Setting<T> setting) {
        String text = setting.type().format(get(setting));
        return getForDevices(setting).equals(get(setting))
                ? text
                : text + ", between GPUs " + setting.deviceDefaultText();
    }

    /**
     * Returns sentences for the log about names in the environment that are not settings, former names in use, and
     * values under NCCL's names that JCCL cannot use.
     */
    public List<String> warnings() {
        return warnings;
    }

    private SettingLookup.Entry entry(Setting<?> setting) {
        SettingLookup.Entry entry = entries.get(setting.name());
        if (entry == null) {
            throw new IllegalArgumentException("setting=" + setting.name() + ": expected one of the registry");
        }
        return entry;
    }

    /** Returns the settings of the application. Its typed values override its texts of the same setting. */
    private static Map<String, String> overrides(CommunicatorConfig config) {
        Map<String, String> overrides = new HashMap<>(config.settings());
        put(overrides, TimeSettings.TIMEOUT, config.timeout());
        put(overrides, TimeSettings.INIT_TIMEOUT, config.initTimeout());
        put(overrides, LaunchSettings.HOST_ID, config.hostId());
        put(overrides, AlgorithmSettings.ALGO, config.algorithm());
        put(overrides, AlgorithmSettings.PROTO, config.protocol());
        put(overrides, NetworkSettings.ENCRYPTION, config.encryption());
        put(overrides, TransportSettings.TRANSPORT, config.transport());
        put(overrides, AlgorithmSettings.WIRE_FORMAT, config.wireFormat());
        put(overrides, AlgorithmSettings.DEVICE, config.device());
        put(overrides, AlgorithmSettings.MIN_NCHANNELS, config.channels());
        put(overrides, AlgorithmSettings.MAX_NCHANNELS, config.channels().or(config::maxBlocks));
        return overrides;
    }

    private static void put(Map<String, String> overrides, Setting<?> setting, Optional<?> value) {
        if (value.isPresent()) {
            overrides.put(setting.name(), text(value.get()));
        }
    }

    private static String text(Object value) {
        if (value instanceof Duration duration) {
            return TimeSettings.TIMEOUT.type().format(duration);
        }
        return value instanceof Enum<?> constant ? constant.name().toLowerCase(Locale.ROOT) : value.toString();
    }

    /**
     * Throws if the application's configuration contains an unknown name. Such a name is a mistake, unlike a stray
     * variable of the environment.
     */
    private static void requireKnown(Collection<String> names) {
        for (String name : new TreeSet<>(names)) {
            if (!isKnown(name)) {
                throw new IllegalArgumentException(name + " (from CommunicatorConfig): expected the name of a setting; "
                        + NearestName.suggestion(name, knownNames()));
            }
        }
    }

    private static List<String> unknownNames(Collection<String> names) {
        List<String> warnings = new ArrayList<>();
        for (String name : new TreeSet<>(names)) {
            if (name.startsWith("JCCL_") && !isKnown(name)) {
                warnings.add(name + " (from environment) is no setting and is ignored; "
                        + NearestName.suggestion(name, knownNames()));
            }
        }
        return warnings;
    }

    private static List<String> configurationFile(Map<String, String> environment) {
        String file = environment.getOrDefault(CONFIGURATION_FILE, "");
        return file.isBlank()
                ? List.of()
                : List.of(
                        CONFIGURATION_FILE + "=\"" + file.strip() + "\" (from environment): JCCL reads no configuration"
                                + " files of NCCL; set what it says in the environment");
    }

    private static List<String> formerName(Setting<?> setting, Origin origin) {
        return setting.formerNames().contains(origin.name())
                ? List.of(origin.name() + " (from " + origin.place() + ") has the name " + setting.name()
                        + " now; rename it")
                : List.of();
    }

    private static boolean isKnown(String name) {
        for (Setting<?> setting : Registry.all()) {
            if (setting.name().equals(name) || setting.formerNames().contains(name)) {
                return true;
            }
        }
        return false;
    }

    private static Collection<String> knownNames() {
        TreeMap<String, Setting<?>> names = new TreeMap<>();
        Registry.all().forEach(setting -> names.put(setting.name(), setting));
        return names.keySet();
    }

    private void requireConsistent() {
        int min = get(AlgorithmSettings.MIN_NCHANNELS);
        int max = get(AlgorithmSettings.MAX_NCHANNELS);
        if (max != 0 && min > max) {
            throw inconsistent(
                    AlgorithmSettings.MIN_NCHANNELS,
                    AlgorithmSettings.MAX_NCHANNELS,
                    "expected the first to be at most the second");
        }
        Duration interval = get(TimeSettings.HEARTBEAT_INTERVAL);
        if (get(TimeSettings.HEARTBEAT_TIMEOUT).compareTo(interval.multipliedBy(2)) < 0) {
            throw inconsistent(
                    TimeSettings.HEARTBEAT_INTERVAL,
                    TimeSettings.HEARTBEAT_TIMEOUT,
                    "expected the second to be at least twice the first");
        }
    }

    private IllegalArgumentException inconsistent(Setting<?> a, Setting<?> b, String expected) {
        return new IllegalArgumentException(described(a) + " and " + described(b) + ": " + expected);
    }

    private String described(Setting<?> setting) {
        Origin origin = origin(setting);
        return origin.name() + "=" + text(setting) + " (from " + origin.place() + ")";
    }
}

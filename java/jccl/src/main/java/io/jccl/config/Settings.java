package io.jccl.config;

import io.jccl.CommunicatorConfig;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * The value of every setting and where it came from, as of one moment. Immutable.
 *
 * <p>Looked at in this order: the application's {@link CommunicatorConfig}, a system property {@code JCCL_X}, the
 * environment's {@code JCCL_X}, then its {@code NCCL_X} where the meaning is the same, then the default. A former name of a
 * setting counts where its name would, after it. An empty text counts as not set.
 */
public final class Settings {

    private record Entry(Object value, Origin origin) {}

    private final Map<Setting<?>, Entry> entries;
    private final List<String> warnings;

    private Settings(Map<Setting<?>, Entry> entries, List<String> warnings) {
        this.entries = entries;
        this.warnings = List.copyOf(warnings);
    }

    /**
     * What holds in this process for a communicator.
     *
     * @throws IllegalArgumentException if a value is bad; quotes name, value, place and what is expected
     */
    public static Settings load(CommunicatorConfig config) {
        return load(config, System::getProperty, System.getenv());
    }

    /**
     * What would hold with other properties and another environment.
     *
     * @param properties a property's value by its name, or null
     * @throws IllegalArgumentException if a value is bad; quotes name, value, place and what is expected
     */
    public static Settings load(
            CommunicatorConfig config, Function<String, String> properties, Map<String, String> environment) {
        Map<String, String> overrides = overrides(config);
        Map<Setting<?>, Entry> entries = new LinkedHashMap<>();
        for (Setting<?> setting : Registry.all()) {
            entries.put(setting, find(setting, overrides, properties, environment));
        }
        requireKnown(config.settings().keySet());
        List<String> warnings = new ArrayList<>(unknownNames(environment.keySet()));
        entries.forEach((setting, entry) -> warnings.addAll(formerName(setting, entry.origin())));
        Settings settings = new Settings(entries, warnings);
        settings.requireConsistent();
        return settings;
    }

    /** A setting's value. */
    @SuppressWarnings("unchecked") // an entry holds what its setting parsed
    public <T> T get(Setting<T> setting) {
        return (T) entry(setting).value();
    }

    /** Where a setting's value came from. */
    public Origin origin(Setting<?> setting) {
        return entry(setting).origin();
    }

    /** A setting's value as text; empty when nothing is set. */
    public <T> String text(Setting<T> setting) {
        return setting.type().format(get(setting));
    }

    /** Names in the environment that are no settings, and former names in use, each as a sentence for the log. */
    public List<String> warnings() {
        return warnings;
    }

    private Entry entry(Setting<?> setting) {
        Entry entry = entries.get(setting);
        if (entry == null) {
            throw new IllegalArgumentException("setting=" + setting.name() + ": expected one of the registry");
        }
        return entry;
    }

    private static Entry find(
            Setting<?> setting,
            Map<String, String> overrides,
            Function<String, String> properties,
            Map<String, String> environment) {
        Map<Origin, String> texts = new LinkedHashMap<>();
        List<String> names = new ArrayList<>(List.of(setting.name()));
        names.addAll(setting.formerNames());
        names.forEach(name -> texts.put(new Origin(Origin.Source.CONFIG, name), overrides.get(name)));
        names.forEach(name -> texts.put(new Origin(Origin.Source.PROPERTY, name), properties.apply(name)));
        names.addAll(setting.aliases()); // NCCL's are those of the environment only
        names.forEach(name -> texts.put(new Origin(Origin.Source.ENVIRONMENT, name), environment.get(name)));
        for (Map.Entry<Origin, String> candidate : texts.entrySet()) {
            if (candidate.getValue() != null && !candidate.getValue().isBlank()) {
                return new Entry(setting.parse(candidate.getKey(), candidate.getValue()), candidate.getKey());
            }
        }
        return new Entry(setting.defaultValue(), new Origin(Origin.Source.DEFAULT, setting.name()));
    }

    /** What the application set: its typed values first, they are nearer to it than the texts. */
    private static Map<String, String> overrides(CommunicatorConfig config) {
        Map<String, String> overrides = new HashMap<>(config.settings());
        config.timeout().ifPresent(value -> overrides.put(TimeSettings.TIMEOUT.name(), nanos(value)));
        config.initTimeout().ifPresent(value -> overrides.put(TimeSettings.INIT_TIMEOUT.name(), nanos(value)));
        config.hostId().ifPresent(value -> overrides.put(LaunchSettings.HOST_ID.name(), value));
        config.algorithm().ifPresent(value -> overrides.put(AlgorithmSettings.ALGO.name(), value.label()));
        config.protocol().ifPresent(value -> overrides.put(AlgorithmSettings.PROTO.name(), value.label()));
        config.transport().ifPresent(value -> overrides.put(TransportSettings.TRANSPORT.name(), value.label()));
        config.device().ifPresent(value -> overrides.put(AlgorithmSettings.DEVICE.name(), value.toString()));
        config.channels().ifPresent(value -> {
            overrides.put(AlgorithmSettings.MIN_NCHANNELS.name(), value.toString());
            overrides.put(AlgorithmSettings.MAX_NCHANNELS.name(), value.toString());
        });
        return overrides;
    }

    private static String nanos(Duration value) {
        return TimeSettings.TIMEOUT.type().format(value);
    }

    /** A name in the application's own code is a mistake of its, not a stray variable. */
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

    private static List<String> formerName(Setting<?> setting, Origin origin) {
        return setting.formerNames().contains(origin.name())
                ? List.of(origin.name() + " (from " + origin.place() + ") has the name " + setting.name()
                        + " now; rename it")
                : List.of();
    }

    private static boolean isKnown(String name) {
        return Registry.all().stream()
                .anyMatch(setting ->
                        setting.name().equals(name) || setting.formerNames().contains(name));
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

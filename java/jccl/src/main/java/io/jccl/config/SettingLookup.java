package io.jccl.config;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Finds the value of each setting in the places where it may stand. Of what stands under a name of JCCL's, a bad value is
 * an error; under one of NCCL's it is a warning, because the job's other software may need it as it is.
 */
final class SettingLookup {

    /**
     * A setting's value.
     *
     * @param value what its type read
     * @param origin where it was
     */
    record Entry(Object value, Origin origin) {
        boolean isOfNccl() {
            return origin.isOfNccl();
        }
    }

    private static final int MAX_QUOTED = 200;

    private final Map<String, String> overrides;
    private final Function<String, String> properties;
    private final Map<String, String> environment;
    private final Map<String, Entry> entries = new HashMap<>(); // by the setting's name
    private final List<String> warnings = new ArrayList<>();

    /**
     * @param overrides what the application set
     * @param properties a property's value by its name, or null
     * @throws IllegalArgumentException if a value under a name of JCCL's is bad
     */
    SettingLookup(Map<String, String> overrides, Function<String, String> properties, Map<String, String> environment) {
        this.overrides = overrides;
        this.properties = properties;
        this.environment = environment;
        for (Setting<?> setting : Registry.all()) {
            entries.put(setting.name(), find(setting));
        }
        fitChannels();
        fitStreams();
    }

    /** All values by the names of their settings. */
    Map<String, Entry> entries() {
        return entries;
    }

    /** Returns a sentence for each value under one of NCCL's names that is ignored or changed. */
    List<String> warnings() {
        return warnings;
    }

    private <T> Entry find(Setting<T> setting) {
        List<String> names = new ArrayList<>();
        names.add(setting.name());
        names.addAll(setting.formerNames());
        Entry found = find(setting, names, Origin.Source.CONFIG, overrides::get);
        if (found == null) {
            found = find(setting, names, Origin.Source.PROPERTY, properties);
        }
        if (found == null) {
            found = find(setting, names, Origin.Source.ENVIRONMENT, environment::get);
        }
        return found == null ? findOfNccl(setting) : found;
    }

    /** Returns the text of the first of the names that has one, or null. */
    private static Entry find(
            Setting<?> setting, List<String> names, Origin.Source source, Function<String, String> texts) {
        for (String name : names) {
            String text = texts.apply(name);
            if (text != null && !text.isBlank()) {
                Origin origin = new Origin(source, name);
                return new Entry(setting.parse(origin, text), origin);
            }
        }
        return null;
    }

    /** Returns the value of the first of NCCL's names that has one JCCL can use, or the default. */
    private <T> Entry findOfNccl(Setting<T> setting) {
        Map<Origin, String> unusable = new LinkedHashMap<>();
        Entry found = null;
        for (String name : setting.ncclNames()) {
            String text = environment.get(name);
            if (text == null || text.isBlank()) {
                continue;
            }
            Origin origin = new Origin(Origin.Source.ENVIRONMENT, name);
            NcclReading<T> reading = setting.type().parseNccl(name, text);
            if (!reading.isClean()) {
                unusable.put(origin, reading.expected());
            }
            if (reading.value().isPresent()) {
                found = new Entry(reading.value().get(), origin);
                break;
            }
        }
        Entry used = found == null
                ? new Entry(setting.defaultValue(), new Origin(Origin.Source.DEFAULT, setting.name()))
                : found;
        unusable.forEach((origin, expected) -> warn(origin, "expected " + expected, used(setting, used)));
        return used;
    }

    @SuppressWarnings("unchecked") // an entry holds what its setting's type read
    private static <T> String used(Setting<T> setting, Entry entry) {
        String text = setting.type().format((T) entry.value());
        return text.isEmpty() ? "the default" : text;
    }

    private void warn(Origin origin, String why, String used) {
        warnings.add(described(origin) + ": " + why + "; " + used + " is used instead");
    }

    /** Name, text and place, as in {@code NCCL_IB_TC="x" (from environment)}. */
    private String described(Origin origin) {
        String text = environment.get(origin.name()).replaceAll("\\p{Cntrl}", "?");
        String shown = text.length() > MAX_QUOTED ? text.substring(0, MAX_QUOTED) + "…" : text;
        return origin.name() + "=\"" + shown + "\" (from " + origin.place() + ")";
    }

    /** A lower bound above the upper one yields to it as in NCCL, unless it alone stands under a name of JCCL's. */
    private void fitChannels() {
        Setting<Integer> low = AlgorithmSettings.MIN_NCHANNELS;
        Setting<Integer> high = AlgorithmSettings.MAX_NCHANNELS;
        int min = value(low);
        int max = value(high);
        if (max != 0 && min > max) {
            if (entries.get(low.name()).isOfNccl()) {
                replace(low, max, "expected at most " + describedValue(high));
            } else if (entries.get(high.name()).isOfNccl()) {
                replace(high, min, "expected at least " + describedValue(low));
            }
        }
    }

    /** As NCCL does, lowers the connections of each thread where there would be too many. */
    private void fitStreams() {
        Setting<Integer> threads = NetworkSettings.SOCKET_NTHREADS;
        Setting<Integer> each = NetworkSettings.NSOCKS_PERTHREAD;
        int most = NetworkSettings.MAX_STREAMS;
        if (value(threads) * value(each) > most) {
            String why = "expected at most " + most + " connections with ";
            if (entries.get(each.name()).isOfNccl()) {
                replace(each, most / value(threads), why + describedValue(threads));
            } else if (entries.get(threads.name()).isOfNccl()) {
                replace(threads, most / value(each), why + describedValue(each));
            }
        }
    }

    private int value(Setting<Integer> setting) {
        return (Integer) entries.get(setting.name()).value();
    }

    private String describedValue(Setting<Integer> setting) {
        return entries.get(setting.name()).origin().name() + "=" + value(setting);
    }

    private void replace(Setting<Integer> setting, int value, String why) {
        Origin origin = entries.get(setting.name()).origin();
        warn(origin, why, Integer.toString(value));
        entries.put(setting.name(), new Entry(value, origin));
    }
}

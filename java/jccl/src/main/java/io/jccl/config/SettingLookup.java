package io.jccl.config;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Finds the value of each setting in the places where it can be set. A bad value under one of JCCL's names is an error.
 * Under one of NCCL's names it is a warning, because other software of the job may need that value.
 */
final class SettingLookup {

    /**
     * The value of one setting.
     *
     * @param value the value that the setting's type read
     * @param origin the place of the value
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
    private final Map<String, Entry> entries = new HashMap<>(); // key: name of the setting
    private final List<String> warnings = new ArrayList<>();

    /**
     * @param overrides the settings of the application
     * @param properties returns the value of a system property by its name, or null
     * @throws IllegalArgumentException if a value under one of JCCL's names is bad
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

    /** Returns all values; the keys are the names of the settings. */
    Map<String, Entry> entries() {
        return entries;
    }

    /** Returns a sentence for each value under one of NCCL's names that JCCL ignores or changes. */
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

    /** Returns the value under the first of the names that has a text, or null. */
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

    /** Returns the value under the first of NCCL's names whose text JCCL can use, or the default. */
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

    @SuppressWarnings("unchecked") // the value of an entry has the class of its setting
    private static <T> String used(Setting<T> setting, Entry entry) {
        String text = setting.type().format((T) entry.value());
        return text.isEmpty() ? "the default" : text;
    }

    private void warn(Origin origin, String why, String used) {
        warnings.add(described(origin) + ": " + why + "; " + used + " is used instead");
    }

    /** Returns name, text and place, as in {@code NCCL_IB_TC="x" (from environment)}. */
    private String described(Origin origin) {
        String text = environment.get(origin.name()).replaceAll("\\p{Cntrl}", "?");
        String shown = text.length() > MAX_QUOTED ? text.substring(0, MAX_QUOTED) + "…" : text;
        return origin.name() + "=\"" + shown + "\" (from " + origin.place() + ")";
    }

    /**
     * Handles a lower bound of channels that exceeds the upper bound. If the lower bound is set under one of NCCL's
     * names, lowers it to the upper bound, as NCCL does. If only the upper bound is, raises the upper bound. Changes no
     * value that is set under one of JCCL's names.
     */
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

    /**
     * Handles a product of threads and connections of each thread that exceeds the maximum. If the number of
     * connections is set under one of NCCL's names, lowers it, as NCCL does. If only the number of threads is, lowers
     * the number of threads.
     */
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

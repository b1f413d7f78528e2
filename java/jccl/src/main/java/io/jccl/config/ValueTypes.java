package io.jccl.config;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The types that settings have. Texts are read without regard to case where a name is expected. */
final class ValueTypes {

    private static final Pattern SIZE = Pattern.compile("(\\d{1,18})\\s*([KMG]?)(I?B)?", Pattern.CASE_INSENSITIVE);
    private static final Pattern DURATION =
            Pattern.compile("(\\d{1,12}(?:\\.\\d{1,9})?)\\s*(ns|us|ms|s|min|h|)", Pattern.CASE_INSENSITIVE);
    private static final int KIBI_BITS = 10;

    private ValueTypes() {}

    static ValueType<Integer> integer(int min, int max) {
        return new ValueType<>(
                "a whole number from " + min + " to " + max,
                text -> (int) within(Long.parseLong(text), min, max),
                value -> Integer.toString(value));
    }

    /** A whole number in steps of another, from a multiple of it. */
    static ValueType<Integer> multiple(int min, int max, int step) {
        return new ValueType<>(
                "a multiple of " + step + " from " + min + " to " + max,
                text -> {
                    int value = (int) within(Long.parseLong(text), min, max);
                    within(value % step, 0, 0);
                    return value;
                },
                value -> Integer.toString(value));
    }

    static ValueType<Long> longInteger(long min, long max) {
        return new ValueType<>(
                "a whole number from " + min + " to " + max,
                text -> within(Long.parseLong(text), min, max),
                value -> Long.toString(value));
    }

    /** Up to so many whole numbers, separated by spaces or commas. */
    static ValueType<List<Integer>> integers(int count, int min, int max) {
        return new ValueType<>(
                "up to " + count + " whole numbers from " + min + " to " + max + ", separated by spaces or commas",
                text -> {
                    List<Integer> values = Arrays.stream(text.trim().split("[\\s,]+"))
                            .map(number -> (int) within(Long.parseLong(number), min, max))
                            .toList();
                    within(values.size(), 1, count);
                    return values;
                },
                values -> values.stream().map(String::valueOf).collect(Collectors.joining(" ")));
    }

    /** Bytes; K, M and G are powers of 1024. */
    static ValueType<Integer> size(int min, int max) {
        return new ValueType<>(
                "a number of bytes from " + formatSize(min) + " to " + formatSize(max) + ", with K, M or G if wanted",
                text -> (int) within(parseSize(text), min, max),
                ValueTypes::formatSize);
    }

    /** Seconds, or a number with its unit. */
    static ValueType<Duration> duration(Duration min, Duration max) {
        return new ValueType<>(
                "a time from " + formatDuration(min) + " to " + formatDuration(max)
                        + ": seconds, or a number with ms, s, min or h",
                text -> {
                    Duration value = parseDuration(text);
                    if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
                        throw new IllegalArgumentException("out of range");
                    }
                    return value;
                },
                ValueTypes::formatDuration);
    }

    static ValueType<Boolean> flag() {
        return choice(
                Map.of(
                        "1", true, "true", true, "yes", true, "on", true, "0", false, "false", false, "no", false,
                        "off", false),
                "1 or 0 (also true, yes, on, false, no, off)",
                value -> value ? "1" : "0");
    }

    /** One of an enum's constants by its lower-case name. */
    static <E extends Enum<E>> ValueType<E> choice(Class<E> type) {
        Map<String, E> names = names(type);
        return choice(names, "one of " + String.join(", ", names.keySet()), ValueTypes::label);
    }

    /** One of an enum's constants, or {@code auto} for none of them in particular. */
    static <E extends Enum<E>> ValueType<Optional<E>> choiceOrAuto(Class<E> type) {
        Map<String, Optional<E>> names = new LinkedHashMap<>();
        names.put("auto", Optional.empty());
        names(type).forEach((name, value) -> names.put(name, Optional.of(value)));
        return choice(names, "one of " + String.join(", ", names.keySet()), value -> value.map(ValueTypes::label)
                .orElse("auto"));
    }

    /**
     * Names of an enum's constants with commas, {@code ^} in front for all others, {@code auto} for all; further such
     * lists for one collective each after a semicolon, as in {@code ring;all_reduce:tree}. Kept as text: what the names
     * of the collectives are is known to the reader of the setting.
     */
    static <E extends Enum<E>> ValueType<String> selection(Class<E> type) {
        Map<String, E> names = names(type);
        return new ValueType<>(
                "auto, or some of " + String.join(",", names.keySet()) + " separated by commas, with ^ in front for all"
                        + " others; COLLECTIVE:LIST after a semicolon for one collective",
                text -> {
                    String normal = text.toLowerCase(Locale.ROOT).replace(" ", "");
                    if (normal.equals("auto")) {
                        return "";
                    }
                    for (String part : normal.split(";", -1)) {
                        requireNames(part.substring(part.indexOf(':') + 1), names.keySet());
                    }
                    return normal;
                },
                value -> value.isEmpty() ? "auto" : value);
    }

    private static void requireNames(String list, Set<String> names) {
        String listed = list.startsWith("^") ? list.substring(1) : list;
        for (String name : listed.split(",", -1)) {
            if (!name.equals("auto") && !names.contains(name)) {
                throw new IllegalArgumentException("unknown name");
            }
        }
    }

    /** One of the given words, as it is written here; empty text when nothing is set. */
    static ValueType<String> word(String... words) {
        Map<String, String> names = new LinkedHashMap<>();
        for (String word : words) {
            names.put(word.toLowerCase(Locale.ROOT), word);
        }
        return choice(names, "one of " + String.join(", ", words), value -> value);
    }

    /** How far apart two devices are, by name or by the older number. */
    static ValueType<String> distance() {
        List<String> names = List.of("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS");
        Map<String, String> values = new LinkedHashMap<>();
        names.forEach(name -> values.put(name.toLowerCase(Locale.ROOT), name));
        List<String> numbered = List.of("LOC", "PIX", "PXB", "PHB", "SYS", "SYS");
        for (int number = 0; number < numbered.size(); number++) {
            values.put(Integer.toString(number), numbered.get(number));
        }
        return choice(
                values,
                "one of " + String.join(", ", names) + ", or 0 to 5 for " + String.join(", ", numbered),
                value -> value);
    }

    /** Any text of one line. */
    static ValueType<String> text(String expected) {
        return new ValueType<>(
                expected,
                text -> {
                    if (text.chars().anyMatch(Character::isISOControl)) {
                        throw new IllegalArgumentException("control character");
                    }
                    return text;
                },
                value -> value);
    }

    static ValueType<Path> path(String expected) {
        return new ValueType<>(expected, Path::of, Path::toString);
    }

    /** The same type, where nothing may be set. */
    static <T> ValueType<Optional<T>> optional(ValueType<T> type) {
        return new ValueType<>(type.expected(), text -> Optional.of(type.parse(text)), value -> value.map(type::format)
                .orElse(""));
    }

    private static <T> ValueType<T> choice(Map<String, T> names, String expected, Function<T, String> formatter) {
        return new ValueType<>(
                expected,
                text -> {
                    T value = names.get(text.toLowerCase(Locale.ROOT));
                    if (value == null) {
                        throw new IllegalArgumentException("unknown name");
                    }
                    return value;
                },
                formatter);
    }

    private static <E extends Enum<E>> Map<String, E> names(Class<E> type) {
        return Arrays.stream(type.getEnumConstants())
                .collect(Collectors.toMap(ValueTypes::label, value -> value, (a, b) -> a, LinkedHashMap::new));
    }

    private static String label(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    private static long within(long value, long min, long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException("out of range");
        }
        return value;
    }

    private static long parseSize(String text) {
        Matcher matcher = SIZE.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("not a size");
        }
        int power = " KMG"
                .indexOf(
                        matcher.group(2).isEmpty()
                                ? ' '
                                : Character.toUpperCase(matcher.group(2).charAt(0)));
        return Math.multiplyExact(Long.parseLong(matcher.group(1)), 1L << (KIBI_BITS * power));
    }

    private static String formatSize(int bytes) {
        for (int power = 3; power > 0; power--) {
            int unit = 1 << (KIBI_BITS * power);
            if (bytes != 0 && bytes % unit == 0) {
                return bytes / unit + " KMG".substring(power, power + 1);
            }
        }
        return Integer.toString(bytes);
    }

    private static Duration parseDuration(String text) {
        Matcher matcher = DURATION.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("not a time");
        }
        long unitNanos =
                switch (matcher.group(2).toLowerCase(Locale.ROOT)) {
                    case "ns" -> 1L;
                    case "us" -> 1_000L;
                    case "ms" -> 1_000_000L;
                    case "min" -> 60_000_000_000L;
                    case "h" -> 3_600_000_000_000L;
                    default -> 1_000_000_000L;
                };
        BigDecimal nanos = new BigDecimal(matcher.group(1)).multiply(BigDecimal.valueOf(unitNanos));
        return Duration.ofNanos(nanos.setScale(0, RoundingMode.HALF_UP).longValueExact());
    }

    private static String formatDuration(Duration value) {
        if (value.isZero()) {
            return "0s";
        }
        long nanos = value.toNanos();
        String[] units = {"h", "min", "s", "ms", "us"};
        long[] unitNanos = {3_600_000_000_000L, 60_000_000_000L, 1_000_000_000L, 1_000_000L, 1_000L};
        for (int i = 0; i < units.length; i++) {
            if (nanos % unitNanos[i] == 0) {
                return nanos / unitNanos[i] + units[i];
            }
        }
        return nanos + "ns";
    }
}

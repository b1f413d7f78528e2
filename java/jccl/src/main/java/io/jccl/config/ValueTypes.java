package io.jccl.config;

import io.jccl.WireFormat;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.StringJoiner;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The types of settings. Names are read without regard to case. */
final class ValueTypes {

    private static final int KIBI_BITS = 10;

    /** Patterns, compiled when a text first needs them; most processes set no such text. */
    private static final class Forms {
        static final Pattern SIZE = Pattern.compile("(\\d{1,18})\\s*([KMG]?)(I?B)?", Pattern.CASE_INSENSITIVE);
        static final Pattern DURATION =
                Pattern.compile("(\\d{1,12}(?:\\.\\d{1,9})?)\\s*(ns|us|ms|s|min|h|)", Pattern.CASE_INSENSITIVE);
    }

    private ValueTypes() {}

    /** A whole number in a range, and a multiple of {@code step}. */
    private static final class Whole extends ValueType<Integer> {
        private final int min;
        private final int max;
        private final int step;

        Whole(String expected, int min, int max, int step) {
            super(expected);
            this.min = min;
            this.max = max;
            this.step = step;
        }

        @Override
        Integer read(String text) {
            int value = (int) within(Long.parseLong(text), min, max);
            within(value % step, 0, 0);
            return value;
        }

        @Override
        NcclReading<Integer> readNccl(String name, String text) {
            return NcclNumber.fit(text, expected(), min, max, step);
        }
    }

    /** One of some names. A value that has several names is written under the first of them. */
    private static class Choice<T> extends ValueType<T> {
        private final Map<String, T> names; // keys in lower case

        Choice(Map<String, T> names, String expected) {
            super(expected);
            this.names = names;
        }

        @Override
        final T read(String text) {
            T value = names.get(text.toLowerCase(Locale.ROOT));
            if (value == null) {
                throw new IllegalArgumentException("unknown name");
            }
            return value;
        }

        @Override
        public String format(T value) {
            for (Map.Entry<String, T> name : names.entrySet()) {
                if (name.getValue().equals(value)) {
                    return name.getKey();
                }
            }
            throw new IllegalArgumentException("value=" + value + ": expected " + expected());
        }
    }

    /** One of some words; a word may have additional names. */
    private static class Word extends Choice<String> {
        Word(Map<String, String> names, String expected) {
            super(names, expected);
        }

        @Override
        public final String format(String value) {
            return value;
        }
    }

    static ValueType<Integer> integer(int min, int max) {
        return new Whole("a whole number from " + min + " to " + max, min, max, 1);
    }

    /** Returns the type of multiples of {@code step} in a range. */
    static ValueType<Integer> multiple(int min, int max, int step) {
        return new Whole("a multiple of " + step + " from " + min + " to " + max, min, max, step);
    }

    /** Returns the type of formats between hosts. */
    static ValueType<WireFormat> wireFormat() {
        return new ValueType<>(
                "exact, bfloat16, float16, float8_block or int8_block; all but the first can end in" + " :seed=N") {
            @Override
            WireFormat read(String text) {
                return WireFormat.parse(text);
            }
        };
    }

    static ValueType<Long> longInteger(long min, long max) {
        return new ValueType<>("a whole number from " + min + " to " + max) {
            @Override
            Long read(String text) {
                return within(Long.parseLong(text), min, max);
            }
        };
    }

    /** Returns the type of up to {@code count} whole numbers, separated by spaces or commas. */
    static ValueType<List<Integer>> integers(int count, int min, int max) {
        return new ValueType<>(
                "up to " + count + " whole numbers from " + min + " to " + max + ", separated by spaces or commas") {
            @Override
            List<Integer> read(String text) {
                List<Integer> values = new ArrayList<>();
                for (String number : text.split("[\\s,]+")) {
                    values.add((int) within(Long.parseLong(number), min, max));
                }
                within(values.size(), 1, count);
                return List.copyOf(values);
            }

            @Override
            NcclReading<List<Integer>> readNccl(String name, String text) {
                return NcclLists.numbers(text, count, expected(), min, max);
            }

            @Override
            public String format(List<Integer> values) {
                StringJoiner text = new StringJoiner(" ");
                for (int value : values) {
                    text.add(Integer.toString(value));
                }
                return text.toString();
            }
        };
    }

    /** Returns the type of numbers of bytes; K, M and G are powers of 1024. */
    static ValueType<Integer> size(int min, int max) {
        return new ValueType<>(
                "a number of bytes from " + formatSize(min) + " to " + formatSize(max) + ", with K, M or G if wanted") {
            @Override
            Integer read(String text) {
                return (int) within(parseSize(text), min, max);
            }

            @Override
            NcclReading<Integer> readNccl(String name, String text) {
                NcclReading<Integer> number = NcclNumber.fit(text, expected(), min, max, 1);
                return number.isClean() ? number : super.readNccl(name, text).or(number);
            }

            @Override
            public String format(Integer bytes) {
                return formatSize(bytes);
            }
        };
    }

    /** Returns the type of times: seconds, or a number with a unit. */
    static ValueType<Duration> duration(Duration min, Duration max) {
        return new ValueType<>("a time from " + formatDuration(min) + " to " + formatDuration(max)
                + ": seconds, or a number with ms, s, min or h") {
            @Override
            Duration read(String text) {
                Duration value = parseDuration(text);
                if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
                    throw new IllegalArgumentException("out of range");
                }
                return value;
            }

            @Override
            public String format(Duration value) {
                return formatDuration(value);
            }
        };
    }

    static ValueType<Boolean> flag() {
        Map<String, Boolean> names = new LinkedHashMap<>();
        for (String yes : List.of("1", "true", "yes", "on")) {
            names.put(yes, true);
        }
        for (String no : List.of("0", "false", "no", "off")) {
            names.put(no, false);
        }
        return new Choice<>(names, "1 or 0 (also true, yes, on, false, no, off)") {
            /** Reads any positive number as true, as C does. NCCL's -1 and -2 mean "not set". */
            @Override
            NcclReading<Boolean> readNccl(String name, String text) {
                NcclReading<Integer> number = NcclNumber.fit(text, expected(), 0, Integer.MAX_VALUE, 1);
                return super.readNccl(name, text).or(number.map(value -> value != 0));
            }
        };
    }

    /** Returns the type of an enum's constants, by their lower-case names. */
    static <E extends Enum<E>> ValueType<E> choice(Class<E> type) {
        Map<String, E> names = names(type);
        return new Choice<>(names, "one of " + String.join(", ", names.keySet()));
    }

    /** Returns the type of an enum's constants, and of {@code auto} for no particular one. */
    static <E extends Enum<E>> ValueType<Optional<E>> choiceOrAuto(Class<E> type) {
        Map<String, Optional<E>> names = new LinkedHashMap<>();
        names.put("auto", Optional.empty());
        for (Map.Entry<String, E> name : names(type).entrySet()) {
            names.put(name.getKey(), Optional.of(name.getValue()));
        }
        return new Choice<>(names, "one of " + String.join(", ", names.keySet()));
    }

    /**
     * Returns the type of selections of an enum's constants: names separated by commas, {@code ^} in front for all
     * others, {@code auto} for all. A semicolon separates further lists, each for one collective, as in {@code
     * ring;all_reduce:tree}. The value stays text, and the names of collectives are not checked: only the reader of the
     * setting knows them.
     */
    static <E extends Enum<E>> ValueType<String> selection(Class<E> type) {
        Set<String> names = selectable(type);
        return new ValueType<>(
                "auto, or some of " + String.join(",", names) + " separated by commas, with ^ in front to exclude"
                        + " them; COLLECTIVE:LIST after a semicolon for one collective") {
            @Override
            String read(String text) {
                String normal = text.toLowerCase(Locale.ROOT).replace(" ", "");
                if (normal.equals("auto")) {
                    return "";
                }
                for (String part : normal.split(";", -1)) {
                    requireNames(part.substring(part.indexOf(':') + 1), names);
                }
                return normal;
            }

            @Override
            NcclReading<String> readNccl(String name, String text) {
                return NcclLists.selection(text, names(type).keySet(), expected());
            }

            @Override
            public String format(String value) {
                return value.isEmpty() ? "auto" : value;
            }
        };
    }

    /**
     * Returns all names without underscores, and the first word of each name of several words, such as {@code collnet}.
     */
    private static <E extends Enum<E>> Set<String> selectable(Class<E> type) {
        Set<String> all = new LinkedHashSet<>();
        Set<String> groups = new LinkedHashSet<>();
        for (String name : names(type).keySet()) {
            all.add(name.replace("_", ""));
            if (name.contains("_")) {
                groups.add(name.substring(0, name.indexOf('_')));
            }
        }
        all.addAll(groups);
        return all;
    }

    private static void requireNames(String list, Set<String> names) {
        String listed = list.startsWith("^") ? list.substring(1) : list;
        for (String name : listed.split(",", -1)) {
            if (!name.equals("auto") && !names.contains(name.replace("_", ""))) {
                throw new IllegalArgumentException("unknown name");
            }
        }
    }

    /**
     * Returns the type of the given words; a value is written as in {@code words}. An empty text means that nothing is
     * set.
     */
    static ValueType<String> word(String... words) {
        Map<String, String> names = new LinkedHashMap<>();
        for (String word : words) {
            names.put(word.toLowerCase(Locale.ROOT), word);
        }
        return new Word(names, "one of " + String.join(", ", words));
    }

    /** Returns the type of distances between two devices, by name or by NCCL's older number. */
    static ValueType<String> distance() {
        List<String> names = List.of("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS");
        Map<String, String> values = new LinkedHashMap<>();
        for (String name : names) {
            values.put(name.toLowerCase(Locale.ROOT), name);
        }
        List<String> numbered = List.of("LOC", "PIX", "PXB", "PHB", "SYS", "SYS");
        for (int number = 0; number < numbered.size(); number++) {
            values.put(Integer.toString(number), numbered.get(number));
        }
        String expected = "one of " + String.join(", ", names) + ", or 0 to 5 for " + String.join(", ", numbered);
        return new Word(values, expected) {
            /** Reads any number above the highest known one as SYS, as NCCL does. */
            @Override
            NcclReading<String> readNccl(String name, String text) {
                NcclReading<Integer> number = NcclNumber.fit(text, expected(), 0, Integer.MAX_VALUE, 1);
                return super.readNccl(name, text)
                        .or(number.map(value -> numbered.get(Math.min(value, numbered.size() - 1))));
            }
        };
    }

    /** Returns the type of texts of one line. */
    static ValueType<String> text(String expected) {
        return new ValueType<>(expected) {
            @Override
            String read(String text) {
                for (int i = 0; i < text.length(); i++) {
                    if (Character.isISOControl(text.charAt(i))) {
                        throw new IllegalArgumentException("control character");
                    }
                }
                return text;
            }
        };
    }

    static ValueType<Path> path(String expected) {
        return new ValueType<>(expected) {
            @Override
            Path read(String text) {
                return Path.of(text);
            }
        };
    }

    static ValueType<BigInteger> processors() {
        return new ValueType<>("numbers and ranges of processors, for example 0-3,8, or a mask such as 0x10f") {
            @Override
            BigInteger read(String text) {
                return ProcessorSet.parse(text);
            }

            @Override
            public String format(BigInteger processors) {
                return ProcessorSet.format(processors);
            }
        };
    }

    /** Gives a text under one of NCCL's names a meaning that differs from its plain reading. */
    interface NcclRule<T> {
        NcclReading<T> apply(String name, String text, NcclReading<T> plain);
    }

    /** Returns a type that reads texts under NCCL's names by a rule, and is otherwise the same. */
    static <T> ValueType<T> withNccl(ValueType<T> type, NcclRule<T> rule) {
        return new ValueType<>(type.expected()) {
            @Override
            T read(String text) {
                return type.read(text);
            }

            @Override
            NcclReading<T> readNccl(String name, String text) {
                return rule.apply(name, text, type.readNccl(name, text));
            }

            @Override
            public String format(T value) {
                return type.format(value);
            }
        };
    }

    /** Returns a type that allows that nothing is set, and is otherwise the same. */
    static <T> ValueType<Optional<T>> optional(ValueType<T> type) {
        return new ValueType<>(type.expected()) {
            @Override
            Optional<T> read(String text) {
                return Optional.of(type.parse(text));
            }

            @Override
            NcclReading<Optional<T>> readNccl(String name, String text) {
                return type.readNccl(name, text).map(Optional::of);
            }

            @Override
            public String format(Optional<T> value) {
                return value.isPresent() ? type.format(value.get()) : "";
            }
        };
    }

    private static <E extends Enum<E>> Map<String, E> names(Class<E> type) {
        Map<String, E> names = new LinkedHashMap<>();
        for (E constant : type.getEnumConstants()) {
            names.put(constant.name().toLowerCase(Locale.ROOT), constant);
        }
        return names;
    }

    private static long within(long value, long min, long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException("out of range");
        }
        return value;
    }

    private static long parseSize(String text) {
        Matcher matcher = Forms.SIZE.matcher(text);
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
        Matcher matcher = Forms.DURATION.matcher(text);
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

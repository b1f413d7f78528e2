package io.jccl.topology;

import java.util.Locale;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * What the value of an XML attribute may be.
 *
 * @param name the attribute
 * @param required whether the element is meaningless without it
 * @param kind what its value has to look like
 */
record AttributeRule(String name, boolean required, Kind kind) {

    /** The most characters of a value: the affinity mask of some thousands of processors fits. */
    static final int MAX_LENGTH = 4096;

    /** The forms of values. */
    enum Kind {
        TEXT("text", text -> true),
        FLAG("0 or 1", text -> text.equals("0") || text.equals("1")),
        COUNT("a whole number from 0 to 1048576", text -> inRange(text, 0, 1 << 20)),
        INTEGER("a whole number from -1 to 2147483647", text -> inRange(text, -1, Integer.MAX_VALUE)),
        NUMBER("a decimal number from 0 to 1e9", AttributeRule::isDecimal),
        BUS_ID(
                "a bus id such as 0000:3b:00.0",
                Pattern.compile("[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-9a-fA-F]")
                        .asMatchPredicate()),
        HEX(
                "a hexadecimal number such as 0x10de",
                Pattern.compile("0x[0-9a-fA-F]{1,16}").asMatchPredicate()),
        MASK(
                "a hexadecimal mask such as 000000ff,ffffffff",
                Pattern.compile("[0-9a-fA-F]+(,[0-9a-fA-F]+)*").asMatchPredicate());

        private final String expected;
        private final Predicate<String> matches;

        Kind(String expected, Predicate<String> matches) {
            this.expected = expected;
            this.matches = matches;
        }
    }

    static AttributeRule required(String name, Kind kind) {
        return new AttributeRule(name, true, kind);
    }

    static AttributeRule optional(String name, Kind kind) {
        return new AttributeRule(name, false, kind);
    }

    /** Null where the value is fine, else what was expected instead. */
    String violation(String value) {
        if (value.length() > MAX_LENGTH) {
            return "at most " + MAX_LENGTH + " characters, not " + value.length();
        }
        return kind.matches.test(value) ? null : kind.expected;
    }

    private static boolean inRange(String text, long least, long most) {
        if (!text.matches("-?[0-9]{1,10}")) {
            return false;
        }
        long value = Long.parseLong(text);
        return value >= least && value <= most;
    }

    private static boolean isDecimal(String text) {
        return text.length() <= 32
                && text.toLowerCase(Locale.ROOT).matches("[0-9]+(\\.[0-9]*)?(e[+-]?[0-9]{1,2})?")
                && Double.parseDouble(text) <= 1e9;
    }
}

package io.jccl.topology;

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

    /** For attributes that JCCL does not know. */
    static final AttributeRule KEPT = optional("", Kind.TEXT);

    private static final String BUS = "[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-9a-fA-F]";

    private static final Pattern NAME = Pattern.compile("[\\p{L}_][\\p{L}\\p{N}._-]{0,255}");
    private static final Pattern WHOLE = Pattern.compile("-?[0-9]{1,10}");
    private static final Pattern DECIMAL = Pattern.compile("[0-9]+(\\.[0-9]*)?([eE][+-]?[0-9]{1,2})?");

    /** The forms of values. */
    enum Kind {
        TEXT("text", text -> true),
        FLAG("0 or 1", text -> text.equals("0") || text.equals("1")),
        COUNT("a whole number from 0 to 1048576", text -> inRange(text, 0, 1 << 20)),
        INTEGER("a whole number from -1 to 2147483647", text -> inRange(text, -1, Integer.MAX_VALUE)),
        NUMBER("a decimal number from 0 to 1e9", AttributeRule::isDecimal),
        BUS_ID("a bus id such as 0000:3b:00.0", Pattern.compile(BUS).asMatchPredicate()),
        BUS_IDS(
                "bus ids such as 0000:3b:00.0 separated by blanks",
                Pattern.compile(BUS + "( " + BUS + ")*").asMatchPredicate()),
        /** A remote end that its library did not know is written in an older form, cut short. */
        LINK_TARGET(
                "a bus id such as 0000:3b:00.0, or fffffff:ffff:ff for a device that is not visible",
                Pattern.compile(BUS + "|fffffff:ffff:ff").asMatchPredicate()),
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

    /** Whether an element or an attribute that JCCL does not know can be kept under this name. */
    static boolean isName(String name) {
        return NAME.matcher(name).matches();
    }

    /** Null where the value is fine, else what was expected instead. */
    String violation(String value) {
        if (value.length() > MAX_LENGTH) {
            return "at most " + MAX_LENGTH + " characters, not " + value.length();
        }
        return kind.matches.test(value) ? null : kind.expected;
    }

    private static boolean inRange(String text, long min, long max) {
        if (!WHOLE.matcher(text).matches()) {
            return false;
        }
        long value = Long.parseLong(text);
        return value >= min && value <= max;
    }

    private static boolean isDecimal(String text) {
        return text.length() <= 32 && DECIMAL.matcher(text).matches() && Double.parseDouble(text) <= 1e9;
    }
}

package io.jccl.topology;

import java.util.regex.Pattern;

/**
 * The rule for the value of an XML attribute.
 *
 * @param name the attribute
 * @param required whether the element is invalid without the attribute
 * @param kind the form of its value
 */
record AttributeRule(String name, boolean required, Kind kind) {

    /** Largest length of a value in characters: enough for the affinity mask of several thousand processors. */
    static final int MAX_LENGTH = 4096;

    /** Rule for attributes that JCCL does not know. */
    static final AttributeRule KEPT = optional("", Kind.TEXT);

    /** Target of a link whose other end the management library did not know, as older versions wrote it: truncated. */
    private static final String UNKNOWN_END = "fffffff:ffff:ff";

    /** Holds a pattern that is compiled only when the first unknown name occurs. */
    private static final class Names {
        static final Pattern NAME = Pattern.compile("[\\p{L}_][\\p{L}\\p{N}._-]{0,255}");
    }

    enum Kind {
        TEXT("text"),
        FLAG("0 or 1"),
        COUNT("a whole number from 0 to 1048576"),
        INTEGER("a whole number from -1 to 2147483647"),
        NUMBER("a decimal number from 0 to 1e9"),
        BUS_ID("a bus id such as 0000:3b:00.0"),
        BUS_IDS("bus ids such as 0000:3b:00.0 separated by blanks"),
        LINK_TARGET("a bus id such as 0000:3b:00.0, or " + UNKNOWN_END + " for a device that is not visible"),
        HEX("a hexadecimal number such as 0x10de"),
        MASK("a hexadecimal mask such as 000000ff,ffffffff");

        private final String expected;

        Kind(String expected) {
            this.expected = expected;
        }

        private boolean admits(String text) {
            return switch (this) {
                case TEXT -> true;
                case FLAG -> text.equals("0") || text.equals("1");
                case COUNT -> inRange(text, 0, 1 << 20);
                case INTEGER -> inRange(text, -1, Integer.MAX_VALUE);
                case NUMBER -> isDecimal(text);
                case BUS_ID -> PciDevices.isBusId(text);
                case BUS_IDS -> areBusIds(text);
                case LINK_TARGET -> PciDevices.isBusId(text) || text.equals(UNKNOWN_END);
                case HEX -> Ascii.isPrefixedHex(text, 16);
                case MASK -> CpuMask.isValid(text);
            };
        }
    }

    static AttributeRule required(String name, Kind kind) {
        return new AttributeRule(name, true, kind);
    }

    static AttributeRule optional(String name, Kind kind) {
        return new AttributeRule(name, false, kind);
    }

    /** Returns true if JCCL can keep an unknown element or attribute of this name. */
    static boolean isName(String name) {
        return Names.NAME.matcher(name).matches();
    }

    /** Returns null if the value is valid, else a description of what was expected. */
    String violation(String value) {
        if (value.length() > MAX_LENGTH) {
            return "at most " + MAX_LENGTH + " characters, not " + value.length();
        }
        return kind.admits(value) ? null : kind.expected;
    }

    private static boolean inRange(String text, long min, long max) {
        if (!Ascii.isInteger(text, 10)) {
            return false;
        }
        long value = Long.parseLong(text);
        return value >= min && value <= max;
    }

    /**
     * Returns true if the text is a decimal number of at most 1e9: digits, then optionally a point with or without
     * further digits, then optionally an exponent of one or two digits.
     */
    private static boolean isDecimal(String text) {
        int end = Ascii.endOfDigits(text, 0);
        if (end == 0 || text.length() > 32) {
            return false;
        }
        if (text.startsWith(".", end)) {
            end = Ascii.endOfDigits(text, end + 1);
        }
        if (text.startsWith("e", end) || text.startsWith("E", end)) {
            int sign = text.startsWith("-", end + 1) || text.startsWith("+", end + 1) ? 1 : 0;
            int exponent = end + 1 + sign;
            end = Ascii.endOfDigits(text, exponent);
            if (end == exponent || end > exponent + 2) {
                return false;
            }
        }
        return end == text.length() && Double.parseDouble(text) <= 1e9;
    }

    private static boolean areBusIds(String text) {
        for (String part : text.split(" ", -1)) {
            if (!PciDevices.isBusId(part)) {
                return false;
            }
        }
        return true;
    }
}

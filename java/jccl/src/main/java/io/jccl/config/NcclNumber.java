package io.jccl.config;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A number as NCCL reads it, with C's {@code strtoll} and base 0: decimal, hexadecimal after {@code 0x}, octal after
 * {@code 0}, up to the first character that is not a digit.
 *
 * @param value the number
 * @param rest the text that follows the number, without surrounding blanks
 */
record NcclNumber(long value, String rest) {

    private static final Pattern FORM =
            Pattern.compile("([+-]?)(?:0[xX]([0-9a-fA-F]+)|(0[0-7]*)|([1-9][0-9]*))(.*)", Pattern.DOTALL);

    /** Returns the number at the beginning of a text; empty if there is none or it does not fit 64 bits. */
    static Optional<NcclNumber> parse(String text) {
        Matcher form = FORM.matcher(text.strip());
        if (!form.matches()) {
            return Optional.empty();
        }
        int radix = form.group(2) != null ? 16 : form.group(3) != null ? 8 : 10;
        String digits = radix == 16 ? form.group(2) : radix == 8 ? form.group(3) : form.group(4);
        try {
            long value = Long.parseLong(form.group(1) + digits, radix);
            return Optional.of(new NcclNumber(value, form.group(5).strip()));
        } catch (NumberFormatException e) {
            return Optional.empty();
        }
    }

    /**
     * Reads a whole number and fits it to a range that may be narrower than NCCL's.
     *
     * @param expected what JCCL expects, for the warning
     * @param step the result is rounded to a multiple of this number
     */
    static NcclReading<Integer> fit(String text, String expected, int min, int max, int step) {
        Optional<NcclNumber> read = parse(text);
        if (read.isEmpty()) {
            return NcclReading.unusable(expected);
        }
        NcclNumber number = read.get();
        if (number.value < min && number.isUnset()) {
            return NcclReading.unset();
        }
        long near = Math.max(min, Math.min(max, number.value));
        int fitted = (int) (near - near % step);
        return fitted == number.value && number.rest.isEmpty()
                ? NcclReading.of(fitted)
                : NcclReading.instead(fitted, expected);
    }

    /** Returns true if the number is one by which NCCL itself means "not set". */
    private boolean isUnset() {
        return value == -1 || value == -2 || value == Integer.MIN_VALUE;
    }
}

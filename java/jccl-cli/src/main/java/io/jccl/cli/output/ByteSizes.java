package io.jccl.cli.output;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads and writes sizes in bytes such as {@code 8}, {@code 64K} or {@code 1.5M}; suffixes are powers of 1024. */
public final class ByteSizes {

    private static final Pattern SIZE =
            Pattern.compile("(\\d+(?:\\.\\d+)?)\\s*([kmgt]?)(?:i?b)?", Pattern.CASE_INSENSITIVE);
    private static final String SUFFIXES = "KMGT";

    private ByteSizes() {}

    /**
     * Parses a size.
     *
     * @throws IllegalArgumentException if the text is not a size, or not a whole number of bytes
     */
    public static long parse(String text) {
        Matcher matcher = SIZE.matcher(text.trim());
        if (!matcher.matches()) {
            throw new IllegalArgumentException(
                    "size=\"" + text + "\": expected a number with an optional suffix K, M, G or T, for example 64M");
        }
        int power = 1
                + (matcher.group(2).isEmpty()
                        ? -1
                        : SUFFIXES.indexOf(
                                Character.toUpperCase(matcher.group(2).charAt(0))));
        double bytes = Double.parseDouble(matcher.group(1)) * (1L << (10 * power));
        if (bytes != Math.rint(bytes) || bytes >= 0x1p62) {
            throw new IllegalArgumentException("size=\"" + text + "\": expected a whole number of bytes below 2^62");
        }
        return (long) bytes;
    }

    /** Formats a size in the largest unit that keeps it readable, for example {@code 64 MiB} or {@code 1.5 GiB}. */
    public static String format(long bytes) {
        double value = bytes;
        int power = 0;
        while (Math.abs(value) >= 1024 && power < SUFFIXES.length()) {
            value /= 1024;
            power++;
        }
        String number =
                value == Math.rint(value) ? Long.toString((long) value) : String.format(Locale.ROOT, "%.1f", value);
        return power == 0 ? number + " B" : number + " " + SUFFIXES.charAt(power - 1) + "iB";
    }
}

package io.jccl.config;

import java.math.BigInteger;
import java.util.StringJoiner;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Converts sets of processors, one bit for each, from and to text in the kernel's list format, such as {@code 0-3,8}.
 */
public final class ProcessorSet {

    /** Upper limit of processor numbers, higher than any Linux kernel supports. */
    private static final int MAX_PROCESSOR = 8191;

    private static final Pattern MASK = Pattern.compile("0[xX]([0-9a-fA-F]{1,2048})");
    private static final Pattern RANGE = Pattern.compile("(\\d{1,4})(?:-(\\d{1,4}))?");

    private ProcessorSet() {}

    /**
     * Reads a list, or a hexadecimal mask after {@code 0x}.
     *
     * @throws IllegalArgumentException if the text is neither or names no processor
     */
    static BigInteger parse(String text) {
        Matcher mask = MASK.matcher(text);
        BigInteger processors = mask.matches() ? new BigInteger(mask.group(1), 16) : BigInteger.ZERO;
        if (!mask.matches()) {
            for (String part : text.split(",", -1)) {
                processors = processors.or(range(part.strip()));
            }
        }
        if (processors.signum() == 0) {
            throw new IllegalArgumentException("no processor");
        }
        return processors;
    }

    private static BigInteger range(String text) {
        Matcher range = RANGE.matcher(text);
        if (!range.matches()) {
            throw new IllegalArgumentException("neither a number nor a range");
        }
        int first = Integer.parseInt(range.group(1));
        int last = range.group(2) == null ? first : Integer.parseInt(range.group(2));
        if (last < first || last > MAX_PROCESSOR) {
            throw new IllegalArgumentException("out of range");
        }
        return BigInteger.ONE
                .shiftLeft(last - first + 1)
                .subtract(BigInteger.ONE)
                .shiftLeft(first);
    }

    /** Returns a set as a list that {@link #parse} reads again; an empty text for an empty set. */
    public static String format(BigInteger processors) {
        StringJoiner list = new StringJoiner(",");
        for (int first = processors.getLowestSetBit(); first >= 0; ) {
            int last = first;
            while (processors.testBit(last + 1)) {
                last++;
            }
            list.add(first == last ? Integer.toString(first) : first + "-" + last);
            processors = processors.shiftRight(last + 1).shiftLeft(last + 1);
            first = processors.getLowestSetBit();
        }
        return list.toString();
    }
}

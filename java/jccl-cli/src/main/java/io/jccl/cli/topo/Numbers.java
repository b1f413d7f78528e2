package io.jccl.cli.topo;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Formats numbers for people. */
public final class Numbers {

    /** A link of at least this bandwidth is inside one device, and limits nothing. */
    private static final double INSIDE_GBPS = 5000;

    /** Text in place of the bandwidth of such a link. */
    static final String INSIDE = "inside";

    private Numbers() {}

    /** Formats GB/s without insignificant decimals. */
    public static String bandwidth(double value) {
        return value >= INSIDE_GBPS ? INSIDE : sum(value);
    }

    /** Formats the GB/s of several links together. */
    static String sum(double value) {
        return shortest(value, value < 100 ? 2 : value < 1000 ? 1 : 0);
    }

    /** Formats a number with at most {@code decimals} decimals, and without trailing zeros. */
    public static String shortest(double value, int decimals) {
        String text = String.format(Locale.ROOT, "%." + decimals + "f", value);
        return text.contains(".") ? text.replaceAll("0+$", "").replaceAll("\\.$", "") : text;
    }

    /** Returns a number with its noun in the singular or plural. */
    public static String count(int number, String noun) {
        return number + " " + noun + (number == 1 ? "" : noun.endsWith("ch") ? "es" : "s");
    }

    /** Formats ascending numbers, with runs of three and more shortened: {@code 0-3, 5, 8}. */
    public static String ranges(List<Integer> ascending) {
        StringBuilder out = new StringBuilder();
        for (int begin = 0; begin < ascending.size(); ) {
            int end = begin;
            while (end + 1 < ascending.size() && ascending.get(end + 1) == ascending.get(end) + 1) {
                end++;
            }
            out.append(out.isEmpty() ? "" : ", ");
            if (end - begin >= 2) {
                out.append(ascending.get(begin)).append('-').append(ascending.get(end));
            } else {
                out.append(ascending.subList(begin, end + 1).stream()
                        .map(String::valueOf)
                        .collect(Collectors.joining(", ")));
            }
            begin = end + 1;
        }
        return out.toString();
    }
}

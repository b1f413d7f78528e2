package io.jccl.cli.topo;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** Numbers as people read them. */
public final class Numbers {

    /** From here on a bandwidth is no bottleneck but a link inside one device. */
    private static final double INSIDE_GBPS = 5000;

    /** What stands for the bandwidth of such a link. */
    static final String INSIDE = "inside";

    private Numbers() {}

    /** GB/s without decimals that say nothing. */
    public static String bandwidth(double value) {
        return value >= INSIDE_GBPS ? INSIDE : sum(value);
    }

    /** GB/s of several links together. */
    static String sum(double value) {
        return shortest(value, value < 100 ? 2 : value < 1000 ? 1 : 0);
    }

    /** A number with at most this many decimals, and none that are zero. */
    public static String shortest(double value, int decimals) {
        String text = String.format(Locale.ROOT, "%." + decimals + "f", value);
        return text.contains(".") ? text.replaceAll("0+$", "").replaceAll("\\.$", "") : text;
    }

    /** A number and its noun in the fitting form. */
    public static String count(int number, String noun) {
        return number + " " + noun + (number == 1 ? "" : noun.endsWith("ch") ? "es" : "s");
    }

    /** Ascending numbers with runs of three and more shortened: {@code 0-3, 5, 8}. */
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

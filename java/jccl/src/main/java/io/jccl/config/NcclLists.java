package io.jccl.config;

import io.jccl.Collective;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.StringJoiner;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Reads lists under NCCL's names and rewrites them in JCCL's form, without the parts that JCCL cannot use. */
final class NcclLists {

    private static final String PREFIXES = "^[\\^=]*";

    private static final String INTERFACES =
            "names or CIDR blocks separated by commas, with ^ or = only in front of the whole list";

    private static final String ADAPTERS =
            "names separated by commas, each with an optional :port from 1 to 255 and without"
                    + " rail and plane, with ^ or = only in front of the whole list";

    /** Algorithms that only NCCL has. Excluding them with {@code ^} has no effect in JCCL, so it causes no warning. */
    private static final Set<String> NCCL_ALONE_HAS = Set.of("nvlstree", "pat");

    /** Patterns, compiled when a list first needs them; most processes set no list. */
    private static final class Forms {
        static final Pattern NETWORK = Pattern.compile("[0-9a-fA-F.:]+/[0-9]{1,3}");
        static final Pattern PORT = Pattern.compile("[1-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5]");
    }

    private NcclLists() {}

    /** Reads names of network interfaces. Networks such as 10.0.0.0/8 are an extension of JCCL. */
    static NcclReading<String> interfaces(String name, String text, NcclReading<String> plain) {
        return devices(
                text,
                plain,
                INTERFACES,
                entry -> entry.contains("/") && !Forms.NETWORK.matcher(entry).matches() ? "" : entry);
    }

    /**
     * Reads names of adapters with ports. Numbers of rails and planes, which NCCL allows after the port, are dropped.
     */
    static NcclReading<String> adapters(String name, String text, NcclReading<String> plain) {
        return devices(text, plain, ADAPTERS, entry -> {
            String[] parts = entry.split(":", -1);
            boolean port = parts.length > 1 && Forms.PORT.matcher(parts[1]).matches();
            return port ? parts[0] + ":" + parts[1] : parts[0];
        });
    }

    /**
     * Reads a list with {@code ^} or {@code =} in front. Elsewhere in the list NCCL takes these characters as part of a
     * name.
     */
    private static NcclReading<String> devices(
            String text, NcclReading<String> plain, String expected, UnaryOperator<String> normal) {
        if (!plain.isClean()) {
            return plain;
        }
        String names = text.replaceFirst(PREFIXES, "");
        String prefix = text.substring(0, text.length() - names.length());
        boolean others = prefix.contains("^");
        boolean changed = prefix.length() > 2 || prefix.equals("^^") || prefix.equals("==");
        List<String> kept = new ArrayList<>();
        for (String part : names.split(",", -1)) {
            String entry = part.strip();
            boolean contradicts = !others && entry.startsWith("^");
            String name = contradicts ? "" : normal.apply(entry.replaceFirst(PREFIXES, ""));
            changed |= !name.equals(entry);
            if (!name.isEmpty()) {
                kept.add(name);
            }
        }
        if (kept.isEmpty()) {
            return NcclReading.unusable(expected);
        }
        String used = (others ? "^" : "") + (prefix.contains("=") ? "=" : "") + String.join(",", kept);
        return changed ? NcclReading.instead(used, expected) : NcclReading.of(used);
    }

    /** Reads up to {@code count} numbers. Stops at the first word that is not a number, as C's {@code scanf} does. */
    static NcclReading<List<Integer>> numbers(String text, int count, String expected, int min, int max) {
        List<Integer> values = new ArrayList<>();
        boolean changed = false;
        for (String part : text.split("[\\s,]+")) {
            NcclReading<Integer> number = NcclNumber.fit(part, expected, min, max, 1);
            changed |= !number.isClean() || values.size() == count;
            if (number.value().isEmpty() || values.size() == count) {
                break;
            }
            values.add(number.value().get());
        }
        if (values.isEmpty()) {
            return NcclReading.unusable(expected);
        }
        List<Integer> read = List.copyOf(values);
        return changed ? NcclReading.instead(read, expected) : NcclReading.of(read);
    }

    /**
     * Reads names to use, or after {@code ^} names to exclude. A part {@code collective:names} is for one collective, a
     * part without a colon for all.
     *
     * @param names the names that JCCL knows
     */
    static NcclReading<String> selection(String text, Set<String> names, String expected) {
        StringJoiner used = new StringJoiner(";");
        boolean changed = false;
        for (String part : text.split(";", -1)) {
            int colon = part.indexOf(':');
            boolean known = colon < 0 || isCollective(plain(part.substring(0, colon)));
            Selected selected = selected(part.substring(colon + 1).strip(), names);
            changed |= !known || selected.changed;
            if (known && !selected.list.isEmpty()) {
                used.add(part.substring(0, colon + 1).strip().toLowerCase(Locale.ROOT) + selected.list);
            }
        }
        if (used.length() == 0) {
            return changed ? NcclReading.unusable(expected) : NcclReading.unset();
        }
        return changed ? NcclReading.instead(used.toString(), expected) : NcclReading.of(used.toString());
    }

    private static boolean isCollective(String name) {
        return Arrays.stream(Collective.values())
                .anyMatch(one -> plain(one.label()).equals(name));
    }

    /**
     * The part of a list that JCCL can use.
     *
     * @param list the names; empty if the list restricts nothing
     * @param changed true if a warning must say that JCCL does not use the list as it stands
     */
    private record Selected(String list, boolean changed) {}

    private static Selected selected(String list, Set<String> names) {
        boolean others = list.startsWith("^");
        boolean changed = false;
        Set<String> kept = new LinkedHashSet<>();
        Set<String> chosen = new HashSet<>();
        for (String part : list.substring(others ? 1 : 0).split(",", -1)) {
            String name = plain(part);
            Set<String> meant = meant(name, names);
            chosen.addAll(meant);
            if (!meant.isEmpty()) {
                kept.add(name);
            }
            changed |= meant.isEmpty() && !name.isEmpty() && !(others && NCCL_ALONE_HAS.contains(name));
        }
        if (chosen.containsAll(names)) {
            return new Selected("", changed || others);
        }
        return new Selected(kept.isEmpty() ? "" : (others ? "^" : "") + String.join(",", kept), changed);
    }

    private static Set<String> meant(String name, Set<String> names) {
        return names.stream()
                .filter(one -> name.equals("auto") || plain(one).equals(name) || one.startsWith(name + "_"))
                .collect(Collectors.toSet());
    }

    private static String plain(String name) {
        return name.strip().toLowerCase(Locale.ROOT).replace("_", "").replace("-", "");
    }
}

package io.jccl.tuning;

import io.jccl.Collective;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The values of a closed set that a setting allows for each collective. This is the syntax of {@code JCCL_ALGO} and
 * {@code JCCL_PROTO}, a superset of NCCL's:
 *
 * <pre>
 * ring              only this one
 * ring,tree         one of these
 * ^tree             all except these
 * ring;all_reduce:tree,ring     one value for all collectives, others for one of them (with JCCL's or NCCL's name)
 * auto, or empty    no restriction
 * </pre>
 *
 * @param <E> the type of the values
 */
public final class Selection<E extends Enum<E>> {

    private final String setting;
    private final String text;
    private final Set<E> general;
    private final Map<Collective, Set<E>> named;

    private Selection(String setting, String text, Set<E> general, Map<Collective, Set<E>> named) {
        this.setting = setting;
        this.text = text;
        this.general = general;
        this.named = named;
    }

    /** Returns a selection that allows everything. */
    public static <E extends Enum<E>> Selection<E> all(Class<E> type) {
        return new Selection<>("", "auto", EnumSet.allOf(type), Map.of());
    }

    /**
     * Reads a setting.
     *
     * @param setting the name of the setting, for error messages
     * @param text its value; null or blank allows everything
     * @throws IllegalArgumentException if the value cannot be understood
     */
    public static <E extends Enum<E>> Selection<E> parse(Class<E> type, String setting, String text) {
        if (text == null || text.isBlank()) {
            return all(type);
        }
        Set<E> general = EnumSet.allOf(type);
        Map<Collective, Set<E>> named = new EnumMap<>(Collective.class);
        for (String part : text.split(";", -1)) {
            int colon = part.indexOf(':');
            if (colon >= 0) {
                Set<E> values = values(type, setting, text, part.substring(colon + 1));
                named.put(collective(setting, text, part.substring(0, colon)), values);
            } else if (!part.isBlank()) {
                general = values(type, setting, text, part);
            }
        }
        return new Selection<>(setting, text.trim(), general, named);
    }

    private static <E extends Enum<E>> Set<E> values(Class<E> type, String setting, String text, String part) {
        String list = part.trim();
        boolean except = list.startsWith("^");
        Set<E> values = EnumSet.noneOf(type);
        for (String name : (except ? list.substring(1) : list).split(",", -1)) {
            if (name.trim().equalsIgnoreCase("auto") && !except) {
                values.addAll(EnumSet.allOf(type));
            } else {
                values.addAll(named(type, setting, text, name));
            }
        }
        if (except) {
            values = EnumSet.complementOf(EnumSet.copyOf(values));
            if (values.isEmpty()) {
                throw new IllegalArgumentException(setting + "=" + text + ": leaves nothing; exclude fewer");
            }
        }
        return values;
    }

    /**
     * Returns the value with this name, with or without underscores; or all values whose names begin with this name
     * and an underscore, as {@code collnet}.
     */
    private static <E extends Enum<E>> Set<E> named(Class<E> type, String setting, String text, String name) {
        String wanted = name.trim().replace("_", "").toUpperCase(Locale.ROOT);
        Set<E> values = EnumSet.noneOf(type);
        for (E value : type.getEnumConstants()) {
            if (value.name().replace("_", "").equals(wanted) || value.name().startsWith(wanted + "_")) {
                values.add(value);
            }
        }
        if (!values.isEmpty()) {
            return values;
        }
        String known = Arrays.stream(type.getEnumConstants())
                .map(value -> value.name().toLowerCase(Locale.ROOT))
                .collect(Collectors.joining(", "));
        throw new IllegalArgumentException(setting + "=" + text + ": unknown name='" + name.trim() + "'; expected "
                + known + ", several with commas, or ^ before those to exclude");
    }

    private static Collective collective(String setting, String text, String name) {
        String normalized = name.trim().replace("_", "").replace("-", "");
        for (Collective collective : Collective.values()) {
            if (collective.name().replace("_", "").equalsIgnoreCase(normalized)) {
                return collective;
            }
        }
        throw new IllegalArgumentException(setting + "=" + text + ": unknown collective='" + name.trim()
                + "'; expected one of "
                + Arrays.stream(Collective.values()).map(Collective::label).collect(Collectors.joining(", ")));
    }

    /** Returns true if a value may be used for a collective. */
    public boolean allows(Collective collective, E value) {
        return named.getOrDefault(collective, general).contains(value);
    }

    /**
     * Returns this selection for a case in which some values do not exist. If the selection allowed only these values,
     * the result allows everything.
     */
    Selection<E> without(Set<E> missing) {
        Map<Collective, Set<E>> others = new EnumMap<>(Collective.class);
        named.forEach((collective, values) -> others.put(collective, without(values, missing)));
        return new Selection<>(setting, text, without(general, missing), others);
    }

    private static <E extends Enum<E>> Set<E> without(Set<E> values, Set<E> missing) {
        EnumSet<E> left = EnumSet.copyOf(values);
        Set<E> excluded = EnumSet.complementOf(left);
        left.removeAll(missing);
        if (left.isEmpty() || excluded.isEmpty()) {
            left.addAll(values);
            left.addAll(excluded);
        }
        return left;
    }

    /**
     * Returns true if the setting restricts this collective by name. If no candidate fits the restriction, the setting
     * is then a mistake.
     */
    public boolean names(Collective collective) {
        return named.containsKey(collective);
    }

    /**
     * Returns true if the setting has NCCL's name. A restriction that no candidate fits is then ignored instead of
     * refused.
     */
    public boolean isOfNccl() {
        return setting.startsWith("NCCL_");
    }

    /** Returns name and value of the setting, as in {@code JCCL_ALGO=ring}. */
    public String described() {
        return setting + "=" + text;
    }

    /** Returns true if nothing is restricted for a collective. */
    public boolean allowsAll(Collective collective) {
        return EnumSet.complementOf(EnumSet.copyOf(named.getOrDefault(collective, general)))
                .isEmpty();
    }

    /** Returns the original value of the setting. */
    @Override
    public String toString() {
        return text;
    }
}

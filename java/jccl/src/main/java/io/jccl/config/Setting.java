package io.jccl.config;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * One setting of the registry.
 *
 * @param name as in the environment, for example {@code JCCL_TIMEOUT}
 * @param aliases NCCL's names where they mean the same, and former names of JCCL's own; the first that is set counts
 * @param group the heading that the setting is documented under
 * @param type how its text is read
 * @param defaultValue what holds when nothing is set
 * @param deviceDefault what holds then between GPUs
 * @param documentation what it does, in a sentence or two
 * @param <T> the value's class
 */
public record Setting<T>(
        String name,
        List<String> aliases,
        String group,
        ValueType<T> type,
        T defaultValue,
        T deviceDefault,
        String documentation) {

    /** Checks that nothing is missing. */
    public Setting {
        Objects.requireNonNull(name);
        aliases = List.copyOf(aliases);
        Objects.requireNonNull(group);
        Objects.requireNonNull(type);
        Objects.requireNonNull(defaultValue);
        Objects.requireNonNull(deviceDefault);
        Objects.requireNonNull(documentation);
    }

    /** The names that this setting had in earlier versions; they work wherever the name does. */
    List<String> formerNames() {
        return aliases("JCCL_");
    }

    /** The names that NCCL has for this setting; they are read in the environment only. */
    List<String> ncclNames() {
        return aliases("NCCL_");
    }

    private List<String> aliases(String prefix) {
        List<String> found = new ArrayList<>();
        for (String alias : aliases) {
            if (alias.startsWith(prefix)) {
                found.add(alias);
            }
        }
        return found;
    }

    /** Whether GPUs have a default of their own. */
    public boolean hasDeviceDefault() {
        return !deviceDefault.equals(defaultValue);
    }

    /** The default between GPUs as text; empty when there is none. */
    public String deviceDefaultText() {
        return type.format(deviceDefault);
    }

    /** The default as text; empty when there is none. */
    public String defaultText() {
        return type.format(defaultValue);
    }

    /**
     * The value of a text.
     *
     * @throws IllegalArgumentException with the message that a user needs
     */
    T parse(Origin origin, String text) {
        try {
            return type.parse(text);
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw new IllegalArgumentException(
                    origin.name() + "=\"" + text + "\" (from " + origin.place() + "): expected " + type.expected(), e);
        }
    }
}

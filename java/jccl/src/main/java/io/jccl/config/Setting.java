package io.jccl.config;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * One setting of the registry.
 *
 * @param name the name in the environment, for example {@code JCCL_TIMEOUT}
 * @param aliases NCCL's names, if the meaning is the same, and former names in JCCL. In order of precedence: the first
 *     alias that is set wins
 * @param group the heading under which the setting is documented
 * @param type reads and writes the setting's text
 * @param defaultValue the value if nothing is set
 * @param deviceDefault the value for operations between GPUs if nothing is set
 * @param documentation the effect of the setting, in a sentence or two
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

    public Setting {
        Objects.requireNonNull(name);
        aliases = List.copyOf(aliases);
        Objects.requireNonNull(group);
        Objects.requireNonNull(type);
        Objects.requireNonNull(defaultValue);
        Objects.requireNonNull(deviceDefault);
        Objects.requireNonNull(documentation);
    }

    /** Returns the names that this setting had in earlier versions; they work wherever the name does. */
    List<String> formerNames() {
        return aliases("JCCL_");
    }

    /** Returns NCCL's names for this setting; they are read only from the environment. */
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

    /** Returns true if the default between GPUs differs from the one between host ranks. */
    public boolean hasDeviceDefault() {
        return !deviceDefault.equals(defaultValue);
    }

    /** Returns the default between GPUs as text; empty if there is none. */
    public String deviceDefaultText() {
        return type.format(deviceDefault);
    }

    /** Returns the default as text; empty if there is none. */
    public String defaultText() {
        return type.format(defaultValue);
    }

    /**
     * Converts a text to a value.
     *
     * @param origin the place of the text, for the message
     * @throws IllegalArgumentException if the text is bad, with a message for the user
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

package io.jccl.examples;

import io.jccl.Communicator;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Reads the options of an example, such as {@code --steps 100 --check}. The example asks for each option once. Then it
 * calls {@link #check}, which ends the program with a usage message and status 2 if anything was wrong.
 */
final class Options {

    private final Class<?> example;
    private final Map<String, String> given = new LinkedHashMap<>();
    private final List<String> mistakes = new ArrayList<>();
    private final StringBuilder usage = new StringBuilder();

    /**
     * @param example class of the example
     * @param arguments arguments of its main
     */
    Options(Class<?> example, String[] arguments) {
        this.example = example;
        for (int i = 0; i < arguments.length; i++) {
            String name = arguments[i];
            if (!name.startsWith("--")) {
                mistakes.add("argument=" + name + ": expected an option, --NAME");
                continue;
            }
            boolean hasValue = i + 1 < arguments.length && !arguments[i + 1].startsWith("--");
            String value = hasValue ? arguments[++i] : null;
            if (given.containsKey(name)) {
                mistakes.add("option=" + name + ": expected once");
            }
            given.put(name, value);
        }
    }

    /**
     * Returns the value of {@code --name NUMBER}.
     *
     * @param value default value
     * @param min smallest number that is allowed
     * @param max largest number that is allowed
     * @param meaning description for the usage message
     */
    int number(String name, int value, int min, int max, String meaning) {
        usage.append(String.format("  --%-18s %s (%d)%n", name + " NUMBER", meaning, value));
        if (!given.containsKey("--" + name)) {
            return value;
        }
        String text = Objects.requireNonNullElse(given.remove("--" + name), "");
        try {
            int number = Integer.parseInt(text);
            if (number >= min && number <= max) {
                return number;
            }
        } catch (NumberFormatException e) {
            // reported below, like a number out of range
        }
        mistakes.add(name + "=" + text + ": expected a number from " + min + " to " + max);
        return value;
    }

    /** Returns true if {@code --name} is given; the option has no value. */
    boolean flag(String name, String meaning) {
        usage.append(String.format("  --%-18s %s%n", name, meaning));
        if (!given.containsKey("--" + name)) {
            return false;
        }
        String text = given.remove("--" + name);
        if (text != null) {
            mistakes.add(name + "=" + text + ": expected no value");
        }
        return true;
    }

    /** Ends the program if an option is wrong or unknown. */
    void check() {
        if (given.containsKey("--help")) {
            System.out.print(usage());
            System.exit(0);
        }
        given.keySet().forEach(name -> mistakes.add("option=" + name + ": there is none of this name"));
        if (!mistakes.isEmpty()) {
            fail(String.join(System.lineSeparator(), mistakes));
        }
    }

    /** Ends the program because the options do not fit the number of ranks. All ranks must call this. */
    void fail(Communicator comm, String mistake) {
        comm.close(); // otherwise the other ranks would report that this one failed
        fail(mistake);
    }

    /** Prints a mistake and the usage message, and ends the program with status 2. */
    private void fail(String mistake) {
        System.err.print(mistake + System.lineSeparator() + usage());
        System.err.flush();
        System.exit(2);
    }

    private String usage() {
        return String.format("usage: %s [OPTIONS]%n%s", example.getName(), usage);
    }
}

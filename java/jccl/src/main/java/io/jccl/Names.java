package io.jccl;

import java.util.Arrays;
import java.util.Locale;

/** Finds the constants of an enum by the names that people write. */
final class Names {

    private Names() {}

    static <E extends Enum<E>> E parse(Class<E> type, String what, String label) {
        if (label == null) {
            throw new IllegalArgumentException(what + "=null: name one of " + choices(type));
        }
        String expected = label.trim().replace('-', '_').toUpperCase(Locale.ROOT);
        for (E constant : type.getEnumConstants()) {
            if (constant.name().equals(expected)) {
                return constant;
            }
        }
        throw new IllegalArgumentException(what + "=\"" + label + "\": unknown; name one of " + choices(type));
    }

    private static <E extends Enum<E>> String choices(Class<E> type) {
        return Arrays.toString(type.getEnumConstants()).toLowerCase(Locale.ROOT);
    }
}

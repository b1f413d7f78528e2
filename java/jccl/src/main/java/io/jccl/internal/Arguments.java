package io.jccl.internal;

import org.jspecify.annotations.Nullable;

/** Checks arguments of the API that must not be null. */
public final class Arguments {

    private Arguments() {}

    /**
     * Returns the argument; throws if it is null.
     *
     * @param expected describes a valid argument, for the message
     */
    public static <T> T required(String name, @Nullable T value, String expected) {
        if (value == null) {
            throw new IllegalArgumentException(name + "=null: expected " + expected);
        }
        return value;
    }
}

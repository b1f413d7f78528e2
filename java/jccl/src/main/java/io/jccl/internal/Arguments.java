package io.jccl.internal;

import org.jspecify.annotations.Nullable;

/** What must hold of every argument of the API that is an object. */
public final class Arguments {

    private Arguments() {}

    /**
     * The argument, unless it is null.
     *
     * @param expected what it has to be
     */
    public static <T> T required(String name, @Nullable T value, String expected) {
        if (value == null) {
            throw new IllegalArgumentException(name + "=null: expected " + expected);
        }
        return value;
    }
}

package io.jccl.config;

import java.util.Objects;

/**
 * How the text of a setting becomes a value and back.
 *
 * @param <T> the value's class; immutable
 */
public abstract class ValueType<T> {

    private final String expected;

    /** @param expected what a good text looks like, to follow "expected" in a message */
    ValueType(String expected) {
        this.expected = Objects.requireNonNull(expected);
    }

    /** What a good text looks like, for example {@code a size from 4K to 1G}. */
    public final String expected() {
        return expected;
    }

    /**
     * The value of a text.
     *
     * @throws IllegalArgumentException if it is not what {@link #expected()} says
     */
    public final T parse(String text) {
        return read(text.strip());
    }

    /**
     * Reads a text that is set under one of NCCL's names. Accepts at least what {@link #parse} does. Never fails: a value that
     * NCCL accepts and JCCL cannot use ends no job.
     *
     * @param name which of NCCL's names
     */
    final NcclReading<T> parseNccl(String name, String text) {
        return readNccl(name, text.strip());
    }

    /** Reads a text without blanks around it that is set under one of NCCL's names. */
    NcclReading<T> readNccl(String name, String text) {
        try {
            return NcclReading.of(read(text));
        } catch (IllegalArgumentException | ArithmeticException e) {
            return NcclReading.unusable(expected);
        }
    }

    /** The value of a text without blanks round it; throws {@link IllegalArgumentException} for a bad one. */
    abstract T read(String text);

    /** The text of a value, which parses to it again; empty for "not set". */
    public String format(T value) {
        return value.toString();
    }
}

package io.jccl.config;

import java.util.Objects;

/**
 * Converts the text of a setting to a value and back.
 *
 * @param <T> the value's class; immutable
 */
public abstract class ValueType<T> {

    private final String expected;

    /** @param expected describes a good text; follows "expected" in a message */
    ValueType(String expected) {
        this.expected = Objects.requireNonNull(expected);
    }

    /** Returns a description of a good text, for example {@code a size from 4K to 1G}. */
    public final String expected() {
        return expected;
    }

    /**
     * Converts a text to a value.
     *
     * @throws IllegalArgumentException if the text is not as {@link #expected()} describes
     */
    public final T parse(String text) {
        return read(text.strip());
    }

    /**
     * Reads a text that is set under one of NCCL's names. Accepts at least every text that {@link #parse} accepts.
     * Never throws: a value that NCCL accepts and JCCL cannot use must not end a job.
     *
     * @param name the name under which the text is set
     */
    final NcclReading<T> parseNccl(String name, String text) {
        return readNccl(name, text.strip());
    }

    /** Reads a text that is set under one of NCCL's names; it has no surrounding blanks. */
    NcclReading<T> readNccl(String name, String text) {
        try {
            return NcclReading.of(read(text));
        } catch (IllegalArgumentException | ArithmeticException e) {
            return NcclReading.unusable(expected);
        }
    }

    /**
     * Converts a text without surrounding blanks to a value; throws {@link IllegalArgumentException} for a bad text.
     */
    abstract T read(String text);

    /** Returns the text of a value, which {@link #parse} converts back; empty for "not set". */
    public String format(T value) {
        return value.toString();
    }
}

package io.jccl.config;

import java.util.Objects;
import java.util.function.Function;

/**
 * How the text of a setting becomes a value and back.
 *
 * @param <T> the value's class; immutable
 */
public final class ValueType<T> {

    private final String expected;
    private final Function<String, T> parser;
    private final Function<T, String> formatter;

    /**
     * @param expected what a good text looks like, to follow "expected" in a message
     * @param parser throws {@link IllegalArgumentException} for a bad text
     * @param formatter the text that parses to a value again
     */
    ValueType(String expected, Function<String, T> parser, Function<T, String> formatter) {
        this.expected = Objects.requireNonNull(expected);
        this.parser = Objects.requireNonNull(parser);
        this.formatter = Objects.requireNonNull(formatter);
    }

    /** What a good text looks like, for example {@code a size from 4K to 1G}. */
    public String expected() {
        return expected;
    }

    /**
     * The value of a text.
     *
     * @throws IllegalArgumentException if it is not what {@link #expected()} says
     */
    public T parse(String text) {
        return parser.apply(text.strip());
    }

    /** The text of a value; empty for "not set". */
    public String format(T value) {
        return formatter.apply(value);
    }
}

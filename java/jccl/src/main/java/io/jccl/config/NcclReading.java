package io.jccl.config;

import java.util.Optional;
import java.util.function.Function;

/**
 * The meaning of a text under one of NCCL's names for a setting.
 *
 * @param value what is used; empty where the text leaves the setting as it is
 * @param expected what JCCL expects, where it does not use the text as it stands; empty where it does, and where NCCL too
 *     takes the text for "not set"
 * @param <T> the value's class
 */
record NcclReading<T>(Optional<T> value, String expected) {

    /** The text means this value. */
    static <T> NcclReading<T> of(T value) {
        return new NcclReading<>(Optional.of(value), "");
    }

    /** The text means "not set", as NCCL's own defaults -1 and -2 do. */
    static <T> NcclReading<T> unset() {
        return new NcclReading<>(Optional.empty(), "");
    }

    /** JCCL uses another value than the text says. */
    static <T> NcclReading<T> instead(T value, String expected) {
        return new NcclReading<>(Optional.of(value), expected);
    }

    /** JCCL cannot use the text. */
    static <T> NcclReading<T> unusable(String expected) {
        return new NcclReading<>(Optional.empty(), expected);
    }

    /** Returns true if nobody needs a warning. */
    boolean isClean() {
        return expected.isEmpty();
    }

    /** This reading, or another where this one is of no use. */
    NcclReading<T> or(NcclReading<T> other) {
        return isClean() || value.isPresent() ? this : other;
    }

    /** This reading with another value in the place of its own. */
    <U> NcclReading<U> map(Function<? super T, U> other) {
        return new NcclReading<>(value.map(other), expected);
    }
}

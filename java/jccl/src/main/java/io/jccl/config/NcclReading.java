package io.jccl.config;

import java.util.Optional;
import java.util.function.Function;

/**
 * The meaning of a text under one of NCCL's names for a setting.
 *
 * @param value the value to use; empty if the text does not change the setting
 * @param expected for a warning: a description of the texts that JCCL accepts. Empty if no warning is needed, because
 *     JCCL uses the text as it stands, or because NCCL, too, reads the text as "not set"
 * @param <T> the value's class
 */
record NcclReading<T>(Optional<T> value, String expected) {

    /** Returns the reading of a text that means this value. */
    static <T> NcclReading<T> of(T value) {
        return new NcclReading<>(Optional.of(value), "");
    }

    /** Returns the reading of a text that means "not set", as NCCL's own defaults -1 and -2 do. */
    static <T> NcclReading<T> unset() {
        return new NcclReading<>(Optional.empty(), "");
    }

    /** Returns the reading of a text that JCCL replaces by another value. */
    static <T> NcclReading<T> instead(T value, String expected) {
        return new NcclReading<>(Optional.of(value), expected);
    }

    /** Returns the reading of a text that JCCL cannot use. */
    static <T> NcclReading<T> unusable(String expected) {
        return new NcclReading<>(Optional.empty(), expected);
    }

    /** Returns true if the reading needs no warning. */
    boolean isClean() {
        return expected.isEmpty();
    }

    /** Returns the other reading if this one needs a warning and has no value; else this one. */
    NcclReading<T> or(NcclReading<T> other) {
        return isClean() || value.isPresent() ? this : other;
    }

    /** Returns this reading with its value converted. */
    <U> NcclReading<U> map(Function<? super T, U> other) {
        return new NcclReading<>(value.map(other), expected);
    }
}

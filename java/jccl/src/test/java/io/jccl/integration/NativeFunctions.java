package io.jccl.integration;

/** Functions of the test library {@code libjccl_test_functions.so}, for reductions. */
final class NativeFunctions {

    private NativeFunctions() {}

    /** The address of a function that adds {@code int64} elements times the number that its context points to. */
    static native long scaledSum();
}

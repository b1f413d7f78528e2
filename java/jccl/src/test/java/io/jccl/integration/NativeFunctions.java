package io.jccl.integration;

/** Functions of the test library {@code libjccl_test_functions.so}. */
final class NativeFunctions {

    /** System property with the library's path; unset if no native tests are built. */
    static final String LIBRARY = "jccl.test.functions";

    private NativeFunctions() {}

    /**
     * Returns the address of a reduction that adds {@code int64} elements times the number that its context points to.
     */
    static native long scaledSum();

    /**
     * Sets an environment variable of this process, for native code.
     *
     * @param name address of the zero-terminated name
     * @param value address of the zero-terminated value; 0 removes the variable
     */
    static native void setVariable(long name, long value);
}

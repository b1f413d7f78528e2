package io.jccl.integration;

/** Functions of the test library {@code libjccl_test_functions.so}. */
final class NativeFunctions {

    /** The system property that has the library's path; unset where no native tests are built. */
    static final String LIBRARY = "jccl.test.functions";

    private NativeFunctions() {}

    /** The address of a function that adds {@code int64} elements times the number that its context points to. */
    static native long scaledSum();

    /**
     * Sets a variable of the environment that native code sees.
     *
     * @param name address of its name, which a zero ends
     * @param value address of its value, which a zero ends; 0 removes the variable
     */
    static native void setVariable(long name, long value);
}

package io.jccl.internal;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.runtime.ObjectMethods;

/**
 * Clears the JDK's cache for {@code equals}, {@code hashCode} and {@code toString} of records. Before JDK 19 the cache
 * keeps the record class whose methods were linked last, and the types of its components (JDK-8078641). If one of these
 * is a class of JCCL, the cache also keeps JCCL's class loader.
 */
public final class RecordMethods {

    private static final int FIXED_IN = 19;

    private RecordMethods() {}

    /** Links the methods of a record for a class of the JDK, so that the cache keeps that class instead. */
    public static void forgetTypes() {
        if (Runtime.version().feature() >= FIXED_IN) {
            return;
        }
        try {
            MethodHandles.Lookup lookup = MethodHandles.publicLookup();
            MethodHandle text = lookup.findVirtual(String.class, "toString", MethodType.methodType(String.class));
            for (String method : new String[] {"equals", "hashCode", "toString"}) {
                ObjectMethods.bootstrap(lookup, method, MethodHandle.class, String.class, "text", text);
            }
        } catch (Throwable e) { // ObjectMethods.bootstrap declares Throwable
            throw new IllegalStateException("the JDK links no methods of records", e);
        }
    }
}

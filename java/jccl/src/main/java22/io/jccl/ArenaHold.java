package io.jccl;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.function.LongSupplier;

/**
 * Keeps an arena open while an operation over one of its segments is executed: {@code Arena.close} throws meanwhile.
 *
 * <p>The JDK keeps an arena open only while a native function runs that received one of its segments. This class
 * therefore executes the operation inside of a native function: C's {@code bsearch} over an array of one element. It
 * calls its comparison function once, and reads neither the key nor the element itself.
 */
final class ArenaHold {

    private static final int SPARE_FRAMES = 64;

    private static final MethodHandle BSEARCH = bsearch(); // null if this JVM cannot call bsearch
    private static final MemorySegment COMPARISON = BSEARCH == null ? MemorySegment.NULL : comparison();

    private static final ThreadLocal<ArenaHold> INNERMOST = new ThreadLocal<>();

    private final LongSupplier operation;
    private boolean begun;
    private long outcome;
    private Throwable problem;

    private ArenaHold(LongSupplier operation) {
        this.operation = operation;
    }

    /**
     * Executes an operation while the segment's arena cannot be closed.
     *
     * @throws IllegalStateException if the arena is closed already
     */
    static long run(MemorySegment segment, LongSupplier operation) {
        if (BSEARCH == null) {
            return operation.getAsLong();
        }
        requireStack(SPARE_FRAMES);
        ArenaHold hold = new ArenaHold(operation);
        ArenaHold outer = INNERMOST.get();
        INNERMOST.set(hold);
        try {
            MemorySegment ignored = (MemorySegment) BSEARCH.invokeExact(segment, segment, 1L, 1L, COMPARISON);
        } catch (Throwable e) {
            hold.problem = e;
        } finally {
            if (outer == null) {
                INNERMOST.remove();
            } else {
                INNERMOST.set(outer);
            }
        }
        return hold.outcome(segment);
    }

    private long outcome(MemorySegment segment) {
        if (begun && problem == null) {
            return outcome;
        }
        if (begun && problem instanceof RuntimeException e) {
            throw e;
        }
        if (problem instanceof Error e) {
            throw e;
        }
        throw new IllegalStateException(
                "segment=" + segment
                        + ": its arena was closed after the operation was issued and before it began here; close"
                        + " it after the last operation over it has ended",
                problem);
    }

    /**
     * Throws if the stack is almost used up. In a call from native code, an overflow before the Java method has begun
     * would end the process.
     */
    private static int requireStack(int frames) {
        return frames == 0 ? 0 : 1 + requireStack(frames - 1);
    }

    /** The comparison function that {@code bsearch} calls. Must not throw. */
    @SuppressWarnings("unused") // called through COMPARISON
    private static int compare(MemorySegment key, MemorySegment element) {
        ArenaHold hold = null;
        try {
            hold = INNERMOST.get();
            hold.begun = true;
            hold.outcome = hold.operation.getAsLong();
        } catch (Throwable e) {
            if (hold != null) {
                hold.problem = e;
            }
        }
        return 0;
    }

    private static MethodHandle bsearch() {
        try {
            Linker linker = Linker.nativeLinker();
            return linker.defaultLookup()
                    .find("bsearch")
                    .map(function -> linker.downcallHandle(
                            function,
                            FunctionDescriptor.of(
                                    ValueLayout.ADDRESS,
                                    ValueLayout.ADDRESS,
                                    ValueLayout.ADDRESS,
                                    ValueLayout.JAVA_LONG,
                                    ValueLayout.JAVA_LONG,
                                    ValueLayout.ADDRESS)))
                    .orElse(null);
        } catch (UnsupportedOperationException | IllegalCallerException e) {
            return null; // without a hold, an arena is checked only when an operation is issued
        }
    }

    private static MemorySegment comparison() {
        try {
            return Linker.nativeLinker()
                    .upcallStub(
                            MethodHandles.lookup()
                                    .findStatic(
                                            ArenaHold.class,
                                            "compare",
                                            MethodType.methodType(int.class, MemorySegment.class, MemorySegment.class)),
                            FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS),
                            Arena.global());
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}

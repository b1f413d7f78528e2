package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import io.jccl.Reduction;
import io.jccl.internal.Arguments;
import io.jccl.internal.MemoryHold;
import io.jccl.internal.Releases;
import io.jccl.nativelib.NativeLoader;
import io.jccl.nativelib.NativeMemory;
import io.jccl.nativelib.Numbers;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.LongSupplier;

/** Combines two buffers of this process, without communication. */
final class LocalReduction {

    private static final long CHUNK_BYTES = 1 << 20; // of heap buffers, which are staged

    /** Combines elements in native memory. */
    private interface Fold {

        void run(long accumulator, long next, long count);
    }

    private LocalReduction() {}

    /** Sets each element {@code a} of the accumulator to {@code a op b}, where {@code b} is an element of {@code next}. */
    static void run(DataBuffer accumulator, DataBuffer next, ReduceOp op) {
        settle(accumulator, next, () -> {
            check(accumulator, next);
            Checks.op(op, accumulator.type());
            Checks.notAverage(op, "two buffers do not have the elements of all ranks");
            int type = Numbers.of(accumulator.type());
            pinned(
                    accumulator,
                    next,
                    1,
                    (to, from, count) -> NativeMemory.reduce(type, Numbers.of(op), from, to, count));
        });
    }

    /** Folds the elements of {@code next} into those of the accumulator. */
    static void run(DataBuffer accumulator, DataBuffer next, Reduction reduction) {
        settle(accumulator, next, () -> {
            check(accumulator, next);
            Checks.units(reduction, accumulator, null);
            int element = accumulator.type().bytes();
            pinned(
                    accumulator,
                    next,
                    reduction.unit(),
                    (to, from, count) -> fold(reduction, to, from, count * element));
        });
    }

    /** Runs {@code body}. Afterwards the owners of the buffers, which may be null, learn that nothing uses them. */
    private static void settle(DataBuffer accumulator, DataBuffer next, Runnable body) {
        try {
            body.run();
        } finally {
            Releases.settle(accumulator);
            Releases.settle(next);
        }
    }

    /** Folds {@code bytes} bytes of native memory by a user-defined reduction. */
    static void fold(Reduction reduction, long accumulator, long next, long bytes) {
        if (reduction.function().isPresent()) {
            reduction.function().get().fold(view(accumulator, bytes), view(next, bytes));
        } else {
            NativeMemory.fold(reduction.address(), reduction.context(), next, accumulator, bytes);
        }
    }

    private static ByteBuffer view(long address, long bytes) {
        return NativeMemory.view(address, Math.toIntExact(bytes)).order(ByteOrder.nativeOrder());
    }

    private static void check(DataBuffer accumulator, DataBuffer next) {
        Checks.target(
                "accumulator", Arguments.required("accumulator", accumulator, "the buffer with the left operands"));
        Checks.source("next", next);
        for (DataBuffer each : new DataBuffer[] {accumulator, next}) {
            if (Checks.isDevice(each)) {
                throw new IllegalArgumentException((each == next ? "next=" : "accumulator=") + each
                        + ": reduceLocal works on memory of the host; copy the elements to a HostBuffer, or combine them"
                        + " by a kernel of your own");
            }
        }
        Checks.sameCount("accumulator", accumulator, "next", next);
    }

    private static void pinned(DataBuffer accumulator, DataBuffer next, int unit, Fold fold) {
        NativeLoader.load();
        accumulator.pin();
        try {
            next.pin();
            try {
                hold(accumulator, () -> hold(next, () -> runHeld(accumulator, next, unit, fold)));
            } finally {
                next.unpin();
            }
        } finally {
            accumulator.unpin();
        }
    }

    private static long hold(DataBuffer buffer, LongSupplier operation) {
        return MemoryHold.isNeeded(buffer) ? MemoryHold.run(buffer, operation) : operation.getAsLong();
    }

    private static long runHeld(DataBuffer accumulator, DataBuffer next, int unit, Fold fold) {
        long chunk = Math.max(1, CHUNK_BYTES / accumulator.type().bytes() / unit) * unit;
        try (HeapStaging staging = new HeapStaging()) {
            for (long at = 0; at < accumulator.count(); at += chunk) {
                long count = Math.min(chunk, accumulator.count() - at);
                DataBuffer to = accumulator.slice(at, count);
                DataBuffer from = next.slice(at, count);
                if (HeapStaging.isNeeded(to, from)) {
                    long[] places = staging.stageKeepingGaps(from, to);
                    fold.run(places[1], places[0], count);
                    staging.unstage(to, places[1]);
                } else {
                    fold.run(to.pinnedAddress(), from.pinnedAddress(), count);
                }
            }
        }
        Reference.reachabilityFence(accumulator);
        Reference.reachabilityFence(next);
        return 0;
    }
}

package io.jccl.tuning;

import io.jccl.DataType;
import io.jccl.WireFormat;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * The algorithm-selection tables of one communicator on host memory: one for exact operations, and one for each number
 * of bytes to which formats narrow an element between hosts. A table is made when it is first used. Safe to share
 * between threads.
 */
public final class FormatChoices {

    private static final int ENCODINGS = WireFormat.Encoding.values().length;
    private static final int SCALE_BYTES = 4; // of a block, kWireScaleBytes of the native library

    private final ChoiceTable exact;
    private final AtomicReferenceArray<ChoiceTable> narrowed = new AtomicReferenceArray<>(2 * ENCODINGS);

    /** @param exact the table of exact operations */
    public FormatChoices(ChoiceTable exact) {
        this.exact = exact;
    }

    public ChoiceTable exact() {
        return exact;
    }

    /**
     * Returns the table for operations whose elements cross hosts in this encoding. Allocates nothing after the first
     * call.
     */
    public ChoiceTable of(WireFormat.Encoding encoding, DataType type) {
        if (encoding == WireFormat.Encoding.EXACT) {
            return exact;
        }
        int index = encoding.ordinal() + (type == DataType.FLOAT64 ? ENCODINGS : 0);
        ChoiceTable table = narrowed.get(index);
        if (table == null) {
            table = exact.narrowed(share(encoding, type)); // concurrent threads make equal tables
            narrowed.set(index, table);
        }
        return table;
    }

    /** Returns the number of bytes that cross hosts for each byte of the elements. */
    static double share(WireFormat.Encoding encoding, DataType type) {
        double bytes =
                switch (encoding) {
                    case EXACT -> type.bytes();
                    case BFLOAT16, FLOAT16 -> 2;
                    case FLOAT8_BLOCK, INT8_BLOCK -> 1 + (double) SCALE_BYTES / WireFormat.BLOCK;
                };
        return bytes / type.bytes();
    }
}

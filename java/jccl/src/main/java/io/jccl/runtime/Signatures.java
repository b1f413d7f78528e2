package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import io.jccl.WireFormat;
import io.jccl.nativelib.Numbers;
import java.lang.annotation.Native;
import java.util.Arrays;
import java.util.Locale;

/** Packs the collective, type, reduction and format between hosts of an operation into a number for native code. */
final class Signatures {

    @Native
    private static final int TYPE_SHIFT = 8;

    @Native
    private static final int OP_SHIFT = 16;

    @Native
    private static final int WIRE_SHIFT = 24;

    @Native
    private static final int WIRE_STOCHASTIC = 8; // added to the number of the format

    @Native
    private static final int MASK = 0xff; // each part of a signature has eight bits

    private static final int PLACE_BITS = 4; // every part of a signature is below 16
    private static final int PLACE_MASK = (1 << PLACE_BITS) - 1;

    /** Size of an array that {@link #place} indexes. */
    static final int PLACES = 1 << 3 * PLACE_BITS;

    private static final int COUNTS_SHOWN = 64;

    private Signatures() {}

    /** Returns the signature of a collective with a user-defined reduction. */
    static int ofUserReduction(Collective collective, DataType type) {
        return of(collective, type, null) | Numbers.USER_REDUCTION << OP_SHIFT;
    }

    static int of(Collective collective, DataType type, ReduceOp op) {
        return Numbers.of(collective) | Numbers.of(type) << TYPE_SHIFT | (op == null ? 0 : Numbers.of(op) << OP_SHIFT);
    }

    static int of(Collective collective, DataType type, ReduceOp op, WireFormat wire) {
        return of(collective, type, op) | wireCode(wire) << WIRE_SHIFT;
    }

    /** Returns the number of a format between hosts, with its kind of rounding. */
    static int wireCode(WireFormat wire) {
        return Numbers.of(wire.encoding()) | (wire.isStochastic() ? WIRE_STOCHASTIC : 0);
    }

    static Collective collective(int signature) {
        return Numbers.collective(signature & MASK);
    }

    static DataType type(int signature) {
        return Numbers.dataType(signature >> TYPE_SHIFT & MASK);
    }

    /** Returns the reduction; null if the collective does not reduce, or the reduction is user-defined. */
    static ReduceOp op(int signature) {
        int op = signature >> OP_SHIFT & MASK;
        return collective(signature).reduces() && op != Numbers.USER_REDUCTION ? Numbers.reduceOp(op) : null;
    }

    /** Returns the encoding between hosts. */
    static WireFormat.Encoding encoding(int signature) {
        return Numbers.encoding(signature >> WIRE_SHIFT & WIRE_STOCHASTIC - 1);
    }

    /** Returns the format between hosts, for example {@code int8_block,stochastic}; empty if the operation is exact. */
    static String wire(int signature) {
        int format = signature >> WIRE_SHIFT & MASK;
        if (format == 0) {
            return "";
        }
        return encoding(signature).name().toLowerCase(Locale.ROOT)
                + ((format & WIRE_STOCHASTIC) == 0 ? "" : ",stochastic");
    }

    private static String named(String wire) {
        return wire.isEmpty() ? "" : " wire=" + wire;
    }

    /**
     * Returns a signature's index in an array of {@link #PLACES} elements. Each signature of an exact operation has an
     * index of its own.
     */
    static int place(int signature) {
        return signature & PLACE_MASK
                | (signature >> TYPE_SHIFT & PLACE_MASK) << PLACE_BITS
                | (signature >> OP_SHIFT & PLACE_MASK) << 2 * PLACE_BITS;
    }

    /** Returns the number of elements of the largest buffer of any rank, in a communicator of {@code size} ranks. */
    static long elements(Collective collective, long count, int size) {
        return switch (collective) {
            case ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER -> count * size;
            default -> count;
        };
    }

    /**
     * Describes an operation with a count for each rank.
     *
     * @param rows counts of the blocks, then their offsets; for an all-to-all, counts and offsets in the send buffer,
     *     then counts and offsets in the receive buffer
     */
    static String describe(int signature, long[] rows, int root) {
        Collective collective = collective(signature);
        boolean exchange = collective == Collective.ALL_TO_ALL;
        int size = rows.length / (exchange ? 4 : 2);
        return collective.label() + "(type=" + type(signature).label()
                + (op(signature) == null ? "" : " op=" + op(signature).label())
                + (exchange
                        ? " sendCounts=" + row(rows, 0, size) + " recvCounts=" + row(rows, 2 * size, size)
                        : " counts=" + row(rows, 0, size))
                + (collective.hasRoot() ? " root=" + root : "") + named(wire(signature)) + ")";
    }

    private static String row(long[] rows, int begin, int size) {
        return size <= COUNTS_SHOWN
                ? Arrays.toString(Arrays.copyOfRange(rows, begin, begin + size))
                : "[" + size + " values]";
    }

    static String describe(int signature, long count, int root) {
        Collective collective = collective(signature);
        if (collective == Collective.BARRIER) {
            return "barrier()";
        }
        StringBuilder text = new StringBuilder(64).append(collective.label());
        text.append("(type=").append(type(signature).label());
        if (collective.reduces()) {
            text.append(" op=").append(op(signature).label());
        }
        text.append(" count=").append(count);
        if (collective.hasRoot()) {
            text.append(" root=").append(root);
        }
        return text.append(named(wire(signature))).append(')').toString();
    }
}

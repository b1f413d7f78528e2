package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import io.jccl.nativelib.NativeCommunicator;
import java.util.Arrays;

/** The packing of collective, type and reduction that crosses the native interface. */
final class Signatures {

    private static final Collective[] COLLECTIVES = Collective.values();
    private static final DataType[] TYPES = DataType.values();
    private static final ReduceOp[] OPS = ReduceOp.values();

    private static final int COUNTS_SHOWN = 64;

    private Signatures() {}

    /** With a user-defined reduction. */
    static int ofUserReduction(Collective collective, DataType type) {
        return of(collective, type, null) | NativeCommunicator.USER_REDUCTION << 16;
    }

    static int of(Collective collective, DataType type, ReduceOp op) {
        return collective.ordinal() | type.ordinal() << 8 | (op == null ? 0 : op.ordinal()) << 16;
    }

    static Collective collective(int signature) {
        return COLLECTIVES[signature & 0xff];
    }

    static DataType type(int signature) {
        return TYPES[signature >> 8 & 0xff];
    }

    /** Null where it reduces nothing, or with a user-defined reduction. */
    static ReduceOp op(int signature) {
        int op = signature >> 16 & 0xff;
        return collective(signature).reduces() && op < OPS.length ? OPS[op] : null;
    }

    /** The elements of the largest buffer of any rank, of so many ranks. */
    static long elements(Collective collective, long count, int size) {
        return switch (collective) {
            case ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, GATHER, SCATTER -> count * size;
            default -> count;
        };
    }

    /**
     * An operation with counts per rank.
     *
     * @param rows counts and offsets of blocks; in an exchange those to send, then those to receive
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
                + (collective.hasRoot() ? " root=" + root : "") + ")";
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
        return text.append(')').toString();
    }
}

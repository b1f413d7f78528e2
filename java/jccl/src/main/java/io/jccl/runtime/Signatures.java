package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import java.util.Arrays;

/** The packing of collective, type and reduction that crosses the native interface. */
final class Signatures {

    private static final Collective[] COLLECTIVES = Collective.values();
    private static final DataType[] TYPES = DataType.values();
    private static final ReduceOp[] OPS = ReduceOp.values();

    private static final int COUNTS_SHOWN = 64;

    private Signatures() {}

    static int of(Collective collective, DataType type, ReduceOp op) {
        return collective.ordinal() | type.ordinal() << 8 | (op == null ? 0 : op.ordinal()) << 16;
    }

    static Collective collective(int signature) {
        return COLLECTIVES[signature & 0xff];
    }

    static DataType type(int signature) {
        return TYPES[signature >> 8 & 0xff];
    }

    static ReduceOp op(int signature) {
        return collective(signature).reduces() ? OPS[signature >> 16 & 0xff] : null;
    }

    /** An operation with counts per rank. */
    static String describe(int signature, long[] counts) {
        return collective(signature).label() + "(type=" + type(signature).label()
                + (op(signature) == null ? "" : " op=" + op(signature).label()) + " counts="
                + (counts.length <= COUNTS_SHOWN ? Arrays.toString(counts) : "[" + counts.length + " values]") + ")";
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

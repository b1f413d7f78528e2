package mpi;

import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import io.jccl.Reduction;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.IntBinaryOperator;
import org.jspecify.annotations.Nullable;

/** An operation of a reduction. */
public final class Op {

    private final String name;
    private final @Nullable ReduceOp builtIn;
    private final @Nullable IntBinaryOperator logical; // of 0 and 1
    private final @Nullable UserFunction function;
    private final boolean commutes;

    private Op(
            String name,
            @Nullable ReduceOp builtIn,
            @Nullable IntBinaryOperator logical,
            @Nullable UserFunction function,
            boolean commutes) {
        this.name = name;
        this.builtIn = builtIn;
        this.logical = logical;
        this.function = function;
        this.commutes = commutes;
    }

    /**
     * Makes an operation of the user's.
     *
     * @param function must be associative
     * @param commute true if its arguments can be exchanged
     */
    public Op(UserFunction function, boolean commute) {
        this("user", null, null, function, commute);
    }

    static Op of(ReduceOp builtIn) {
        return new Op(builtIn.label(), builtIn, null, null, true);
    }

    static Op logical(String name, IntBinaryOperator operator) {
        return new Op(name, null, operator, null, true);
    }

    /** Returns the operation of a name that has no meaning without derived types. */
    static Op missing(String name) {
        return new Op(name, null, null, null, true);
    }

    /** Returns true if the arguments can be exchanged. */
    public boolean isCommutative() {
        return commutes;
    }

    /** Does nothing: an operation holds no resources. */
    public void free() {}

    /** Returns false: an operation stays usable. */
    public boolean isNull() {
        return false;
    }

    /** Returns the library's operation, a {@link ReduceOp} or a {@link Reduction}. */
    Object resolve(Datatype type) throws MPIException {
        if (builtIn != null) {
            boolean isBits = builtIn == ReduceOp.BAND || builtIn == ReduceOp.BOR || builtIn == ReduceOp.BXOR;
            if (!builtIn.supports(type.type()) || type == MPI.BOOLEAN && !isBits) {
                throw new MPIException(MPI.ERR_OP, "op=" + name + " type=" + type + ": not defined for this type");
            }
            return builtIn;
        }
        if (logical != null) {
            if (type.type().isFloating()) {
                throw new MPIException(MPI.ERR_OP, "op=" + name + " type=" + type + ": expected an integer or boolean");
            }
            return Reduction.of(name, (a, b) -> foldLogical(a, b, type.getSize()))
                    .commutative();
        }
        if (function == null) {
            throw MPIException.missing("op=" + name, "use a Reduction over pairs, as docs/from-mpi.md shows");
        }
        Reduction folded = Reduction.of("mpi-" + type.getName(), (a, b) -> foldByUser(a, b, type));
        return commutes ? folded.commutative() : folded;
    }

    /** Sets each element {@code a} of an accumulator to {@code a ∘ b}, where {@code b} is the element of {@code next}. */
    void fold(DataBuffer accumulator, DataBuffer next, Datatype type) throws MPIException {
        Object operation = resolve(type);
        if (operation instanceof ReduceOp op) {
            op.reduceLocal(accumulator, next);
        } else {
            ((Reduction) operation).reduceLocal(accumulator, next);
        }
    }

    private void foldLogical(ByteBuffer a, ByteBuffer b, int bytes) {
        while (a.hasRemaining()) {
            int at = a.position();
            int result = logical.applyAsInt(isSet(a, bytes), isSet(b, bytes));
            for (int i = 0; i < bytes; i++) {
                a.put(at + i, (byte) 0);
            }
            int lowest = a.order() == ByteOrder.LITTLE_ENDIAN ? at : at + bytes - 1;
            a.put(lowest, (byte) result);
        }
    }

    private static int isSet(ByteBuffer elements, int bytes) {
        int set = 0;
        for (int i = 0; i < bytes; i++) {
            set |= elements.get();
        }
        return set == 0 ? 0 : 1;
    }

    /** The user's function writes its second argument, and the library wants the result in its first one. */
    private void foldByUser(ByteBuffer accumulator, ByteBuffer next, Datatype type) {
        ByteBuffer result = ByteBuffer.allocateDirect(next.remaining()).order(accumulator.order());
        result.put(next.duplicate()).flip();
        try {
            function.call(
                    accumulator.duplicate().order(accumulator.order()),
                    result.duplicate().order(result.order()),
                    result.remaining() / type.getSize(),
                    type);
        } catch (MPIException e) {
            throw new IllegalStateException(e);
        }
        accumulator.put(result);
    }
}

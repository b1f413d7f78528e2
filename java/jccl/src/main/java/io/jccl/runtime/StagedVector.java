package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataBuffer;
import io.jccl.nativelib.NativeCommunicator;
import io.jccl.nativelib.NativeMemory;
import io.jccl.runtime.StagedPieces.Blocks;
import io.jccl.runtime.StagedPieces.Piece;
import io.jccl.runtime.StagedPieces.Shape;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.stream.LongStream;

/** A staged collective with counts per rank. */
final class StagedVector extends StagedBufferOperation {

    private final long[] counts;

    StagedVector(StagedIssuer issuer, long stream, CollectiveCall call, long[] counts) {
        super(issuer, stream, call, pieces(issuer, call, counts), true);
        this.counts = counts;
    }

    private static StagedPieces pieces(StagedIssuer issuer, CollectiveCall call, long[] counts) {
        long own = counts[issuer.rank()];
        Shape shape;
        Blocks send;
        Blocks recv;
        switch (call.collective()) {
            case ALL_GATHER -> {
                shape = Shape.GATHERED;
                send = Blocks.equal(call.send().address(), 1, own);
                recv = blocks(call.recv(), counts, 0, issuer.size());
            }
            case REDUCE_SCATTER -> {
                shape = Shape.SCATTERED;
                send = blocks(call.send(), counts, 0, issuer.size());
                recv = Blocks.equal(call.recv().address(), 1, own);
            }
            default -> {
                shape = Shape.EXCHANGED;
                send = blocks(call.send(), counts, 0, issuer.size());
                recv = blocks(call.recv(), counts, 2, issuer.size());
            }
        }
        return new StagedPieces(
                shape, call.type().bytes(), issuer.slotBytes(), issuer.size(), issuer.rank(), send, recv);
    }

    /** Blocks whose counts are a row of numbers, and whose offsets are the next. */
    private static Blocks blocks(DataBuffer buffer, long[] rows, int row, int size) {
        return new Blocks(
                buffer.address(),
                Arrays.copyOfRange(rows, row * size, (row + 1) * size),
                Arrays.copyOfRange(rows, (row + 1) * size, (row + 2) * size));
    }

    private boolean isExchange() {
        return call.collective() == Collective.ALL_TO_ALL;
    }

    /** Who sends how much to whom only these two know, so all tell how many pieces they have. */
    @Override
    long agree(int own, long timeoutNanos) {
        if (!isExchange()) {
            return own;
        }
        int size = issuer().size();
        long place = issuer().notes(area());
        int bytes = size * Long.BYTES;
        ByteBuffer notes = NativeMemory.view(place, 2 * bytes).order(ByteOrder.nativeOrder());
        for (int rank = 0; rank < size; rank++) {
            notes.putLong(rank * Long.BYTES, own);
        }
        long[] each = new long[size];
        Arrays.fill(each, Long.BYTES / call.type().bytes());
        long[] offsets = Piece.offsets(each);
        long outcome = issuer().engine()
                .runV(
                        call.signature(),
                        call.choose(issuer().choices()),
                        place,
                        place + bytes,
                        concat(each, offsets, each, offsets),
                        timeoutNanos);
        return outcome < NativeCommunicator.OK
                ? outcome
                : LongStream.range(size, 2L * size)
                        .map(i -> notes.getLong((int) i * Long.BYTES))
                        .max()
                        .orElseThrow();
    }

    @Override
    long run(Piece piece, boolean whole, long timeoutNanos) {
        long[] cut = isExchange()
                ? concat(rows(piece.sendCounts()), rows(piece.recvCounts()))
                : rows(call.collective() == Collective.ALL_GATHER ? piece.recvCounts() : piece.sendCounts());
        if (whole || isExchange()) {
            long choice = call.choose(issuer().choices());
            return issuer().engine().runV(call.signature(), choice, piece.from(), piece.to(), cut, timeoutNanos);
        }
        long elements = Arrays.stream(cut, 0, issuer().size()).sum();
        long all = Arrays.stream(counts, 0, issuer().size()).sum();
        long choice = issuer().choices()
                .choose(call.collective(), elements * call.type().bytes());
        return issuer().engine()
                .runVPart(call.signature(), choice, piece.from(), piece.to(), cut, all, piece.begin(), timeoutNanos);
    }

    private static long[] rows(long[] counts) {
        return concat(counts, Piece.offsets(counts));
    }

    private static long[] concat(long[]... rows) {
        return Arrays.stream(rows).flatMapToLong(Arrays::stream).toArray();
    }

    @Override
    String describeCall() {
        return Signatures.describe(call.signature(), counts);
    }
}

package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataBuffer;
import io.jccl.runtime.StagedPieces.Blocks;
import io.jccl.runtime.StagedPieces.Piece;
import io.jccl.runtime.StagedPieces.Shape;

/** A staged collective with one count for all ranks. */
final class StagedCollective extends StagedBufferOperation {

    private final long count;
    private final int root;

    StagedCollective(StagedIssuer issuer, long stream, CollectiveCall call, long count, int root) {
        super(issuer, stream, call, pieces(issuer, call, count), !isBroadcastInPlace(call));
        this.count = count;
        this.root = root;
    }

    private static StagedPieces pieces(StagedIssuer issuer, CollectiveCall call, long count) {
        int size = issuer.size();
        Shape shape =
                switch (call.collective()) {
                    case ALL_GATHER, GATHER -> Shape.GATHERED;
                    case REDUCE_SCATTER, SCATTER -> Shape.SCATTERED;
                    case ALL_TO_ALL -> Shape.EXCHANGED;
                    default -> Shape.SINGLE;
                };
        boolean manySent = shape == Shape.SCATTERED || shape == Shape.EXCHANGED;
        boolean manyReceived = shape == Shape.GATHERED || shape == Shape.EXCHANGED;
        return new StagedPieces(
                shape,
                call.type().bytes(),
                issuer.slotBytes(),
                size,
                issuer.rank(),
                blocks(call.send(), manySent ? size : 1, count),
                blocks(call.recv(), manyReceived ? size : 1, count));
    }

    private static Blocks blocks(DataBuffer buffer, int blocks, long count) {
        return buffer == null ? null : Blocks.equal(buffer.address(), blocks, count);
    }

    /** The root has what it sends. */
    private static boolean isBroadcastInPlace(CollectiveCall call) {
        return call.collective() == Collective.BROADCAST
                && call.send() != null
                && call.send().isSameMemory(call.recv());
    }

    @Override
    long run(Piece piece, boolean whole, long timeoutNanos) {
        if (whole) {
            long choice = call.choose(issuer().choices());
            return issuer().engine().run(call.signature(), choice, piece.from(), piece.to(), count, root, timeoutNanos);
        }
        long elements = piece.sendCounts().length != 0 ? piece.sendCounts()[0] : piece.recvCounts()[0];
        long choice = issuer().choices().choose(call.collective(), call.bytes() / count * elements);
        return issuer().engine()
                .runPart(
                        call.signature(),
                        choice,
                        piece.from(),
                        piece.to(),
                        elements,
                        root,
                        count,
                        piece.begin(),
                        timeoutNanos);
    }

    @Override
    String describeCall() {
        return Signatures.describe(call.signature(), count, root);
    }
}

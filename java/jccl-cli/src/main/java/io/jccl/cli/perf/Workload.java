package io.jccl.cli.perf;

import io.jccl.Collective;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.Operations;
import io.jccl.ReduceOp;
import io.jccl.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * One rank's part in a collective of one size, in place or out of place: the call, its input and its expected result.
 */
final class Workload {

    /** Issues the collective once. */
    @FunctionalInterface
    interface Call {
        Work issue();
    }

    /**
     * A range of elements of a region that contains a range of a pattern, beginning with the pattern's element
     * {@code start}.
     */
    private record Span(Region region, long offset, long count, ElementPattern pattern, long start) {}

    private static final byte POISON = (byte) 0xA5;

    private final Communicator communicator;
    private final Shape shape;
    private final Collective kind;
    private final Blocks blocks;
    private final PerfOptions options;
    private final Region send;
    private final Region recv;
    private final boolean inPlace;
    private final int rank;
    private final boolean isRoot;

    Workload(Communicator communicator, Shape shape, PerfOptions options, Region send, Region recv, boolean inPlace) {
        this.communicator = communicator;
        this.shape = shape;
        this.kind = shape.collective().kind();
        this.blocks = shape.blocks();
        this.options = options;
        this.send = send;
        this.recv = recv;
        this.inPlace = inPlace;
        this.rank = communicator.rank();
        this.isRoot = rank == options.root();
    }

    /** Returns the call on the communicator; its buffers are made once, here. */
    Call call() {
        return call(communicator);
    }

    /** Returns the call on the communicator or on one of its streams; its buffers are made once, here. */
    Call call(Operations<Work> comm) {
        DataBuffer in = sendBuffer();
        DataBuffer out = recvBuffer();
        return shape.collective().vector() ? vectorCall(comm, in, out) : call(comm, in, out);
    }

    private Call call(Operations<Work> comm, DataBuffer in, DataBuffer out) {
        ReduceOp op = options.op();
        int root = options.root();
        return switch (kind) {
            case ALL_REDUCE -> () -> comm.allReduce(in, out, op);
            case REDUCE -> () -> comm.reduce(in, out, op, root);
            case BROADCAST -> () -> comm.broadcast(in, out, root);
            case ALL_GATHER -> () -> comm.allGather(in, out);
            case REDUCE_SCATTER -> () -> comm.reduceScatter(in, out, op);
            case ALL_TO_ALL -> () -> comm.allToAll(in, out);
            case GATHER -> () -> comm.gather(in, out, root);
            case SCATTER -> () -> comm.scatter(in, out, root);
            case SEND_RECV -> {
                int next = next();
                int previous = previous();
                yield () -> comm.sendReceive(in, next, out, previous);
            }
            case BARRIER -> comm::barrier;
            case SCAN -> () -> comm.scan(in, out, op);
            case EXSCAN -> () -> comm.exscan(in, out, op);
        };
    }

    private Call vectorCall(Operations<Work> comm, DataBuffer in, DataBuffer out) {
        ReduceOp op = options.op();
        int root = options.root();
        long[] counts = blocks.counts();
        return switch (kind) {
            case ALL_GATHER -> () -> comm.allGatherV(in, out, counts);
            case REDUCE_SCATTER -> () -> comm.reduceScatterV(in, out, counts, op);
            case ALL_TO_ALL -> {
                Blocks sent = shape.sentBy(rank);
                Blocks received = shape.receivedBy(rank);
                long[] sendCounts = sent.counts();
                long[] sendOffsets = sent.offsets();
                long[] recvCounts = received.counts();
                long[] recvOffsets = received.offsets();
                yield () -> comm.allToAllV(in, sendCounts, sendOffsets, out, recvCounts, recvOffsets);
            }
            case GATHER -> () -> comm.gatherV(in, out, counts, root);
            case SCATTER -> () -> comm.scatterV(in, counts, out, root);
            case ALL_REDUCE, REDUCE, BROADCAST, SEND_RECV, BARRIER, SCAN, EXSCAN -> throw new IllegalStateException(
                    "collective=" + kind.label() + ": has no v-form");
        };
    }

    private int next() {
        return (rank + 1) % shape.ranks();
    }

    private int previous() {
        return (rank + shape.ranks() - 1) % shape.ranks();
    }

    /** Returns the region that the call reads. In place, both buffers are in the region of the larger one. */
    private Region input() {
        return inPlace && !isShardOfSend() ? recv : send;
    }

    private Region output() {
        return inPlace && isShardOfSend() ? send : recv;
    }

    /**
     * Returns true if the in-place result is a block of the send buffer. If false, the in-place input is in the receive
     * buffer.
     */
    private boolean isShardOfSend() {
        return kind == Collective.REDUCE_SCATTER || kind == Collective.SCATTER && isRoot;
    }

    private long inputOffset() {
        boolean block = kind == Collective.ALL_GATHER || kind == Collective.GATHER && isRoot;
        return inPlace && block ? blocks.offset(rank) : 0;
    }

    private long outputOffset() {
        return inPlace && isShardOfSend() ? blocks.offset(rank) : 0;
    }

    /** Returns the number of elements as the call counts them. */
    long count() {
        return shape.count();
    }

    private long inputCount() {
        return switch (kind) {
            case REDUCE_SCATTER, ALL_TO_ALL -> shape.elements();
            case ALL_GATHER, GATHER -> blocks.count(rank);
            case SCATTER -> isRoot ? shape.elements() : 0;
            case BROADCAST -> isRoot ? shape.count() : 0;
            default -> shape.count();
        };
    }

    private long outputCount() {
        return switch (kind) {
            case ALL_GATHER, ALL_TO_ALL -> shape.elements();
            case REDUCE_SCATTER, SCATTER -> blocks.count(rank);
            case GATHER -> isRoot ? shape.elements() : 0;
            case REDUCE -> isRoot ? shape.count() : 0;
            default -> shape.count();
        };
    }

    DataBuffer sendBuffer() {
        if (inputCount() > 0 || shape.collective().vector()) {
            return input().elements(inputOffset(), inputCount(), options.type());
        }
        return inPlace && kind == Collective.BROADCAST ? recvBuffer() : null;
    }

    DataBuffer recvBuffer() {
        if (outputCount() > 0 || shape.collective().vector()) {
            return output().elements(outputOffset(), outputCount(), options.type());
        }
        return inPlace && kind == Collective.REDUCE ? sendBuffer() : null;
    }

    /**
     * Writes this rank's input, and fills the output with poison, so that an output that is not written is detected.
     */
    void fill(Patterns patterns) {
        if (outputCount() > 0) {
            recv.set(
                    POISON,
                    0,
                    Math.max(outputCount(), inputCount()) * options.type().bytes());
        }
        if (inputCount() > 0) {
            ownInput(patterns).forEach(span -> span.pattern.fill(span.region, span.offset, span.count, span.start));
        }
    }

    /** Sets all memory in use to zero, so that repeated reductions neither overflow nor meet slow subnormal numbers. */
    void zero() {
        for (Region region : List.of(send, recv)) {
            region.set((byte) 0, 0, shape.elements() * options.type().bytes());
        }
    }

    private List<Span> ownInput(Patterns patterns) {
        return List.of(new Span(input(), inputOffset(), inputCount(), patterns.input(rank), 0));
    }

    /**
     * Returns the number of wrong elements in the result, and of changed ones in a send buffer that must not change.
     */
    long countWrong(Patterns patterns) {
        List<Span> expected = new ArrayList<>(results(patterns));
        if (!inPlace && inputCount() > 0) {
            expected.addAll(ownInput(patterns));
        }
        long wrong = 0;
        for (Span span : expected) {
            wrong += span.pattern.countDifferences(span.region, span.offset, span.count, span.start);
        }
        return wrong;
    }

    private List<Span> results(Patterns patterns) {
        long count = shape.count();
        return switch (kind) {
            case ALL_REDUCE -> List.of(result(count, patterns.result(), 0));
            case REDUCE -> isRoot ? List.of(result(count, patterns.result(), 0)) : List.of();
            case BROADCAST -> List.of(result(count, patterns.input(options.root()), 0));
            case ALL_GATHER -> gathered(patterns);
            case REDUCE_SCATTER -> List.of(result(blocks.count(rank), patterns.result(), blocks.offset(rank)));
            case ALL_TO_ALL -> exchanged(patterns);
            case GATHER -> isRoot ? gathered(patterns) : List.of();
            case SCATTER -> List.of(result(blocks.count(rank), patterns.input(options.root()), blocks.offset(rank)));
            case SEND_RECV -> List.of(result(count, patterns.input(previous()), 0));
            case BARRIER -> List.of();
            case SCAN -> List.of(result(count, patterns.resultOf(rank + 1), 0));
            case EXSCAN -> rank == 0 ? List.of() : List.of(result(count, patterns.resultOf(rank), 0));
        };
    }

    private Span result(long count, ElementPattern pattern, long start) {
        return new Span(output(), outputOffset(), count, pattern, start);
    }

    private List<Span> gathered(Patterns patterns) {
        List<Span> spans = new ArrayList<>();
        for (int from = 0; from < shape.ranks(); from++) {
            spans.add(new Span(output(), blocks.offset(from), blocks.count(from), patterns.input(from), 0));
        }
        return spans;
    }

    private List<Span> exchanged(Patterns patterns) {
        Blocks received = shape.receivedBy(rank);
        List<Span> spans = new ArrayList<>();
        for (int from = 0; from < shape.ranks(); from++) {
            long start = shape.sentBy(from).offset(rank);
            spans.add(new Span(output(), received.offset(from), received.count(from), patterns.input(from), start));
        }
        return spans;
    }

    /** Returns a checksum of this rank's result; 0 if the rank has none. */
    long checksum() {
        if (outputCount() == 0) {
            return 0;
        }
        CRC32C checksum = new CRC32C();
        int elementBytes = options.type().bytes();
        output().addTo(checksum, outputOffset() * elementBytes, outputCount() * elementBytes);
        return checksum.getValue();
    }

    /** Returns true if every rank must end with the same bits. */
    boolean isSameEverywhere() {
        return kind == Collective.ALL_REDUCE || kind == Collective.ALL_GATHER || kind == Collective.BROADCAST;
    }
}

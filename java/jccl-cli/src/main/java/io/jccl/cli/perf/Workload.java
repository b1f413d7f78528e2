package io.jccl.cli.perf;

import io.jccl.Collective;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import io.jccl.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/** One collective at one size, in place or not, on one rank: the call, what goes into it and what must come out. */
final class Workload {

    /** Issues the collective once. */
    @FunctionalInterface
    interface Call {
        Work issue();
    }

    /** A run of elements of a region that holds a run of a pattern. */
    private record Span(Region region, long offset, long count, ElementPattern pattern, long start) {}

    private static final byte POISON = (byte) 0xA5;

    private final Communicator communicator;
    private final Shape shape;
    private final PerfOptions options;
    private final Region send;
    private final Region recv;
    private final boolean inPlace;
    private final int rank;
    private final boolean isRoot;

    Workload(Communicator communicator, Shape shape, PerfOptions options, Region send, Region recv, boolean inPlace) {
        this.communicator = communicator;
        this.shape = shape;
        this.options = options;
        this.send = send;
        this.recv = recv;
        this.inPlace = inPlace;
        this.rank = communicator.rank();
        this.isRoot = rank == options.root();
    }

    /** The call, with its buffers made once. */
    Call call() {
        Communicator comm = communicator;
        ReduceOp op = options.op();
        int root = options.root();
        DataBuffer in = sendBuffer();
        DataBuffer out = recvBuffer();
        return switch (shape.collective()) {
            case ALL_REDUCE -> () -> comm.allReduce(in, out, op);
            case REDUCE -> () -> comm.reduce(in, out, op, root);
            case BROADCAST -> () -> comm.broadcast(in, out, root);
            case ALL_GATHER -> () -> comm.allGather(in, out);
            case REDUCE_SCATTER -> () -> comm.reduceScatter(in, out, op);
            case ALL_TO_ALL -> () -> comm.allToAll(in, out);
            case GATHER -> () -> comm.gather(in, out, root);
            case SCATTER -> () -> comm.scatter(in, out, root);
            case SEND_RECV -> {
                int next = (rank + 1) % comm.size();
                int previous = (rank + comm.size() - 1) % comm.size();
                yield () -> comm.group(group -> {
                    group.send(next, in);
                    group.recv(previous, out);
                });
            }
            case BARRIER -> comm::barrier;
        };
    }

    /** The region that the call reads: with one buffer, which of the two it is depends on which is the larger. */
    private Region input() {
        return inPlace && !isShardOfSend() ? recv : send;
    }

    private Region output() {
        return inPlace && isShardOfSend() ? send : recv;
    }

    /** Whether the result in place is a block of the send buffer, instead of the input a block of the receive buffer. */
    private boolean isShardOfSend() {
        return shape.collective() == Collective.REDUCE_SCATTER || shape.collective() == Collective.SCATTER && isRoot;
    }

    private long inputOffset() {
        boolean block =
                shape.collective() == Collective.ALL_GATHER || shape.collective() == Collective.GATHER && isRoot;
        return inPlace && block ? rank * shape.count() : 0;
    }

    private long outputOffset() {
        return inPlace && isShardOfSend() ? rank * shape.count() : 0;
    }

    private long inputCount() {
        return switch (shape.collective()) {
            case REDUCE_SCATTER, ALL_TO_ALL -> shape.elements();
            case SCATTER -> isRoot ? shape.elements() : 0;
            case BROADCAST -> isRoot ? shape.count() : 0;
            default -> shape.count();
        };
    }

    private long outputCount() {
        return switch (shape.collective()) {
            case ALL_GATHER, ALL_TO_ALL -> shape.elements();
            case GATHER -> isRoot ? shape.elements() : 0;
            case REDUCE -> isRoot ? shape.count() : 0;
            default -> shape.count();
        };
    }

    private DataBuffer sendBuffer() {
        if (inputCount() > 0) {
            return input().elements(inputOffset(), inputCount(), options.type());
        }
        return inPlace && shape.collective() == Collective.BROADCAST ? recvBuffer() : null;
    }

    private DataBuffer recvBuffer() {
        if (outputCount() > 0) {
            return output().elements(outputOffset(), outputCount(), options.type());
        }
        return inPlace && shape.collective() == Collective.REDUCE ? sendBuffer() : null;
    }

    /** Writes this rank's input, and makes sure that an output that is not written shows. */
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

    /** Sets all memory in use to zero: repeated reductions then neither overflow nor meet slow subnormal numbers. */
    void zero() {
        for (Region region : List.of(send, recv)) {
            region.set((byte) 0, 0, shape.elements() * options.type().bytes());
        }
    }

    private List<Span> ownInput(Patterns patterns) {
        return List.of(new Span(input(), inputOffset(), inputCount(), patterns.input(rank), 0));
    }

    /** How many elements of the result, and of a send buffer that must not have changed, are not as they must be. */
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
        int previous = (rank + shape.ranks() - 1) % shape.ranks();
        return switch (shape.collective()) {
            case ALL_REDUCE -> List.of(result(count, patterns.result(), 0));
            case REDUCE -> isRoot ? List.of(result(count, patterns.result(), 0)) : List.of();
            case BROADCAST -> List.of(result(count, patterns.input(options.root()), 0));
            case ALL_GATHER -> blocks(patterns, 0);
            case REDUCE_SCATTER -> List.of(result(count, patterns.result(), rank * count));
            case ALL_TO_ALL -> blocks(patterns, rank * count);
            case GATHER -> isRoot ? blocks(patterns, 0) : List.of();
            case SCATTER -> List.of(result(count, patterns.input(options.root()), rank * count));
            case SEND_RECV -> List.of(result(count, patterns.input(previous), 0));
            case BARRIER -> List.of();
        };
    }

    private Span result(long count, ElementPattern pattern, long start) {
        return new Span(output(), outputOffset(), count, pattern, start);
    }

    private List<Span> blocks(Patterns patterns, long start) {
        List<Span> spans = new ArrayList<>();
        for (int from = 0; from < shape.ranks(); from++) {
            spans.add(new Span(output(), from * shape.count(), shape.count(), patterns.input(from), start));
        }
        return spans;
    }

    /** A checksum of this rank's result; 0 where the rank has none. */
    long checksum() {
        if (outputCount() == 0) {
            return 0;
        }
        CRC32C checksum = new CRC32C();
        int elementBytes = options.type().bytes();
        output().addTo(checksum, outputOffset() * elementBytes, outputCount() * elementBytes);
        return checksum.getValue();
    }

    /** Whether every rank ends with the same bits. */
    boolean isSameEverywhere() {
        return shape.collective() == Collective.ALL_REDUCE
                || shape.collective() == Collective.ALL_GATHER
                || shape.collective() == Collective.BROADCAST;
    }
}

package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataBuffer;
import io.jccl.init.StagedDevice;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.NativeEngine;
import io.jccl.nativelib.NativeMemory;
import io.jccl.runtime.StagedBackend.StagedWork;
import io.jccl.runtime.StagedChunks.Blocks;
import io.jccl.runtime.StagedChunks.Chunk;
import io.jccl.runtime.StagedChunks.Shape;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.stream.LongStream;

/**
 * A collective on device memory that the host executes chunk by chunk. Two slots alternate, so that one chunk is copied
 * while another travels between the ranks:
 *
 * <pre>
 *     stream   in 0 │ in 1 │ wait 0 │ out 0 │ in 2 │ wait 1 │ out 1 │ wait 2 │ out 2
 *     host            0             │ 1                     │ 2
 * </pre>
 */
abstract class StagedCollective implements StagedBackend.StagedCall {

    private static final int SLOTS = StagedDevice.SLOTS;

    private final StagedBackend backend;
    private final NativeEngine engine;
    private final int size;
    private final BufferCall call;
    private final StagedChunks chunks;
    private final int count; // number of chunks
    private final boolean copiesOut; // false if the receive buffer already contains the result
    private long area; // address of the pinned memory; written at issue, like the next two fields
    private long firstSignal;
    private long firstWait;

    private StagedCollective(StagedBackend backend, BufferCall call, StagedChunks chunks, int count) {
        this.backend = backend;
        this.engine = backend.queue().engine();
        this.size = backend.size();
        this.call = call;
        this.chunks = chunks;
        this.count = count;
        // The root of an in-place broadcast has the result already.
        this.copiesOut = call.collective() != Collective.BROADCAST
                || call.send() == null
                || !Aliasing.isSame(call.send(), call.recv());
    }

    private static StagedChunks chunks(StagedBackend backend, BufferCall call, Blocks send, Blocks recv) {
        return new StagedChunks(
                Shape.of(call.collective()),
                call.type().bytes(),
                backend.slotBytes(),
                backend.size(),
                backend.rank(),
                send,
                recv);
    }

    /** Stages a collective with one count. */
    static StagedCollective of(StagedBackend backend, CollectiveCall call) {
        Shape shape = Shape.of(call.collective());
        StagedChunks chunks = chunks(
                backend,
                call,
                blocks(call.send(), shape.sendsMany() ? backend.size() : 1, call.count()),
                blocks(call.recv(), shape.receivesMany() ? backend.size() : 1, call.count()));
        return new StagedCollective(backend, call, chunks, chunks.count()) {
            @Override
            long run(Chunk chunk, boolean whole, long timeoutNanos) {
                return run(call, chunk, whole, timeoutNanos);
            }
        };
    }

    /** Stages a collective with a count for each rank. */
    static StagedCollective of(StagedBackend backend, VectorCall call) {
        Shape shape = Shape.of(call.collective());
        StagedChunks chunks = chunks(
                backend,
                call,
                shape.sendsMany()
                        ? blocks(call.send(), call.counts(), 0, backend.size())
                        : blocks(call.send(), 1, call.counts()[backend.rank()]),
                shape.receivesMany()
                        ? blocks(call.recv(), call.counts(), call.isExchange() ? 2 : 0, backend.size())
                        : blocks(call.recv(), 1, call.counts()[backend.rank()]));
        int count = call.isExchange() ? chunks.count() : chunks.count(Arrays.copyOf(call.counts(), backend.size()));
        return new StagedCollective(backend, call, chunks, count) {
            @Override
            long run(Chunk chunk, boolean whole, long timeoutNanos) {
                return run(call, chunk, whole, timeoutNanos);
            }
        };
    }

    /** Returns equal blocks of a buffer; null without a buffer. */
    private static Blocks blocks(DataBuffer buffer, int blocks, long count) {
        return buffer == null ? null : Blocks.equal(buffer.address(), blocks, count);
    }

    /**
     * Returns the blocks of a buffer, one for each rank; null without a buffer.
     *
     * @param row row of the counts; the next row has the offsets
     */
    private static Blocks blocks(DataBuffer buffer, long[] rows, int row, int size) {
        return buffer == null
                ? null
                : new Blocks(
                        buffer.address(),
                        Arrays.copyOfRange(rows, row * size, (row + 1) * size),
                        Arrays.copyOfRange(rows, (row + 1) * size, (row + 2) * size));
    }

    @Override
    public void plan(StreamSteps steps) {
        area = backend.slots();
        firstSignal = steps.nextSignal();
        firstWait = steps.nextWait();
        for (int index = 0; index < count; index++) {
            if (index >= SLOTS) {
                planOut(index - SLOTS, steps);
            }
            chunks.copyIn(chunks.chunk(index, slot(index)), steps);
            steps.signal();
        }
        for (int index = Math.max(0, count - SLOTS); index < count; index++) {
            planOut(index, steps);
        }
        steps.signal();
    }

    private void planOut(int index, StreamSteps steps) {
        steps.waitForHost();
        if (copiesOut) {
            chunks.copyOut(chunks.chunk(index, slot(index)), steps);
        }
    }

    private long slot(int index) {
        return area + index % SLOTS * backend.slotBytes();
    }

    @Override
    public long execute(StagedWork work, long timeoutNanos) {
        long deadline = System.nanoTime() + timeoutNanos;
        long outcome = backend.awaitStream(work, firstSignal, true, deadline);
        if (outcome < Code.OK) {
            return outcome;
        }
        long all = agreeOnCount(Deadlines.left(deadline));
        if (all < Code.OK) {
            return all;
        }
        for (int index = 0; index < all; index++) {
            outcome = index < count ? backend.awaitStream(work, firstSignal + index, true, deadline) : Code.OK;
            if (outcome < Code.OK) {
                return outcome;
            }
            outcome = run(chunks.chunk(index, slot(index)), all == 1, Deadlines.left(deadline));
            if (outcome < Code.OK) {
                return outcome;
            }
            if (index < count) {
                backend.endWait(firstWait + index);
            }
        }
        long end = backend.awaitStream(work, firstSignal + count, false, deadline);
        return end < Code.OK ? end : outcome;
    }

    /**
     * Returns the largest number of chunks of any rank. In an exchange no rank knows this maximum, so all ranks send
     * each other their numbers of chunks.
     *
     * @return the number, or a status below {@link Code#OK}
     */
    private long agreeOnCount(long timeoutNanos) {
        if (!call.isExchange()) {
            return count;
        }
        long place = area + SLOTS * backend.slotBytes();
        int bytes = size * Long.BYTES;
        ByteBuffer numbers = NativeMemory.view(place, 2 * bytes).order(ByteOrder.nativeOrder());
        for (int rank = 0; rank < size; rank++) {
            numbers.putLong(rank * Long.BYTES, count);
        }
        long[] each = new long[size];
        Arrays.fill(each, Long.BYTES / call.type().bytes());
        long[] offsets = Chunk.offsets(each);
        long[] rows = concat(each, offsets, each, offsets);
        long outcome = engine.runV(call.signature(), choice(), place, place + bytes, rows, 0, 0, timeoutNanos);
        return outcome < Code.OK
                ? outcome
                : LongStream.range(size, 2L * size)
                        .map(i -> numbers.getLong((int) i * Long.BYTES))
                        .max()
                        .orElseThrow();
    }

    private long choice() {
        return choiceFor(call.bytes(size));
    }

    private long choiceFor(long bytes) {
        return backend.choices().choose(call.collective(), bytes);
    }

    /**
     * Runs one chunk.
     *
     * @param whole true if there is no other chunk
     */
    abstract long run(Chunk chunk, boolean whole, long timeoutNanos);

    final long run(CollectiveCall one, Chunk chunk, boolean whole, long timeoutNanos) {
        int signature = one.signature();
        if (whole) {
            return engine.run(signature, choice(), chunk.from(), chunk.to(), one.count(), one.root(), 0, timeoutNanos);
        }
        long elements = chunk.sendCounts().length != 0 ? chunk.sendCounts()[0] : chunk.recvCounts()[0];
        return engine.runPart(
                signature,
                choiceFor(one.bytesOf(elements, size)),
                chunk.from(),
                chunk.to(),
                elements,
                one.root(),
                one.count(),
                chunk.begin(),
                0,
                timeoutNanos);
    }

    final long run(VectorCall vector, Chunk chunk, boolean whole, long timeoutNanos) {
        int signature = vector.signature();
        long[] cut = call.isExchange()
                ? concat(rows(chunk.sendCounts()), rows(chunk.recvCounts()))
                : rows(chunks.cut(Arrays.copyOf(vector.counts(), size), chunk.begin()));
        if (whole || call.isExchange()) {
            return engine.runV(signature, choice(), chunk.from(), chunk.to(), cut, vector.root(), 0, timeoutNanos);
        }
        long elements = Arrays.stream(cut, 0, size).sum();
        return engine.runVPart(
                signature,
                choiceFor(elements * vector.type().bytes()),
                chunk.from(),
                chunk.to(),
                cut,
                vector.root(),
                vector.total(size),
                chunk.begin(),
                0,
                timeoutNanos);
    }

    private static long[] rows(long[] counts) {
        return concat(counts, Chunk.offsets(counts));
    }

    private static long[] concat(long[]... rows) {
        return Arrays.stream(rows).flatMapToLong(Arrays::stream).toArray();
    }
}

package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import io.jccl.WireFormat;
import io.jccl.internal.MemoryHold;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * An in-place all-reduce of several buffers in host memory. Small buffers of one type are packed one after the other
 * and reduced together; a large buffer is reduced where it is. Ranks that pass the same types and counts make the same
 * packs.
 */
final class FusedCall implements OperationCall {

    /** Size from which on copying a buffer twice costs more than reducing it on its own. */
    private static final long LARGE_BYTES = 64 << 10;

    private static final long PACK_BYTES = 1 << 20;

    /** Buffers of one type that are reduced together: a large one alone, or small ones that are packed. */
    static final class Pack {

        private final DataType type;
        private final List<DataBuffer> buffers = new ArrayList<>();
        private long count;

        private Pack(DataType type) {
            this.type = type;
        }

        private void add(DataBuffer buffer) {
            buffers.add(buffer);
            count += buffer.count();
        }

        List<DataBuffer> buffers() {
            return buffers;
        }

        long count() {
            return count;
        }

        long bytes() {
            return count * type.bytes();
        }

        /** Returns a hash of the counts: ranks whose counts differ, but have the same sum, must not exchange data. */
        long layout() {
            long mixed = buffers.size();
            for (DataBuffer buffer : buffers) {
                mixed = (mixed ^ buffer.count()) * 0xd6e8feb86659fd93L;
            }
            return mixed;
        }
    }

    private final ReduceOp op;
    private final WireFormat wire;
    private final int count;
    private final long bytes;
    private List<DataBuffer> buffers;
    private List<Pack> packs;
    private List<DataBuffer> held;

    /**
     * @param wire the format of buffers whose type it supports; others are exact
     * @throws IllegalArgumentException if memory of too many arenas must be held
     */
    FusedCall(List<DataBuffer> buffers, ReduceOp op, WireFormat wire) {
        this.op = op;
        this.wire = wire;
        this.buffers = buffers;
        this.count = buffers.size();
        this.bytes = buffers.stream().mapToLong(DataBuffer::bytes).sum();
        this.packs = packs(buffers);
        this.held = MemoryHold.ofEachArena(buffers);
    }

    private static List<Pack> packs(List<DataBuffer> buffers) {
        List<Pack> packs = new ArrayList<>();
        Map<DataType, Pack> open = new EnumMap<>(DataType.class);
        for (DataBuffer buffer : buffers) {
            DataType type = buffer.type();
            boolean isLarge = buffer.bytes() >= LARGE_BYTES;
            Pack pack = isLarge ? null : open.get(type);
            if (pack == null || pack.bytes() + buffer.bytes() > PACK_BYTES) {
                pack = new Pack(type);
                packs.add(pack);
                if (!isLarge) {
                    open.put(type, pack);
                }
            }
            pack.add(buffer);
        }
        return packs;
    }

    List<Pack> packs() {
        return packs;
    }

    /** Returns the buffers whose memory must be held while the operation is executed, one of each arena. */
    List<DataBuffer> held() {
        return held;
    }

    int signature(Pack pack) {
        return Signatures.of(
                Collective.ALL_REDUCE, pack.type, op, WireFormat.supports(pack.type) ? wire : WireFormat.EXACT);
    }

    /** Returns the seed of stochastic rounding between hosts. */
    long wireSeed() {
        return wire.seed();
    }

    @Override
    public long dispatch(CallHandler handler, long timeoutNanos) {
        return handler.handle(this, timeoutNanos);
    }

    @Override
    public boolean isOnDevice() {
        return false;
    }

    @Override
    public void pin() {
        int pinned = 0;
        try {
            for (; pinned < count; pinned++) {
                buffers.get(pinned).pin();
            }
        } catch (IllegalStateException closed) {
            buffers = buffers.subList(0, pinned);
            release();
            throw closed;
        }
    }

    @Override
    public void release() {
        buffers.forEach(DataBuffer::unpin);
        buffers = List.of();
        packs = List.of();
        held = List.of();
    }

    @Override
    public String describe() {
        return "all_reduce(op=" + op.label() + " buffers=" + count + " bytes=" + bytes
                + (wire.encoding() == WireFormat.Encoding.EXACT ? "" : " wire=" + wire) + ")";
    }
}

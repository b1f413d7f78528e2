package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.internal.MemoryHold;
import io.jccl.nativelib.Numbers;
import io.jccl.nativelib.Rows;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/** Sends and receives that run at the same time: those of a group, and single ones in device memory. */
final class TransfersCall implements OperationCall {

    private static final int TRANSFERS_SHOWN = 8;

    /**
     * One transfer.
     *
     * @param receiving true if elements come from the peer; false if they go to the peer
     * @param peer the other rank
     * @param buffer the elements
     */
    record Transfer(boolean receiving, int peer, DataBuffer buffer) {

        /** Describes the transfer for messages, for example {@code send(peer=1 type=float32 count=4)}. */
        String describe() {
            return describe(receiving, peer, buffer.type(), buffer.count());
        }

        static String describe(boolean receiving, int peer, DataType type, long count) {
            return (receiving ? "recv" : "send") + "(peer=" + peer + " type=" + type.label() + " count=" + count + ")";
        }
    }

    private final boolean onDevice;
    private final int count;
    private final long largest;
    private List<Transfer> transfers;
    private List<DataBuffer> held;

    /** @throws IllegalArgumentException if memory of too many arenas must be held */
    TransfersCall(boolean onDevice, List<Transfer> transfers) {
        this.onDevice = onDevice;
        this.transfers = List.copyOf(transfers);
        this.count = transfers.size();
        this.largest = largest(transfers);
        this.held = held(transfers);
    }

    /** Returns the buffers whose memory must be held. Allocates nothing in the usual case that there are none. */
    private static List<DataBuffer> held(List<Transfer> transfers) {
        for (Transfer one : transfers) {
            if (MemoryHold.isNeeded(one.buffer())) {
                return MemoryHold.ofEachArena(
                        transfers.stream().map(Transfer::buffer).toList());
            }
        }
        return List.of();
    }

    List<Transfer> transfers() {
        return transfers;
    }

    /** Returns the bytes of the largest send or receive. */
    long largest() {
        return largest;
    }

    private static long largest(List<Transfer> transfers) {
        long largest = 0;
        for (Transfer one : transfers) {
            largest =
                    Math.max(largest, one.buffer().count() * one.buffer().type().bytes());
        }
        return largest;
    }

    @Override
    public boolean isTransfer() {
        return true;
    }

    /** Returns the bytes of all sends and receives; 0 after {@link #release}. */
    @Override
    public long bytes(int size) {
        return transfers.stream()
                .mapToLong(one -> one.buffer().count() * one.buffer().type().bytes())
                .sum();
    }

    /** Returns the buffers whose memory must be held while the transfers are executed, one of each arena. */
    List<DataBuffer> held() {
        return held;
    }

    /** Returns the transfers as rows of {@link Rows#TASK_LENGTH}. */
    long[] tasks(ToLongFunction<Transfer> addresses) {
        long[] tasks = new long[count * Rows.TASK_LENGTH];
        int at = 0;
        for (Transfer transfer : transfers) {
            DataBuffer buffer = transfer.buffer();
            tasks[at + Rows.TASK_KIND] = transfer.receiving() ? Rows.TASK_RECV : Rows.TASK_SEND;
            tasks[at + Rows.TASK_PEER] = transfer.peer();
            tasks[at + Rows.TASK_TYPE] = Numbers.of(buffer.type());
            tasks[at + Rows.TASK_ADDRESS] = addresses.applyAsLong(transfer);
            tasks[at + Rows.TASK_COUNT] = buffer.count();
            at += Rows.TASK_LENGTH;
        }
        return tasks;
    }

    @Override
    public long dispatch(CallHandler handler, long timeoutNanos) {
        return handler.handle(this, timeoutNanos);
    }

    @Override
    public boolean isOnDevice() {
        return onDevice;
    }

    @Override
    public StagedBackend.StagedCall staged(StagedBackend backend) {
        return new StagedTransfers(backend, this);
    }

    @Override
    public String describe() {
        List<Transfer> mine = transfers;
        if (mine.size() == 1) {
            return mine.get(0).describe();
        }
        return "send_recv(transfers=" + count
                + mine.stream()
                        .limit(TRANSFERS_SHOWN)
                        .map(one -> " " + one.describe())
                        .collect(Collectors.joining())
                + (mine.size() > TRANSFERS_SHOWN ? " ..." : "") + ")";
    }

    @Override
    public void pin() {
        int pinned = 0;
        try {
            for (; pinned < count; pinned++) {
                transfers.get(pinned).buffer().pin();
            }
        } catch (IllegalStateException closed) {
            transfers = transfers.subList(0, pinned);
            release();
            throw closed;
        }
    }

    @Override
    public void release() {
        transfers.forEach(transfer -> transfer.buffer().unpin());
        transfers = List.of();
        held = List.of();
    }
}

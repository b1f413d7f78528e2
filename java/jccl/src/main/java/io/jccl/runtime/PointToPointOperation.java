package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.nativelib.NativeCommunicator;
import java.lang.ref.Reference;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/** Sends and receives that run at the same time: a single one, or those of a group. */
final class PointToPointOperation extends Operation {

    private static final int LONGS_PER_TASK = 5;
    private static final int TRANSFERS_SHOWN = 8;

    /**
     * One transfer.
     *
     * @param receiving whether elements come from the peer; else they go there
     * @param peer the other rank
     * @param buffer the elements
     */
    record Transfer(boolean receiving, int peer, DataBuffer buffer) {

        /** For messages: {@code send(peer=1 type=float32 count=4)}. */
        String describe() {
            return (receiving ? "recv" : "send") + "(peer=" + peer + " type="
                    + buffer.type().label() + " count=" + buffer.count() + ")";
        }
    }

    private final HeapStaging staging; // null if no buffer is on the heap
    private final int transferCount;
    private List<Transfer> transfers;

    PointToPointOperation(OperationQueue queue, List<Transfer> transfers, HeapStaging staging) {
        super(queue);
        this.transfers = List.copyOf(transfers);
        this.transferCount = transfers.size();
        this.staging = staging;
    }

    @Override
    long execute(long timeoutNanos) {
        List<Transfer> mine = transfers;
        if (staging != null) {
            staging.begin(
                    mine.stream().mapToLong(t -> HeapStaging.room(t.buffer())).sum());
        }
        long[] tasks = tasks(mine, this::place);
        long outcome = queue().engine().runPointToPoint(tasks, timeoutNanos);
        if (outcome >= NativeCommunicator.OK && staging != null) {
            unstage(mine, tasks);
        }
        Reference.reachabilityFence(mine);
        return outcome;
    }

    /** The transfers as they cross the native interface. */
    static long[] tasks(List<Transfer> transfers, ToLongFunction<Transfer> addresses) {
        long[] tasks = new long[transfers.size() * LONGS_PER_TASK];
        int at = 0;
        for (Transfer transfer : transfers) {
            DataBuffer buffer = transfer.buffer();
            tasks[at] = transfer.receiving() ? 1 : 0;
            tasks[at + 1] = transfer.peer();
            tasks[at + 2] = buffer.type().ordinal();
            tasks[at + 3] = addresses.applyAsLong(transfer);
            tasks[at + 4] = buffer.count();
            at += LONGS_PER_TASK;
        }
        return tasks;
    }

    private long place(Transfer transfer) {
        DataBuffer buffer = transfer.buffer();
        long address = staging == null ? buffer.pinnedAddress() : staging.place(buffer);
        if (!transfer.receiving() && HeapStaging.isHeap(buffer)) {
            staging.copyIn(buffer, address);
        }
        return address;
    }

    private void unstage(List<Transfer> mine, long[] tasks) {
        for (int i = 0; i < mine.size(); i++) {
            if (mine.get(i).receiving()) {
                staging.unstage(mine.get(i).buffer(), tasks[i * LONGS_PER_TASK + 3]);
            }
        }
    }

    @Override
    String describe() {
        return describe(transfers, transferCount);
    }

    /** Some transfers in words. */
    static String describe(List<Transfer> mine, int transferCount) {
        if (mine.size() == 1) {
            return mine.get(0).describe();
        }
        return "send_recv(transfers=" + transferCount
                + mine.stream()
                        .limit(TRANSFERS_SHOWN)
                        .map(one -> " " + one.describe())
                        .collect(Collectors.joining())
                + (mine.size() > TRANSFERS_SHOWN ? " ..." : "") + ")";
    }

    @Override
    void pin() {
        int pinned = 0;
        try {
            for (; pinned < transferCount; pinned++) {
                transfers.get(pinned).buffer().pin();
            }
        } catch (IllegalStateException closed) {
            transfers = transfers.subList(0, pinned);
            release();
            throw closed;
        }
    }

    @Override
    void release() {
        transfers.forEach(transfer -> transfer.buffer().unpin());
        transfers = List.of();
    }
}

package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataBuffer;
import io.jccl.DeviceStream;
import io.jccl.internal.MemoryHold;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.NativeEngine;
import io.jccl.nativelib.Rows;
import io.jccl.runtime.TransfersCall.Transfer;
import io.jccl.tuning.ChoiceTable;
import java.lang.ref.Reference;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/** Executes operations on memory of the host. Heap buffers are staged. */
final class HostBackend implements Backend {

    private final OperationQueue queue;
    private final NativeEngine engine;
    private final ChoiceTable choices;
    private final int size;
    private final HeapStaging staging = new HeapStaging();
    private final UserReductions userReductions;
    private final Set<HostRegistration> registrations = ConcurrentHashMap.newKeySet(); // which keeps their buffers

    HostBackend(OperationQueue queue, ChoiceTable choices, int rank, int size) {
        this.queue = queue;
        this.engine = queue.engine();
        this.choices = choices;
        this.size = size;
        this.userReductions = new UserReductions(queue, rank, size);
    }

    @Override
    public OperationQueue queue() {
        return queue;
    }

    @Override
    public OperationWork issue(OperationCall call, DeviceStream stream, long deadline) {
        OperationWork work = new OperationWork(this, call, deadline);
        call.pin();
        queue.enqueue(work);
        return work;
    }

    @Override
    public long choice(int signature, boolean sameCounts, long bytes) {
        return choices.choose(Signatures.collective(signature), bytes);
    }

    @Override
    public long execute(OperationWork work, long timeoutNanos) {
        return execute(work.call(), timeoutNanos);
    }

    private long execute(OperationCall call, long timeoutNanos) {
        if (call instanceof BufferCall collective) {
            DataBuffer send = collective.send();
            DataBuffer recv = collective.recv();
            return MemoryHold.isNeeded(send) || MemoryHold.isNeeded(recv)
                    ? hold(send, () -> hold(recv, () -> execute(collective, timeoutNanos)))
                    : execute(collective, timeoutNanos);
        }
        if (call instanceof TransfersCall transfers) {
            List<DataBuffer> held = transfers.held();
            return held.isEmpty()
                    ? execute(transfers, timeoutNanos)
                    : hold(held, 0, () -> execute(transfers, timeoutNanos));
        }
        if (call instanceof FusedCall fused) {
            return hold(fused.held(), 0, () -> execute(fused, timeoutNanos));
        }
        return ((GroupCall) call).executeEach(timeoutNanos, this::execute);
    }

    private static long hold(DataBuffer buffer, LongSupplier operation) {
        return MemoryHold.isNeeded(buffer) ? MemoryHold.run(buffer, operation) : operation.getAsLong();
    }

    /** Holds all buffers from one on. */
    private static long hold(List<DataBuffer> buffers, int from, LongSupplier operation) {
        return from == buffers.size()
                ? operation.getAsLong()
                : MemoryHold.run(buffers.get(from), () -> hold(buffers, from + 1, operation));
    }

    private long execute(BufferCall call, long timeoutNanos) {
        DataBuffer send = call.send();
        DataBuffer recv = call.recv();
        if (HeapStaging.isNeeded(send, recv)) {
            return executeStaged(call, timeoutNanos);
        }
        long from = send == null ? 0 : send.pinnedAddress();
        long outcome = run(call, from, recv == null ? 0 : recv.pinnedAddress(), timeoutNanos);
        Reference.reachabilityFence(send);
        Reference.reachabilityFence(recv);
        return outcome;
    }

    private long executeStaged(BufferCall call, long timeoutNanos) {
        DataBuffer send = call.send();
        DataBuffer recv = call.recv();
        // With counts per rank the blocks may leave gaps, whose elements must survive.
        long[] places = call instanceof VectorCall ? staging.stageKeepingGaps(send, recv) : staging.stage(send, recv);
        long outcome = run(call, places[0], places[1], timeoutNanos);
        if (outcome >= Code.OK) {
            staging.unstage(recv, places[1]);
        }
        Reference.reachabilityFence(send); // one of the two may be direct
        Reference.reachabilityFence(recv);
        return outcome;
    }

    private long run(BufferCall call, long from, long to, long timeoutNanos) {
        if (call instanceof SendReceiveCall message) {
            return engine.sendReceive(
                    from,
                    message.sendCount(),
                    message.sendType(),
                    message.to(),
                    to,
                    message.recvCount(),
                    message.recvType(),
                    message.from(),
                    timeoutNanos);
        }
        int signature = call.signature();
        long choice = choices.choose(call.collective(), call.bytes(size));
        if (call instanceof CollectiveCall one) {
            return engine.run(signature, choice, from, to, one.count(), one.root(), timeoutNanos);
        }
        if (call instanceof ReductionCall reduction) {
            return userReductions.execute(reduction, choice, from, to, timeoutNanos);
        }
        VectorCall vector = (VectorCall) call;
        return engine.runV(signature, choice, from, to, vector.counts(), vector.root(), timeoutNanos);
    }

    private long execute(FusedCall call, long timeoutNanos) {
        long deadline = System.nanoTime() + timeoutNanos;
        long outcome = Code.OK;
        for (FusedCall.Pack pack : call.packs()) {
            outcome = execute(call.signature(pack), pack, Deadlines.left(deadline));
            if (outcome < Code.OK) {
                break;
            }
        }
        return outcome;
    }

    private long execute(int signature, FusedCall.Pack pack, long timeoutNanos) {
        List<DataBuffer> buffers = pack.buffers();
        boolean inPlace = buffers.size() == 1 && !HeapStaging.isHeap(buffers.get(0));
        long place = inPlace ? buffers.get(0).pinnedAddress() : staging.pack(buffers, pack.bytes());
        long choice = choices.choose(Collective.ALL_REDUCE, pack.bytes());
        long outcome = engine.runPart(
                signature,
                choice,
                place,
                place,
                pack.count(),
                0,
                Math.max(1, pack.count()),
                pack.layout(),
                timeoutNanos);
        if (outcome >= Code.OK && !inPlace) {
            staging.unpack(buffers, place);
        }
        Reference.reachabilityFence(buffers);
        return outcome;
    }

    private long execute(TransfersCall call, long timeoutNanos) {
        List<Transfer> transfers = call.transfers();
        long stagedBytes = 0;
        for (Transfer one : transfers) {
            stagedBytes += HeapStaging.stagedBytes(one.buffer());
        }
        if (stagedBytes != 0) {
            staging.begin(stagedBytes);
        }
        long[] tasks = call.tasks(this::place);
        long outcome = engine.runPointToPoint(tasks, timeoutNanos);
        if (outcome >= Code.OK && stagedBytes != 0) {
            unstage(transfers, tasks);
        }
        Reference.reachabilityFence(transfers);
        return outcome;
    }

    private long place(Transfer transfer) {
        DataBuffer buffer = transfer.buffer();
        long address = staging.place(buffer);
        if (!transfer.receiving() && HeapStaging.isHeap(buffer)) {
            staging.copyIn(buffer, address);
        }
        return address;
    }

    private void unstage(List<Transfer> transfers, long[] tasks) {
        for (int i = 0; i < transfers.size(); i++) {
            if (transfers.get(i).receiving()) {
                staging.unstage(transfers.get(i).buffer(), tasks[i * Rows.TASK_LENGTH + Rows.TASK_ADDRESS]);
            }
        }
    }

    @Override
    public long stagingBytes() {
        return staging.bytes() + userReductions.bytes();
    }

    void keep(HostRegistration registration) {
        registrations.add(registration);
    }

    void forget(HostRegistration registration) {
        registrations.remove(registration);
    }

    /** Frees the staging memory, and ends registrations; no operation runs any more. */
    void close() {
        registrations.forEach(HostRegistration::end);
        registrations.clear();
        staging.close();
        userReductions.close();
    }
}

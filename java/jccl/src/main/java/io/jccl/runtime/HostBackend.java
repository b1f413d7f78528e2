package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.DeviceStream;
import io.jccl.HostBuffer;
import io.jccl.internal.MemoryHold;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.NativeEngine;
import io.jccl.nativelib.Rows;
import io.jccl.runtime.TransfersCall.Transfer;
import io.jccl.tuning.ChoiceTable;
import io.jccl.tuning.FormatChoices;
import java.lang.ref.Reference;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

/** Executes operations on host memory. Stages heap buffers. */
final class HostBackend implements Backend, CallHandler {

    private static final Runnable NOTHING = () -> {};

    private final OperationQueue queue;
    private final NativeEngine engine;
    private final FormatChoices choices;
    private final int size;
    private final HeapStaging staging = new HeapStaging();
    private final UserReductions userReductions;
    private Runnable afterPause; // what follows the paused operation if it ends well; null if none is paused
    private final Set<HostRegistration> registrations = ConcurrentHashMap.newKeySet(); // keeps the buffers reachable

    HostBackend(OperationQueue queue, ChoiceTable choices, int rank, int size) {
        this.queue = queue;
        this.engine = queue.engine();
        this.choices = new FormatChoices(choices);
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
    public SymmetricAllocation.Memory allocate(long bytes) {
        HostBuffer memory = HostBuffer.allocate(bytes);
        return new SymmetricAllocation.Memory() {
            @Override
            public DataBuffer slice(long offsetBytes, long count, DataType type) {
                return memory.slice(offsetBytes, count, type);
            }

            @Override
            public Optional<HostBuffer> host() {
                return Optional.of(memory);
            }

            @Override
            public void free() {
                memory.close();
            }
        };
    }

    @Override
    public long choice(int signature, boolean sameCounts, long bytes) {
        return choices.of(Signatures.encoding(signature), Signatures.type(signature))
                .choose(Signatures.collective(signature), bytes);
    }

    @Override
    public long execute(OperationWork work, long timeoutNanos) {
        return work.call().dispatch(this, timeoutNanos);
    }

    /** Calls that consist of several, that call user code, or whose memory is held meanwhile, cannot pause. */
    @Override
    public boolean mayPause(OperationWork work) {
        OperationCall call = work.call();
        boolean can = call instanceof TransfersCall transfers
                ? transfers.held().isEmpty()
                : call instanceof BufferCall one
                        && !(call instanceof ReductionCall)
                        && !MemoryHold.isNeeded(one.send())
                        && !MemoryHold.isNeeded(one.recv());
        return can && engine.pauseNext();
    }

    @Override
    public long resume(OperationWork work, long timeoutNanos, boolean pauses) {
        long outcome = engine.resume(timeoutNanos, pauses);
        if (outcome == Code.PAUSED) {
            return outcome;
        }
        Runnable next = afterPause;
        afterPause = null;
        if (outcome >= Code.OK) {
            next.run();
        }
        Reference.reachabilityFence(work);
        return outcome;
    }

    /**
     * Runs a call whose buffers are at known addresses. Implementations capture no variables, because each operation
     * would allocate a lambda that does.
     */
    private interface Run<C extends BufferCall> {
        long run(HostBackend backend, C call, long from, long to, long timeoutNanos);
    }

    @Override
    public long handle(CollectiveCall call, long timeoutNanos) {
        return execute(call, timeoutNanos, HostBackend::run);
    }

    @Override
    public long handle(VectorCall call, long timeoutNanos) {
        return execute(call, timeoutNanos, HostBackend::run);
    }

    @Override
    public long handle(ReductionCall call, long timeoutNanos) {
        return execute(call, timeoutNanos, HostBackend::run);
    }

    @Override
    public long handle(SendReceiveCall call, long timeoutNanos) {
        return execute(call, timeoutNanos, HostBackend::run);
    }

    @Override
    public long handle(TransfersCall call, long timeoutNanos) {
        List<DataBuffer> held = call.held();
        return held.isEmpty() ? execute(call, timeoutNanos) : hold(held, 0, () -> execute(call, timeoutNanos));
    }

    @Override
    public long handle(FusedCall call, long timeoutNanos) {
        return hold(call.held(), 0, () -> execute(call, timeoutNanos));
    }

    @Override
    public long handle(GroupCall call, long timeoutNanos) {
        return call.executeEach(timeoutNanos, (member, left) -> member.dispatch(this, left));
    }

    private <C extends BufferCall> long execute(C call, long timeoutNanos, Run<C> run) {
        DataBuffer send = call.send();
        DataBuffer recv = call.recv();
        return MemoryHold.isNeeded(send) || MemoryHold.isNeeded(recv)
                ? hold(send, () -> hold(recv, () -> place(call, timeoutNanos, run)))
                : place(call, timeoutNanos, run);
    }

    private static long hold(DataBuffer buffer, LongSupplier operation) {
        return MemoryHold.isNeeded(buffer) ? MemoryHold.run(buffer, operation) : operation.getAsLong();
    }

    /** Executes an operation while the memory of the buffers from index {@code from} on is held. */
    private static long hold(List<DataBuffer> buffers, int from, LongSupplier operation) {
        return from == buffers.size()
                ? operation.getAsLong()
                : MemoryHold.run(buffers.get(from), () -> hold(buffers, from + 1, operation));
    }

    private <C extends BufferCall> long place(C call, long timeoutNanos, Run<C> run) {
        DataBuffer send = call.send();
        DataBuffer recv = call.recv();
        if (HeapStaging.isNeeded(send, recv)) {
            return stage(call, timeoutNanos, run);
        }
        long from = send == null ? 0 : send.pinnedAddress();
        long outcome = run.run(this, call, from, recv == null ? 0 : recv.pinnedAddress(), timeoutNanos);
        if (outcome == Code.PAUSED) {
            afterPause = NOTHING;
        }
        Reference.reachabilityFence(send);
        Reference.reachabilityFence(recv);
        return outcome;
    }

    private <C extends BufferCall> long stage(C call, long timeoutNanos, Run<C> run) {
        DataBuffer send = call.send();
        DataBuffer recv = call.recv();
        long[] places = call.leavesGaps() ? staging.stageKeepingGaps(send, recv) : staging.stage(send, recv);
        long outcome = run.run(this, call, places[0], places[1], timeoutNanos);
        if (outcome >= Code.OK) {
            staging.unstage(recv, places[1]);
        } else if (outcome == Code.PAUSED) {
            afterPause = () -> staging.unstage(recv, places[1]); // made only here, because it is allocated
        }
        Reference.reachabilityFence(send); // a direct buffer must stay reachable until here
        Reference.reachabilityFence(recv);
        return outcome;
    }

    private long choice(BufferCall call) {
        return choice(call.signature(), true, call.bytes(size));
    }

    private long run(CollectiveCall call, long from, long to, long timeoutNanos) {
        return engine.run(
                call.signature(), choice(call), from, to, call.count(), call.root(), call.wireSeed(), timeoutNanos);
    }

    private long run(VectorCall call, long from, long to, long timeoutNanos) {
        return engine.runV(
                call.signature(), choice(call), from, to, call.counts(), call.root(), call.wireSeed(), timeoutNanos);
    }

    private long run(ReductionCall call, long from, long to, long timeoutNanos) {
        return userReductions.execute(call, choice(call), from, to, timeoutNanos);
    }

    private long run(SendReceiveCall call, long from, long to, long timeoutNanos) {
        return engine.sendReceive(
                from,
                call.sendCount(),
                call.sendType(),
                call.to(),
                to,
                call.recvCount(),
                call.recvType(),
                call.from(),
                timeoutNanos);
    }

    private long execute(FusedCall call, long timeoutNanos) {
        long deadline = System.nanoTime() + timeoutNanos;
        long outcome = Code.OK;
        for (FusedCall.Pack pack : call.packs()) {
            outcome = execute(call.signature(pack), pack, call.wireSeed(), Deadlines.left(deadline));
            if (outcome < Code.OK) {
                break;
            }
        }
        return outcome;
    }

    private long execute(int signature, FusedCall.Pack pack, long wireSeed, long timeoutNanos) {
        List<DataBuffer> buffers = pack.buffers();
        boolean inPlace = buffers.size() == 1 && !HeapStaging.isHeap(buffers.get(0));
        long place = inPlace ? buffers.get(0).pinnedAddress() : staging.pack(buffers, pack.bytes());
        long choice = choice(signature, true, pack.bytes());
        long outcome = engine.runPart(
                signature,
                choice,
                place,
                place,
                pack.count(),
                0,
                Math.max(1, pack.count()),
                pack.layout(),
                wireSeed,
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
        } else if (outcome == Code.PAUSED) {
            afterPause = stagedBytes == 0 ? NOTHING : () -> unstage(transfers, tasks);
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

    /** Frees the staging memory and ends all registrations. No operation may run any more. */
    void close() {
        registrations.forEach(HostRegistration::end);
        registrations.clear();
        staging.close();
        userReductions.close();
    }
}

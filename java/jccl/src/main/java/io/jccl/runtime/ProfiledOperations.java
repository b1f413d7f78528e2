package io.jccl.runtime;

import io.jccl.Collective;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.Threads;
import io.jccl.nativelib.Numbers;
import io.jccl.parts.OperationProfiler;
import io.jccl.runtime.TransfersCall.Transfer;
import io.jccl.tuning.Choice;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports the begin and the end of operations to a profiler, with their arguments and choices. The operations
 * of a group begin and end with the group.
 */
final class ProfiledOperations {

    private static final Logger LOG = LoggerFactory.getLogger(ProfiledOperations.class);
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(10);
    private static final int NO_OP = -1;

    private final OperationProfiler profiler;
    private final int size;
    private final ReadWriteLock inside = new ReentrantReadWriteLock(); // read lock: calls; write lock: close
    private boolean closed;

    ProfiledOperations(OperationProfiler profiler, int size) {
        this.profiler = profiler;
        this.size = size;
    }

    /**
     * Reports the begin of an operation.
     *
     * @param before sequence number of the preceding collective
     * @return events for {@link #ended}; 0 if there are none
     */
    long begun(OperationCall call, long before, Backend backend) {
        long[] rows = new Rows(before, backend).of(call);
        return guarded(() -> profiler.start(rows));
    }

    /** Reports the end of an operation, with success or not. */
    void ended(long events) {
        if (events != 0) {
            guarded(() -> {
                profiler.stop(events);
                return 0;
            });
        }
    }

    private interface Call {
        long run();
    }

    private long guarded(Call call) {
        if (!inside.readLock().tryLock()) {
            return 0; // another thread is closing the profiler
        }
        try {
            return closed ? 0 : call.run();
        } finally {
            inside.readLock().unlock();
        }
    }

    /** Closes the profiler when no thread is inside it. Returns after a limited time, whatever the profiler does. */
    void close() {
        Thread thread = ServiceThread.once("jccl-plugin", this::finish);
        if (Threads.tryStart(thread).isPresent()) {
            finish(); // no thread could be started: the caller closes the profiler itself
            return;
        }
        try {
            thread.join(CLOSE_TIMEOUT.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (thread.isAlive()) {
            LOG.warn(
                    "{}: a call has not returned in {} s; its thread is left behind",
                    profiler.description(),
                    CLOSE_TIMEOUT.toSeconds());
        }
    }

    private void finish() {
        inside.writeLock().lock();
        try {
            if (!closed) {
                closed = true;
                profiler.close();
            }
        } finally {
            inside.writeLock().unlock();
        }
    }

    /** Writes rows of {@link OperationProfiler}. */
    private final class Rows implements CallHandler {

        private final Backend backend;
        private long[] rows = new long[OperationProfiler.COLUMNS];
        private int at;
        private long sequence;

        Rows(long before, Backend backend) {
            this.sequence = before;
            this.backend = backend;
        }

        long[] of(OperationCall call) {
            call.dispatch(this, 0);
            return at == rows.length ? rows : Arrays.copyOf(rows, at);
        }

        @Override
        public long handle(CollectiveCall call, long timeoutNanos) {
            addCollective(call, true, call.count(), call.root());
            return 0;
        }

        @Override
        public long handle(VectorCall call, long timeoutNanos) {
            addCollective(call, false, call.total(size), call.root());
            return 0;
        }

        @Override
        public long handle(ReductionCall call, long timeoutNanos) {
            addCollective(call, false, call.count(), call.root());
            return 0;
        }

        @Override
        public long handle(SendReceiveCall call, long timeoutNanos) {
            if (call.send() != null) {
                addTransfer(false, call.to(), call.send());
            }
            if (call.recv() != null) {
                addTransfer(true, call.from(), call.recv());
            }
            return 0;
        }

        @Override
        public long handle(TransfersCall call, long timeoutNanos) {
            for (Transfer one : call.transfers()) {
                addTransfer(one.receiving(), one.peer(), one.buffer());
            }
            return 0;
        }

        @Override
        public long handle(FusedCall call, long timeoutNanos) {
            for (FusedCall.Pack pack : call.packs()) {
                DataBuffer whole = pack.buffers().size() == 1 ? pack.buffers().get(0) : null;
                addCollective(call.signature(pack), true, pack.count(), pack.bytes(), 0, whole, whole);
            }
            return 0;
        }

        @Override
        public long handle(GroupCall call, long timeoutNanos) {
            call.members().forEach(member -> member.dispatch(this, timeoutNanos));
            return 0;
        }

        private void addCollective(BufferCall call, boolean sameCounts, long count, int root) {
            addCollective(call.signature(), sameCounts, count, call.bytes(size), root, call.send(), call.recv());
        }

        private void addCollective(
                int signature, boolean sameCounts, long count, long bytes, int root, DataBuffer send, DataBuffer recv) {
            ReduceOp op = Signatures.op(signature);
            int row = next(OperationProfiler.KIND_COLLECTIVE, signature, backend.choice(signature, sameCounts, bytes));
            rows[row + OperationProfiler.OP] = op == null ? NO_OP : Numbers.of(op);
            rows[row + OperationProfiler.SEQUENCE] = ++sequence;
            rows[row + OperationProfiler.COUNT] = count;
            rows[row + OperationProfiler.BYTES] = bytes;
            rows[row + OperationProfiler.ROOT] = root;
            rows[row + OperationProfiler.SEND_ADDRESS] = address(send);
            rows[row + OperationProfiler.RECV_ADDRESS] = address(recv);
        }

        private void addTransfer(boolean receiving, int peer, DataBuffer buffer) {
            int signature = Signatures.of(Collective.SEND_RECV, buffer.type(), null);
            int row = next(
                    receiving ? OperationProfiler.KIND_RECV : OperationProfiler.KIND_SEND,
                    signature,
                    backend.choice(signature, true, buffer.bytes()));
            rows[row + OperationProfiler.OP] = NO_OP;
            rows[row + OperationProfiler.SEQUENCE] = sequence;
            rows[row + OperationProfiler.COUNT] = buffer.count();
            rows[row + OperationProfiler.BYTES] = buffer.bytes();
            rows[row + OperationProfiler.ROOT] = peer;
            rows[row + OperationProfiler.RECV_ADDRESS] = address(buffer);
        }

        private int next(int kind, int signature, long choice) {
            int row = at;
            at += OperationProfiler.COLUMNS;
            if (at > rows.length) {
                rows = Arrays.copyOf(rows, 2 * at);
            }
            rows[row + OperationProfiler.KIND] = kind;
            rows[row + OperationProfiler.COLLECTIVE] = Numbers.of(Signatures.collective(signature));
            rows[row + OperationProfiler.TYPE] = Numbers.of(Signatures.type(signature));
            rows[row + OperationProfiler.ALGORITHM] = Numbers.of(Choice.algorithm(choice));
            rows[row + OperationProfiler.PROTOCOL] = Numbers.of(Choice.protocol(choice));
            rows[row + OperationProfiler.CHANNELS] = Choice.channels(choice);
            return row;
        }

        private static long address(DataBuffer buffer) {
            return buffer == null || HeapStaging.isHeap(buffer) ? 0 : buffer.address();
        }
    }
}

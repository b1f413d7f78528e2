package io.jccl.runtime;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.Group;
import io.jccl.MemoryUsage;
import io.jccl.PeerTransport;
import io.jccl.ReduceOp;
import io.jccl.Work;
import io.jccl.init.Formation;
import io.jccl.init.FormedCommunicator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** A communicator on the host: hands every call to the class that knows about it. */
final class CommunicatorImpl implements Communicator {

    private final FormedCommunicator formed;
    private final FailureState failures;
    private final HeapStaging staging = new HeapStaging();
    private final OperationQueue queue;
    private final OperationFactory factory;
    private final Stalls stalls;
    private final AtomicBoolean closing = new AtomicBoolean();
    private volatile boolean closed;

    private CommunicatorImpl(FormedCommunicator formed) {
        this.formed = formed;
        this.failures = new FailureState(
                formed.rank(), formed.engine(), formed.membership().control());
        String name = "jccl-" + formed.id() + "-rank" + formed.rank();
        this.queue = new OperationQueue(name, formed.engine(), failures, Deadlines.nanos(formed.timeout()));
        this.factory = new OperationFactory(queue, formed.choices(), staging, formed.rank(), formed.size());
        this.stalls = new Stalls(queue, formed.engine(), formed.membership().control());
    }

    /** The communicator of what was formed, with the threads that work for it. */
    static Communicator started(FormedCommunicator formed) {
        CommunicatorImpl communicator = new CommunicatorImpl(formed);
        communicator.start();
        return communicator;
    }

    private void start() {
        failures.describeWith(stalls::describe);
        formed.membership().control().start(new EngineStatus(formed.rank(), formed.engine()), failures::onVerdict);
        queue.start();
        Watch.SHARED.add(stalls);
    }

    @Override
    public int rank() {
        return formed.rank();
    }

    @Override
    public int size() {
        return formed.size();
    }

    @Override
    public String id() {
        return formed.id();
    }

    /** Takes the right to issue; the caller gives it back with {@link #end}, unless this throws. */
    private void begin() {
        queue.beginIssue();
        if (closed || failures.current() != null) {
            queue.endIssue();
            if (closed) {
                throw new IllegalStateException("communicator=" + formed.id() + " rank=" + formed.rank()
                        + " is closed: issue operations before close()");
            }
            failures.check();
        }
    }

    private void end() {
        queue.endIssue();
    }

    @Override
    public Work allReduce(DataBuffer send, DataBuffer recv, ReduceOp op) {
        begin();
        try {
            return queue.append(factory.allReduce(send, recv, op));
        } finally {
            end();
        }
    }

    @Override
    public Work reduce(DataBuffer send, DataBuffer recv, ReduceOp op, int root) {
        begin();
        try {
            return queue.append(factory.reduce(send, recv, op, root));
        } finally {
            end();
        }
    }

    @Override
    public Work broadcast(DataBuffer send, DataBuffer recv, int root) {
        begin();
        try {
            return queue.append(factory.broadcast(send, recv, root));
        } finally {
            end();
        }
    }

    @Override
    public Work allGather(DataBuffer send, DataBuffer recv) {
        begin();
        try {
            return queue.append(factory.allGather(send, recv));
        } finally {
            end();
        }
    }

    @Override
    public Work allGatherV(DataBuffer send, DataBuffer recv, long[] counts) {
        begin();
        try {
            return queue.append(factory.allGatherV(send, recv, counts));
        } finally {
            end();
        }
    }

    @Override
    public Work reduceScatter(DataBuffer send, DataBuffer recv, ReduceOp op) {
        begin();
        try {
            return queue.append(factory.reduceScatter(send, recv, op));
        } finally {
            end();
        }
    }

    @Override
    public Work reduceScatterV(DataBuffer send, DataBuffer recv, long[] counts, ReduceOp op) {
        begin();
        try {
            return queue.append(factory.reduceScatterV(send, recv, counts, op));
        } finally {
            end();
        }
    }

    @Override
    public Work allToAll(DataBuffer send, DataBuffer recv) {
        begin();
        try {
            return queue.append(factory.allToAll(send, recv));
        } finally {
            end();
        }
    }

    @Override
    public Work allToAllV(
            DataBuffer send,
            long[] sendCounts,
            long[] sendOffsets,
            DataBuffer recv,
            long[] recvCounts,
            long[] recvOffsets) {
        begin();
        try {
            return queue.append(factory.allToAllV(send, sendCounts, sendOffsets, recv, recvCounts, recvOffsets));
        } finally {
            end();
        }
    }

    @Override
    public Work gather(DataBuffer send, DataBuffer recv, int root) {
        begin();
        try {
            return queue.append(factory.gather(send, recv, root));
        } finally {
            end();
        }
    }

    @Override
    public Work scatter(DataBuffer send, DataBuffer recv, int root) {
        begin();
        try {
            return queue.append(factory.scatter(send, recv, root));
        } finally {
            end();
        }
    }

    @Override
    public Work send(int peer, DataBuffer buffer) {
        begin();
        try {
            return queue.append(factory.send(peer, buffer));
        } finally {
            end();
        }
    }

    @Override
    public Work recv(int peer, DataBuffer buffer) {
        begin();
        try {
            return queue.append(factory.recv(peer, buffer));
        } finally {
            end();
        }
    }

    @Override
    public Work barrier() {
        begin();
        try {
            return queue.append(factory.barrier());
        } finally {
            end();
        }
    }

    @Override
    public Work group(Consumer<Group> body) {
        begin();
        try {
            GroupBuilder group = new GroupBuilder(factory);
            try {
                body.accept(group);
            } finally {
                group.end();
            }
            return queue.append(group.operation(queue));
        } finally {
            end();
        }
    }

    @Override
    public Optional<Communicator> split(int color, int key) {
        begin();
        try {
            queue.drain();
            failures.check();
            return Formation.split(formed, color, key).map(CommunicatorImpl::started);
        } finally {
            end();
        }
    }

    @Override
    public void abort() {
        if (!closed) {
            failures.abort();
        }
    }

    @Override
    public MemoryUsage memoryUsage() {
        return EngineMemory.usage(formed.engine(), staging.bytes());
    }

    @Override
    public List<PeerTransport> transports() {
        return formed.transports();
    }

    @Override
    public void close() {
        if (closing.compareAndSet(false, true)) {
            Closing.close(formed, queue, failures, staging, stalls, () -> closed = true);
        }
    }

    @Override
    public String toString() {
        return "Communicator[id=" + formed.id() + ", rank=" + formed.rank() + ", size=" + formed.size() + "]";
    }
}

package io.jccl.runtime;

import io.jccl.Communicator;
import io.jccl.DeviceException;
import io.jccl.DeviceStream;
import io.jccl.InterruptedCommunicationException;
import io.jccl.MemoryUsage;
import io.jccl.PeerTransport;
import io.jccl.Quorum;
import io.jccl.StreamOperations;
import io.jccl.Work;
import io.jccl.init.CommunicatorInitializer;
import io.jccl.init.ConnectedDevice;
import io.jccl.init.InitializedCommunicator;
import io.jccl.nativelib.DeviceEngine;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.concurrent.atomic.AtomicBoolean;

/** A communicator: hands every call to the class that knows about it. */
final class CommunicatorImpl extends IssuedOperations implements Communicator {

    private final InitializedCommunicator formed;
    private final FailureState failures;
    private final HeapStaging staging = new HeapStaging();
    private final OperationQueue queue;
    private final OperationFactory factory;
    private final DeviceOperations device; // null where this rank has no device
    private final EngineStatus status;
    private final Stalls stalls;
    private final Optional<DeviceStalls> deviceStalls;
    private final Watch.Watched queueCheck;
    private final AtomicBoolean closing = new AtomicBoolean();
    private volatile boolean closed;

    private CommunicatorImpl(InitializedCommunicator formed) {
        this.formed = formed;
        Optional<DeviceEngine> deviceEngine = formed.device().map(ConnectedDevice::engine);
        this.failures = new FailureState(
                formed.rank(),
                formed.engine(),
                formed.device(),
                formed.membership().control());
        String name = "jccl-" + formed.id() + "-rank" + formed.rank();
        long timeoutNanos = Deadlines.nanos(formed.timeout());
        this.queue = new OperationQueue(name, formed.engine(), failures, timeoutNanos);
        Optional<DeviceOperations> kernels =
                formed.device().map(it -> new DeviceIssuer(queue, it, failures, timeoutNanos));
        this.device = kernels.or(() -> formed.stagedDevice()
                        .map(it ->
                                new StagedIssuer(queue, it, formed.choices(), failures, formed.rank(), formed.size())))
                .orElse(null);
        this.factory =
                new OperationFactory(queue, formed.choices(), staging, formed.rank(), formed.size(), device, null);
        this.status = new EngineStatus(formed.rank(), formed.engine(), deviceEngine);
        this.queueCheck = now -> queue.check();
        this.stalls = new Stalls(queue, formed.engine(), formed.membership().control());
        this.deviceStalls = deviceEngine.map(
                it -> new DeviceStalls(it, status, formed.membership().control()));
    }

    /** The communicator of what was formed, with the threads that work for it. */
    static Communicator started(InitializedCommunicator formed) {
        CommunicatorImpl communicator = new CommunicatorImpl(formed);
        communicator.start();
        return communicator;
    }

    private void start() {
        failures.describeWith(this::inFlight);
        formed.membership().control().start(status, failures::onVerdict);
        queue.start();
        Watch.SHARED.add(queueCheck);
        Watch.SHARED.add(stalls);
        deviceStalls.ifPresent(Watch.SHARED::add);
    }

    private void unwatch() {
        Watch.SHARED.remove(queueCheck);
        Watch.SHARED.remove(stalls);
        deviceStalls.ifPresent(Watch.SHARED::remove);
    }

    private String inFlight() {
        String onHost = stalls.describe();
        return onHost.isEmpty() ? deviceStalls.map(DeviceStalls::describe).orElse("") : onHost;
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
    @Override
    void begin() {
        beginUnlessClosed();
        if (failures.current() != null) {
            queue.endIssue();
            failures.check();
        }
    }

    private void beginUnlessClosed() {
        queue.beginIssue();
        if (closed) {
            queue.endIssue();
            throw new IllegalStateException("communicator=" + formed.id() + " rank=" + formed.rank()
                    + " is closed: issue operations before close()");
        }
    }

    @Override
    void end() {
        queue.endIssue();
    }

    @Override
    OperationFactory factory() {
        return factory;
    }

    @Override
    Work append(Operation operation) {
        return queue.append(operation);
    }

    @Override
    public StreamOperations on(DeviceStream stream) {
        if (stream == null) {
            throw new IllegalArgumentException(
                    "stream=null: expected a stream; DeviceStream.DEFAULT is the default one");
        }
        if (device == null) {
            throw new DeviceException(
                    "stream=" + stream + ": this communicator's ranks have no GPU, so no stream orders"
                            + " its operations; give every rank one with CommunicatorConfig.device or JCCL_DEVICE");
        }
        return new StreamIssuer(this, factory.on(stream));
    }

    @Override
    public Optional<Communicator> split(int color, int key) {
        begin();
        try {
            drain("split");
            failures.check();
            return VirtualThreads.callOnPlatformThread("jccl-split", () -> CommunicatorInitializer.split(formed, color, key))
                    .map(CommunicatorImpl::started);
        } finally {
            end();
        }
    }

    @Override
    public Communicator shrink(Collection<Integer> excludedRanks, Quorum quorum) {
        Checks.required(
                "quorum", quorum, "how many ranks must be left; Quorum.MAJORITY unless the application knows better");
        boolean needsMajority = quorum == Quorum.MAJORITY && failures.current() != null;
        if (needsMajority) {
            CommunicatorInitializer.requireNotLeftOut(formed);
        }
        SortedSet<Integer> excluded = Checks.excluded(excludedRanks, formed.rank(), formed.size());
        beginUnlessClosed();
        try {
            drain("shrink");
            if (device != null && failures.current() == null) {
                device.drain();
            }
            return started(VirtualThreads.callOnPlatformThread(
                    "jccl-shrink", () -> CommunicatorInitializer.shrink(formed, excluded, needsMajority)));
        } finally {
            end();
        }
    }

    /** All ranks call what follows: one that does not for an interrupt must not be waited for. */
    private void drain(String before) {
        try {
            queue.drain();
        } catch (InterruptedCommunicationException e) {
            failures.interrupted(before);
            throw e;
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
        return EngineMemory.usage(formed.engine(), staging.bytes() + (device == null ? 0 : device.stagingBytes()));
    }

    @Override
    public List<PeerTransport> transports() {
        return formed.transports();
    }

    @Override
    public void close() {
        if (closing.compareAndSet(false, true)) {
            Closing.close(formed, queue, device, failures, staging, this::unwatch, () -> closed = true);
        }
    }

    @Override
    public String toString() {
        return "Communicator[id=" + formed.id() + ", rank=" + formed.rank() + ", size=" + formed.size() + "]";
    }
}

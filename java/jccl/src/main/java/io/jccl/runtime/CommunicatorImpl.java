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
import io.jccl.bootstrap.ControlNetwork;
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
public final class CommunicatorImpl extends IssuedOperations implements Communicator {

    private final InitializedCommunicator formed;
    private final FailureState failures;
    private final OperationQueue queue;
    private final HostBackend host;
    private final Backend device; // null where this rank has no device
    private final Issuing<Work> issuing;
    private final EngineStatus status;
    private final List<StallDetector<?>> stalls;
    private final Watchdog.Watched queueCheck;
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
        this.host = new HostBackend(queue, formed.choices(), formed.size());
        Optional<Backend> kernels =
                formed.device().map(it -> new KernelBackend(queue, it, failures, timeoutNanos, formed.size()));
        this.device = kernels.or(() -> formed.stagedDevice()
                        .map(it ->
                                new StagedBackend(queue, it, formed.choices(), failures, formed.rank(), formed.size())))
                .orElse(null);
        this.issuing = new OnStream(null);
        this.status = new EngineStatus(formed.rank(), formed.engine(), deviceEngine);
        this.queueCheck = now -> queue.check();
        ControlNetwork control = formed.membership().control();
        StallDetector<?> ofQueue = StallDetector.ofQueue(queue, control);
        this.stalls = deviceEngine
                .<List<StallDetector<?>>>map(it -> List.of(ofQueue, StallDetector.ofDevice(it, status, control)))
                .orElse(List.of(ofQueue));
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
        Watchdog.SHARED.add(queueCheck);
        stalls.forEach(Watchdog.SHARED::add);
    }

    private void unwatch() {
        Watchdog.SHARED.remove(queueCheck);
        stalls.forEach(Watchdog.SHARED::remove);
    }

    private String inFlight() {
        return stalls.stream()
                .map(StallDetector::describe)
                .filter(text -> !text.isEmpty())
                .findFirst()
                .orElse("");
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

    /** The right to issue on a stream, for callers that have called {@link #begin}. */
    final class OnStream implements Issuing<Work> {

        private final DeviceStream stream; // null: the communicator's own
        private final CallFactory factory;

        OnStream(DeviceStream stream) {
            this.stream = stream;
            this.factory = new CallFactory(formed.rank(), formed.size(), device != null, stream);
        }

        @Override
        public CallFactory factory() {
            return factory;
        }

        @Override
        public Work issue(OperationCall call) {
            return (call.isOnDevice() ? device : host).issue(call, stream);
        }

        @Override
        public void close() {
            queue.endIssue();
        }
    }

    /** Takes the right to issue; the caller gives it back, unless this throws. */
    @Override
    Issuing<Work> begin() {
        beginUnlessClosed();
        if (failures.current() != null) {
            queue.endIssue();
            failures.check();
        }
        return issuing;
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
        return new StreamIssuer(this, stream);
    }

    @Override
    public Optional<Communicator> split(int color, int key) {
        begin();
        try {
            drain("split");
            failures.check();
            return VirtualThreads.callOnPlatformThread(
                            "jccl-split", () -> CommunicatorInitializer.split(formed, color, key))
                    .map(CommunicatorImpl::started);
        } finally {
            queue.endIssue();
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
            queue.endIssue();
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
        long stagingBytes = host.stagingBytes() + (device == null ? 0 : device.stagingBytes());
        long[] row = formed.engine().memoryUsage(); // reserved, resident, network; empty once the engine is destroyed
        return row.length < 3
                ? new MemoryUsage(0, 0, 0, stagingBytes)
                : new MemoryUsage(row[0], row[1], row[2], stagingBytes);
    }

    @Override
    public List<PeerTransport> transports() {
        return formed.transports();
    }

    @Override
    public void close() {
        if (closing.compareAndSet(false, true)) {
            Closing.close(formed, queue, host, device, failures, this::unwatch, () -> closed = true);
        }
    }

    @Override
    public String toString() {
        return "Communicator[id=" + formed.id() + ", rank=" + formed.rank() + ", size=" + formed.size() + "]";
    }
}

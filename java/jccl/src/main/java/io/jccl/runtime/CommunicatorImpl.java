package io.jccl.runtime;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.CommunicatorMetrics;
import io.jccl.DataBuffer;
import io.jccl.DeviceException;
import io.jccl.DeviceStream;
import io.jccl.Group;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.MemoryUsage;
import io.jccl.Messages;
import io.jccl.PeerTransport;
import io.jccl.Quorum;
import io.jccl.Registration;
import io.jccl.StreamOperations;
import io.jccl.SymmetricMemory;
import io.jccl.TimedOperations;
import io.jccl.Window;
import io.jccl.WireFormat;
import io.jccl.Work;
import io.jccl.control.ControlNetwork;
import io.jccl.control.ReportKind;
import io.jccl.events.CommunicatorSpan;
import io.jccl.events.JfrEvents;
import io.jccl.events.LogContext;
import io.jccl.init.CommunicatorInitializer;
import io.jccl.init.InitializedCommunicator;
import io.jccl.internal.Arguments;
import io.jccl.internal.Releases;
import io.jccl.membership.JobMembers;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.DeviceEngine;
import io.jccl.nativelib.NativeMessages;
import io.jccl.nativelib.NativeWindow;
import io.jccl.wire.RankList;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Implements a communicator by passing every call to the class that does the work. */
@SuppressWarnings("try") // the log context has its effect while it is open
public final class CommunicatorImpl extends CheckedOperations<Work> implements Communicator {

    private final InitializedCommunicator initialized;
    private final FailureState failures;
    private final OperationQueue queue;
    private final FlightRecorder recorder;
    private final HostBackend host;
    private final Backend device; // null if this rank has no device
    private final Issuer issuer;
    private final EngineStatus status;
    private final List<StallDetector<?>> stalls;
    private final Optional<DeviceDeadline> deviceDeadline;
    private final Watchdog.Watched queueCheck;
    private final AtomicBoolean closing = new AtomicBoolean();
    private volatile boolean closed;
    private volatile long[] counted = {}; // counters at the time of close()
    private final AtomicInteger windowNumber = new AtomicInteger();
    private final Set<WindowAllocation> windows = ConcurrentHashMap.newKeySet(); // keeps their memory reachable
    private final Object connectingLock = new Object(); // held while windows or messages make connections
    private volatile MessagePassing messages; // null before the first call of messages()
    private boolean reportedWindows; // used by the watchdog
    private volatile boolean childFailed; // a split, shrink or reform failed: others may continue without this rank

    private CommunicatorImpl(InitializedCommunicator initialized) {
        this.initialized = initialized;
        Optional<DeviceEngine> deviceEngine = initialized.device().isPresent()
                ? Optional.of(initialized.device().get().engine())
                : Optional.empty();
        this.status = new EngineStatus(initialized.rank(), initialized.host().engine(), deviceEngine);
        this.failures = new FailureState(
                initialized.id(),
                initialized.rank(),
                initialized.host().engine(),
                initialized.device(),
                initialized.membership().control());
        String name = "jccl-" + initialized.id() + "-rank" + initialized.rank();
        long timeoutNanos = Deadlines.nanos(initialized.facts().timeout());
        OperationEvents events = new OperationEvents(
                initialized.id(), initialized.rank(), initialized.size(), status, initialized.profiler());
        this.queue = new OperationQueue(name, initialized.host().engine(), events, failures, timeoutNanos);
        this.recorder = new FlightRecorder(initialized, status, queue.issues(), this::outstandingMessages);
        this.host = new HostBackend(queue, initialized.host().choices(), initialized.rank(), initialized.size());
        this.device = deviceBackend(timeoutNanos);
        if (device == null) {
            NativeWindow.attach(initialized.host().engine());
            NativeMessages.attach(initialized.host().engine());
        }
        this.issuer = issuer(null, null);
        this.queueCheck = now -> {
            queue.check();
            checkWindows();
        };
        ControlNetwork control = initialized.membership().control();
        StallDetector<?> ofQueue = StallDetector.ofQueue(queue, control);
        this.deviceDeadline = deviceEngine.map(engine -> new DeviceDeadline(engine, control, timeoutNanos));
        this.stalls = deviceEngine.isPresent()
                ? List.of(ofQueue, StallDetector.ofDevice(deviceEngine.get(), status, control))
                : List.of(ofQueue);
    }

    /** Returns the backend for device memory; null if this rank has no device. */
    private Backend deviceBackend(long timeoutNanos) {
        int size = initialized.size();
        if (initialized.device().isPresent()) {
            return new KernelBackend(queue, initialized.device().get(), failures, timeoutNanos, size);
        }
        return initialized.stagedDevice().isPresent()
                ? new StagedBackend(
                        queue,
                        initialized.stagedDevice().get(),
                        initialized.host().choices(),
                        failures,
                        initialized.rank(),
                        size)
                : null;
    }

    /** Creates a communicator from the result of its initialisation, and starts its threads. */
    static Communicator started(InitializedCommunicator initialized) {
        CommunicatorImpl communicator = new CommunicatorImpl(initialized);
        try {
            communicator.start();
            return communicator;
        } catch (JcclException e) {
            initialized.membership().control().report(ReportKind.ABORT, 0, e.getMessage());
            communicator.abort();
            communicator.close();
            throw e;
        }
    }

    private void start() {
        failures.describeWith(this::inFlight);
        failures.dumpWith(recorder);
        initialized.membership().control().start(status, failures);
        if (initialized.device().isPresent()) {
            queue.start(); // operations on streams must not meet a thread that cannot be started
        }
        initialized
                .status()
                .started(new LiveView(
                        status,
                        stalls,
                        failures,
                        recorder,
                        this::metrics,
                        this::outstandingMessages,
                        initialized.host().transports()));
        Watchdog.SHARED.add(queueCheck);
        deviceDeadline.ifPresent(Watchdog.SHARED::add);
        for (StallDetector<?> stall : stalls) {
            Watchdog.SHARED.add(stall);
        }
    }

    private void unwatch() {
        failures.check();
        counted = initialized.host().engine().counters();
        Watchdog.SHARED.remove(queueCheck);
        deviceDeadline.ifPresent(Watchdog.SHARED::remove);
        for (StallDetector<?> stall : stalls) {
            Watchdog.SHARED.remove(stall);
        }
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
        return initialized.rank();
    }

    @Override
    public int size() {
        return initialized.size();
    }

    @Override
    public String name() {
        String given = initialized.config().name();
        return given.isEmpty() ? initialized.membership().isPart() ? "split" : "world" : given;
    }

    @Override
    public String id() {
        return initialized.id();
    }

    @Override
    public WireFormat wireFormat() {
        return initialized.facts().wireFormat();
    }

    private Issuer issuer(DeviceStream stream, Duration timeout) {
        CallFactory factory =
                new CallFactory(initialized.rank(), initialized.size(), device != null, stream, wireFormat());
        return new Issuer(this, factory, stream, timeout);
    }

    /** Returns the backend that executes a call. */
    Backend backendOf(OperationCall call) {
        return call.isOnDevice() ? device : host;
    }

    @Override
    IssueRight<Work> begin(@Nullable DataBuffer first, @Nullable DataBuffer second) {
        return issuer.begin(first, second);
    }

    @Override
    IssueRight<Work> begin(@Nullable List<DataBuffer> buffers) {
        return issuer.begin(buffers);
    }

    /** Throws if no operation may be issued now. */
    private void requireUsable() {
        beginIssue();
        endIssue();
    }

    @Override
    public Work group(Consumer<Group> body) {
        return issuer.group(body);
    }

    /** Takes the right to issue, which {@link #endIssue} gives back, unless this throws. */
    void beginIssue() {
        beginUnlessClosed();
        if (failures.current() != null) {
            queue.endIssue();
            failures.requireNone();
        }
    }

    void endIssue() {
        queue.endIssue();
    }

    private void beginUnlessClosed() {
        queue.beginIssue();
        if (closed) {
            queue.endIssue();
            throw new IllegalStateException("communicator=" + initialized.id() + " rank=" + initialized.rank()
                    + " is closed: issue operations before close()");
        }
    }

    @Override
    public StreamOperations on(DeviceStream stream) {
        Arguments.required("stream", stream, "a stream; DeviceStream.DEFAULT is the default one");
        if (device == null) {
            throw new DeviceException(
                    "stream=" + stream + ": this communicator's ranks have no GPU, so no stream orders"
                            + " its operations; give every rank one with CommunicatorConfig.device or JCCL_DEVICE");
        }
        return issuer(stream, null);
    }

    @Override
    public TimedOperations within(Duration timeout) {
        return issuer(null, Checks.timeout(timeout));
    }

    @Override
    public Registration register(DataBuffer buffer) {
        Arguments.required("buffer", buffer, "memory of the host, or of a device as Cuda.buffer returns it");
        if (Releases.isAwaited(buffer)) {
            Releases.settle(buffer);
            throw new IllegalArgumentException(
                    "buffer=" + buffer + ": has a callback, after which it cannot be used, but"
                            + " a registration serves many operations; register a DataBuffer without one");
        }
        if (buffer.memory() == DataBuffer.Memory.HEAP) {
            throw new IllegalArgumentException("memory=" + buffer.memory() + " count=" + buffer.count()
                    + ": a Java array has no lasting address that others could use; use HostBuffer, which all ranks of the"
                    + " host use in place without a registration, or register a direct buffer");
        }
        if (buffer.memory() != DataBuffer.Memory.DEVICE) {
            buffer.address(); // throws if the buffer's memory is closed
            requireUsable(); // throws if this communicator is closed or has failed
            try (LogContext logs = queue.events().logContext()) {
                return new HostRegistrar(this, host).register(buffer);
            }
        }
        if (device == null) {
            throw new DeviceException(
                    "this communicator's ranks have no GPU, so they cannot use device memory; give every"
                            + " rank one with CommunicatorConfig.device or JCCL_DEVICE");
        }
        requireUsable(); // throws if this communicator is closed or has failed
        try (LogContext logs = queue.events().logContext()) {
            return BufferRegistration.of(this, device, buffer);
        }
    }

    @Override
    public SymmetricMemory allocateSymmetric(long bytes) {
        requireUsable(); // throws if this communicator is closed or has failed
        try (LogContext logs = queue.events().logContext()) {
            return SymmetricAllocation.allocate(this, device == null ? host : device, bytes);
        }
    }

    @Override
    public Window allocateWindow(long bytes) {
        requireUsable(); // throws if this communicator is closed or has failed
        if (device != null) {
            throw new DeviceException("bytes=" + bytes + ": the ranks of this communicator have GPUs, and a window is"
                    + " memory of the host; allocate it with a communicator without CommunicatorConfig.device");
        }
        try (LogContext logs = queue.events().logContext()) {
            WindowAllocation window = WindowAllocation.allocate(
                    this,
                    host,
                    failures,
                    windowNumber.getAndIncrement(),
                    bytes,
                    Deadlines.nanos(initialized.facts().timeout()));
            windows.add(window);
            if (closing.get()) {
                window.endUse(); // close() may not have seen the window
            }
            return window;
        }
    }

    @Override
    public Messages messages() {
        MessagePassing started = messages;
        return started != null && !closed ? started : startMessages();
    }

    private void requireOpen() {
        if (closed || closing.get()) {
            throw new IllegalStateException(
                    "communicator=" + id() + " rank=" + rank() + " is closed: call messages() before close()");
        }
    }

    private List<OutstandingMessage> outstandingMessages() {
        MessagePassing started = messages;
        return started == null ? List.of() : started.outstanding();
    }

    private Messages startMessages() {
        if (device != null) {
            throw new DeviceException(
                    "communicator=" + id() + ": the ranks of this communicator have GPUs, and messages"
                            + " are memory of the host; send them with a communicator without CommunicatorConfig.device");
        }
        synchronized (connectingLock) {
            requireOpen();
            if (messages == null) {
                failures.requireNone();
                messages = MessagePassing.start(
                        this,
                        queue.engine(),
                        failures,
                        "jccl-" + id() + "-rank" + rank() + "-messages",
                        Deadlines.nanos(initialized.facts().timeout()));
            }
            return messages;
        }
    }

    /** Reports a network that has failed while peers put or send and this rank computes, so that they do not wait for it. */
    private void checkWindows() {
        if ((!windows.isEmpty() || messages != null)
                && !reportedWindows
                && failures.current() == null
                && NativeWindow.hasNetworkFailed(queue.engine())) {
            reportedWindows = true;
            failures.reportUnmet(Code.TRANSPORT, "messages or one-sided operations");
        }
    }

    /** Removes a window from those whose use ends when the communicator is closed. */
    void forget(WindowAllocation window) {
        windows.remove(window);
    }

    /** Executes a body during which no operation may be issued. Works after a failure, too. */
    <T> T whileNothingIsIssued(Supplier<T> body) {
        queue.beginIssue();
        try {
            synchronized (connectingLock) {
                return body.get();
            }
        } finally {
            queue.endIssue();
        }
    }

    /** Waits for all operations on host memory. The caller has the right to issue. */
    void drainHost() {
        queue.drain();
    }

    /** Removes a registration from those that the communicator ends when it is closed. */
    void forget(HostRegistration registration) {
        host.forget(registration);
    }

    boolean isClosed() {
        return closed;
    }

    boolean hasFailed() {
        return failures.current() != null;
    }

    @Override
    public Optional<Communicator> split(int color, int key, String name) {
        CommunicatorConfig config = initialized.config().toBuilder().name(name).build();
        beginIssue();
        initialized.status().calls("split");
        try {
            drain("split");
            failures.requireNone();
            return VirtualThreads.callOnPlatformThread(
                            "jccl-split", () -> CommunicatorInitializer.split(initialized, color, key, config))
                    .map(CommunicatorImpl::started);
        } catch (JcclException e) {
            childFailed = true;
            throw e;
        } finally {
            initialized.status().called();
            queue.endIssue();
        }
    }

    @Override
    public int generation() {
        return initialized.membership().generation();
    }

    @Override
    public List<String> memberAddresses() {
        return initialized.rendezvousAddresses().stream().map(JobMembers::text).toList();
    }

    @Override
    public Communicator shrink(Collection<Integer> excludedRanks, Quorum quorum) {
        boolean needsMajority = needsMajority(quorum);
        return reform(
                "shrink", Checks.excluded(excludedRanks, initialized.rank(), initialized.size()), 0, needsMajority);
    }

    @Override
    public Communicator reform(Collection<Integer> survivors, int joiners, Quorum quorum) {
        boolean needsMajority = needsMajority(quorum);
        return reform(
                "reform",
                Checks.leaving(survivors, joiners, initialized.rank(), initialized.size()),
                joiners,
                needsMajority);
    }

    @Override
    public Communicator replace(Collection<Integer> excludedRanks) {
        SortedSet<Integer> excluded = Checks.excluded(excludedRanks, initialized.rank(), initialized.size());
        return reform("reform", excluded, excluded.size(), needsMajority(Quorum.MAJORITY));
    }

    private boolean needsMajority(Quorum quorum) {
        Arguments.required(
                "quorum", quorum, "how many ranks must be left; Quorum.MAJORITY unless the application knows better");
        boolean othersMayHaveGoneOn = failures.current() != null
                || childFailed
                || !initialized.membership().isConfirmed();
        boolean needsMajority = quorum == Quorum.MAJORITY && othersMayHaveGoneOn;
        if (needsMajority) {
            CommunicatorInitializer.requireNotLeftOut(initialized);
        }
        return needsMajority;
    }

    private Communicator reform(String call, SortedSet<Integer> excluded, int joiners, boolean needsMajority) {
        beginUnlessClosed();
        initialized
                .status()
                .calls(call + "(excluded=" + RankList.text(excluded)
                        + (joiners == 0 ? ")" : " joiners=" + joiners + ")"));
        try {
            drain(call);
            if (device != null && failures.current() == null) {
                device.drain();
            }
            return started(VirtualThreads.callOnPlatformThread(
                    "jccl-" + call,
                    () -> CommunicatorInitializer.reform(initialized, excluded, joiners, needsMajority)));
        } catch (JcclException e) {
            childFailed = true;
            throw e;
        } finally {
            initialized.status().called();
            queue.endIssue();
        }
    }

    /**
     * Waits for all operations before a call that all ranks make. If an interrupt keeps this rank from that call, the
     * communicator fails, so that the other ranks do not wait for this one.
     */
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
        abort(null);
    }

    @Override
    public void abort(@Nullable String reason) {
        if (!closed) {
            failures.abort(reason);
        }
    }

    @Override
    public Optional<JcclException> failure() {
        return Optional.ofNullable(failures.current()).map(Failure::first);
    }

    @Override
    public void onFailure(Consumer<? super JcclException> listener) {
        failures.onFailure(Arguments.required("listener", listener, "what is called with the cause of a failure"));
    }

    @Override
    public MemoryUsage memoryUsage() {
        long stagingBytes = host.stagingBytes() + (device == null ? 0 : device.stagingBytes());
        long[] row = initialized.host().engine().memoryUsage(); // a row of Rows.MEMORY_LENGTH; empty after destroy()
        return row.length < 3
                ? new MemoryUsage(0, 0, 0, stagingBytes)
                : new MemoryUsage(row[0], row[1], row[2], stagingBytes);
    }

    /**
     * Writes a dump of this rank's last operations for {@code jccl trace}. Any thread may call this at any time.
     *
     * @return the file
     * @throws IOException if the file cannot be written
     */
    Path dump(Path folder) throws IOException {
        return recorder.dump(folder, Optional.ofNullable(failures.current()).map(Failure::first));
    }

    @Override
    public CommunicatorMetrics metrics() {
        long[] now = initialized.host().engine().counters(); // empty after destroy()
        return Metrics.of(now.length == 0 ? counted : now, failures.current() != null);
    }

    @Override
    public List<PeerTransport> transports() {
        return initialized.host().transports();
    }

    @Override
    public void close() {
        queue.requireOutsideUserCode();
        if (closing.compareAndSet(false, true)) {
            CommunicatorSpan span = JfrEvents.beginCommunicator("close");
            try (LogContext logs = queue.events().logContext()) {
                windows.forEach(WindowAllocation::endUse);
                synchronized (connectingLock) {
                    if (messages != null) {
                        messages.endUse();
                    }
                }
                Closing.close(initialized, queue, host, device, failures, this::unwatch, () -> closed = true);
            } finally {
                Failure failure = failures.current();
                span.end(
                        id(),
                        rank(),
                        size(),
                        "",
                        failure == null ? "" : String.valueOf(failure.first().getMessage()));
            }
        }
    }

    @Override
    public String toString() {
        return "Communicator[id=" + initialized.id() + ", rank=" + initialized.rank() + ", size=" + initialized.size()
                + ", generation=" + generation() + "]";
    }
}

package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.InterruptedCommunicationException;
import io.jccl.MessageReceive;
import io.jccl.MessageStatus;
import io.jccl.MessageTooLongException;
import io.jccl.Messages;
import io.jccl.Work;
import io.jccl.internal.Releases;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.Threads;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.NativeEngine;
import io.jccl.nativelib.NativeMessages;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The messages of one communicator. Native code matches and moves them; this class checks arguments, owns the memory of
 * messages and reports failures.
 *
 * <p>Threads that call move everything that can move. A thread of the communicator does so for the rest of the time, and
 * completes futures.
 */
public final class MessagePassing implements Messages {

    private static final long SERVE_NANOS = Duration.ofMillis(100).toNanos();

    private final CommunicatorImpl communicator;
    private final NativeEngine engine;
    private final FailureState failures;
    private final NativeMessages messages;
    private final long timeoutNanos;
    private final MessageMemory.Areas areas = new MessageMemory.Areas();
    private final Set<MessageWork> works = ConcurrentHashMap.newKeySet(); // that are not over; keeps their memory
    // Calls for which a thread has waited longer than a slice; several threads can wait for the same work.
    private final Map<Thread, OutstandingMessage> waits = new ConcurrentHashMap<>();
    private final Queue<MessageWork> awaited = new ConcurrentLinkedQueue<>(); // that have a future
    private volatile boolean ends;

    private MessagePassing(
            CommunicatorImpl communicator,
            NativeEngine engine,
            FailureState failures,
            NativeMessages messages,
            long timeoutNanos) {
        this.communicator = communicator;
        this.engine = engine;
        this.failures = failures;
        this.messages = messages;
        this.timeoutNanos = timeoutNanos;
    }

    /**
     * Starts the messages of a communicator.
     *
     * @param name the name of the thread that moves messages while the application does not
     */
    static MessagePassing start(
            CommunicatorImpl communicator, NativeEngine engine, FailureState failures, String name, long timeoutNanos) {
        MessagePassing started =
                new MessagePassing(communicator, engine, failures, NativeMessages.start(engine), timeoutNanos);
        Threads.start(ServiceThread.repeating(name, started::serve));
        return started;
    }

    long timeoutNanos() {
        return timeoutNanos;
    }

    @Override
    public void send(int peer, int tag, DataBuffer source) {
        try {
            sendUnsettled(peer, tag, source);
        } finally {
            Releases.settle(source);
        }
    }

    private void sendUnsettled(int peer, int tag, DataBuffer source) {
        Checks.onHost("source", Checks.source("source", source));
        begin(peer, tag);
        if (VirtualThreads.isCurrent()) {
            sendAsync(peer, tag, source).await();
            return;
        }
        if (MessageMemory.isCopied(source)) {
            MessageMemory memory = MessageMemory.ofSource(source, areas);
            try {
                send(peer, tag, source, memory.address());
            } finally {
                memory.release();
            }
            return;
        }
        // A small message takes less time than the objects of the other path would.
        source.pin();
        try {
            send(peer, tag, source, source.pinnedAddress());
        } finally {
            source.unpin();
            Reference.reachabilityFence(source);
        }
    }

    private void send(int peer, int tag, DataBuffer source, long address) {
        long request = messages.send(peer, tag, address, source.bytes(), false);
        if (request == 0) {
            return;
        }
        requireStarted(request, () -> describeSend(peer, tag, source));
        await(request, true, () -> describeSend(peer, tag, source));
        NativeMessages.free(request);
    }

    /**
     * Waits until a request of this thread is over. Frees the request before it throws.
     *
     * @param isSend true if an interrupt fails the communicator whether or not the message has matched
     */
    private void await(long request, boolean isSend, Supplier<String> call) {
        long begun = System.nanoTime();
        long deadline = begun + timeoutNanos;
        try {
            for (; ; ) {
                long left = deadline - System.nanoTime();
                int code = messages.await(request, Deadlines.slice(left));
                if (code == Code.OK) {
                    return;
                }
                noteWait(call, begun);
                if (code != Code.TIMEOUT || left <= 0) {
                    waitEnded(code, call.get(), timeoutNanos, () -> messages.describe(request));
                }
                if (Thread.currentThread().isInterrupted()) {
                    interrupt(request, isSend, call.get());
                }
            }
        } catch (Throwable e) {
            messages.abandon(request);
            throw e;
        } finally {
            endWait();
        }
    }

    /** Notes that this thread waits for a call. */
    void noteWait(Supplier<String> call, long begun) {
        waits.computeIfAbsent(Thread.currentThread(), thread -> new OutstandingMessage(call.get(), begun, true));
    }

    /** Notes that this thread waits no longer. */
    void endWait() {
        if (!waits.isEmpty()) {
            waits.remove(Thread.currentThread());
        }
    }

    /** Returns the calls that are not over, the oldest first. Calls that began in the last milliseconds may be missing. */
    List<OutstandingMessage> outstanding() {
        List<OutstandingMessage> all = new ArrayList<>(waits.values());
        works.forEach(work -> all.add(new OutstandingMessage(work.call(), work.begunNanos(), false)));
        long now = System.nanoTime();
        all.sort(Comparator.comparingLong(one -> one.begunNanos() - now));
        return all;
    }

    private void interrupt(long request, boolean isSend, String call) {
        if (!isSend && messages.cancel(request)) {
            throw new InterruptedCommunicationException(
                    call + ": the thread was interrupted, and no message was received; messages can be used further");
        }
        if (NativeMessages.state(request, null) > NativeMessages.MOVING) {
            return;
        }
        messages.end();
        failures.interrupted(call);
        throw failures.current().exception();
    }

    @Override
    public MessageStatus receive(int source, int tag, DataBuffer target) {
        try {
            return receiveUnsettled(source, tag, target);
        } finally {
            Releases.settle(target);
        }
    }

    private MessageStatus receiveUnsettled(int source, int tag, DataBuffer target) {
        requireTarget(target);
        beginReceive(source, tag);
        if (VirtualThreads.isCurrent()) {
            return receiveOnVirtualThread(source, tag, target);
        }
        if (MessageMemory.isCopied(target)) {
            return receiveCopied(source, tag, target, MessageMemory.ofTarget(target, areas), false)
                    .orElseThrow();
        }
        target.pin();
        try {
            long[] status = new long[3];
            long request = messages.receive(
                    source, tag, target.pinnedAddress(), target.bytes(), Deadlines.SLICE_NANOS, status);
            return received(request, source, tag, target, status);
        } finally {
            target.unpin();
            Reference.reachabilityFence(target);
        }
    }

    /** Receives into memory that this method gives back; with {@code onlyArrived} as {@link #tryReceive}. */
    private Optional<MessageStatus> receiveCopied(
            int source, int tag, DataBuffer target, MessageMemory memory, boolean onlyArrived) {
        MessageStatus got = null;
        try {
            long[] status = new long[3];
            long request = onlyArrived
                    ? messages.tryReceive(source, tag, memory.address(), target.bytes())
                    : messages.receive(source, tag, memory.address(), target.bytes(), Deadlines.SLICE_NANOS, status);
            if (onlyArrived && request == 0) {
                return Optional.empty();
            }
            got = received(request, source, tag, target, status);
            return Optional.of(got);
        } finally {
            if (got != null) {
                memory.receive(got.bytes());
            } else {
                memory.release();
            }
        }
    }

    /** Returns the message of a receive, and waits for it if necessary. */
    private MessageStatus received(long request, int source, int tag, DataBuffer target, long[] status) {
        if (request < NativeMessages.REFUSED) {
            return NativeMessages.unpack(request);
        }
        if (request != 0) {
            requireStarted(request, () -> describeReceive(source, tag, target));
            int state = NativeMessages.finish(request, status);
            if (state == NativeMessages.WAITING || state == NativeMessages.MOVING) {
                await(request, false, () -> describeReceive(source, tag, target));
                state = NativeMessages.finish(request, status);
            }
            if (state == NativeMessages.TOO_LONG) {
                throw tooLong(message(status), target);
            }
        }
        return message(status);
    }

    private static MessageStatus message(long[] status) {
        return new MessageStatus((int) status[0], (int) status[1], status[2]);
    }

    private MessageStatus receiveOnVirtualThread(int source, int tag, DataBuffer target) {
        MessageReceive receive = receiveAsync(source, tag, target);
        try {
            return receive.receive();
        } catch (InterruptedCommunicationException e) {
            if (receive.cancel()) {
                throw e;
            }
            failures.interrupted(describeReceive(source, tag, target));
            throw failures.current().exception();
        }
    }

    static MessageTooLongException tooLong(MessageStatus message, DataBuffer target) {
        return new MessageTooLongException("source=" + message.source() + " tag=" + message.tag() + " bytes="
                + message.bytes() + ": the message is longer than the buffer of bytes=" + target.bytes()
                + ", and was dropped; use probe() to learn the length before the receive");
    }

    @Override
    public Work sendAsync(int peer, int tag, DataBuffer source) {
        return sendAsync(peer, tag, source, false);
    }

    @Override
    public Work sendMatchedAsync(int peer, int tag, DataBuffer source) {
        return sendAsync(peer, tag, source, true);
    }

    private Work sendAsync(int peer, int tag, DataBuffer source, boolean isOffered) {
        try {
            Checks.onHost("source", Checks.source("source", source));
            begin(peer, tag);
            MessageMemory memory = MessageMemory.ofSource(source, areas);
            return start(
                    describeSend(peer, tag, source),
                    true,
                    memory,
                    () -> messages.send(peer, tag, memory.address(), source.bytes(), isOffered));
        } finally {
            Releases.settle(source);
        }
    }

    @Override
    public MessageReceive receiveAsync(int source, int tag, DataBuffer target) {
        try {
            requireTarget(target);
            beginReceive(source, tag);
            MessageMemory memory = MessageMemory.ofTarget(target, areas);
            return start(
                    describeReceive(source, tag, target),
                    false,
                    memory,
                    () -> messages.receive(source, tag, memory.address(), target.bytes(), 0, null));
        } finally {
            Releases.settle(target);
        }
    }

    private MessageWork start(String call, boolean sends, MessageMemory memory, LongSupplier start) {
        MessageWork work;
        long request = 0;
        try {
            request = start.getAsLong();
            requireStarted(request, () -> call);
            work = new MessageWork(this, call, sends, memory, request);
            if (request == 0) {
                memory.release();
                return work;
            }
            works.add(work);
        } catch (Throwable e) {
            if (request != 0 && request != NativeMessages.REFUSED) {
                messages.abandon(request);
            }
            memory.release();
            throw e;
        }
        if (work.isOver()) {
            works.remove(work);
        } else if (ends) {
            fail(work);
        }
        return work;
    }

    @Override
    public Optional<MessageStatus> tryReceive(int source, int tag, DataBuffer target) {
        try {
            return tryReceiveUnsettled(source, tag, target);
        } finally {
            Releases.settle(target);
        }
    }

    private Optional<MessageStatus> tryReceiveUnsettled(int source, int tag, DataBuffer target) {
        requireTarget(target);
        beginReceive(source, tag);
        return receiveCopied(source, tag, target, MessageMemory.ofTarget(target, areas), true);
    }

    @Override
    public MessageStatus probe(int source, int tag) {
        beginReceive(source, tag);
        try {
            return probeUntilEnd(source, tag);
        } finally {
            endWait();
        }
    }

    private MessageStatus probeUntilEnd(int source, int tag) {
        long begun = System.nanoTime();
        long deadline = begun + timeoutNanos;
        boolean isVirtual = VirtualThreads.isCurrent();
        long[] status = new long[3];
        for (; ; ) {
            long left = deadline - System.nanoTime();
            int code = messages.probe(source, tag, isVirtual ? 0 : Deadlines.slice(left), status);
            if (code == Code.OK) {
                return message(status);
            }
            String call = "probe(source=" + text(source) + " tag=" + text(tag) + ")";
            noteWait(() -> call, begun);
            if (code != Code.TIMEOUT || left <= 0) {
                waitEnded(code, call, timeoutNanos, () -> "no such message has arrived");
            }
            if (Thread.currentThread().isInterrupted()) {
                throw new InterruptedCommunicationException(
                        call + ": the thread was interrupted; messages can be used further");
            }
            if (isVirtual) {
                VirtualThreads.pause(this);
            }
        }
    }

    @Override
    public Optional<MessageStatus> tryProbe(int source, int tag) {
        beginReceive(source, tag);
        long[] status = new long[3];
        int code = messages.probe(source, tag, 0, status);
        if (code == Code.TIMEOUT) {
            return Optional.empty();
        }
        if (code != Code.OK) {
            waitEnded(code, "tryProbe(source=" + text(source) + " tag=" + text(tag) + ")", timeoutNanos, () -> "");
        }
        return Optional.of(message(status));
    }

    // What MessageWork uses.

    void test(MessageWork work, long request) {
        messages.test(request);
        if (failures.current() != null && !work.isOver()) {
            messages.end();
            fail(work);
        }
    }

    int await(long request, long nanos) {
        return messages.await(request, nanos);
    }

    boolean cancel(long request) {
        return messages.cancel(request);
    }

    String describe(long request) {
        return messages.describe(request);
    }

    void completeLater(MessageWork work) {
        awaited.add(work);
        messages.wake();
    }

    void forget(MessageWork work) {
        works.remove(work);
    }

    /**
     * Throws after a wait that has not brought a message: the communicator fails, unless it is closed.
     *
     * @param why describes what has not happened
     */
    void waitEnded(int code, String call, long timeout, Supplier<String> why) {
        if (code == Code.INVALID || communicator.isClosed()) {
            throw closed();
        }
        String reason = code == Code.TIMEOUT
                ? "not over after millis=" + Duration.ofNanos(timeout).toMillis() + ": " + why.get()
                : NativeEngine.callError();
        messages.end();
        throw failures.ended(code, call, engine.lastEntered(), timeout, () -> reason)
                .exception();
    }

    // The thread.

    private boolean serve() {
        messages.serve(SERVE_NANOS, !awaited.isEmpty());
        if (ends) {
            return false;
        }
        if (failures.current() != null && !works.isEmpty()) {
            messages.end();
            works.forEach(this::fail);
        }
        for (MessageWork work : awaited) {
            work.refresh();
        }
        awaited.removeIf(MessageWork::isOver);
        works.forEach(MessageWork::refresh);
        return true;
    }

    private void fail(MessageWork work) {
        if (ends) {
            messages.awaitEnd();
        }
        Failure failure = failures.current();
        work.fail(failure == null ? closed() : failure.exception());
    }

    /** Ends all messages, because the communicator is being closed. */
    void endUse() {
        ends = true;
        messages.wake();
        messages.endUse();
        works.forEach(this::fail);
        areas.close();
    }

    // Checks.

    private void begin(int peer, int tag) {
        Checks.peer(peer, communicator.size());
        if (tag < 0) {
            throw new IllegalArgumentException("tag=" + tag + ": expected a tag of at least 0");
        }
        requireOpen();
    }

    private void beginReceive(int source, int tag) {
        if (source != ANY) {
            Checks.peer(source, communicator.size());
        }
        if (tag < ANY) {
            throw new IllegalArgumentException("tag=" + tag + ": expected a tag of at least 0, or Messages.ANY");
        }
        requireOpen();
    }

    private void requireOpen() {
        if (ends) {
            throw closed();
        }
        failures.requireNone();
    }

    private static void requireTarget(DataBuffer target) {
        Checks.onHost("target", Checks.target("target", target));
    }

    private void requireStarted(long request, Supplier<String> call) {
        if (request != NativeMessages.REFUSED) {
            return;
        }
        if (ends) {
            throw closed();
        }
        failures.requireNone();
        throw new IllegalStateException(call.get() + ": " + NativeEngine.callError());
    }

    private IllegalStateException closed() {
        return new IllegalStateException("communicator=" + communicator.id() + " rank=" + communicator.rank()
                + " is closed: end messages before close()");
    }

    private static String describeSend(int peer, int tag, DataBuffer source) {
        return "send(peer=" + peer + " tag=" + tag + " bytes=" + source.bytes() + ")";
    }

    private static String describeReceive(int source, int tag, DataBuffer target) {
        return "receive(source=" + text(source) + " tag=" + text(tag) + " bytes=" + target.bytes() + ")";
    }

    private static String text(int number) {
        return number == ANY ? "any" : String.valueOf(number);
    }
}

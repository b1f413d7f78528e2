package io.jccl.nativelib;

import io.jccl.JcclException;
import io.jccl.MessageStatus;
import java.lang.annotation.Native;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;

/**
 * The messages of a communicator on one rank. The engine owns them.
 *
 * <p>Any thread may call the methods, which return {@link #REFUSED} or {@link Code#INVALID} after {@link #endUse}. Callers
 * have checked the arguments. A request is the number of a message that was not over when its call returned; {@link
 * #finish} or {@link #free} ends its use, and no other thread may use it then. A call that fails leaves its reason to
 * {@link NativeEngine#callError()}.
 */
public final class NativeMessages {

    /** Stands for any source or tag. */
    @Native
    public static final int ANY = -1;

    /** The message is in the buffer, or has left it. */
    @Native
    public static final int DONE = 0;

    /** No message has matched a receive, or the peer has not taken a send. */
    @Native
    public static final int WAITING = 1;

    /** The data of a message moves. */
    @Native
    public static final int MOVING = 2;

    /** The message was longer than the buffer. */
    @Native
    public static final int TOO_LONG = 3;

    /** The receive was taken back. */
    @Native
    public static final int CANCELLED = 4;

    /** No request, because the call has failed. */
    @Native
    public static final int REFUSED = -1;

    /** Limit of the sends to one peer that are not over. */
    @Native
    public static final int MAX_SENDS = 1 << 16;

    /** Bits of source, tag and length in a packed status. */
    @Native
    public static final int PACKED_LENGTH_BITS = 24;

    @Native
    public static final int PACKED_TAG_BITS = 20;

    @Native
    public static final int PACKED_SOURCE_BITS = 18;

    private static final int FREE = 0;
    private static final int TAKEN = 1;
    private static final int ENDED = 2;

    private static final VarHandle BUSY;

    static {
        try {
            BUSY = MethodHandles.lookup().findVarHandle(NativeMessages.class, "busy", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final NativeEngine engine;
    private final long messages;
    private final Users users = new Users(); // the engine is not destroyed before endUse(), which waits for them

    // The first thread inside takes this word, which it gives back by a plain store: half the price of a counter.
    @SuppressWarnings("unused") // accessed through BUSY
    private int busy;

    private volatile boolean hasEnded; // endUse() has ended all messages

    private NativeMessages(NativeEngine engine, long messages) {
        this.engine = engine;
        this.messages = messages;
    }

    /** Enters for a call of one thread; the result is for {@link #leave}. */
    private int enter() {
        return BUSY.compareAndSet(this, FREE, TAKEN) ? TAKEN : users.enter() ? FREE : REFUSED;
    }

    private void leave(int entered) {
        if (entered == TAKEN) {
            BUSY.setRelease(this, FREE);
        } else {
            users.leave();
        }
    }

    /** Prepares an engine for messages; to be called before any other thread uses the engine. */
    public static void attach(NativeEngine engine) {
        attach(engine.handle);
    }

    /**
     * Starts the messages of an engine. To be called once.
     *
     * @throws JcclException if that fails; the message has the reason
     */
    public static NativeMessages start(NativeEngine engine) {
        long messages = start(engine.handle);
        if (messages == 0) {
            throw new JcclException("messages cannot be started: " + NativeEngine.callError());
        }
        return new NativeMessages(engine, messages);
    }

    /**
     * Starts a send; returns 0 if the memory may change now, {@link #REFUSED} after a failure, else a request.
     *
     * @param isOffered true if the send ends only once a receive has matched it
     */
    public long send(int peer, int tag, long from, long bytes, boolean isOffered) {
        int entered = enter();
        if (entered == REFUSED) {
            return REFUSED;
        }
        try {
            return send(messages, peer, tag, from, bytes, isOffered);
        } finally {
            leave(entered);
        }
    }

    /**
     * Starts a receive, and waits for its end for at most {@code nanos}.
     *
     * @param status may receive source, tag and length if the message was received; null if the caller needs a request
     * @return 0 if the message was received and is in {@code status}; below {@link #REFUSED} if it was received and
     *     is in the result, see {@link #unpack}; {@link #REFUSED} after a failure; else a request
     */
    public long receive(int source, int tag, long to, long bytes, long nanos, long[] status) {
        int entered = enter();
        if (entered == REFUSED) {
            return REFUSED;
        }
        try {
            return receive(messages, source, tag, to, bytes, nanos, status);
        } finally {
            leave(entered);
        }
    }

    /** Returns the message in a result of {@link #receive} that is below {@link #REFUSED}. */
    public static MessageStatus unpack(long packed) {
        return new MessageStatus(
                (int) (packed >>> PACKED_LENGTH_BITS + PACKED_TAG_BITS) & (1 << PACKED_SOURCE_BITS) - 1,
                (int) (packed >>> PACKED_LENGTH_BITS) & (1 << PACKED_TAG_BITS) - 1,
                packed & (1L << PACKED_LENGTH_BITS) - 1);
    }

    /** Starts a receive of a message that has arrived; returns 0 if there is none. */
    public long tryReceive(int source, int tag, long to, long bytes) {
        if (!users.enter()) {
            return REFUSED;
        }
        try {
            return tryReceive(messages, source, tag, to, bytes);
        } finally {
            users.leave();
        }
    }

    /**
     * Waits for a message that a receive would take, for at most {@code nanos}.
     *
     * @param status receives source, tag and length
     * @return a code; {@link Code#TIMEOUT} if there is none
     */
    public int probe(int source, int tag, long nanos, long[] status) {
        if (!users.enter()) {
            return Code.INVALID;
        }
        try {
            return probe(messages, source, tag, nanos, status);
        } finally {
            users.leave();
        }
    }

    /** Waits until a request is over, for at most {@code nanos}; returns a code. */
    public int await(long request, long nanos) {
        if (!users.enter()) {
            return Code.INVALID;
        }
        try {
            return wait(messages, request, nanos);
        } finally {
            users.leave();
        }
    }

    /** Moves what can move. Returns true if the request is over. */
    public boolean test(long request) {
        if (!users.enter()) {
            return false;
        }
        try {
            return test(messages, request);
        } finally {
            users.leave();
        }
    }

    /**
     * Returns the state of a request.
     *
     * @param status receives source or peer, tag and length if the request is over; null to leave them
     */
    public static native int state(long request, long[] status);

    /** Like {@link #state}; frees the request if it is over. */
    public static native int finish(long request, long[] status);

    /** Frees a request that is over, or any request after {@link #end} or {@link #awaitEnd}. */
    public static native void free(long request);

    /** Frees a request whatever its state. If the request is not over, all messages end. */
    public void abandon(long request) {
        int state = state(request, null);
        if (state == WAITING || state == MOVING) {
            end();
        }
        free(request);
    }

    /** Takes back a receive. Returns false if a message has matched it. */
    public boolean cancel(long request) {
        if (!users.enter()) {
            return false;
        }
        try {
            return cancel(messages, request);
        } finally {
            users.leave();
        }
    }

    /** Describes what a request waits for. */
    public String describe(long request) {
        if (!users.enter()) {
            return "the communicator is closed";
        }
        try {
            return describe(messages, request);
        } finally {
            users.leave();
        }
    }

    /**
     * One round of the thread that moves messages while no other thread does: returns when something has moved, after
     * {@link #wake}, or after {@code nanos}.
     *
     * @param isAwaited true if a caller waits for this thread
     */
    public void serve(long nanos, boolean isAwaited) {
        if (users.enter()) {
            try {
                serve(messages, nanos, isAwaited);
            } finally {
                users.leave();
            }
        }
    }

    /** Ends the sleep of {@link #serve}. */
    public void wake() {
        if (users.enter()) {
            try {
                wake(messages);
            } finally {
                users.leave();
            }
        }
    }

    /** Ends all messages, after a failure: nothing uses the memory of requests any more, and waits end. */
    public void end() {
        if (!users.enter()) {
            awaitEnd();
            return;
        }
        try {
            end(messages);
        } finally {
            users.leave();
        }
    }

    /** Waits until another thread's {@link #endUse} has ended all messages, which takes no longer than a copy. */
    public void awaitEnd() {
        while (!hasEnded) {
            LockSupport.parkNanos(this, 50_000);
        }
    }

    /** Like {@link #end}; then waits until no thread uses this object. To be called before the engine is destroyed. */
    public void endUse() {
        users.end();
        if (engine.enter()) {
            try {
                end(messages);
                hasEnded = true;
                while (!BUSY.compareAndSet(this, FREE, ENDED)) {
                    LockSupport.parkNanos(this, 50_000);
                }
                users.awaitNone();
            } finally {
                engine.leave();
            }
        }
        hasEnded = true;
    }

    private static native void attach(long engine);

    private static native long start(long engine);

    private static native long send(long messages, int peer, int tag, long from, long bytes, boolean isOffered);

    private static native long receive(
            long messages, int source, int tag, long to, long bytes, long nanos, long[] status);

    private static native long tryReceive(long messages, int source, int tag, long to, long bytes);

    private static native int probe(long messages, int source, int tag, long nanos, long[] status);

    private static native int wait(long messages, long request, long nanos);

    private static native boolean test(long messages, long request);

    private static native boolean cancel(long messages, long request);

    private static native String describe(long messages, long request);

    private static native void serve(long messages, long nanos, boolean isAwaited);

    private static native void wake(long messages);

    private static native void end(long messages);
}

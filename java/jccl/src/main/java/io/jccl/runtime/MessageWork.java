package io.jccl.runtime;

import io.jccl.Execution;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.MessageReceive;
import io.jccl.MessageStatus;
import io.jccl.internal.Rethrown;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.NativeMessages;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A message that was started and may not be over. Any thread may call any method.
 *
 * <p>Threads that pass the request to native code are counted. The first thread that sees the end settles the message:
 * it copies the data, releases the memory and publishes the result. The last thread inside frees the request.
 */
public final class MessageWork implements MessageReceive {

    private static final int FREED = Integer.MIN_VALUE;

    private final MessagePassing owner;
    private final String call; // for messages about this work
    private final boolean sends;
    private final MessageMemory memory;
    private final long request; // 0: the message was over when its call returned
    private final long begunNanos = System.nanoTime();
    private final AtomicInteger users = new AtomicInteger();
    private final AtomicBoolean settles = new AtomicBoolean();
    private final AtomicReference<CompletableFuture<Void>> future = new AtomicReference<>();
    private MessageStatus status; // published by isOver, like the next
    private RuntimeException failure;
    private volatile boolean isOver;

    MessageWork(MessagePassing owner, String call, boolean sends, MessageMemory memory, long request) {
        this.owner = owner;
        this.call = call;
        this.sends = sends;
        this.memory = memory;
        this.request = request;
        if (request == 0) {
            settles.set(true);
            users.set(FREED);
            isOver = true;
        }
    }

    boolean isOver() {
        return isOver;
    }

    String call() {
        return call;
    }

    long begunNanos() {
        return begunNanos;
    }

    private boolean enter() {
        for (int inside = users.get(); inside >= 0; inside = users.get()) {
            if (users.compareAndSet(inside, inside + 1)) {
                return true;
            }
        }
        return false;
    }

    private void leave() {
        if (users.decrementAndGet() == 0 && isOver && users.compareAndSet(0, FREED)) {
            NativeMessages.free(request);
        }
    }

    /** Settles the message if native code has ended it. The caller has entered. */
    private void settle() {
        long[] ended = new long[3];
        int state = NativeMessages.state(request, ended);
        if (state == NativeMessages.WAITING || state == NativeMessages.MOVING || !settles.compareAndSet(false, true)) {
            return;
        }
        MessageStatus message = new MessageStatus((int) ended[0], (int) ended[1], ended[2]);
        try {
            if (state == NativeMessages.DONE && !sends) {
                memory.receive(message.bytes());
            } else {
                memory.release();
            }
            status = message;
            failure = switch (state) {
                case NativeMessages.TOO_LONG -> MessagePassing.tooLong(message, memory.buffer());
                case NativeMessages.CANCELLED -> new CancellationException(call + " was cancelled");
                default -> null;
            };
        } catch (RuntimeException e) {
            failure = e; // for example because the owner of the buffer has freed it
        } catch (Error e) {
            failure = new JcclException(call + ": the message cannot be put into the buffer", e);
        }
        end();
    }

    /** Ends the message because its communicator has failed or is closed. Native code no longer uses its memory. */
    void fail(RuntimeException cause) {
        if (!enter()) {
            return;
        }
        try {
            settle();
            if (settles.compareAndSet(false, true)) {
                memory.release();
                failure = cause;
                end();
            }
        } finally {
            leave();
        }
    }

    private void end() {
        isOver = true;
        owner.forget(this);
        CompletableFuture<Void> waiting = future.get();
        if (waiting != null) {
            complete(waiting);
        }
    }

    private void complete(CompletableFuture<Void> waiting) {
        if (failure == null) {
            waiting.complete(null);
        } else {
            waiting.completeExceptionally(failure);
        }
    }

    @Override
    public boolean isDone() {
        if (isOver) {
            return true;
        }
        if (enter()) {
            try {
                owner.test(this, request);
                settle();
            } finally {
                leave();
            }
        }
        return isOver;
    }

    /** Like {@link #isDone}, but only settles what has ended. */
    void refresh() {
        if (enter()) {
            try {
                settle();
            } finally {
                leave();
            }
        }
    }

    @Override
    public void await() {
        receive(owner.timeoutNanos());
    }

    @Override
    public void await(Duration timeout) {
        receive(Deadlines.nanos(Checks.timeout(timeout)));
    }

    @Override
    public MessageStatus receive() {
        return receive(owner.timeoutNanos());
    }

    @Override
    public MessageStatus receive(Duration timeout) {
        return receive(Deadlines.nanos(Checks.timeout(timeout)));
    }

    private MessageStatus receive(long timeoutNanos) {
        if (!isOver) {
            await(timeoutNanos);
        }
        if (failure instanceof JcclException cause) {
            throw Rethrown.here(cause);
        }
        if (failure != null) {
            throw failure;
        }
        return status;
    }

    private void await(long timeoutNanos) {
        try {
            awaitEnd(timeoutNanos);
        } finally {
            owner.endWait();
        }
    }

    private void awaitEnd(long timeoutNanos) {
        long begun = System.nanoTime();
        long deadline = begun + timeoutNanos;
        boolean isVirtual = VirtualThreads.isCurrent();
        while (!isDone()) {
            if (Thread.currentThread().isInterrupted()) {
                throw new InterruptedCommunicationException(call
                        + ": the thread that waits was interrupted; the message is not over: await it again, or cancel"
                        + " the receive");
            }
            long left = deadline - System.nanoTime();
            long slice = Deadlines.slice(left);
            int code = Code.TIMEOUT;
            if (isVirtual) {
                sleep(slice);
            } else if (enter()) {
                try {
                    code = owner.await(request, slice);
                    settle();
                } finally {
                    leave();
                }
            }
            if (!isOver) {
                owner.noteWait(this::call, begun);
            }
            if (!isOver && (code != Code.OK && code != Code.TIMEOUT || left <= 0)) {
                owner.waitEnded(code, call, timeoutNanos, this::describe);
            }
        }
    }

    private String describe() {
        if (!enter()) {
            return "";
        }
        try {
            return owner.describe(request);
        } finally {
            leave();
        }
    }

    /** Sleeps until the message is over; the thread that moves messages wakes this virtual thread. */
    private void sleep(long nanos) {
        try {
            first().get(nanos, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | CancellationException | TimeoutException ended) {
            return; // the caller looks for the reason
        }
    }

    @Override
    public CompletableFuture<Void> toFuture() {
        CompletableFuture<Void> copy = new CallerFuture<>();
        first().whenComplete((nothing, problem) -> {
            if (problem == null) {
                copy.complete(null);
            } else {
                copy.completeExceptionally(problem);
            }
        });
        return copy; // a copy, so that the application cannot complete it for others
    }

    private CompletableFuture<Void> first() {
        CompletableFuture<Void> mine = new CallerFuture<>();
        CompletableFuture<Void> first = future.compareAndExchange(null, mine);
        if (first != null) {
            return first;
        }
        if (isOver) {
            complete(mine); // end() may not have seen it
        } else {
            owner.completeLater(this);
        }
        return mine;
    }

    @Override
    public boolean cancel() {
        if (sends || !enter()) {
            return false;
        }
        try {
            boolean cancelled = owner.cancel(request);
            settle();
            return cancelled;
        } finally {
            leave();
        }
    }

    @Override
    public Execution execution() {
        throw new IllegalStateException(call + ": a message has no algorithm, protocol or channels");
    }
}

package io.jccl.runtime;

import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * The thread that carries out operations that nobody waits for, and completes futures.
 *
 * <p>It must not slow down a loop of operations that are awaited at once, so issuing does not wake it while it naps: it
 * looks by itself, after {@value #SHORT_NAP_NANOS} ns, then less often, and seldom while all is awaited. Only when nothing has happened for a while does it
 * sleep until it is woken, by the first operation after the pause.
 */
final class Executor implements Runnable {

    private static final long SHORT_NAP_NANOS = 200_000;
    private static final long LONG_NAP_NANOS = 1_000_000;
    private static final long AWAITED_NAP_NANOS = 4_000_000;
    private static final long SLEEP_NANOS = 500_000_000;
    private static final int LOOKS_BEFORE_SLEEP = 64;

    private static final int AWAKE = 0;
    private static final int NAPPING = 1;
    private static final int ASLEEP = 2;

    private final String name;
    private final OperationQueue queue;
    private final Thread thread;
    private final Queue<Operation> arrivals = new ConcurrentLinkedQueue<>();
    private final Queue<Operation> futures = new ArrayDeque<>(); // touched by the thread only
    private volatile int mode = AWAKE;
    private volatile boolean stopping;

    Executor(String name, OperationQueue queue) {
        this.name = name;
        this.queue = queue;
        this.thread = new Thread(this, name);
        this.thread.setDaemon(true);
    }

    String name() {
        return name;
    }

    void start() {
        thread.start();
    }

    /** After an operation was issued: a look at one field, unless nothing had happened for a while. */
    void wakeIfAsleep() {
        if (mode == ASLEEP) {
            wake();
        }
    }

    /** Somebody asks for an operation's end without waiting for it. */
    void wakeIfNapping() {
        if (mode != AWAKE) {
            wake();
        }
    }

    private void wake() {
        mode = AWAKE;
        LockSupport.unpark(thread);
    }

    /** Completes the operation's future when it is over. */
    void completeLater(Operation operation) {
        arrivals.add(operation);
        LockSupport.unpark(thread);
        if (stopping && !thread.isAlive()) {
            operation.completeFuture();
        }
    }

    @Override
    public void run() {
        int idleLooks = 0;
        long nap = SHORT_NAP_NANOS;
        Operation seen = null;
        while (!stopping) {
            boolean busy = queue.carryOutAll() | completeFutures();
            Operation last = queue.inFlight();
            if (busy) {
                idleLooks = 0;
                nap = SHORT_NAP_NANOS;
            } else if (last != seen) {
                idleLooks = 0; // others wait for what they issue; stay out of their way
                nap = Math.min(2 * nap, AWAITED_NAP_NANOS);
            } else {
                idleLooks++;
                nap = nap > LONG_NAP_NANOS ? SHORT_NAP_NANOS : Math.min(2 * nap, LONG_NAP_NANOS);
            }
            seen = last;
            rest(idleLooks, nap);
        }
        completeFutures();
    }

    /**
     * The last nap before a sleep is already marked as one: whoever issued just before the mark was made is found by the
     * look after that nap, and whoever issues later sees the mark.
     */
    private void rest(int idleLooks, long nap) {
        if (idleLooks >= LOOKS_BEFORE_SLEEP && mode == ASLEEP) {
            LockSupport.parkNanos(this, SLEEP_NANOS);
        } else {
            mode = idleLooks >= LOOKS_BEFORE_SLEEP ? ASLEEP : NAPPING;
            LockSupport.parkNanos(this, nap);
        }
        if (idleLooks < LOOKS_BEFORE_SLEEP) {
            mode = AWAKE;
        }
    }

    private boolean completeFutures() {
        for (Operation arrival = arrivals.poll(); arrival != null; arrival = arrivals.poll()) {
            futures.add(arrival);
        }
        for (Iterator<Operation> i = futures.iterator(); i.hasNext(); ) {
            if (i.next().completeFuture()) {
                i.remove();
            }
        }
        return !futures.isEmpty();
    }

    /** Asks the thread to end after what it does now. */
    void stop() {
        stopping = true;
        LockSupport.unpark(thread);
    }

    /** Waits for the thread, which runs nothing any more, and completes what is left. */
    void finish() {
        boolean interrupted = false;
        while (thread.isAlive() && Thread.currentThread() != thread) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        completeFutures();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}

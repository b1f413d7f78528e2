package io.jccl.runtime;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread that carries out operations that nobody waits for, and completes futures.
 *
 * <p>When there is nothing to do it sleeps, and the next operation that is issued wakes it: an operation that nobody waits
 * for begins as soon as a thread can be woken and has let the issuer go first. A loop of operations that are awaited at
 * once must not pay for that. So while looks find that those who issue also wait, issuing wakes nobody, and this thread
 * looks by itself every {@value #AWAITED_NAP_NANOS} ns; the first operation that nobody waits for ends this trust.
 */
final class Executor implements Runnable {

    private static final Logger LOG = LoggerFactory.getLogger(Executor.class);
    private static final long COURTESY_NANOS = 20_000;
    private static final long FIRST_NAP_NANOS = 100_000;
    private static final long AWAITED_NAP_NANOS = 1_000_000;
    private static final long LAST_NAP_NANOS = 2_000_000;
    private static final long FUTURE_NAP_NANOS = 50_000;
    private static final long MARK_NANOS = 50_000;
    private static final long SLEEP_NANOS = 500_000_000;
    private static final int LOOKS_UNTIL_TRUST = 3;

    private static final int AWAKE = 0;
    private static final int NAPPING = 1;
    private static final int ASLEEP = 2;

    private final String name;
    private final OperationQueue queue;
    private final Thread thread;
    private final Queue<Operation> arrivals = new ConcurrentLinkedQueue<>();
    private final Queue<Operation> futures = new ArrayDeque<>(); // touched by the thread only
    private volatile int mode = AWAKE;
    private long markedAt; // touched by the thread only
    private int awaited; // how many looks in a row found that others had carried operations out; as the next two
    private long nap = FIRST_NAP_NANOS;
    private Operation seen;
    private volatile boolean stopping;
    private volatile boolean ended;

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

    /** After an operation was issued: a look at one field, unless there was nothing to do before. */
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
        if (ended) {
            complete(operation);
        }
    }

    @Override
    public void run() {
        while (!stopping || !futures.isEmpty()) {
            try {
                look();
            } catch (Throwable e) { // it has failed the communicator; what is left ends with that
                LOG.warn("communicator={}: its thread met an error", name, e);
                nap(LAST_NAP_NANOS);
            }
        }
        ended = true;
        completeFutures();
    }

    private void look() {
        OperationQueue.Look look = queue.carryOutAll();
        completeFutures();
        Operation last = queue.inFlight();
        boolean moved = last != seen;
        seen = last;
        if (look == OperationQueue.Look.CARRIED_OUT) {
            mode = AWAKE;
            awaited = 0;
            return; // more may have come meanwhile
        }
        if (moved) {
            awaited = Math.min(awaited + 1, LOOKS_UNTIL_TRUST);
        }
        if (moved && awaited == LOOKS_UNTIL_TRUST) {
            nap(AWAITED_NAP_NANOS);
            nap = FIRST_NAP_NANOS;
        } else if (look == OperationQueue.Look.OTHERS_RUN) {
            // No sleep: what is issued meanwhile is left to this thread.
            nap = moved ? FIRST_NAP_NANOS : Math.min(2 * nap, LAST_NAP_NANOS);
            if (nap < LAST_NAP_NANOS) {
                nap(nap);
            } else {
                napBesideOthers();
            }
        } else if (!futures.isEmpty()) {
            nap(FUTURE_NAP_NANOS); // of operations on a device, which nobody reports
        } else if (!stopping) {
            sleep();
        }
    }

    private void nap(long nanos) {
        mode = NAPPING;
        LockSupport.parkNanos(this, nanos);
        mode = AWAKE;
    }

    /** Beside an operation that lasts: until it ends. */
    private void napBesideOthers() {
        mode = NAPPING;
        queue.napBesideOthers();
        mode = AWAKE;
    }

    /**
     * Makes the mark and naps; sleeps if the mark has stood for a while. Whoever issued just before it was made is found by
     * the look after that nap, and whoever issues later sees it. Whoever wakes this thread by issuing is given a moment to
     * await the operation itself.
     */
    private void sleep() {
        if (mode != ASLEEP) {
            mode = ASLEEP;
            markedAt = System.nanoTime();
        }
        boolean marked = System.nanoTime() - markedAt >= MARK_NANOS;
        LockSupport.parkNanos(this, marked ? SLEEP_NANOS : FIRST_NAP_NANOS);
        if (mode != ASLEEP && !stopping) {
            nap(COURTESY_NANOS);
        }
    }

    /** Completes the futures of what is over. A continuation that closes the communicator comes here again. */
    private void completeFutures() {
        for (Operation arrival = arrivals.poll(); arrival != null; arrival = arrivals.poll()) {
            futures.add(arrival);
        }
        for (int left = futures.size(); left > 0 && !futures.isEmpty(); left--) {
            Operation operation = futures.remove();
            if (!complete(operation)) {
                futures.add(operation);
            }
        }
        Thread.interrupted(); // a continuation's; with it the thread could not sleep
    }

    private boolean complete(Operation operation) {
        try {
            return operation.completeFuture();
        } catch (Throwable e) {
            operation.breakFuture(e);
            return true;
        }
    }

    /** Asks the thread to end after what it does now. */
    void stop() {
        stopping = true;
        LockSupport.unpark(thread);
    }

    /**
     * Waits for the thread, which runs nothing any more and completes what is left, until a deadline: a continuation may
     * last longer.
     */
    void finish(long deadline) {
        if (Thread.currentThread() == thread) {
            completeFutures(); // of a continuation that closes the communicator
            return;
        }
        try (Backoff backoff = new Backoff(FUTURE_NAP_NANOS, LAST_NAP_NANOS)) {
            while (thread.isAlive() && backoff.sleepUntil(deadline)) {
                LockSupport.unpark(thread);
            }
        }
    }
}

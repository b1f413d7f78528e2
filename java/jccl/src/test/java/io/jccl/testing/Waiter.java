package io.jccl.testing;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A thread whose wait a test interrupts. Tells how the wait ended, how long after the interrupt, and how much CPU time
 * it used.
 */
public final class Waiter {

    /** Time within which an interrupted wait ends if the operation has not begun. */
    public static final Duration PROMPTLY = Duration.ofMillis(100);

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final Duration LIMIT = Duration.ofSeconds(30);

    private final Thread thread;
    private volatile Throwable thrown;
    private volatile boolean interruptedAtEnd;
    private volatile long endedAtNanos;
    private long interruptedAtNanos;

    private Waiter(Runnable wait) {
        thread = new Thread(() -> run(wait), "test-waiter");
        thread.setDaemon(true);
        thread.start();
    }

    private void run(Runnable wait) {
        try {
            wait.run();
        } catch (Throwable e) {
            thrown = e;
        }
        endedAtNanos = System.nanoTime();
        interruptedAtEnd = Thread.currentThread().isInterrupted();
    }

    /**
     * Starts a thread, and returns when the thread is inside of one of several methods.
     *
     * @param methods each {@code "class.method"}, the class without its package
     */
    public static Waiter in(List<String> methods, Runnable wait) {
        Waiter waiter = new Waiter(wait);
        long deadline = System.nanoTime() + LIMIT.toNanos();
        while (methods.stream().noneMatch(waiter::isIn)) {
            if (!waiter.thread.isAlive() || System.nanoTime() - deadline >= 0) {
                AssertionError never = new AssertionError("the thread never waited in " + methods, waiter.thrown);
                never.setStackTrace(waiter.thread.getStackTrace());
                throw never;
            }
            Thread.yield();
        }
        return waiter;
    }

    /**
     * Starts a thread, and returns when the thread is inside of a method: {@code "class.method"}, the class without its
     * package.
     */
    public static Waiter in(String method, Runnable wait) {
        return in(List.of(method), wait);
    }

    /** Returns true if the thread is inside of a method now. */
    public boolean isIn(String method) {
        return Arrays.stream(thread.getStackTrace())
                .anyMatch(frame -> (frame.getClassName() + "." + frame.getMethodName()).endsWith("." + method));
    }

    /** Returns true if {@code other} is the thread that waits. */
    public boolean isThread(Thread other) {
        return thread == other;
    }

    /** Interrupts the thread. */
    public Waiter interrupt() {
        interruptedAtNanos = System.nanoTime();
        thread.interrupt();
        return this;
    }

    /**
     * Returns the CPU time that the thread uses in a period, in percent. The thread must still wait at the end of the
     * period. The result is the smaller of two measurements, so that work done once, such as loading classes, does not
     * count.
     */
    public long processorPercentDuring(Duration time) {
        return Math.min(processorPercentOnce(time), processorPercentOnce(time));
    }

    private long processorPercentOnce(Duration time) {
        long before = THREADS.getThreadCpuTime(thread.getId());
        long begin = System.nanoTime();
        try {
            thread.join(time.toMillis());
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted", e);
        }
        if (!thread.isAlive()) {
            throw new AssertionError("the wait has ended", thrown);
        }
        return 100 * (THREADS.getThreadCpuTime(thread.getId()) - before) / (System.nanoTime() - begin);
    }

    /** Waits until the wait has ended, and returns what it threw, or null if it threw nothing. */
    public Throwable end() {
        try {
            thread.join(LIMIT.toMillis());
        } catch (InterruptedException e) {
            throw new AssertionError("interrupted", e);
        }
        if (thread.isAlive()) {
            AssertionError late = new AssertionError("the wait does not end");
            late.setStackTrace(thread.getStackTrace());
            throw late;
        }
        return thrown;
    }

    /** Returns true if the interrupt flag was set when the wait ended. */
    public boolean interruptedAtEnd() {
        end();
        return interruptedAtEnd;
    }

    /** Returns the time from the interrupt to the end of the wait, in milliseconds. */
    public long millisAfterInterrupt() {
        end();
        return TimeUnit.NANOSECONDS.toMillis(endedAtNanos - interruptedAtNanos);
    }
}

package io.jccl.bootstrap;

import io.jccl.BootstrapException;
import io.jccl.internal.SharedThreads;
import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BiFunction;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One daemon thread that serves channels, tasks and tickers; everything it calls, it calls on that thread, one at a
 * time. {@link #execute}, {@link #invoke} and {@link #close} may be called by any thread.
 */
public final class Reactor implements Closeable {

    /** What a registered channel calls when it is ready. */
    public interface Handler {

        /** Does what the ready set of the key allows. */
        void ready(SelectionKey key) throws IOException;

        /** The channel failed in {@link #ready} and must be closed. */
        void failed(Exception cause);

        /** Whether the channel stays open when the reactor is closed. */
        default boolean outlivesReactor() {
            return false;
        }
    }

    private static final Logger LOG = LoggerFactory.getLogger(Reactor.class);
    private static final long MAX_SELECT_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long JOIN_MILLIS = 2000;

    private final Selector selector;
    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final LongSupplier clock;
    private final List<Ticker> tickers = new ArrayList<>();
    private final LongAdder sentBytes = new LongAdder();
    private final Thread thread;
    private volatile boolean closing;

    /** What is called regularly. */
    public final class Ticker {

        private final LongUnaryOperator task;
        private long due = clock.getAsLong();

        private Ticker(LongUnaryOperator task) {
            this.task = task;
        }

        /** No more calls; on the reactor's thread. */
        public void end() {
            tickers.remove(this);
        }
    }

    /**
     * A thread that is not started.
     *
     * @param name the thread's name
     * @param clock nanoseconds
     */
    public Reactor(String name, LongSupplier clock) {
        this(name, clock, Reactor::daemon);
    }

    private Reactor(String name, LongSupplier clock, BiFunction<String, Runnable, Thread> threads) {
        this.clock = clock;
        try {
            selector = Selector.open();
        } catch (IOException e) {
            throw new BootstrapException(
                    "thread=" + name + ": cannot open a selector (" + e.getMessage()
                            + "); is the limit of open files (ulimit -n) reached?",
                    e);
        }
        thread = threads.apply(name, this::run);
    }

    /** A reactor that serves all communicators of the process; see {@link SharedThreads}. */
    public static Reactor ofProcess(String name) {
        return new Reactor(name, System::nanoTime, SharedThreads::create);
    }

    private static Thread daemon(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        return thread;
    }

    /** Starts the thread. */
    public void start() {
        thread.start();
    }

    /**
     * Adds a ticker; on this reactor's thread, or before {@link #start}.
     *
     * @param task called with the time, returns in how many nanoseconds the next call is due
     */
    public Ticker every(LongUnaryOperator task) {
        Ticker ticker = new Ticker(task);
        tickers.add(ticker);
        return ticker;
    }

    /** Registers a non-blocking channel; on this reactor's thread, or before {@link #start}. */
    public SelectionKey register(SelectableChannel channel, int operations, Handler handler) throws IOException {
        return channel.register(selector, operations, handler);
    }

    /** Runs a task on the thread soon; never after {@link #close} has returned. */
    public void execute(Runnable task) {
        tasks.add(task);
        selector.wakeup();
    }

    /** Runs a task on the thread and returns when it is done; on this thread before {@link #start}. */
    void invoke(Runnable task) {
        if (onThread() || thread.getState() == Thread.State.NEW) {
            task.run();
            return;
        }
        try {
            CompletableFuture.runAsync(task, this::execute).join();
        } catch (CompletionException e) {
            throw e.getCause() instanceof RuntimeException cause ? cause : e;
        }
    }

    /** So many bytes were written to a channel. */
    void countSent(long bytes) {
        sentBytes.add(bytes);
    }

    /** The bytes that were written to all channels. */
    long sentBytes() {
        return sentBytes.sum();
    }

    boolean isClosed() {
        return closing;
    }

    boolean onThread() {
        return Thread.currentThread() == thread;
    }

    private void run() {
        while (!closing) {
            try {
                poll();
            } catch (ClosedSelectorException e) {
                break;
            } catch (IOException | RuntimeException e) {
                LOG.error("thread={}: unexpected; the thread goes on", thread.getName(), e);
            }
        }
        closeChannels();
    }

    private void poll() throws IOException {
        long start = clock.getAsLong();
        long waitNanos = MAX_SELECT_NANOS;
        for (Ticker ticker : tickers) {
            waitNanos = Math.min(waitNanos, ticker.due - start);
        }
        if (tickers.isEmpty()) {
            selector.select(); // until a channel or a task is ready
        } else if (waitNanos <= 0) {
            selector.selectNow();
        } else {
            selector.select(Math.max(1, TimeUnit.NANOSECONDS.toMillis(waitNanos + 999_999)));
        }
        for (Runnable task = tasks.poll(); task != null && !closing; task = tasks.poll()) {
            task.run();
        }
        for (SelectionKey key : selector.selectedKeys()) {
            serve(key);
        }
        selector.selectedKeys().clear();
        long now = clock.getAsLong();
        for (int i = 0; i < tickers.size() && !closing; i++) {
            Ticker ticker = tickers.get(i); // which may end itself
            if (now - ticker.due >= 0) {
                ticker.due = now + Math.max(TimeUnit.MILLISECONDS.toNanos(1), ticker.task.applyAsLong(now));
            }
        }
    }

    private static void serve(SelectionKey key) {
        if (!key.isValid()) {
            return;
        }
        Handler handler = (Handler) key.attachment();
        try {
            handler.ready(key);
        } catch (IOException | RuntimeException e) {
            handler.failed(e);
        }
    }

    private void closeChannels() {
        for (SelectionKey key : new ArrayList<>(selector.keys())) {
            if (!key.isValid() || !((Handler) key.attachment()).outlivesReactor()) {
                closeQuietly(key.channel());
            }
        }
        closeQuietly(selector);
    }

    /** Asks for a tick at once. */
    public void tickSoon() {
        if (onThread()) {
            for (Ticker ticker : tickers) {
                ticker.due = clock.getAsLong(); // this round ends with it
            }
        } else {
            execute(this::tickSoon);
        }
    }

    /** Ends the thread and closes every channel, then returns; waits two seconds at most. */
    @Override
    public void close() {
        closing = true;
        if (thread.getState() == Thread.State.NEW) {
            closeChannels();
            return;
        }
        selector.wakeup();
        if (onThread()) {
            return;
        }
        boolean interrupted = false;
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(JOIN_MILLIS);
        for (long left = JOIN_MILLIS; left > 0 && thread.isAlive(); ) {
            try {
                thread.join(left);
            } catch (InterruptedException e) {
                interrupted = true;
            }
            left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Closes; what that throws is logged only. */
    public static void closeQuietly(Closeable closeable) {
        try {
            closeable.close();
        } catch (IOException e) {
            LOG.debug("closing {}: {}", closeable, e.toString());
        }
    }
}

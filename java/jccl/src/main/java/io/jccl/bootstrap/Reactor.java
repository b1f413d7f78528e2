package io.jccl.bootstrap;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One daemon thread that serves channels, tasks and a ticker; everything it calls, it calls on that thread, one at a
 * time. {@link #execute} and {@link #close} may be called by any thread.
 */
final class Reactor implements Closeable {

    /** What a registered channel calls when it is ready. */
    interface Handler {

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
    private final LongUnaryOperator ticker;
    private final Thread thread;
    private volatile boolean closing;
    private long nextTick;

    /**
     * Starts the thread.
     *
     * @param name the thread's name
     * @param clock nanoseconds
     * @param ticker called with the time, returns in how many nanoseconds the next call is due
     */
    Reactor(String name, LongSupplier clock, LongUnaryOperator ticker) {
        this.clock = clock;
        this.ticker = ticker;
        try {
            selector = Selector.open();
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "cannot open a selector; is the limit of open files (ulimit -n) reached?", e);
        }
        nextTick = clock.getAsLong();
        thread = new Thread(this::run, name);
        thread.setDaemon(true);
    }

    void start() {
        thread.start();
    }

    /** Registers a non-blocking channel; on this reactor's thread, or before {@link #start}. */
    SelectionKey register(SelectableChannel channel, int operations, Handler handler) throws IOException {
        return channel.register(selector, operations, handler);
    }

    /** Runs a task on the thread soon; never after {@link #close} has returned. */
    void execute(Runnable task) {
        tasks.add(task);
        selector.wakeup();
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
        long waitNanos = Math.min(nextTick - clock.getAsLong(), MAX_SELECT_NANOS);
        if (waitNanos <= 0) {
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
        if (now - nextTick >= 0 && !closing) {
            nextTick = now + Math.max(TimeUnit.MILLISECONDS.toNanos(1), ticker.applyAsLong(now));
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
    void tickSoon() {
        execute(() -> nextTick = clock.getAsLong());
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

    static void closeQuietly(Closeable closeable) {
        try {
            closeable.close();
        } catch (IOException e) {
            LOG.debug("closing {}: {}", closeable, e.toString());
        }
    }
}

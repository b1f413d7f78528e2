package io.jccl.wire;

import io.jccl.BootstrapException;
import io.jccl.JcclException;
import io.jccl.internal.Causes;
import io.jccl.internal.ServiceThread;
import io.jccl.internal.SharedThreads;
import io.jccl.internal.Threads;
import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.LongUnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One daemon thread that serves channels, tasks and tickers. All of their code is called on that thread, one call at a
 * time. {@link #execute}, {@link #invoke}, {@link #breakDown} and {@link #close} may be called by any thread.
 *
 * <p>An error of the JVM, such as a full heap, can interrupt a handler, task or ticker anywhere and leave its state
 * half updated. A call that can be repeated is repeated after a pause ({@link Handler#mayRepeat}). Otherwise the
 * reactor breaks down: it reports the error to its users ({@link #onBreakDown}) and continues to serve them. A turn
 * without work allocates nothing.
 */
public final class Reactor implements Closeable {

    /** Serves a registered channel. */
    public interface Handler {

        /** Performs the operations for which the key is ready. */
        void ready(SelectionKey key) throws IOException;

        /**
         * Handles a failure of {@link #ready}, after which the channel usually must be closed. An error of the JVM may
         * have left state half updated.
         */
        void failed(Throwable cause);

        /** Returns true if {@link #ready} may be called again because an error of the JVM in it has changed nothing. */
        default boolean mayRepeat() {
            return false;
        }

        /**
         * Returns true if {@link #ready} must be called even if no more data comes. Asked after an error of the JVM.
         */
        default boolean isUnfinished() {
            return false;
        }

        /** Returns true if the channel stays open when the reactor is closed. */
        default boolean outlivesReactor() {
            return false;
        }
    }

    private static final Logger LOG = LoggerFactory.getLogger(Reactor.class);
    private static final long MAX_SELECT_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long JOIN_MILLIS = 2000;

    private final String name;
    private final Selector selector;
    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final LongSupplier clock;
    private final List<Ticker> tickers = new ArrayList<>();
    private final LongAdder sentBytes = new LongAdder();
    private final Consumer<SelectionKey> serving = this::serve; // created once, so that a turn allocates nothing
    private final ServiceThread thread;
    private volatile boolean closing;

    private final List<Consumer<Throwable>> onBreakDown = new ArrayList<>();
    private int notified; // number of listeners that know of the breakdown
    private volatile Throwable broken; // the error by which the reactor broke down, or null
    private Throwable repeated; // an error of this turn after which something must be repeated, or null

    /** A task that is called regularly. */
    public final class Ticker {

        private final LongUnaryOperator task;
        private long due = clock.getAsLong();

        private Ticker(LongUnaryOperator task) {
            this.task = task;
        }

        /** Makes the next call due at the end of this turn. Called on the reactor's thread. */
        public void soon() {
            due = clock.getAsLong();
        }

        /** Ends the regular calls of the task. Called on the reactor's thread. */
        public void end() {
            tickers.remove(this);
        }
    }

    /**
     * Creates a reactor whose thread is not started.
     *
     * @param name the thread's name
     * @param clock a clock in nanoseconds
     */
    public Reactor(String name, LongSupplier clock) {
        this(name, clock, false);
    }

    private Reactor(String name, LongSupplier clock, boolean ofProcess) {
        this.name = name;
        this.clock = clock;
        try {
            selector = Selector.open();
        } catch (IOException e) {
            throw new BootstrapException("thread=" + name + ": cannot open a selector: " + Causes.describe(e), e);
        }
        thread = ofProcess ? SharedThreads.create(this::service) : service();
    }

    private ServiceThread service() {
        return ServiceThread.repeating(name, this::turn);
    }

    /** Creates a reactor that serves all communicators of the process; see {@link SharedThreads}. */
    public static Reactor ofProcess(String name) {
        return new Reactor(name, System::nanoTime, true);
    }

    /** Starts the thread. */
    public void start() {
        try {
            Threads.start(thread);
        } catch (JcclException e) {
            throw new BootstrapException(e.getMessage(), e);
        }
    }

    /**
     * Adds a ticker. Called on this reactor's thread, or before {@link #start}.
     *
     * @param task receives the time and returns the nanoseconds until its next call
     */
    public Ticker every(LongUnaryOperator task) {
        Ticker ticker = new Ticker(task);
        tickers.add(ticker);
        return ticker;
    }

    /** Registers a non-blocking channel. Called on this reactor's thread, or before {@link #start}. */
    public SelectionKey register(SelectableChannel channel, int operations, Handler handler) throws IOException {
        return channel.register(selector, operations, handler);
    }

    /** Runs a task on the thread soon, but never after {@link #close} has returned. */
    public void execute(Runnable task) {
        tasks.add(task);
        selector.wakeup();
    }

    /**
     * Runs a task on the thread and returns when it is done. Before {@link #start}, runs it on the caller's thread.
     *
     * @throws BootstrapException if the reactor was closed before
     */
    public void invoke(Runnable task) {
        if (onThread() || thread.getState() == Thread.State.NEW) {
            task.run();
            return;
        }
        Invocation invocation = new Invocation(task);
        execute(invocation);
        invocation.await(thread);
    }

    /**
     * Adds a listener for the error by which the reactor breaks down. Called on this reactor's thread, or before
     * {@link #start}. The thread calls the listener; if the listener throws, the thread calls it again until it
     * succeeds.
     */
    public void onBreakDown(Consumer<Throwable> listener) {
        onBreakDown.add(listener);
    }

    /** Breaks the reactor down, at the latest at its next turn. Allocates nothing. */
    public void breakDown(Throwable error) {
        if (broken == null) {
            broken = error;
        }
        if (onThread()) {
            notifyListeners();
        } else {
            selector.wakeup();
        }
    }

    private void notifyListeners() {
        try {
            while (notified < onBreakDown.size()) {
                onBreakDown.get(notified).accept(broken);
                notified++;
            }
        } catch (Throwable noMemory) {
            repeated = noMemory;
        }
    }

    /** Wakes the thread, which then sees changes of the interest in channels. Allocates nothing. */
    void wake() {
        selector.wakeup();
    }

    /** Adds to the number of bytes that were written to channels. */
    void countSent(long bytes) {
        sentBytes.add(bytes);
    }

    /** Returns the number of bytes that were written to all channels. */
    public long sentBytes() {
        return sentBytes.sum();
    }

    public boolean isClosed() {
        return closing;
    }

    public boolean onThread() {
        return Thread.currentThread() == thread;
    }

    /** Does one turn. Returns false to end the thread. */
    private boolean turn() throws IOException {
        if (closing) {
            closeChannels();
            return false;
        }
        boolean again = repeated != null; // true in the turn after an error and its pause
        repeated = null;
        try {
            select(again);
        } catch (ClosedSelectorException e) {
            closing = true;
            return true;
        }
        if (broken != null) {
            notifyListeners();
        }
        runTasks();
        if (again) {
            serveUnfinished();
        }
        tick();
        if (repeated instanceof Error error) {
            throw error;
        }
        return true;
    }

    private void select(boolean again) throws IOException {
        long start = clock.getAsLong();
        long waitNanos = MAX_SELECT_NANOS;
        for (int i = 0; i < tickers.size(); i++) {
            waitNanos = Math.min(waitNanos, tickers.get(i).due - start);
        }
        if (again || waitNanos <= 0 && !tickers.isEmpty()) {
            selector.selectNow(serving);
        } else if (tickers.isEmpty()) {
            selector.select(serving); // waits until a channel or a task is ready
        } else {
            selector.select(serving, Math.max(1, TimeUnit.NANOSECONDS.toMillis(waitNanos + 999_999)));
        }
    }

    private void runTasks() {
        for (Runnable task = tasks.poll(); task != null && !closing; task = tasks.poll()) {
            try {
                task.run();
            } catch (Error e) {
                repeated = e;
                breakDown(e);
            }
        }
    }

    /** Serves channels with unfinished data, in the turn after an error of the JVM. */
    private void serveUnfinished() {
        for (SelectionKey key : selector.keys()) {
            if (key.isValid() && ((Handler) key.attachment()).isUnfinished()) {
                serve(key);
            }
        }
    }

    private void serve(SelectionKey key) {
        if (!key.isValid()) {
            return;
        }
        Handler handler = (Handler) key.attachment();
        try {
            handler.ready(key);
        } catch (Throwable e) {
            if (e instanceof Error) {
                repeated = e;
                if (handler.mayRepeat()) {
                    // the next turn calls the handler again, because its channel is ready or its data is unfinished
                    return;
                }
            }
            fail(handler, e);
        }
    }

    private void fail(Handler handler, Throwable cause) {
        try {
            handler.failed(cause);
        } catch (Error e) {
            repeated = e;
            breakDown(e);
        }
    }

    private void tick() {
        long now = clock.getAsLong();
        for (int i = 0; i < tickers.size() && !closing; i++) {
            Ticker ticker = tickers.get(i); // the ticker's task may remove the ticker from the list
            if (now - ticker.due >= 0) {
                long next = 0;
                try {
                    next = ticker.task.applyAsLong(now);
                } catch (Error e) {
                    repeated = e;
                    breakDown(e);
                }
                ticker.due = now + Math.max(TimeUnit.MILLISECONDS.toNanos(1), next);
            }
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

    /** Makes all tickers due at once. */
    public void tickSoon() {
        if (onThread()) {
            for (int i = 0; i < tickers.size(); i++) {
                tickers.get(i).due = clock.getAsLong(); // due now; the reactor calls tickers at the end of each turn
            }
        } else {
            execute(this::tickSoon);
        }
    }

    /** Ends the thread and closes every channel that does not outlive the reactor. Waits at most two seconds. */
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

    /** Closes a resource. An exception is only logged. */
    public static void closeQuietly(Closeable closeable) {
        try {
            closeable.close();
        } catch (IOException e) {
            LOG.debug("closing {}: {}", closeable, e.toString());
        }
    }
}

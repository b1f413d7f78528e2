package io.jccl.control;

import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.internal.Rethrown;
import io.jccl.wire.FrameType;
import io.jccl.wire.RankList;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/** One rank's side of the out-of-band network: keeps received messages, and implements the calls that wait for them. */
public final class OutOfBandChannel implements OutOfBand {

    /** Sends frames. */
    @FunctionalInterface
    interface Output {
        void send(FrameType type, WireWriter content);
    }

    private static final long GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final byte[] EMPTY = new byte[0];

    private record MessageKey(int peer, int tag) {}

    private final int rank;
    private final int size;
    private final long bypassNanos;
    private final Output output;
    private final AtomicBoolean collective = new AtomicBoolean();

    // The fields below are guarded by this.
    private final Map<MessageKey, Deque<byte[]>> messages = new HashMap<>();
    private long number;
    private boolean hasMet; // true if an answer of a gather has come, so all ranks had entered the group
    private boolean answered = true; // true if the answer of the last gather has come
    private long sentNumber; // the gather whose answer the coordinator is known to have sent
    private long sentAt; // time at which this rank learned that the answer was sent, or last asked for it
    private WireReader gathered;
    private SortedSet<Integer> missing;
    private Supplier<JcclException> failure;
    private final Set<Runnable> onFailure = new HashSet<>();

    /**
     * Creates the channel of a rank.
     *
     * @param bypassNanos time after which this rank asks the coordinator for an answer that other ranks should pass on
     */
    OutOfBandChannel(int rank, int size, long bypassNanos, Output output) {
        this.rank = rank;
        this.size = size;
        this.bypassNanos = bypassNanos;
        this.output = output;
    }

    @Override
    public int rank() {
        return rank;
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    public List<byte[]> allGather(byte[] mine, Duration timeout) {
        if (mine.length > MAX_PAYLOAD_BYTES || (long) mine.length * size > FrameType.MAX_BODY_BYTES / 2) {
            throw new IllegalArgumentException("bytes=" + mine.length + " size=" + size + ": expected at most "
                    + Math.min(MAX_PAYLOAD_BYTES, FrameType.MAX_BODY_BYTES / 2 / size) + " bytes a rank");
        }
        if (!collective.compareAndSet(false, true)) {
            throw new IllegalStateException("rank=" + rank
                    + ": another thread is in a collective call of this network; use one thread at a time");
        }
        try {
            return GatherTable.read(gather(mine, timeout.toNanos()), size);
        } catch (WireException e) {
            throw new BootstrapException("rank=" + rank + ": the answer of a gather is invalid: " + e.getMessage(), e);
        } finally {
            collective.set(false);
        }
    }

    /** Returns the number of the next collective call, the same on all ranks. */
    public synchronized long nextNumber() {
        return number + 1;
    }

    private synchronized WireReader gather(byte[] mine, long timeoutNanos) {
        checkHealthy();
        number++;
        answered = false;
        gathered = null;
        missing = null;
        long start = System.nanoTime();
        output.send(FrameType.GATHER, new WireWriter().i64(number).blob(mine));
        if (!await(() -> gathered != null, start + timeoutNanos)) {
            output.send(FrameType.GATHER_LATE, new WireWriter().i64(number).flag(true));
            if (!await(() -> gathered != null || missing != null, System.nanoTime() + GRACE_NANOS)) {
                missing = new TreeSet<>(Set.of(0));
            }
        }
        if (gathered == null) {
            CommunicationTimeoutException late = new CommunicationTimeoutException(
                    RankList.late(
                                    missing,
                                    size,
                                    "an exchange of the control plane",
                                    RankList.duration(TimeUnit.NANOSECONDS.toMillis(timeoutNanos)))
                            + "; exchange=" + number + " rank=" + rank
                            + "; look into their logs, or raise JCCL_INIT_TIMEOUT"
                            + StalledConnections.hint(),
                    missing,
                    null);
            failure = () -> Rethrown.here(late);
            throw late;
        }
        WireReader result = gathered;
        gathered = null;
        return result;
    }

    /** Waits until a condition is true. The caller holds the lock. Returns false if the deadline passes first. */
    private boolean await(Supplier<Boolean> condition, long deadlineNanos) {
        while (!condition.get()) {
            checkHealthy();
            long left = deadlineNanos - System.nanoTime();
            if (left <= 0) {
                return false;
            }
            try {
                TimeUnit.NANOSECONDS.timedWait(this, Math.max(left, 1_000_000));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new InterruptedCommunicationException(
                        "rank=" + rank + " was interrupted while it waited for other ranks in an out-of-band call", e);
            }
        }
        return true;
    }

    private void checkHealthy() {
        if (failure != null) {
            throw failure.get();
        }
    }

    @Override
    public byte[] broadcast(byte[] data, int root, Duration timeout) {
        checkPeer(root);
        return allGather(rank == root ? data : EMPTY, timeout).get(root);
    }

    @Override
    public void barrier(Duration timeout) {
        allGather(EMPTY, timeout);
    }

    @Override
    public void send(int peer, int tag, byte[] data) {
        checkPeer(peer);
        if (data.length > MAX_PAYLOAD_BYTES) {
            throw new IllegalArgumentException(
                    "bytes=" + data.length + ": expected at most " + MAX_PAYLOAD_BYTES + " bytes");
        }
        synchronized (this) {
            checkHealthy();
        }
        output.send(FrameType.MESSAGE, new WireWriter().i32(peer).i32(tag).blob(data));
    }

    @Override
    public synchronized byte[] receive(int peer, int tag, Duration timeout) {
        checkPeer(peer);
        MessageKey key = new MessageKey(peer, tag);
        if (!await(() -> messages.containsKey(key), System.nanoTime() + timeout.toNanos())) {
            throw new CommunicationTimeoutException(
                    "rank=" + rank + " got no out-of-band message of peer=" + peer + " with tag=" + tag
                            + " in timeoutMillis=" + timeout.toMillis() + StalledConnections.hint(),
                    Set.of(peer),
                    null);
        }
        Deque<byte[]> waiting = messages.get(key);
        byte[] first = waiting.remove();
        if (waiting.isEmpty()) {
            messages.remove(key);
        }
        return first;
    }

    private void checkPeer(int peer) {
        if (peer < 0 || peer >= size) {
            throw new IllegalArgumentException("peer=" + peer + ": expected a rank from 0 to " + (size - 1));
        }
    }

    synchronized void onMessage(WireReader body) {
        int sender = body.i32In("sender", 0, size - 1);
        int tag = body.i32();
        byte[] content = body.blob(MAX_PAYLOAD_BYTES);
        body.end();
        messages.computeIfAbsent(new MessageKey(sender, tag), key -> new ArrayDeque<>())
                .add(content);
        notifyAll();
    }

    /** Takes the answer of a gather. The rest of the frame's body is the table. */
    synchronized void onGathered(long ofNumber, WireReader table) {
        if (ofNumber == number && !answered) {
            answered = true;
            hasMet = true;
            gathered = table;
            notifyAll();
        }
    }

    /**
     * Notes that the coordinator has sent an answer that other ranks pass on. A later call for the same answer asks the
     * coordinator for it, if these ranks take too long.
     */
    synchronized void onHeartbeat(long ofNumber, long now) {
        if (ofNumber != number || answered) {
            return;
        }
        if (sentNumber != ofNumber) {
            sentNumber = ofNumber;
            sentAt = now;
        } else if (now - sentAt >= bypassNanos) {
            sentAt = now;
            output.send(FrameType.GATHER_LATE, new WireWriter().i64(number).flag(false));
        }
    }

    synchronized void onGatherMissing(WireReader body) {
        long ofNumber = body.i64();
        SortedSet<Integer> ranks = body.ranks(size);
        body.end();
        if (ofNumber == number) {
            missing = ranks;
            notifyAll();
        }
    }

    /** Makes every call from now on throw the supplier's exception. */
    void fail(Supplier<JcclException> cause) {
        List<Runnable> tasks;
        synchronized (this) {
            if (failure != null) {
                return;
            }
            failure = cause;
            notifyAll();
            tasks = List.copyOf(onFailure);
        }
        tasks.forEach(Runnable::run);
    }

    /** Like {@link #fail}, but does nothing if all ranks have met on this network. */
    public void failUnlessMet(Supplier<JcclException> cause) {
        synchronized (this) {
            if (hasMet) {
                return;
            }
        }
        fail(cause);
    }

    /** Runs a task when this network fails, or at once if it has failed. The task must not wait. */
    public void whenFailed(Runnable task) {
        boolean now;
        synchronized (this) {
            now = failure != null;
            onFailure.add(task);
        }
        if (now) {
            task.run();
        }
    }

    /** Returns true if this network has failed. */
    public synchronized boolean hasFailed() {
        return failure != null;
    }

    /** Cancels {@link #whenFailed} for a task. */
    public synchronized void forget(Runnable task) {
        onFailure.remove(task);
    }

    /** Waits until this network fails, or the time-out has passed. Returns the failure, or empty after the time-out. */
    public synchronized Optional<JcclException> awaitFailure(Duration timeout) {
        try {
            await(() -> false, System.nanoTime() + timeout.toNanos());
            return Optional.empty();
        } catch (JcclException e) {
            return Optional.of(e);
        }
    }
}

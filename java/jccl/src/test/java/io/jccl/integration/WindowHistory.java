package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.Window;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.LongStream;

/**
 * Random histories of one-sided operations by several threads of each rank, checked against the rules of {@link Window}.
 *
 * <p>Each thread of each rank has a region of its own in the memory of every rank. It puts random data there, keeps a
 * model of the region, and compares each get with the model: puts of a pair take effect in order, and a get sees them.
 * In addition each thread sends messages to the same thread of the right rank through a ring of slots: when the signal
 * of message N is taken, its slot has the data of message N. The receiver's signal permits that slot's next message.
 * All threads of all ranks add 1 to the same number at one rank, and no two of them see the same number.
 */
final class WindowHistory {

    private static final int REGION = 3000;
    private static final int LARGE_REGION = 300_000; // for thread 0: more than a frame
    private static final int SLOTS = 3;
    private static final int SLOT = 700;

    private final Communicator comm;
    private final Window window;
    private final int threads;
    private final int steps;
    private final Queue<Long> counted = new ConcurrentLinkedQueue<>(); // numbers that this rank's additions returned

    private WindowHistory(Communicator comm, Window window, int threads, int steps) {
        this.comm = comm;
        this.window = window;
        this.threads = threads;
        this.steps = steps;
    }

    /** Runs a history on a rank; all ranks call this together. */
    static void run(Communicator comm, int threads, int steps, long seed) {
        long bytes = (long) comm.size() * regionsOfRank(threads) + (long) threads * SLOTS * SLOT;
        bytes = (bytes + Long.BYTES - 1) / Long.BYTES * Long.BYTES + Long.BYTES;
        try (Window window = comm.allocateWindow(bytes)) {
            WindowHistory history = new WindowHistory(comm, window, threads, steps);
            AtomicReference<Throwable> failed = new AtomicReference<>();
            List<Thread> running = new ArrayList<>();
            for (int t = 0; t < threads; t++) {
                int thread = t;
                Random random = new Random(seed * 1000 + comm.rank() * 100L + t);
                running.add(new Thread(() -> {
                    try {
                        history.run(thread, random);
                    } catch (Throwable e) {
                        failed.compareAndSet(null, e);
                        comm.abort(); // the other ranks must not wait for this thread
                    }
                }));
            }
            running.forEach(Thread::start);
            for (Thread one : running) {
                one.join();
            }
            if (failed.get() != null) {
                throw new AssertionError("seed=" + seed + " rank=" + comm.rank(), failed.get());
            }
            history.checkAdditions();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private void checkAdditions() {
        ByteBuffer own = ByteBuffer.allocate(counted.size() * Long.BYTES);
        counted.forEach(own::putLong);
        List<Long> all = new ArrayList<>();
        for (byte[] part : comm.allGatherBytes(own.array())) {
            for (ByteBuffer left = ByteBuffer.wrap(part); left.hasRemaining(); ) {
                all.add(left.getLong());
            }
        }
        assertThat(all)
                .containsExactlyInAnyOrderElementsOf(LongStream.range(0, (long) comm.size() * threads * steps)
                        .boxed()
                        .toList());
    }

    private static int regionsOfRank(int threads) {
        return LARGE_REGION + (threads - 1) * REGION;
    }

    private int regionBytes(int thread) {
        return thread == 0 ? LARGE_REGION : REGION;
    }

    private long regionOffset(int rank, int thread) {
        return (long) rank * regionsOfRank(threads) + (thread == 0 ? 0 : LARGE_REGION + (thread - 1) * (long) REGION);
    }

    private long slotOffset(int thread, int message) {
        return (long) comm.size() * regionsOfRank(threads) + (thread * SLOTS + message % SLOTS) * (long) SLOT;
    }

    private void run(int thread, Random random) {
        int right = (comm.rank() + 1) % comm.size();
        int left = (comm.rank() + comm.size() - 1) % comm.size();
        int data = 2 * thread;
        int credit = 2 * thread + 1;
        byte[][] models = new byte[comm.size()][regionBytes(thread)];
        long last = -1;
        for (int step = 0; step < steps; step++) {
            for (int i = random.nextInt(4); i > 0; i--) {
                access(thread, random, models);
            }
            if (step >= SLOTS) {
                window.waitSignal(right, credit, 1);
            }
            window.putSignal(right, slotOffset(thread, step), buffer(message(comm.rank(), thread, step), random), data);
            window.waitSignal(left, data, 1);
            byte[] arrived = new byte[SLOT];
            window.asByteBuffer(slotOffset(thread, step), SLOT).get(arrived);
            assertThat(arrived).as("message %d of thread %d", step, thread).isEqualTo(message(left, thread, step));
            window.signal(left, credit);
            long before = window.fetchAdd(comm.size() - 1, window.bytes() - Long.BYTES, 1);
            assertThat(before).isGreaterThan(last);
            counted.add(before);
            last = before;
        }
        for (int peer = 0; peer < comm.size(); peer++) {
            window.flush(peer);
            byte[] all = new byte[regionBytes(thread)];
            window.get(peer, regionOffset(comm.rank(), thread), DataBuffer.of(all));
            assertThat(all).isEqualTo(models[peer]);
        }
    }

    private static byte[] message(int rank, int thread, int number) {
        byte[] bytes = new byte[SLOT];
        new Random(rank * 1_000_003L + thread * 10_007L + number).nextBytes(bytes);
        return bytes;
    }

    private static DataBuffer buffer(byte[] data, Random random) {
        if (random.nextBoolean()) {
            return DataBuffer.of(data);
        }
        return DataBuffer.of(ByteBuffer.allocateDirect(data.length).put(data).flip());
    }

    /** Puts to the thread's own region of a random rank, or gets from it and compares. */
    private void access(int thread, Random random, byte[][] models) {
        int peer = random.nextInt(comm.size());
        byte[] model = models[peer];
        int length = random.nextInt(random.nextInt(8) == 0 ? model.length : Math.min(100, model.length)) + 1;
        int offset = random.nextInt(model.length - length + 1);
        long at = regionOffset(comm.rank(), thread) + offset;
        byte[] bytes = new byte[length];
        if (random.nextInt(3) > 0) {
            random.nextBytes(bytes);
            window.put(peer, at, buffer(bytes, random));
            System.arraycopy(bytes, 0, model, offset, length);
        } else {
            if (random.nextInt(4) == 0) {
                window.flush(peer);
            }
            window.get(peer, at, DataBuffer.of(bytes));
            assertThat(bytes).isEqualTo(Arrays.copyOfRange(model, offset, offset + length));
        }
    }
}

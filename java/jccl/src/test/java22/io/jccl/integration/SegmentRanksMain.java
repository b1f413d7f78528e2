package io.jccl.integration;

import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.JcclException;
import io.jccl.ReduceOp;
import io.jccl.UniqueId;
import io.jccl.Work;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Scenarios of memory segments in operations of two ranks, which are threads. {@link MemorySegmentsTest} compiles and
 * runs this program with JDK 22 or later. The argument is a folder for files. Prints {@code NAME: ok} for each
 * scenario, or what went wrong, and finally {@code DONE}.
 */
final class SegmentRanksMain {

    private static final int COUNT = 100_000;
    private static final long BYTES = (long) COUNT * Float.BYTES;
    private static final int MANY = 3_000;
    private static final int MAX_ARENAS = 16;
    static final Duration TIMEOUT = Duration.ofSeconds(30);
    static final CommunicatorConfig CONFIG =
            CommunicatorConfig.builder().timeout(TIMEOUT).initTimeout(TIMEOUT).build();

    private final Path folder;

    private SegmentRanksMain(Path folder) {
        this.folder = folder;
    }

    /** The work of one rank. */
    @FunctionalInterface
    interface RankAction {
        void run(Communicator comm) throws Exception;
    }

    /** A scenario; throws if something is wrong. */
    @FunctionalInterface
    interface Scenario {
        void run() throws Exception;
    }

    public static void main(String[] args) {
        SegmentRanksMain main = new SegmentRanksMain(Path.of(args[0]));
        report("shared arena", main::sharedArena);
        report("automatic and global arenas", main::arenasThatStayOpen);
        report("any alignment", main::anyAlignment);
        report("mapped file", main::mappedFile);
        report("read-only source", main::readOnlySource);
        report("no elements", main::noElements);
        report("transfers", main::transfers);
        report("many transfers of one arena", main::manyTransfers);
        report("many arenas in a group", main::manyArenas);
        report("host buffer as a segment", main::hostBuffer);
        report("host buffer that is closed", main::closedHostBuffer);
        report("host buffer that only its segment refers to", main::forgottenHostBuffer);
        report("more than 2 GiB", main::large);
        report("what is refused", main::refused);
        report("arena closed before the operation is issued", main::closedBeforeIssue);
        report("arena closed while the operation waits in the queue", main::closedWhileQueued);
        report("arena closed while the operation is executed", main::closedWhileExecuted);
        System.out.println("DONE");
    }

    static void report(String name, Scenario scenario) {
        try {
            scenario.run();
            System.out.println(name + ": ok");
        } catch (Throwable e) {
            System.out.println(name + ": " + e);
            e.printStackTrace();
        }
    }

    private void sharedArena() throws Exception {
        ranks(comm -> {
            try (Arena arena = Arena.ofShared()) {
                for (int round = 0; round < 20; round++) {
                    requireSum(comm, arena.allocate(BYTES));
                }
            }
        });
    }

    private void arenasThatStayOpen() throws Exception {
        ranks(comm -> {
            requireSum(comm, Arena.ofAuto().allocate(BYTES));
            requireSum(comm, Arena.global().allocate(BYTES));
        });
    }

    private void anyAlignment() throws Exception {
        ranks(comm -> {
            try (Arena arena = Arena.ofShared()) {
                requireSum(comm, arena.allocate(BYTES + 1).asSlice(1));
            }
        });
    }

    private void mappedFile() throws Exception {
        ranks(comm -> {
            Path file = folder.resolve("values" + comm.rank());
            try (Arena arena = Arena.ofShared();
                    FileChannel channel = FileChannel.open(
                            file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
                requireSum(comm, channel.map(FileChannel.MapMode.READ_WRITE, 0, BYTES, arena));
            }
        });
    }

    private void readOnlySource() throws Exception {
        ranks(comm -> {
            try (Arena arena = Arena.ofShared()) {
                MemorySegment source = arena.allocate(BYTES);
                MemorySegment target = arena.allocate(BYTES);
                fill(source, comm.rank());
                DataBuffer send = DataBuffer.of(source.asReadOnly(), DataType.FLOAT32);
                require(send.isReadOnly(), "it is read-only");
                comm.allReduce(send, DataBuffer.of(target, DataType.FLOAT32), ReduceOp.SUM)
                        .await();
                checkSum(target);
                requireThrown(IllegalArgumentException.class, "is read-only", () -> comm.allReduce(send, ReduceOp.SUM));
            }
        });
    }

    private void noElements() throws Exception {
        ranks(comm -> {
            try (Arena arena = Arena.ofShared()) {
                DataBuffer nothing = DataBuffer.of(arena.allocate(0), DataType.FLOAT32);
                require(nothing.count() == 0, "it has no elements");
                comm.allReduce(nothing, ReduceOp.SUM).await();
                require(DataBuffer.of(MemorySegment.NULL, DataType.INT8).count() == 0, "NULL has no elements");
            }
        });
    }

    /** Uses one arena for each buffer, so that an operation holds several arenas at once. */
    private void transfers() throws Exception {
        ranks(comm -> {
            try (Arena first = Arena.ofShared();
                    Arena second = Arena.ofShared()) {
                MemorySegment out = first.allocate(BYTES);
                MemorySegment in = second.allocate(BYTES);
                fill(out, comm.rank());
                int peer = 1 - comm.rank();
                comm.group(group -> {
                            group.send(peer, DataBuffer.of(out, DataType.FLOAT32));
                            group.recv(peer, DataBuffer.of(in, DataType.FLOAT32));
                        })
                        .await();
                for (long i = 0; i < COUNT; i++) {
                    require(at(in, i) == peer + i % 7, "element " + i + " is " + at(in, i));
                }
            }
        });
    }

    /** The group holds the arena once for all transfers, so the stack does not grow with the number of transfers. */
    private void manyTransfers() throws Exception {
        ranks(comm -> {
            try (Arena arena = Arena.ofShared()) {
                MemorySegment out = arena.allocate(BYTES);
                MemorySegment in = arena.allocate(BYTES);
                fill(out, comm.rank());
                int peer = 1 - comm.rank();
                comm.group(group -> {
                            for (long at = 0; at < MANY; at++) {
                                group.send(peer, DataBuffer.of(out.asSlice(at * Float.BYTES, Float.BYTES), DataType.FLOAT32));
                                group.recv(peer, DataBuffer.of(in.asSlice(at * Float.BYTES, Float.BYTES), DataType.FLOAT32));
                            }
                        })
                        .await();
                for (long i = 0; i < MANY; i++) {
                    require(at(in, i) == peer + i % 7, "element " + i + " is " + at(in, i));
                }
            }
        });
    }

    /** A group holds at most {@link #MAX_ARENAS} arenas; one more is refused before anything is sent. */
    private void manyArenas() throws Exception {
        ranks(comm -> {
            List<Arena> arenas = Stream.generate(Arena::ofShared).limit(MAX_ARENAS + 1).toList();
            try {
                List<MemorySegment> segments =
                        arenas.stream().map(arena -> arena.allocate(BYTES)).toList();
                requireThrown(
                        IllegalArgumentException.class,
                        "arenas=" + (MAX_ARENAS + 1) + ": expected at most " + MAX_ARENAS,
                        () -> exchange(comm, segments));
                exchange(comm, segments.subList(0, MAX_ARENAS)).await();
            } finally {
                arenas.forEach(Arena::close);
            }
        });
    }

    /** Sends half of the segments, and receives into the others. */
    private static Work exchange(Communicator comm, List<MemorySegment> segments) {
        return comm.group(group -> {
            for (int i = 0; i < segments.size(); i++) {
                DataBuffer buffer = DataBuffer.of(segments.get(i), DataType.FLOAT32);
                if (i % 2 == 0) {
                    group.send(1 - comm.rank(), buffer);
                } else {
                    group.recv(1 - comm.rank(), buffer);
                }
            }
        });
    }

    private void hostBuffer() throws Exception {
        ranks(comm -> {
            try (HostBuffer buffer = HostBuffer.allocate(BYTES)) {
                MemorySegment segment = buffer.asMemorySegment();
                require(segment.byteSize() == BYTES && segment.address() == buffer.address(), "it is the same memory");
                requireSum(comm, segment);
                float[] first = new float[8];
                buffer.get(0, first);
                require(first[3] == at(segment, 3), "the buffer shows what the segment does");
            }
        });
    }

    private void closedHostBuffer() throws Exception {
        ranks(comm -> {
            HostBuffer buffer = HostBuffer.allocate(BYTES);
            MemorySegment segment = buffer.asMemorySegment();
            DataBuffer before = DataBuffer.of(segment, DataType.FLOAT32);
            fill(segment, 1);
            buffer.close();
            require(at(segment, 5) == 0, "the segment shows memory of its own, which is zero");
            fill(segment, 2);
            requireThrown(IllegalStateException.class, "is closed", () -> comm.allReduce(before, ReduceOp.SUM));
            requireThrown(
                    IllegalStateException.class,
                    "is closed",
                    () -> comm.allReduce(DataBuffer.of(segment, DataType.FLOAT32), ReduceOp.SUM));
            requireThrown(IllegalStateException.class, "is closed", buffer::asMemorySegment);
        });
    }

    private void forgottenHostBuffer() throws Exception {
        MemorySegment segment = HostBuffer.allocate(BYTES).asMemorySegment();
        for (int i = 0; i < 5; i++) {
            fill(segment, i);
            System.gc();
            Thread.sleep(20);
            require(at(segment, 9) == i + 9 % 7, "it kept what was written");
        }
    }

    private void large() {
        long bytes = 5L << 30;
        DataBuffer buffer = DataBuffer.of(MemorySegment.ofAddress(1 << 20).reinterpret(bytes), DataType.BFLOAT16);
        require(buffer.count() == bytes / 2 && buffer.bytes() == bytes, "its count is " + buffer.count());
        DataBuffer slice = buffer.slice(2L << 30, 10);
        require(slice.address() == (1 << 20) + (4L << 30), "the slice is at " + slice.address());
        try (HostBuffer shared = HostBuffer.allocate(3L << 30)) {
            long offset = (5L << 29) + 4;
            shared.asMemorySegment().set(ValueLayout.JAVA_FLOAT, offset, 42);
            float[] one = new float[1];
            shared.get(offset, one);
            require(one[0] == 42, "a value beyond 2 GiB is " + one[0]);
        } catch (JcclException e) {
            // A host with less memory than the buffer refuses to allocate it.
            require(e.getMessage().contains("more than all memory"), e.getMessage());
        }
    }

    private void refused() {
        try (Arena confined = Arena.ofConfined();
                Arena shared = Arena.ofShared()) {
            requireThrown(
                    IllegalArgumentException.class,
                    "arena=confined",
                    () -> DataBuffer.of(confined.allocate(16), DataType.FLOAT32));
            requireThrown(
                    IllegalArgumentException.class,
                    "expected a multiple of 4",
                    () -> DataBuffer.of(shared.allocate(18), DataType.FLOAT32));
            for (MemorySegment heap :
                    List.of(MemorySegment.ofArray(new byte[8]), MemorySegment.ofArray(new float[8]))) {
                requireThrown(
                        IllegalArgumentException.class,
                        "expected native memory",
                        () -> DataBuffer.of(heap, DataType.FLOAT32));
            }
            requireThrown(
                    IllegalArgumentException.class,
                    "segment=null",
                    () -> DataBuffer.of((MemorySegment) null, DataType.FLOAT32));
            requireThrown(IllegalArgumentException.class, "type=null", () -> DataBuffer.of(shared.allocate(16), null));
        }
    }

    private void closedBeforeIssue() throws Exception {
        ranks(comm -> {
            Arena arena = Arena.ofShared();
            MemorySegment segment = arena.allocate(BYTES);
            DataBuffer buffer = DataBuffer.of(segment, DataType.FLOAT32);
            arena.close();
            String expected = "its arena is closed";
            requireThrown(IllegalStateException.class, expected, () -> DataBuffer.of(segment, DataType.FLOAT32));
            requireThrown(IllegalStateException.class, expected, () -> comm.allReduce(buffer, ReduceOp.SUM));
            requireThrown(
                    IllegalStateException.class, expected, () -> comm.allReduce(buffer.slice(1, 2), ReduceOp.SUM));
            requireSum(comm, Arena.ofAuto().allocate(BYTES)); // the communicator still works
        });
    }

    private void closedWhileQueued() throws Exception {
        CountDownLatch closed = new CountDownLatch(1);
        ranks(comm -> {
            try (Arena other = Arena.ofShared()) {
                float[] first = new float[4];
                if (comm.rank() == 1) {
                    require(closed.await(TIMEOUT.toSeconds(), TimeUnit.SECONDS), "rank 0 got there");
                    MemorySegment segment = other.allocate(BYTES);
                    requireThrown(JcclException.class, "its arena was closed", () -> {
                        // Throws if rank 0 has already failed.
                        comm.allReduce(DataBuffer.of(first), ReduceOp.SUM).await();
                        comm.allReduce(DataBuffer.of(segment, DataType.FLOAT32), ReduceOp.SUM).await();
                    });
                    return;
                }
                Work before = comm.allReduce(DataBuffer.of(first), ReduceOp.SUM);
                awaitNativeCode();
                Arena arena = Arena.ofShared();
                Work second = comm.allReduce(DataBuffer.of(arena.allocate(BYTES), DataType.FLOAT32), ReduceOp.SUM);
                arena.close();
                closed.countDown();
                before.await();
                requireThrown(
                        JcclException.class, "its arena was closed after the operation was issued", second::await);
            }
        });
    }

    private void closedWhileExecuted() throws Exception {
        CountDownLatch refused = new CountDownLatch(1);
        ranks(comm -> {
            try (Arena arena = Arena.ofShared()) {
                MemorySegment segment = arena.allocate(BYTES);
                fill(segment, comm.rank());
                if (comm.rank() == 0) {
                    Work work = comm.allReduce(DataBuffer.of(segment, DataType.FLOAT32), ReduceOp.SUM);
                    awaitNativeCode();
                    requireThrown(IllegalStateException.class, "", arena::close);
                    refused.countDown();
                    work.await();
                } else {
                    require(refused.await(TIMEOUT.toSeconds(), TimeUnit.SECONDS), "rank 0 got there");
                    comm.allReduce(DataBuffer.of(segment, DataType.FLOAT32), ReduceOp.SUM)
                            .await();
                }
                checkSum(segment);
            } // now the arena can be closed
        });
    }

    /** Waits until a thread is inside the native engine with an operation. */
    static void awaitNativeCode() throws InterruptedException {
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (Thread.getAllStackTraces().values().stream()
                .flatMap(Stream::of)
                .noneMatch(frame -> frame.isNativeMethod()
                        && frame.getClassName().endsWith(".NativeEngine")
                        && frame.getMethodName().startsWith("run"))) {
            require(System.nanoTime() - deadline < 0, "an operation began");
            Thread.sleep(5);
        }
    }

    static void ranks(RankAction action) throws Exception {
        UniqueId id = UniqueId.create(CONFIG);
        ExecutorService threads = Executors.newFixedThreadPool(2, body -> {
            Thread thread = new Thread(body);
            thread.setDaemon(true);
            return thread;
        });
        try {
            List<Future<Void>> ends = new ArrayList<>();
            for (int rank = 0; rank < 2; rank++) {
                int mine = rank;
                Callable<Void> life = () -> {
                    try (Communicator comm = Communicator.init(id, mine, 2, CONFIG)) {
                        action.run(comm);
                    }
                    return null;
                };
                ends.add(threads.submit(life));
            }
            for (Future<Void> end : ends) {
                end.get(2 * TIMEOUT.toSeconds(), TimeUnit.SECONDS);
            }
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        } finally {
            threads.shutdownNow();
        }
    }

    static void requireSum(Communicator comm, MemorySegment segment) {
        fill(segment, comm.rank());
        comm.allReduce(DataBuffer.of(segment, DataType.FLOAT32), ReduceOp.SUM).await();
        checkSum(segment);
    }

    static void fill(MemorySegment segment, int rank) {
        for (long i = 0; i < COUNT; i++) {
            segment.set(ValueLayout.JAVA_FLOAT_UNALIGNED, i * Float.BYTES, rank + i % 7);
        }
    }

    /** Requires that each element is the sum of the values of ranks 0 and 1. */
    static void checkSum(MemorySegment segment) {
        for (long i = 0; i < COUNT; i++) {
            require(at(segment, i) == 1 + 2 * (i % 7), "element " + i + " is " + at(segment, i));
        }
    }

    static float at(MemorySegment segment, long index) {
        return segment.get(ValueLayout.JAVA_FLOAT_UNALIGNED, index * Float.BYTES);
    }

    static void require(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError("expected that " + what);
        }
    }

    static void requireThrown(Class<? extends RuntimeException> type, String message, Scenario scenario) {
        try {
            scenario.run();
        } catch (Exception e) {
            if (type.isInstance(e) && e.getMessage().contains(message)) {
                return;
            }
            throw new AssertionError("expected " + type.getSimpleName() + " with \"" + message + "\"", e);
        }
        throw new AssertionError("expected " + type.getSimpleName() + " with \"" + message + "\", nothing was thrown");
    }
}

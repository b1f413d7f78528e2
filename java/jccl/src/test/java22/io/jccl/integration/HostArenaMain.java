package io.jccl.integration;

import static io.jccl.integration.SegmentRanksMain.CONFIG;
import static io.jccl.integration.SegmentRanksMain.TIMEOUT;
import static io.jccl.integration.SegmentRanksMain.awaitNativeCode;
import static io.jccl.integration.SegmentRanksMain.checkSum;
import static io.jccl.integration.SegmentRanksMain.fill;
import static io.jccl.integration.SegmentRanksMain.ranks;
import static io.jccl.integration.SegmentRanksMain.report;
import static io.jccl.integration.SegmentRanksMain.require;
import static io.jccl.integration.SegmentRanksMain.requireSum;
import static io.jccl.integration.SegmentRanksMain.requireThrown;

import io.jccl.Algorithm;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.JcclException;
import io.jccl.ReduceOp;
import io.jccl.Registration;
import io.jccl.UniqueId;
import io.jccl.Work;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Scenarios of arenas of shared memory. {@link MemorySegmentsTest} compiles and runs this program with JDK 22 or later.
 * The argument is a folder for files. Prints {@code NAME: ok} for each scenario, or what went wrong, and finally
 * {@code DONE}.
 */
final class HostArenaMain {

    private static final int PEER_ARGUMENTS = 2; // number of arguments of rank 1's process: folder and unique id
    private static final int COUNT = 1_300_000; // elements of a segment that processes use in place
    private static final long BYTES = (long) COUNT * Integer.BYTES;
    private static final long LARGE = 5L << 20; // a segment of this size gets its own block

    private HostArenaMain() {}

    public static void main(String[] args) throws Exception {
        if (args.length == PEER_ARGUMENTS) {
            inPlace(UniqueId.parse(args[1]), 1);
            return;
        }
        report("sums", HostArenaMain::sums);
        report("zeroed, aligned and apart", HostArenaMain::zeroedAlignedAndApart);
        report("what is refused", HostArenaMain::refused);
        report("closed arena", HostArenaMain::closedArena);
        report("arena closed while the operation is executed", HostArenaMain::closedWhileExecuted);
        report("memory is given back", HostArenaMain::givenBack);
        report("many threads allocate", HostArenaMain::manyThreads);
        report("in place between processes", () -> inPlaceBetweenProcesses(Path.of(args[0])));
        System.out.println("DONE");
    }

    private static void sums() throws Exception {
        ranks(comm -> {
            try (Arena arena = HostBuffer.openArena()) {
                for (int round = 0; round < 20; round++) {
                    requireSum(comm, arena.allocate(400_000));
                }
                requireSum(comm, arena.allocate(LARGE).asSlice(12, 400_000));
                MemorySegment segment = arena.allocate(64);
                try (Registration registration = comm.register(DataBuffer.of(segment, DataType.INT8))) {
                    require(registration.isInPlace(), "it needs no registration");
                }
            }
        });
    }

    private static void zeroedAlignedAndApart() {
        try (Arena arena = HostBuffer.openArena()) {
            MemorySegment before = arena.allocate(3);
            for (long alignment = 1; alignment <= 1L << 22; alignment *= 2) {
                for (long bytes : new long[] {0, 1, 7, 64, 5_000, 700_000, LARGE}) {
                    MemorySegment segment = arena.allocate(bytes, alignment);
                    require(segment.byteSize() == bytes, bytes + " bytes, not " + segment.byteSize());
                    require(segment.address() % Math.max(alignment, 64) == 0, "aligned to " + alignment);
                    require(segment.mismatch(MemorySegment.ofArray(new byte[(int) bytes])) == -1, "zeroed");
                    segment.fill((byte) 1);
                    require(before.asOverlappingSlice(segment).isEmpty(), "apart");
                    DataBuffer buffer = DataBuffer.of(segment, DataType.INT8);
                    require(buffer.memory() == DataBuffer.Memory.SHARED, "shared, not " + buffer);
                    before = segment;
                }
            }
            MemorySegment text = arena.allocateFrom("of the arena");
            require(text.getString(0).equals("of the arena"), "allocateFrom copies the text");
        }
    }

    private static void refused() {
        try (Arena arena = HostBuffer.openArena()) {
            requireThrown(IllegalArgumentException.class, "byteSize=-1", () -> arena.allocate(-1));
            requireThrown(IllegalArgumentException.class, "byteAlignment=0", () -> arena.allocate(8, 0));
            requireThrown(IllegalArgumentException.class, "byteAlignment=24", () -> arena.allocate(8, 24));
            requireThrown(
                    IllegalArgumentException.class,
                    "expected a sum of at most",
                    () -> arena.allocate(Long.MAX_VALUE, 1 << 20));
            requireThrown(JcclException.class, "more than all memory", () -> arena.allocate(1L << 60));
            require(arena.allocate(8).byteSize() == 8, "the arena still allocates");
        }
    }

    private static void closedArena() throws Exception {
        ranks(comm -> {
            Arena arena = HostBuffer.openArena();
            MemorySegment segment = arena.allocate(400_000);
            DataBuffer buffer = DataBuffer.of(segment, DataType.FLOAT32);
            arena.close();
            require(!arena.scope().isAlive(), "it is closed");
            requireThrown(IllegalStateException.class, "", arena::close);
            requireThrown(IllegalStateException.class, "this arena is closed", () -> arena.allocate(8));
            requireThrown(IllegalStateException.class, "this arena is closed", () -> arena.allocate(LARGE));
            requireThrown(IllegalStateException.class, "", () -> segment.get(ValueLayout.JAVA_BYTE, 0));
            requireThrown(
                    IllegalStateException.class,
                    "its arena is closed",
                    () -> DataBuffer.of(segment, DataType.FLOAT32));
            requireThrown(IllegalStateException.class, "is closed", () -> comm.allReduce(buffer, ReduceOp.SUM));
            try (Arena next = HostBuffer.openArena()) {
                requireSum(comm, next.allocate(400_000)); // the communicator still works
            }
        });
    }

    /** The memory of a closed arena stays until the operation has ended. */
    private static void closedWhileExecuted() throws Exception {
        CountDownLatch closed = new CountDownLatch(1);
        ranks(comm -> {
            Arena arena = HostBuffer.openArena();
            MemorySegment segment = arena.allocate(400_000);
            fill(segment, comm.rank());
            DataBuffer buffer = DataBuffer.of(segment, DataType.FLOAT32);
            if (comm.rank() == 0) {
                Work work = comm.allReduce(buffer, ReduceOp.SUM);
                awaitNativeCode();
                arena.close();
                closed.countDown();
                work.await();
            } else {
                require(closed.await(TIMEOUT.toSeconds(), TimeUnit.SECONDS), "rank 0 has closed its arena");
                comm.allReduce(buffer, ReduceOp.SUM).await();
                checkSum(segment);
                arena.close();
            }
        });
    }

    private static void givenBack() throws Exception {
        long before = sharedMappings();
        try (Arena arena = HostBuffer.openArena()) {
            arena.allocate(8);
            arena.allocate(LARGE);
            require(sharedMappings() == before + 2, "a block, and a large segment");
        }
        require(sharedMappings() == before, "closing the arena has ended both");
    }

    private static long sharedMappings() throws Exception {
        try (var maps = Files.lines(Path.of("/proc/self/maps"))) {
            return maps.filter(line -> line.contains("memfd:HostBuffer")).count();
        }
    }

    private static void manyThreads() throws Exception {
        try (Arena arena = HostBuffer.openArena()) {
            Thread[] threads = new Thread[4];
            MemorySegment[][] mine = new MemorySegment[threads.length][500];
            for (int t = 0; t < threads.length; t++) {
                int number = t;
                threads[t] = new Thread(() -> {
                    for (int i = 0; i < mine[number].length; i++) {
                        mine[number][i] = arena.allocate(1 + 97L * i).fill((byte) number);
                    }
                });
                threads[t].start();
            }
            for (Thread thread : threads) {
                thread.join(TIMEOUT.toMillis());
                require(!thread.isAlive(), "each thread ends");
            }
            for (int t = 0; t < threads.length; t++) {
                for (MemorySegment segment : mine[t]) {
                    for (long i = 0; i < segment.byteSize(); i++) {
                        require(segment.get(ValueLayout.JAVA_BYTE, i) == t, "no thread has another's memory");
                    }
                }
            }
        }
    }

    private static void inPlaceBetweenProcesses(Path folder) throws Exception {
        UniqueId id = UniqueId.create(CONFIG);
        Path output = folder.resolve("peer");
        Process peer = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--enable-native-access=ALL-UNNAMED",
                        "-cp",
                        System.getProperty("java.class.path"),
                        HostArenaMain.class.getName(),
                        folder.toString(),
                        id.toText())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            inPlace(id, 0);
            require(peer.waitFor(2 * TIMEOUT.toSeconds(), TimeUnit.SECONDS), "rank 1 ends");
            require(peer.exitValue() == 0, "rank 1 succeeds: " + Files.readString(output));
        } finally {
            peer.destroyForcibly();
        }
    }

    /** All-reduces slices of a shared segment in place, and an ordinary segment through slots. */
    private static void inPlace(UniqueId id, int rank) throws Exception {
        try (Communicator comm = Communicator.init(id, rank, 2, CONFIG);
                Arena shared = HostBuffer.openArena();
                Arena ordinary = Arena.ofShared()) {
            MemorySegment segment = shared.allocate(2 * BYTES);
            requireSums(comm, segment.asSlice(0, BYTES), Algorithm.DIRECT);
            requireSums(comm, segment.asSlice(BYTES), Algorithm.DIRECT);
            requireSums(comm, ordinary.allocate(BYTES), Algorithm.RING);
            try (Registration registration =
                    comm.register(DataBuffer.of(segment.asSlice(64, BYTES), DataType.INT32))) {
                require(registration.isInPlace(), "it needs no registration");
            }
            requireSums(comm, segment.asSlice(64, BYTES), Algorithm.DIRECT);
        }
    }

    private static void requireSums(Communicator comm, MemorySegment segment, Algorithm expected) {
        for (int i = 0; i < COUNT; i++) {
            segment.set(ValueLayout.JAVA_INT, i * 4L, i + comm.rank());
        }
        Work work = comm.allReduce(DataBuffer.of(segment, DataType.INT32), ReduceOp.SUM);
        work.await();
        Algorithm used = work.execution().algorithm();
        require(used == expected, expected + " was used, not " + used);
        for (int i = 0; i < COUNT; i++) {
            int sum = segment.get(ValueLayout.JAVA_INT, i * 4L);
            require(sum == 2 * i + 1, "element " + i + " is not " + sum);
        }
    }
}

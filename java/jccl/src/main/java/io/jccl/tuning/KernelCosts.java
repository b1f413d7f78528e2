package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.nativelib.DeviceConfig;
import io.jccl.search.PeerRates;
import io.jccl.tuning.GraphCosts.Generation;

/**
 * The bytes that each kind of kernel moves, for each byte of the operation: between two GPUs, and between a
 * multiprocessor and any memory. The bytes of an operation are those of the larger of a rank's buffers.
 *
 * <p>The counts follow from the schedules. {@code cuda/test/transactions.txt} has the emulator's counts of them.
 */
final class KernelCosts {

    /**
     * Bandwidth in GB/s with which a block of {@link DeviceConfig#MAX_THREADS} threads reads and writes memory, by
     * generation. The value of Hopper was measured with two ranks on an H200: 32 blocks of each rank reduced 128 MiB in
     * place in 209 us, and through slots in 417 us ({@code docs/benchmarks.md}). Both are 41 GB/s for each block. The
     * others are estimates, in proportion to the boost clock: V100 1.53, A100 1.41, H200 1.98, B200 1.97 GHz. That
     * memory of a peer is as fast is an estimate, too.
     */
    private static final double[] BLOCK_GBPS = {31, 29, 41, 41};

    /**
     * Share of the bandwidth of PCI Express that reads of a peer's memory reach, because requests use the opposite
     * direction and wait for answers; an estimate.
     */
    private static final double PCI_READS = 0.8;

    /** Time between two copies of a stream in which its copy engine moves nothing; an estimate. */
    private static final double COPY_START_MICROS = 2;

    /** Bytes that LL, LL128 and SIMPLE write for each byte of payload: with a flag for 4 and for 120 bytes, or none. */
    private static final double[] WRITTEN = {2, 128.0 / 120, 1};

    /** Bytes that LL, LL128 and SIMPLE read for each byte of payload: LL128 reads each line twice. */
    private static final double[] READ = {2, 2 * 128.0 / 120, 1};

    /**
     * Time in microseconds by which a two-shot all-reduce in place takes longer than a one-shot one, apart from the bytes:
     * the results are written to the peers, and the ranks meet again only when the links have confirmed these writes. An
     * estimate, of one round trip over a link.
     */
    private static final double TWO_SHOT_MICROS = 1;

    private final int ranks;
    private final PeerRates peers;
    private final boolean overPci;
    private final double blockGBps;
    private final long oneShotBytes;

    /** @param threads number of threads of each block, 0 for the default */
    KernelCosts(GpuShape shape, int threads) {
        this.ranks = shape.ranks();
        this.peers = shape.peers();
        this.overPci = GraphCosts.Medium.within(shape.ring().typeIntra()) != GraphCosts.Medium.NVLINK;
        int used = threads == 0 ? DeviceConfig.MAX_THREADS : Math.min(threads, DeviceConfig.MAX_THREADS);
        this.blockGBps = blockGBps(shape.minCapability()) * used / DeviceConfig.MAX_THREADS;
        this.oneShotBytes = oneShotBytes(shape.ranks(), peers);
    }

    /**
     * Returns the largest all-reduce in place in which each rank reads all data of all others, unless a rank's buffers are
     * the same. There the links take as much longer than for a two-shot one as the writes of that take, with S bytes and n
     * ranks: S - 2 S/n bytes between each two GPUs take {@link #TWO_SHOT_MICROS}.
     */
    static long oneShotBytes(int ranks, PeerRates peers) {
        double saved = 1 - 2.0 / Math.max(2, ranks);
        double limit = TWO_SHOT_MICROS * peers.all() * GraphCosts.BYTES_PER_MICRO / saved;
        return (long) Math.min(limit, DeviceConfig.MAX_ONE_SHOT_BYTES);
    }

    /** Returns the limit of {@link #oneShotBytes(int, PeerRates)} for this communicator. */
    long oneShotBytes() {
        return oneShotBytes;
    }

    private static double blockGBps(int capability) {
        return BLOCK_GBPS[Generation.of(capability).ordinal()];
    }

    /**
     * Returns the bus bandwidth of a block of a long ring with SIMPLE: for each byte that it receives and for each byte
     * that it sends, a rank accesses memory three times.
     */
    static double ringGBpsOfBlock(int capability) {
        return blockGBps(capability) / 3;
    }

    /** Returns the bandwidth in GB/s with which a number of blocks read and write memory. */
    double blocksGBps(int blocks) {
        return blocks * blockGBps;
    }

    /** Returns the bytes that a rank's blocks read and write through slots, at the busiest rank. */
    double accessedThroughSlots(Collective collective, Choice choice) {
        double writes = WRITTEN[choice.protocol().ordinal()];
        double reads = READ[choice.protocol().ordinal()];
        double others = (ranks - 1.0) / ranks;
        if (ranks == 1) {
            return 2; // a copy
        }
        boolean direct = choice.algorithm() == Algorithm.DIRECT;
        return switch (collective) {
            case ALL_REDUCE, BARRIER -> {
                if (choice.algorithm() == Algorithm.TREE) {
                    yield 2 + 2 * (writes + reads); // a rank with a parent and a child
                }
                yield direct && !choice.twoShot()
                        ? 3 + (ranks - 1) * (writes + reads)
                        : 2 + 2 * others * (writes + reads);
            }
            case ALL_GATHER, REDUCE_SCATTER -> 1 + 1.0 / ranks + others * (writes + reads);
            case BROADCAST -> direct ? 1 + (ranks - 1) * writes : 1 + writes + reads;
            case REDUCE -> direct ? 2 + (ranks - 1) * reads : 1 + writes + reads;
            case ALL_TO_ALL -> 2 + 2 * others;
            case GATHER, SCATTER -> 2;
            case SEND_RECV, SCAN, EXSCAN -> 4;
        };
    }

    /** Returns the bytes that a rank's blocks read and write in place. */
    double accessedInPlace(Collective collective, long bytes) {
        return collective == Collective.ALL_REDUCE ? (oneShot(bytes) ? ranks + 1 : 2) : 1 + 1.0 / ranks;
    }

    /** Returns the time in microseconds in which the links carry a direct operation through slots. */
    double directMicros(Collective collective, Choice choice, long bytes) {
        double sent = bytes * WRITTEN[choice.protocol().ordinal()];
        return switch (collective) {
            case ALL_REDUCE, BARRIER -> micros(choice.twoShot() ? 2 * sent / ranks : sent, peers.all());
            case ALL_GATHER, REDUCE_SCATTER -> micros(sent / ranks, peers.all());
            case BROADCAST, REDUCE -> micros(sent, peers.one());
                // Kernels of the following operations always use SIMPLE.
            case ALL_TO_ALL -> micros((double) bytes / ranks, peers.all());
            case GATHER, SCATTER -> micros((double) bytes / ranks, peers.one());
            case SEND_RECV, SCAN, EXSCAN -> micros(bytes, peers.single());
        };
    }

    /** Returns the time in microseconds in which the links carry an operation in place. */
    double inPlaceMicros(Collective collective, long bytes) {
        double shard = (double) bytes / ranks;
        return switch (collective) {
                // A rank reads its shard from each peer, and writes the result to each peer.
            case ALL_REDUCE -> micros(oneShot(bytes) ? bytes : 2 * shard, peers.all());
            default -> micros(shard, peers.all());
        };
    }

    /** Returns the time in microseconds that an operation in place takes in addition to its meetings and its bytes. */
    double confirmationMicros(Collective collective, long bytes) {
        return collective == Collective.ALL_REDUCE && !oneShot(bytes) ? TWO_SHOT_MICROS : 0;
    }

    /**
     * Returns the time in microseconds in which copy engines execute an all-gather or all-to-all out of symmetric memory:
     * each rank copies from one peer after the other, while all ranks do so.
     */
    double copiesMicros(long bytes) {
        double shard = (double) bytes / ranks;
        double links = Math.max(micros(shard, peers.all()), micros((ranks - 1) * shard, peers.single()));
        return (ranks - 1) * COPY_START_MICROS + links * slownessOfReads();
    }

    /**
     * Returns the bytes that a rank's blocks read and write, at the busiest rank, if receivers read messages out of the
     * buffers of their senders.
     */
    double accessedByReads(Collective collective) {
        return collective == Collective.SCATTER ? 2.0 / ranks : 2;
    }

    /** Returns the factor by which reading over PCI Express lengthens the time of the links. */
    double slownessOfReads() {
        return overPci ? 1 / PCI_READS : 1;
    }

    /** Returns the factor by which reading over PCI Express lengthens the time of the links in place. */
    double slownessInPlace(Collective collective, long bytes) {
        if (!overPci || collective == Collective.ALL_GATHER) {
            return 1;
        }
        double read = collective == Collective.ALL_REDUCE && !oneShot(bytes) ? 0.5 : 1;
        return read / PCI_READS + 1 - read;
    }

    private boolean oneShot(long bytes) {
        return bytes <= oneShotBytes;
    }

    private static double micros(double bytes, double gbps) {
        return bytes / gbps / GraphCosts.BYTES_PER_MICRO;
    }
}

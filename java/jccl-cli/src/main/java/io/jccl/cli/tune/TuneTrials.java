package io.jccl.cli.tune;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.config.AlgorithmSettings;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.LongStream;

/**
 * The trials that a table of costs, or a verification, is made from.
 *
 * @param machine where they run
 * @param transports which are measured
 * @param sizes of the operations in bytes, ascending
 * @param secondsEach the time for one measurement
 * @param progress whether to show how far a trial is
 */
record TuneTrials(
        TunedMachine machine, Set<TransportKind> transports, List<Long> sizes, double secondsEach, boolean progress) {

    /** Ways with a step size begin so; the size in bytes follows. */
    static final String CHUNK = "chunk ";

    /** The way with two channels. */
    static final String TWO_CHANNELS = "two channels";

    /** The way that uses shared buffers in place. */
    static final String IN_PLACE = "in place";

    /** The way that has shared buffers and does not use them in place. */
    static final String STAGED = "staged";

    /** Up to this size an operation's steps show in its time, from it on the caches decide about their size. */
    static final long CHUNKS_MATTER_FROM = 256 << 10;

    private static final List<Integer> CHUNKS =
            List.of(1 << 10, 4 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10);
    private static final int SMALLEST_CHUNK_FOR_SPEED = 16 << 10;
    private static final long STEPS_SHOW_FROM = 16 << 10;

    /** The sizes of a full run: 8 B, then 64 B times powers of four. */
    static List<Long> ladder(long maxBytes) {
        LongStream larger = LongStream.iterate(64, bytes -> bytes <= maxBytes, bytes -> bytes * 4);
        return LongStream.concat(LongStream.of(8), larger).boxed().toList();
    }

    /**
     * All that a table needs.
     *
     * @param seconds for all of it
     * @param inPlaceTable a table with which shared buffers are always used in place
     * @param stagedTable a table with which they never are
     */
    List<Trial> forTable(double seconds, Path inPlaceTable, Path stagedTable) {
        List<Trial> trials = new ArrayList<>();
        trials.add(trial(TransportKind.SHM, 1, List.of(Way.automatic(TransportKind.SHM, sizes.subList(0, 1)))));
        for (TransportKind transport : transports) {
            for (int ranks : machine.roomyRanks()) {
                List<Way> ways = Way.allForced(transport, sizes);
                if (ranks == 2 && transport == TransportKind.SOCKET) {
                    ways.addAll(chunkWays(transport));
                }
                if (ranks == 2 && Optional.of(transport).equals(local())) {
                    ways.addAll(chunkWays(transport));
                    List<Long> upTo = sizes.stream()
                            .filter(bytes -> bytes <= CHUNKS_MATTER_FROM)
                            .toList();
                    Way shared = Way.automatic(transport, upTo).inSharedMemory();
                    String table = AlgorithmSettings.HOST_COSTS.name();
                    ways.add(shared.with(table, inPlaceTable.toString()).named(IN_PLACE));
                    ways.add(shared.with(table, stagedTable.toString()).named(STAGED));
                }
                if (ranks == 2 && Optional.of(transport).equals(local()) && machine.cores() >= 2 * ranks) {
                    ways.add(Way.forced(transport, Algorithm.RING, Protocol.SIMPLE, sizes.subList(0, 2))
                            .with(AlgorithmSettings.MIN_NCHANNELS.name(), "2")
                            .with(AlgorithmSettings.MAX_NCHANNELS.name(), "2")
                            .named(TWO_CHANNELS));
                }
                trials.add(trial(transport, ranks, ways));
            }
        }
        local().ifPresent(transport -> {
            List<Way> ways = Way.allForced(transport, sizes);
            ways.addAll(chunkWays(transport));
            trials.add(trial(transport, machine.crowdedRanks(), ways));
        });
        return shared(trials, seconds);
    }

    /** Every way beside the automatic choice, with a core for each rank and with ranks that take turns. */
    List<Trial> forVerification(double seconds, Collective collective) {
        List<Trial> trials = new ArrayList<>();
        for (TransportKind transport : transports) {
            trials.add(verification(transport, 2));
        }
        local().ifPresent(transport -> trials.add(verification(transport, machine.crowdedRanks())));
        return shared(trials, seconds).stream()
                .map(trial -> new Trial(
                        trial.transport(),
                        trial.ranks(),
                        collective,
                        trial.ways(),
                        trial.seconds(),
                        secondsEach,
                        progress))
                .toList();
    }

    private Trial verification(TransportKind transport, int ranks) {
        List<Way> ways = Way.allForced(transport, sizes);
        ways.add(Way.automatic(transport, sizes));
        return trial(transport, ranks, ways);
    }

    /** The transport that stands for memory: processes before threads. */
    private Optional<TransportKind> local() {
        return List.of(TransportKind.SHM, TransportKind.P2P).stream()
                .filter(transports::contains)
                .findFirst();
    }

    private List<Way> chunkWays(TransportKind transport) {
        List<Way> ways = new ArrayList<>();
        for (int chunk : CHUNKS) {
            List<Long> some = sizes.stream()
                    .filter(bytes ->
                            transport != TransportKind.SOCKET && bytes >= STEPS_SHOW_FROM && bytes < CHUNKS_MATTER_FROM
                                    || bytes >= CHUNKS_MATTER_FROM && chunk >= SMALLEST_CHUNK_FOR_SPEED)
                    .toList();
            ways.add(Way.forced(transport, Algorithm.RING, Protocol.SIMPLE, some)
                    .with(AlgorithmSettings.CHUNK_BYTES.name(), Integer.toString(chunk))
                    .named(CHUNK + chunk));
        }
        return ways;
    }

    private Trial trial(TransportKind transport, int ranks, List<Way> ways) {
        return new Trial(transport, ranks, Collective.ALL_REDUCE, ways, 0, secondsEach, progress);
    }

    /** The same trials with the time shared out by the number of measurements. */
    private static List<Trial> shared(List<Trial> trials, double seconds) {
        double all = trials.stream().mapToDouble(TuneTrials::measurements).sum();
        return trials.stream()
                .map(trial -> new Trial(
                        trial.transport(),
                        trial.ranks(),
                        trial.collective(),
                        trial.ways(),
                        seconds * measurements(trial) / all,
                        trial.secondsEach(),
                        trial.progress()))
                .toList();
    }

    private static double measurements(Trial trial) {
        return trial.ways().stream().mapToInt(way -> way.sizes().size()).sum();
    }
}

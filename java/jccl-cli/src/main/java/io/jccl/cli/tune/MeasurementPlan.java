package io.jccl.cli.tune;

import io.jccl.Algorithm;
import io.jccl.Collective;
import io.jccl.Protocol;
import io.jccl.TransportKind;
import io.jccl.config.AlgorithmSettings;
import io.jccl.tuning.CostModel;
import io.jccl.tuning.HostCosts;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/**
 * Plans the runs for a tuning profile or a verification.
 *
 * @param host the host on which they run
 * @param transports the transports that are measured
 * @param sizes sizes of the operations in bytes, ascending
 * @param secondsEach time for one measurement
 * @param progress true to show the progress of a run
 */
record MeasurementPlan(
        TunedHost host, Set<TransportKind> transports, List<Long> sizes, double secondsEach, boolean progress) {

    /** Prefix of the names of configurations with a step size; the size in bytes follows. */
    static final String CHUNK = "chunk ";

    /** Name of the configuration with two channels. */
    static final String TWO_CHANNELS = "two channels";

    /** Name of the configuration that uses shared buffers in place. */
    static final String IN_PLACE = "in place";

    /** Name of the configuration that has shared buffers and does not use them in place. */
    static final String STAGED = "staged";

    /**
     * Below this size in bytes, the time of an operation shows the cost of its steps. From this size on, caches decide
     * the best step size.
     */
    static final long CHUNKS_MATTER_FROM = 256 << 10;

    private static final List<Integer> CHUNKS =
            List.of(1 << 10, 4 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10);
    private static final int SMALLEST_CHUNK_FOR_SPEED = 16 << 10;
    private static final long STEPS_SHOW_FROM = 16 << 10;

    /** Returns the sizes of a full run: 8 B, then 64 B times powers of four. */
    static List<Long> ladder(long maxBytes) {
        LongStream larger = LongStream.iterate(64, bytes -> bytes <= maxBytes, bytes -> bytes * 4);
        return LongStream.concat(LongStream.of(8), larger).boxed().toList();
    }

    /**
     * Returns all runs that a profile needs.
     *
     * @param seconds time for all runs
     * @param inPlaceProfile a profile with which shared buffers are always used in place
     * @param stagedProfile a profile with which shared buffers are never used in place
     */
    List<MeasurementRun> forProfile(double seconds, Path inPlaceProfile, Path stagedProfile) {
        List<MeasurementRun> runs = new ArrayList<>();
        if (!host.isOneOfSeveral()) {
            runs.add(run(
                    TransportKind.SHM, 1, List.of(Configuration.automatic(TransportKind.SHM, sizes.subList(0, 1)))));
        }
        for (TransportKind transport : transports) {
            for (int ranks : host.dedicatedCoreRanks()) {
                List<Configuration> configurations = Configuration.allForced(transport, sizes);
                if ((ranks == 2 || host.isOneOfSeveral()) && transport == TransportKind.SOCKET) {
                    configurations.addAll(chunkConfigurations(transport));
                }
                if (ranks == 2 && Optional.of(transport).equals(local())) {
                    configurations.addAll(chunkConfigurations(transport));
                    List<Long> upTo = sizes.stream()
                            .filter(bytes -> bytes <= CHUNKS_MATTER_FROM)
                            .toList();
                    Configuration shared =
                            Configuration.automatic(transport, upTo).inSharedMemory();
                    String profile = AlgorithmSettings.TUNING_PROFILE.name();
                    configurations.add(
                            shared.with(profile, inPlaceProfile.toString()).named(IN_PLACE));
                    configurations.add(
                            shared.with(profile, stagedProfile.toString()).named(STAGED));
                }
                if (ranks == 2 && Optional.of(transport).equals(local()) && host.cores() >= 2 * ranks) {
                    configurations.add(
                            Configuration.forced(transport, Algorithm.RING, Protocol.SIMPLE, sizes.subList(0, 2))
                                    .with(AlgorithmSettings.MIN_NCHANNELS.name(), "2")
                                    .with(AlgorithmSettings.MAX_NCHANNELS.name(), "2")
                                    .named(TWO_CHANNELS));
                }
                runs.add(run(transport, ranks, configurations));
            }
        }
        local().ifPresent(transport -> {
            List<Configuration> configurations = Configuration.allForced(transport, sizes);
            configurations.addAll(chunkConfigurations(transport));
            runs.add(run(transport, host.oversubscribedRanks(), configurations));
        });
        return shared(runs, seconds);
    }

    /**
     * Returns runs with every forced configuration and the automatic choice, with a core for each rank and with more
     * ranks than cores.
     */
    List<MeasurementRun> forVerification(double seconds, List<Collective> collectives) {
        List<MeasurementRun> runs = new ArrayList<>();
        for (Collective collective : collectives) {
            for (TransportKind transport : transports) {
                runs.add(verification(transport, host.dedicatedCoreRanks().get(0), collective));
            }
            local().ifPresent(transport -> runs.add(verification(transport, host.oversubscribedRanks(), collective)));
        }
        return shared(runs, seconds);
    }

    /**
     * Returns the protocol that ranks use between each other in an operation with this protocol: over sockets, host
     * ranks know only SIMPLE.
     */
    static Protocol sent(TransportKind transport, Protocol protocol) {
        return transport == TransportKind.SOCKET ? Protocol.SIMPLE : protocol;
    }

    private MeasurementRun verification(TransportKind transport, int ranks, Collective collective) {
        CostModel model = new CostModel(host.costs(), host.shape(transport, ranks, 1));
        List<Configuration> configurations = new ArrayList<>();
        for (Algorithm algorithm : HostCosts.ALGORITHMS) {
            if (model.exists(collective, algorithm)) {
                Stream.of(Protocol.values())
                        .filter(protocol -> protocol == sent(transport, protocol))
                        .forEach(protocol ->
                                configurations.add(Configuration.forced(transport, algorithm, protocol, sizes)));
            }
        }
        configurations.add(Configuration.automatic(transport, sizes));
        return run(transport, ranks, collective, configurations);
    }

    /**
     * Returns the transport whose measurements stand for all transports through memory: the one between processes if it
     * is measured, else the one between threads.
     */
    private Optional<TransportKind> local() {
        return List.of(TransportKind.SHM, TransportKind.P2P).stream()
                .filter(transports::contains)
                .findFirst();
    }

    private List<Configuration> chunkConfigurations(TransportKind transport) {
        List<Configuration> configurations = new ArrayList<>();
        for (int chunk : CHUNKS) {
            List<Long> some = sizes.stream()
                    .filter(bytes ->
                            transport != TransportKind.SOCKET && bytes >= STEPS_SHOW_FROM && bytes < CHUNKS_MATTER_FROM
                                    || bytes >= CHUNKS_MATTER_FROM && chunk >= SMALLEST_CHUNK_FOR_SPEED)
                    .toList();
            configurations.add(Configuration.forced(transport, Algorithm.RING, Protocol.SIMPLE, some)
                    .with(AlgorithmSettings.CHUNK_BYTES.name(), Integer.toString(chunk))
                    .named(CHUNK + chunk));
        }
        return configurations;
    }

    private MeasurementRun run(TransportKind transport, int ranks, List<Configuration> configurations) {
        return run(transport, ranks, Collective.ALL_REDUCE, configurations);
    }

    private MeasurementRun run(
            TransportKind transport, int ranks, Collective collective, List<Configuration> configurations) {
        return new MeasurementRun(transport, ranks, collective, configurations, 0, secondsEach, Phase.ONLY, progress);
    }

    /** Divides the time among the runs by their numbers of measurements, and gives each run its phase. */
    private static List<MeasurementRun> shared(List<MeasurementRun> runs, double seconds) {
        double all = runs.stream().mapToInt(MeasurementRun::measurements).sum();
        List<MeasurementRun> shared = new ArrayList<>();
        double before = 0;
        for (MeasurementRun run : runs) {
            double own = seconds * run.measurements() / all;
            shared.add(run.at(new Phase(shared.size() + 1, runs.size(), before, seconds, 0), own));
            before += own;
        }
        return shared;
    }
}

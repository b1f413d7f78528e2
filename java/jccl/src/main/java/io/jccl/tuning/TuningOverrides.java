package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.Setting;
import io.jccl.config.Settings;
import java.util.Locale;
import java.util.Objects;

/**
 * What the settings say about the choice; the same on every rank.
 *
 * @param algorithms which algorithms may be used ({@code JCCL_ALGO})
 * @param protocols which protocols may be used ({@code JCCL_PROTO})
 * @param minChannels at least so many channels, 0 for no bound; the plan's count is the upper limit
 * @param maxChannels at most so many channels, 0 for no bound
 * @param chunkBytes the size of a step, 0 to choose it
 * @param ll128 where LL128 may be used between GPUs ({@code JCCL_LL128})
 * @param threads of each channel between GPUs, 0 to choose them ({@code JCCL_NTHREADS})
 * @param thresholds when a further channel is used between GPUs ({@code JCCL_THREAD_THRESHOLDS})
 * @param nvls whether switches may reduce ({@code JCCL_NVLS_ENABLE})
 */
public record TuningOverrides(
        Selection<Algorithm> algorithms,
        Selection<Protocol> protocols,
        int minChannels,
        int maxChannels,
        int chunkBytes,
        Ll128 ll128,
        int threads,
        ThreadThresholds thresholds,
        boolean nvls) {

    /** Checks the bounds against each other. */
    public TuningOverrides {
        Objects.requireNonNull(algorithms, "algorithms");
        Objects.requireNonNull(protocols, "protocols");
        Objects.requireNonNull(ll128, "ll128");
        Objects.requireNonNull(thresholds, "thresholds");
        if (minChannels < 0 || maxChannels < 0 || maxChannels > 0 && minChannels > maxChannels) {
            throw new IllegalArgumentException("minChannels=" + minChannels + " maxChannels=" + maxChannels
                    + ": expected 0 <= minChannels <= maxChannels, or maxChannels=0 for no bound");
        }
        if (chunkBytes < 0 || threads < 0) {
            throw new IllegalArgumentException(
                    "chunkBytes=" + chunkBytes + " threads=" + threads + ": expected 0 or more of each");
        }
    }

    /** No overrides. */
    public static TuningOverrides none() {
        return of(null, null, 0, 0, 0);
    }

    /** Overrides as the settings give them. */
    public static TuningOverrides of(Settings settings) {
        return selecting(
                        selection(Algorithm.class, settings, AlgorithmSettings.ALGO),
                        selection(Protocol.class, settings, AlgorithmSettings.PROTO),
                        settings.get(AlgorithmSettings.MIN_NCHANNELS),
                        settings.get(AlgorithmSettings.MAX_NCHANNELS),
                        settings.get(AlgorithmSettings.CHUNK_BYTES))
                .with(
                        Ll128.valueOf(settings.get(AlgorithmSettings.LL128).toUpperCase(Locale.ROOT)),
                        settings.get(AlgorithmSettings.NTHREADS),
                        new ThreadThresholds(settings.get(AlgorithmSettings.THREAD_THRESHOLDS)),
                        settings.get(AlgorithmSettings.NVLS_ENABLE) != 0);
    }

    /** Overrides of what concerns all ranks; null or blank texts restrict nothing. */
    public static TuningOverrides of(
            String algorithms, String protocols, int minChannels, int maxChannels, int chunkBytes) {
        return selecting(
                Selection.parse(Algorithm.class, AlgorithmSettings.ALGO.name(), algorithms),
                Selection.parse(Protocol.class, AlgorithmSettings.PROTO.name(), protocols),
                minChannels,
                maxChannels,
                chunkBytes);
    }

    private static TuningOverrides selecting(
            Selection<Algorithm> algorithms,
            Selection<Protocol> protocols,
            int minChannels,
            int maxChannels,
            int chunkBytes) {
        return new TuningOverrides(
                algorithms,
                protocols,
                minChannels,
                maxChannels,
                chunkBytes,
                Ll128.AUTO,
                0,
                ThreadThresholds.defaults(),
                true);
    }

    private static <E extends Enum<E>> Selection<E> selection(
            Class<E> type, Settings settings, Setting<String> setting) {
        return Selection.parse(type, settings.origin(setting).name(), settings.get(setting));
    }

    /** These overrides with others for GPUs. */
    TuningOverrides with(Ll128 otherLl128, int otherThreads, ThreadThresholds otherThresholds, boolean otherNvls) {
        return new TuningOverrides(
                algorithms,
                protocols,
                minChannels,
                maxChannels,
                chunkBytes,
                otherLl128,
                otherThreads,
                otherThresholds,
                otherNvls);
    }

    /** These overrides with {@code JCCL_NVLS_ENABLE}. */
    public TuningOverrides withNvls(boolean other) {
        return with(ll128, threads, thresholds, other);
    }

    /** These overrides for what no switch reduces: {@code JCCL_ALGO=nvls} restricts nothing there. */
    public TuningOverrides withoutNvls() {
        return new TuningOverrides(
                algorithms.without(Algorithm.NVLS),
                protocols,
                minChannels,
                maxChannels,
                chunkBytes,
                ll128,
                threads,
                thresholds,
                false);
    }

    /** These overrides where no network reduces: {@code JCCL_ALGO=collnetdirect} restricts nothing there. */
    public TuningOverrides withoutCollNet() {
        return with(algorithms.without(Algorithm.COLLNET_DIRECT).without(Algorithm.COLLNET_CHAIN));
    }

    private TuningOverrides with(Selection<Algorithm> others) {
        return new TuningOverrides(
                others, protocols, minChannels, maxChannels, chunkBytes, ll128, threads, thresholds, nvls);
    }

    /** These overrides with so many channels, as far as their own bounds allow. */
    TuningOverrides withChannels(int channels) {
        int least = Math.max(channels, minChannels);
        return exactly(maxChannels > 0 ? Math.min(least, maxChannels) : least, chunkBytes);
    }

    /** These overrides with a number of channels and a size of steps. */
    TuningOverrides exactly(int channels, int chunk) {
        return new TuningOverrides(algorithms, protocols, channels, channels, chunk, ll128, threads, thresholds, nvls);
    }

    /** The upper bound of a choice's channels in a plan of so many. */
    int maxChannels(int planned) {
        return maxChannels > 0 ? Math.min(planned, maxChannels) : planned;
    }

    /** The lower bound of a choice's channels in a plan of so many. */
    int minChannels(int planned) {
        return Math.min(maxChannels(planned), Math.max(1, minChannels));
    }
}

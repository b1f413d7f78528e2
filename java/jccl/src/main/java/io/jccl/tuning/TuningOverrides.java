package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import io.jccl.config.AlgorithmSettings;
import io.jccl.config.Setting;
import io.jccl.config.Settings;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;

/**
 * The settings that restrict the choice; equal on every rank.
 *
 * @param algorithms the algorithms that may be used ({@code JCCL_ALGO})
 * @param protocols the protocols that may be used ({@code JCCL_PROTO})
 * @param minChannels smallest number of channels, 0 for no bound; the plan's number is the upper limit
 * @param maxChannels largest number of channels, 0 for no bound
 * @param chunkBytes the size of a step in bytes, 0 if the cost model chooses it
 * @param ll128 when LL128 may be used between GPUs ({@code JCCL_LL128})
 * @param threads number of threads of each channel between GPUs, 0 if the cost model chooses it ({@code JCCL_NTHREADS})
 * @param thresholds the sizes at which a further channel is used between GPUs ({@code JCCL_THREAD_THRESHOLDS})
 */
public record TuningOverrides(
        Selection<Algorithm> algorithms,
        Selection<Protocol> protocols,
        int minChannels,
        int maxChannels,
        int chunkBytes,
        Ll128 ll128,
        int threads,
        ThreadThresholds thresholds) {

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

    /** Returns overrides that restrict nothing. */
    public static TuningOverrides none() {
        return of(null, null, 0, 0, 0);
    }

    /** Returns the overrides of the settings. */
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
                        new ThreadThresholds(settings.get(AlgorithmSettings.THREAD_THRESHOLDS)));
    }

    /** Returns overrides with the given values, and the defaults for GPUs; null and blank texts restrict nothing. */
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
                ThreadThresholds.defaults());
    }

    private static <E extends Enum<E>> Selection<E> selection(
            Class<E> type, Settings settings, Setting<String> setting) {
        return Selection.parse(type, settings.origin(setting).name(), settings.get(setting));
    }

    /** Returns these overrides with other values for GPUs. */
    TuningOverrides with(Ll128 otherLl128, int otherThreads, ThreadThresholds otherThresholds) {
        return new TuningOverrides(
                algorithms, protocols, minChannels, maxChannels, chunkBytes, otherLl128, otherThreads, otherThresholds);
    }

    /**
     * Returns these overrides for operations that certain algorithms do not execute: a setting that names only such
     * algorithms restricts nothing.
     */
    public TuningOverrides without(Set<Algorithm> missing) {
        return new TuningOverrides(
                algorithms.without(missing),
                protocols,
                minChannels,
                maxChannels,
                chunkBytes,
                ll128,
                threads,
                thresholds);
    }

    /**
     * Returns these overrides with {@code channels} channels, or the nearest number that the bounds of the settings
     * allow.
     */
    public TuningOverrides withChannels(int channels) {
        int least = Math.max(channels, minChannels);
        return exactly(maxChannels > 0 ? Math.min(least, maxChannels) : least, chunkBytes);
    }

    /** Returns these overrides with exactly these numbers of channels and bytes of a step. */
    public TuningOverrides exactly(int channels, int chunk) {
        return new TuningOverrides(algorithms, protocols, channels, channels, chunk, ll128, threads, thresholds);
    }

    /** Returns the largest number of channels of a choice if the plan has {@code planned} channels. */
    int maxChannels(int planned) {
        return maxChannels > 0 ? Math.min(planned, maxChannels) : planned;
    }

    /** Returns the smallest number of channels of a choice if the plan has {@code planned} channels. */
    int minChannels(int planned) {
        return Math.min(maxChannels(planned), Math.max(1, minChannels));
    }
}

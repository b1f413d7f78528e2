package io.jccl.search;

/**
 * What bounds a search.
 *
 * @param channels how many channels to find
 * @param networks whether other machines take part
 */
public record SearchOptions(int channels, boolean networks) {

    /** More channels than this never paid on the host: each needs a core of its own on every rank. */
    private static final int MAX_HOST_CHANNELS = 4;

    /** Refuses a search for nothing. */
    public SearchOptions {
        if (channels < 1) {
            throw new IllegalArgumentException("channels=" + channels + ": expected 1 or more");
        }
    }

    /**
     * The channels that host ranks can use: as many as a rank has cores.
     *
     * @param cores cores of this machine
     * @param localRanks ranks on this machine
     */
    public static SearchOptions forHost(int cores, int localRanks, boolean networks) {
        int coresPerRank = cores / Math.max(1, localRanks);
        return new SearchOptions(Math.max(1, Math.min(MAX_HOST_CHANNELS, coresPerRank)), networks);
    }
}

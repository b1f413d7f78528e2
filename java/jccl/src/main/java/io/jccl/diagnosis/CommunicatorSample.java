package io.jccl.diagnosis;

import io.jccl.rendezvous.AwaitedRanks;
import io.jccl.status.RankSnapshot;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeSet;

/**
 * The state of one communicator at one moment.
 *
 * @param id its short name; empty until its ranks have met
 * @param job the name of its job
 * @param generation number of times that its ranks have reformed it
 * @param size the number of ranks
 * @param ranks the known ranks by number; ranks of which nothing is known are missing
 * @param awaited the ranks and processes for which the rendezvous server and the coordinator wait
 */
public record CommunicatorSample(
        String id,
        String job,
        int generation,
        int size,
        SortedMap<Integer, RankView> ranks,
        List<AwaitedRanks.Waiting> awaited) {

    /** Returns the known ranks in a phase. */
    public List<RankView> in(RankSnapshot.Phase phase) {
        List<RankView> all = new ArrayList<>();
        for (RankView rank : ranks.values()) {
            if (rank.is(phase)) {
                all.add(rank);
            }
        }
        return all;
    }

    /** Returns the ranks of which nothing is known. */
    public SortedSet<Integer> unknown() {
        SortedSet<Integer> unknown = new TreeSet<>();
        for (int rank = 0; rank < size; rank++) {
            if (!ranks.containsKey(rank)) {
                unknown.add(rank);
            }
        }
        return unknown;
    }

    /** Returns the longest time that a rank has waited for others; 0 if no rank waits. */
    long longestWaitNanos() {
        return ranks.values().stream().mapToLong(RankView::waitedNanos).max().orElse(0);
    }

    /** Returns the number of hosts of the known ranks. */
    public int hosts() {
        return (int) ranks.values().stream().map(RankView::host).distinct().count();
    }

    /**
     * Returns the median of the running ranks' last entered sequence numbers, for operations on host memory; 0 if no
     * rank runs.
     */
    public long medianSequence() {
        long[] entered = in(RankSnapshot.Phase.RUNNING).stream()
                .mapToLong(rank -> rank.status().lastEntered().host())
                .sorted()
                .toArray();
        return entered.length == 0 ? 0 : entered[entered.length / 2];
    }

    /** Returns a key that distinguishes the communicator from others, even before it has a name. */
    public String key() {
        return key(id, job, size);
    }

    /** Returns the key of the communicator with this name; {@code id} is empty until its ranks have met. */
    static String key(String id, String job, int size) {
        return id.isEmpty() ? job + " of " + size : id;
    }
}

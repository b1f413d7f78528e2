package io.jccl.cli.ps;

import io.jccl.bootstrap.AwaitedRanks;
import io.jccl.status.RankSnapshot;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;

/**
 * One communicator at one moment.
 *
 * @param id its short name; empty until its ranks have met
 * @param job the name of its job
 * @param generation how many times its ranks have gone on without others
 * @param size the number of ranks
 * @param ranks what is known of each; those of which nothing is known are not in it
 * @param awaited what the rendezvous server and the coordinator wait for
 */
record CommunicatorSample(
        String id,
        String job,
        int generation,
        int size,
        SortedMap<Integer, RankView> ranks,
        List<AwaitedRanks.Waiting> awaited) {

    /** The ranks in a phase. */
    List<RankView> in(RankSnapshot.Phase phase) {
        List<RankView> all = new ArrayList<>();
        for (RankView rank : ranks.values()) {
            if (rank.is(phase)) {
                all.add(rank);
            }
        }
        return all;
    }

    /** The number of hosts that the known ranks are on. */
    int hosts() {
        return (int) ranks.values().stream().map(RankView::host).distinct().count();
    }

    /** The sequence number that half of the running ranks have entered, of operations on memory of the host. */
    long medianSequence() {
        long[] entered = in(RankSnapshot.Phase.RUNNING).stream()
                .mapToLong(rank -> rank.status().lastEntered().host())
                .sorted()
                .toArray();
        return entered.length == 0 ? 0 : entered[entered.length / 2];
    }

    /** What distinguishes it from others, also before it has a name. */
    String key() {
        return id.isEmpty() ? job + " of " + size : id;
    }
}

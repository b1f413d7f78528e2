package io.jccl.planning;

import java.util.List;

/**
 * A host of the plan. Each isolation domain of a split host counts as a host.
 *
 * @param index its number; hosts are numbered by their lowest rank
 * @param hostId the id that its ranks have reported
 * @param ranks its ranks in ascending order
 */
public record PlannedHost(int index, String hostId, List<Integer> ranks) {

    public PlannedHost {
        ranks = List.copyOf(ranks);
    }
}

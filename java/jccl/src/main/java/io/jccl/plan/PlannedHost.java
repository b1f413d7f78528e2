package io.jccl.plan;

import java.util.List;

/**
 * A host as the plan sees it: of a split host, one isolation domain.
 *
 * @param index its place, hosts being numbered by their lowest rank
 * @param hostId the id its ranks gave
 * @param ranks its ranks in ascending order
 */
public record PlannedHost(int index, String hostId, List<Integer> ranks) {

    /** Takes a copy of {@code ranks}. */
    public PlannedHost {
        ranks = List.copyOf(ranks);
    }
}

package io.jccl.plan;

import java.util.List;

/**
 * A machine of the plan.
 *
 * @param index its place, machines being numbered by their lowest rank
 * @param hostId the id its ranks gave
 * @param ranks its ranks in ascending order
 */
public record Machine(int index, String hostId, List<Integer> ranks) {

    /** Takes a copy of {@code ranks}. */
    public Machine {
        ranks = List.copyOf(ranks);
    }
}

package io.jccl.planning;

import io.jccl.Algorithm;
import io.jccl.tuning.AddedGpuAlgorithm;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * The algorithms that parts are expected to add to a communicator; equal on all ranks.
 *
 * @param onGpus the algorithms of GPUs that a plan may expect before the GPUs are connected
 * @param undecided the algorithms of which only connecting shows whether they exist. Until then, and if they do not
 *     exist, a setting that names only such algorithms restricts nothing
 */
public record AddedAlgorithms(List<AddedGpuAlgorithm> onGpus, Set<Algorithm> undecided) {

    /** No algorithms. */
    public static final AddedAlgorithms NONE = new AddedAlgorithms(List.of(), Set.of());

    public AddedAlgorithms {
        onGpus = List.copyOf(onGpus);
        undecided = Set.copyOf(undecided);
    }

    /** Returns these algorithms and others. */
    public AddedAlgorithms and(AddedAlgorithms others) {
        List<AddedGpuAlgorithm> allOnGpus = new ArrayList<>(onGpus);
        allOnGpus.addAll(others.onGpus);
        Set<Algorithm> allUndecided = EnumSet.noneOf(Algorithm.class);
        allUndecided.addAll(undecided);
        allUndecided.addAll(others.undecided);
        return new AddedAlgorithms(allOnGpus, allUndecided);
    }
}

package io.jccl.topology;

import java.util.Map;
import java.util.Objects;

/** Tells which ranks of a host can use each other's memory. Ranks in different containers of one host often cannot. */
@FunctionalInterface
public interface PeerReach {

    /** Every rank of the host can use the memory of every other. */
    PeerReach ALL = (rank, other) -> true;

    /** Returns true if two different ranks can exchange data without a network. Must be symmetric in its arguments. */
    boolean reaches(int rank, int other);

    /**
     * Returns a reach by isolation domain: two ranks reach each other if they have the same domain.
     *
     * @param isolationDomains for each rank a text that identifies its host and container, for example the host's id
     *     and the device number of {@code /dev/shm}; a rank that is missing reaches no other
     */
    static PeerReach sameIsolationDomain(Map<Integer, String> isolationDomains) {
        Map<Integer, String> known = Map.copyOf(isolationDomains);
        return (rank, other) -> known.containsKey(rank) && Objects.equals(known.get(rank), known.get(other));
    }
}

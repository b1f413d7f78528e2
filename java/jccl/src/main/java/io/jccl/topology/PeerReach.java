package io.jccl.topology;

import java.util.Map;
import java.util.Objects;

/** Which ranks of a host can use each other's memory: containers keep some apart that share a host. */
@FunctionalInterface
public interface PeerReach {

    /** Every rank of the host can use the memory of every other. */
    PeerReach ALL = (rank, other) -> true;

    /** Whether two different ranks can exchange data without a network. Must not depend on their order. */
    boolean reaches(int rank, int other);

    /**
     * Ranks reach each other where they see the same host and the same shared memory.
     *
     * @param isolationDomains by rank what distinguishes hosts and containers, for example the host's id and the device
     *     number of {@code /dev/shm}; ranks that are missing reach no other
     */
    static PeerReach sameIsolationDomain(Map<Integer, String> isolationDomains) {
        Map<Integer, String> known = Map.copyOf(isolationDomains);
        return (rank, other) -> known.containsKey(rank) && Objects.equals(known.get(rank), known.get(other));
    }
}

package io.jccl.topology;

import java.util.Map;
import java.util.Objects;

/** Which ranks of a machine can use each other's memory: containers keep some apart that share a machine. */
@FunctionalInterface
public interface PeerReach {

    /** Every rank of the machine can use the memory of every other. */
    PeerReach ALL = (rank, other) -> true;

    /** Whether two different ranks can exchange data without a network. Must not depend on their order. */
    boolean reaches(int rank, int other);

    /**
     * Ranks reach each other where they see the same host and the same shared memory.
     *
     * @param enclosures by rank what tells hosts and containers apart, for example the host's id and the device number of
     *     {@code /dev/shm}; ranks that are missing reach nobody
     */
    static PeerReach sameEnclosure(Map<Integer, String> enclosures) {
        Map<Integer, String> known = Map.copyOf(enclosures);
        return (rank, other) -> known.containsKey(rank) && Objects.equals(known.get(rank), known.get(other));
    }
}

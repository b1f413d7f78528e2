package io.jccl;

/**
 * The number of ranks that must remain so that {@link Communicator#shrink(java.util.Collection, Quorum)} and {@link
 * Communicator#reform(java.util.Collection, int, Quorum)} continue with them. Processes that join do not count.
 */
public enum Quorum {
    /**
     * More than half of the ranks that are not known to have ended, or exactly half of them if rank 0 remains. At most
     * one group of a communicator's ranks can have a majority, however the network between the ranks fails.
     */
    MAJORITY,
    /** Any number. The application must know that the other ranks do not continue without this rank. */
    ANY
}

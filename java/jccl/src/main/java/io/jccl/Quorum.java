package io.jccl;

/**
 * How many ranks must be left for {@link Communicator#shrink(java.util.Collection, Quorum)} and {@link
 * Communicator#reform(java.util.Collection, int, Quorum)} to go on with them. Processes that join do not count.
 */
public enum Quorum {
    /**
     * More than half of the ranks that are not known to have ended; or exactly half, if the lowest rank is among them. Two
     * groups of one communicator cannot both have it, whatever became of the network between them.
     */
    MAJORITY,
    /** Any number. The application knows that the other ranks do not go on without this one. */
    ANY
}

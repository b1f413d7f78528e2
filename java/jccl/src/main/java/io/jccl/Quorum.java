package io.jccl;

/** How many ranks must be left for {@link Communicator#shrink(java.util.Collection, Quorum)} to go on with them. */
public enum Quorum {
    /**
     * More than half of the ranks that are not known to have ended; or exactly half, if the lowest rank is among them. Two
     * groups of one communicator cannot both have it, whatever became of the network between them.
     */
    MAJORITY,
    /** Any number. The application knows that the other ranks do not go on without this one. */
    ANY
}

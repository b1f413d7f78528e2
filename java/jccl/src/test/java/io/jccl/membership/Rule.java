package io.jccl.membership;

/** A rule of the membership protocol. If any one rule is left out, {@link Explorer} must find a violation. */
enum Rule {
    /** The leading rank continues only with a majority. */
    MAJORITY,
    /** A rank keeps the port of the previous communicator open until it knows that all ranks use the new one. */
    KEEP_PORT_UNTIL_CONFIRMED,
    /**
     * Until a rank knows that all ranks use the new communicator, it continues only with a majority of both the new and
     * the previous communicator.
     */
    MAJORITY_OF_BOTH,
    /**
     * At least one rank of each earlier communicator must remain: the other ranks of that communicator may know of no
     * newer one.
     */
    SOMEBODY_IS_LEFT,
    /** A process that joins knows the members of the earlier communicators. */
    JOINERS_KNOW_GROUP_BEFORE,
    /** A rank keeps the port of an earlier communicator open while a member that was left out may live. */
    KEEP_PORT_FOR_THE_LIVING,
    /**
     * A new communicator is created only after all ranks that are not excluded have come and exclude the same ranks.
     */
    ALL_COME,
    /** A rank that initialises a communicator notices that another rank has ended. */
    NOTICE_WHILE_INITIALISING,
    /** A rank that waits for another one notices that the other one is in another communicator. */
    NOTICE_OTHER_GENERATION,
    /** A communicator that has failed on one rank fails on all ranks connected to it, with the same failed ranks. */
    NOTICE_FAILED_COMMUNICATOR,
    /** Ranks that exclude different ranks, and have no failure left to notice, end. */
    REFUSE_DIFFERENT
}

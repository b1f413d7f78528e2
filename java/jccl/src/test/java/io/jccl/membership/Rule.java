package io.jccl.membership;

/** A rule of the protocol. The model without any one of them is a mutant, in which {@link Explorer} must find a violation. */
enum Rule {
    /** The rank that leads goes on with a majority only. */
    MAJORITY,
    /** A rank keeps the port of the communicator before until it knows that all ranks have the new one. */
    KEEP_PORT_UNTIL_CONFIRMED,
    /** Until then, it goes on with a majority of both. */
    MAJORITY_OF_BOTH,
    /** Some rank of those before must be left: there may be others who know of no better ones. */
    SOMEBODY_IS_LEFT,
    /** A process that joins knows the members of those before. */
    JOINERS_KNOW_GROUP_BEFORE,
    /** It keeps the port of one before as long as a member that was left out may live. */
    KEEP_PORT_FOR_THE_LIVING,
    /** All ranks that exclude the same ones must have come before there is a new communicator. */
    ALL_COME,
    /** A rank that initialises a communicator notices that another has ended. */
    NOTICE_WHILE_INITIALISING,
    /** A rank that waits for another finds that this went another way. */
    NOTICE_OTHER_GENERATION,
    /** A communicator that has failed on one rank fails on all that this one reaches, with the same failed ranks. */
    NOTICE_FAILED_COMMUNICATOR,
    /** Ranks that exclude different ones, and will not learn better, end. */
    REFUSE_DIFFERENT
}

package io.jccl;

import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * An operation, or the initialisation of a communicator, was not finished before its deadline. The message names the
 * operation, the time that it took, the ranks that never entered it, and the point at which every other rank waits.
 */
public class CommunicationTimeoutException extends JcclException {

    private static final long serialVersionUID = 1L;

    @SuppressWarnings("serial") // an immutable JDK collection, which is serializable
    private final Set<Integer> missingRanks;

    /**
     * @param message what happened, with name=value pairs and the remedy
     * @param missingRanks ranks that never arrived, in ascending order; empty if all did
     * @param cause the exception that led to this one, or null
     */
    public CommunicationTimeoutException(String message, Set<Integer> missingRanks, @Nullable Throwable cause) {
        super(message, cause);
        this.missingRanks = Collections.unmodifiableSet(new TreeSet<>(missingRanks));
    }

    /** Returns the ranks that never arrived, in ascending order; empty if all did; immutable. */
    public Set<Integer> missingRanks() {
        return missingRanks;
    }
}

package io.jccl;

import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** One or more other ranks died or became unreachable. The communicator has failed on every remaining rank. */
public class PeerFailedException extends JcclException {

    private static final long serialVersionUID = 1L;

    @SuppressWarnings("serial") // an immutable JDK collection, which is serializable
    private final Set<Integer> failedRanks;

    /**
     * @param message what happened, with name=value pairs and the remedy
     * @param failedRanks ranks that failed, in ascending order
     * @param cause the exception that led to this one, or null
     */
    public PeerFailedException(String message, Set<Integer> failedRanks, @Nullable Throwable cause) {
        super(message, cause);
        this.failedRanks = Collections.unmodifiableSet(new TreeSet<>(failedRanks));
    }

    /** Returns the ranks that failed, in ascending order; immutable. */
    public Set<Integer> failedRanks() {
        return failedRanks;
    }
}

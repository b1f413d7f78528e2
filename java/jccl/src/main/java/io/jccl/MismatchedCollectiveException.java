package io.jccl;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Ranks called different operations at the same place of the sequence: another collective, type, reduction, count or
 * root. The communicator has failed on every rank, because data of different operations cannot be distinguished. The
 * message begins with the ranks in the minority and the arguments in which they differ. The rows describe the first
 * operation in which ranks differ. {@link Communicator} describes when a mismatch is found.
 */
public class MismatchedCollectiveException extends JcclException {

    private static final long serialVersionUID = 1L;

    @SuppressWarnings("serial") // an immutable JDK collection, which is serializable
    private final List<RankOperation> rows;

    /**
     * @param message what happened, with name=value pairs and the remedy
     * @param rows the call of each rank, in rank order
     * @param cause the exception that led to this one, or null
     */
    public MismatchedCollectiveException(String message, List<RankOperation> rows, @Nullable Throwable cause) {
        super(message, cause);
        this.rows = List.copyOf(rows);
    }

    /** Returns the call of each rank, in rank order; immutable. */
    public List<RankOperation> rows() {
        return rows;
    }
}

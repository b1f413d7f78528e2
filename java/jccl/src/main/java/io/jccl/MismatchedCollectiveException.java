package io.jccl;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Ranks called different operations at the same place of their sequence: another collective, type, reduction, count or
 * root. The communicator is failed on every rank, because data of different operations cannot be distinguished. The
 * message begins with the ranks in the minority and what they called differently; the rows are those of the first operation
 * in which ranks differed. {@link Communicator} says when this is found.
 */
public class MismatchedCollectiveException extends JcclException {

    private static final long serialVersionUID = 1L;

    @SuppressWarnings("serial") // an immutable JDK collection, which is serializable
    private final List<RankOperation> rows;

    /**
     * @param message what happened, with name=value pairs and the remedy
     * @param rows rows that say what each rank called, in rank order
     * @param cause what led to it, or null
     */
    public MismatchedCollectiveException(String message, List<RankOperation> rows, @Nullable Throwable cause) {
        super(message, cause);
        this.rows = List.copyOf(rows);
    }

    /** The rows that say what each rank called, in rank order; immutable. */
    public List<RankOperation> rows() {
        return rows;
    }
}

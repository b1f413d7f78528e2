package io.jccl;

/**
 * What one rank did at one sequence number: a row of the table that an exception shows.
 *
 * @param rank the rank
 * @param sequence the sequence number of the operation on the communicator, from 1
 * @param entered whether the rank has entered the operation at all; if not, the fields below say nothing
 * @param collective the operation it entered, or null
 * @param type the element type, or null
 * @param op the reduction, or null where the collective has none
 * @param count the count as the collective defines it, in elements
 * @param root the root or, for collectives without one, 0
 * @param state a word for where it stands: {@code absent}, {@code running}, {@code done}, {@code failed}
 */
public record RankOperation(
        int rank,
        long sequence,
        boolean entered,
        Collective collective,
        DataType type,
        ReduceOp op,
        long count,
        int root,
        String state) {

    /** The row of a rank that never entered the operation. */
    public static RankOperation absent(int rank, long sequence) {
        return new RankOperation(rank, sequence, false, null, null, null, 0, 0, "absent");
    }

    /** The row as one line of text: {@code rank=2 sequence=7 all_reduce(type=float32 op=sum count=1024) running}. */
    public String describe() {
        return "rank=" + rank + " sequence=" + sequence + " " + call() + (entered ? " " + state : "");
    }

    /** The call as text: {@code all_reduce(type=float32 op=sum count=1024)}, or {@code never entered}. */
    public String call() {
        if (!entered) {
            return "never entered";
        }
        StringBuilder text = new StringBuilder(96);
        text.append(collective == null ? "unknown" : collective.label()).append('(');
        if (type != null) {
            text.append("type=").append(type.label()).append(' ');
        }
        if (op != null) {
            text.append("op=").append(op.label()).append(' ');
        }
        text.append("count=").append(count);
        if (collective != null && collective.hasRoot()) {
            text.append(" root=").append(root);
        }
        return text.append(')').toString();
    }
}

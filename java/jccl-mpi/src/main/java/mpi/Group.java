package mpi;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** An ordered set of processes. */
public final class Group {

    private final int[] members; // ranks in COMM_WORLD, in order
    private final int self; // this process's rank in COMM_WORLD
    private boolean isNull;

    Group(int[] members, int self) {
        this.members = members;
        this.self = self;
    }

    /** Returns the same group as another object, which can be freed. */
    Group copy() {
        return new Group(members, self);
    }

    int[] members() {
        return members;
    }

    /** Returns the number of processes. */
    public int getSize() {
        return members.length;
    }

    /** Returns the rank of this process in the group; {@link MPI#UNDEFINED} if it is no member. */
    public int getRank() {
        return place(self);
    }

    private int place(int member) {
        for (int i = 0; i < members.length; i++) {
            if (members[i] == member) {
                return i;
            }
        }
        return MPI.UNDEFINED;
    }

    /** Makes this object null; a group holds no resources. */
    public void free() {
        isNull = true;
    }

    /** Returns true after {@link #free()}. */
    public boolean isNull() {
        return isNull;
    }

    /** Returns {@link MPI#IDENT}, {@link MPI#SIMILAR} if only the order differs, or {@link MPI#UNEQUAL}. */
    public static int compare(Group first, Group second) {
        if (Arrays.equals(first.members, second.members)) {
            return MPI.IDENT;
        }
        int[] one = first.members.clone();
        int[] other = second.members.clone();
        Arrays.sort(one);
        Arrays.sort(other);
        return Arrays.equals(one, other) ? MPI.SIMILAR : MPI.UNEQUAL;
    }

    /** Returns the ranks that members of one group have in another; {@link MPI#UNDEFINED} if none. */
    public static int[] translateRanks(Group from, int[] ranks, Group to) throws MPIException {
        int[] translated = new int[ranks.length];
        for (int i = 0; i < ranks.length; i++) {
            translated[i] = ranks[i] == MPI.PROC_NULL ? MPI.PROC_NULL : to.place(from.member(ranks[i]));
        }
        return translated;
    }

    private int member(int rank) throws MPIException {
        if (rank < 0 || rank >= members.length) {
            throw new MPIException(MPI.ERR_RANK, "rank=" + rank + ": expected 0 to " + (members.length - 1));
        }
        return members[rank];
    }

    /** Returns the members of the first group, then those of the second that are not in the first. */
    public static Group union(Group first, Group second) {
        List<Integer> all = new ArrayList<>();
        Arrays.stream(first.members).forEach(all::add);
        Arrays.stream(second.members).filter(member -> !all.contains(member)).forEach(all::add);
        return first.of(all);
    }

    /** Returns the members of the first group that are in the second. */
    public static Group intersection(Group first, Group second) {
        return first.kept(second, true);
    }

    /** Returns the members of the first group that are not in the second. */
    public static Group difference(Group first, Group second) {
        return first.kept(second, false);
    }

    private Group kept(Group other, boolean isIn) {
        return of(Arrays.stream(members)
                .filter(member -> (other.place(member) != MPI.UNDEFINED) == isIn)
                .boxed()
                .toList());
    }

    /** Returns the members with the given ranks, in the order of the ranks. */
    public Group incl(int[] ranks) throws MPIException {
        List<Integer> chosen = new ArrayList<>();
        for (int rank : ranks) {
            if (chosen.contains(member(rank))) {
                throw new MPIException(MPI.ERR_RANK, "ranks=" + Arrays.toString(ranks) + ": " + rank + " occurs twice");
            }
            chosen.add(member(rank));
        }
        return of(chosen);
    }

    /** Returns the members without those of the given ranks. */
    public Group excl(int[] ranks) throws MPIException {
        return difference(this, incl(ranks));
    }

    /** Returns the members of ranges of ranks, each of which is its first rank, its last rank and the stride. */
    public Group rangeIncl(int[][] ranges) throws MPIException {
        return incl(ranks(ranges));
    }

    /** Returns the members without those of ranges of ranks, as {@link #rangeIncl}. */
    public Group rangeExcl(int[][] ranges) throws MPIException {
        return excl(ranks(ranges));
    }

    private static int[] ranks(int[][] ranges) throws MPIException {
        List<Integer> ranks = new ArrayList<>();
        for (int[] range : ranges) {
            if (range.length != 3 || range[2] == 0) {
                throw new MPIException(
                        MPI.ERR_ARG, "range=" + Arrays.toString(range) + ": expected first, last and stride, not 0");
            }
            for (int rank = range[0]; range[2] > 0 ? rank <= range[1] : rank >= range[1]; rank += range[2]) {
                ranks.add(rank);
            }
        }
        return ranks.stream().mapToInt(Integer::intValue).toArray();
    }

    private Group of(List<Integer> chosen) {
        return new Group(chosen.stream().mapToInt(Integer::intValue).toArray(), self);
    }
}
